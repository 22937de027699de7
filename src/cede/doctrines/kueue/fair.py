"""Fair-sharing preemption: from the largest share down, as long as the shares allow it."""

from __future__ import annotations

import numpy as np

from cede.doctrines.kueue import rules
from cede.doctrines.kueue.candidates import pool_of, tested
from cede.doctrines.kueue.classical import held
from cede.doctrines.kueue.drs import Share
from cede.doctrines.kueue.plain import spared_by_sums, sums_are_enough
from cede.doctrines.kueue.quota import Asked
from cede.doctrines.kueue.recheck import breach_of, lawful_set
from cede.doctrines.kueue.search import FAIR, NOBODY, OWN, RECLAIM, Found, Outcome, Search, Taken
from cede.doctrines.kueue.settings import FINAL, INITIAL
from cede.doctrines.kueue.sides import Sides
from cede.doctrines.kueue.standing import Held, Standing
from cede.doctrines.kueue.tournament import Tournament
from cede.doctrines.parts.orders import Rows
from cede.model.rules import Rule


def find(search: Search) -> Outcome:
    """The victims, or nobody."""
    candidates = _candidates(search)
    if not len(candidates):
        return NOBODY
    search.book.add_all(search.queue, search.asked)
    in_nominal = all(not search.book.borrows(pair, search.queue) for pair in search.contested)
    run = _Run(search, in_nominal)
    fits = run.first_pass(candidates)
    if not fits and len(search.snapshot.mode.strategies) > 1:
        fits = run.second_pass()
    if search.notes is not None:
        run.note_pruned(candidates)
    search.book.remove_all(search.queue, search.asked)
    if not fits:
        if search.notes is not None:
            for victim in run.taken:
                search.notes.stays(victim.row, rules.TOO_LITTLE)
        return NOBODY
    return _spared(search, run, in_nominal)


def _spared(search: Search, run: _Run, in_nominal: bool) -> Outcome:
    """Those who are left; only if some of the claimant's own branch were spared can the others have become unlawful."""
    spared = spared_by_sums(search, run.taken) if run.plain else search.spare(run.taken, borrowing=True)
    breach = ""
    if not in_nominal and len(spared) < len(run.taken):
        breach = breach_of(search, spared)
    kept = spared
    if breach and search.snapshot.mode.recheck:
        kept = lawful_set(search, run.taken)
    if search.notes is not None:
        stay = {victim.row for victim in kept}
        for victim in run.taken:
            if victim.row not in stay:
                search.notes.stays(victim.row, rules.SPARED if kept else rules.UNLAWFUL_SET, breach=breach)
    if kept is spared:
        return Outcome(kept, breach)
    return Outcome(kept) if kept else Outcome([], breach, spared)


def _candidates(search: Search) -> Rows:
    """Positions: the own queue's, and those of queues of the tree above their quota in what is short."""
    snapshot, book = search.snapshot, search.book
    pool = pool_of(search)
    above = np.zeros(snapshot.quotas.size, np.bool_)
    for pair in search.contested:
        table = zip(book.used[pair], snapshot.quotas.subtree[pair], strict=True)
        above |= np.array([used > quota for used, quota in table], np.bool_)
    borrows = above[snapshot.queue[pool.others]]
    if search.notes is not None:
        for at in pool.others[~borrows].tolist():
            queue = int(snapshot.queue[at])
            facts = {"queue": snapshot.quotas.names[queue], "held": held(search, queue)}
            search.notes.put(int(snapshot.rows[at]), rules.NOMINAL, **facts)
    return np.concatenate([pool.own, pool.others[borrows]])


class _Run:
    """Both passes: who was taken so far, and who failed the first rule."""

    def __init__(self, search: Search, in_nominal: bool) -> None:
        self.search = search
        self.shares = search.snapshot.shares(search.book)
        self.sides = Sides(search.snapshot.quotas, search.queue)
        self.in_nominal = in_nominal
        self.taken: Found = []
        self.retry: list[int] = []
        self.sums = [(pair, search.snapshot.quotas.root[search.queue]) for pair, amount in search.asked if amount]
        self.plain = sums_are_enough(search)

    def first_pass(self, candidates: Rows) -> bool:
        """By the first strategy; true as soon as the claimant fits."""
        search = self.search
        snapshot = search.snapshot
        strategy = snapshot.mode.strategies[0]
        tournament = Tournament(self.shares, search.queue, Standing(snapshot, candidates, search.queue))
        while (queue := tournament.next()) is not None:
            if queue == search.queue:
                victim = self._victim(tournament.pop(queue), queue, OWN)
            elif self.in_nominal:
                victim = self._victim(tournament.pop(queue), queue, RECLAIM)
            else:
                passed = self._first_that_passes(tournament, queue, strategy)
                if passed is None:
                    continue
                victim = passed
            if self._take(tournament, victim):
                return True
        return False

    def _first_that_passes(self, tournament: Tournament, queue: int, strategy: str) -> Taken | None:
        mine, theirs = self.sides.of(queue)
        new, before = self.shares.share(mine), self.shares.share(theirs)
        if new[0] and not before[0]:
            for row, _ in tournament.drop(queue):
                self.retry.append(row)
                self._note(rules.SHARE, row, queue, new, before, None, strategy)
            return None
        while tournament.has(queue):
            row, held = tournament.pop(queue)
            after = self._share_without(row, queue, held, theirs)
            if new <= after if strategy == FINAL else new < before:
                self._note(rules.FAIR, row, queue, new, before, after, strategy)
                return Taken(row, queue, FAIR, held, strategy)
            self._note(rules.SHARE, row, queue, new, before, after, strategy)
            self.retry.append(row)
        return None

    def second_pass(self) -> bool:
        """By the second strategy over those who failed the first: at most one of each queue."""
        search = self.search
        retry: Rows = np.searchsorted(search.snapshot.rows, np.sort(np.array(self.retry, np.intp)))
        tournament = Tournament(self.shares, search.queue, Standing(search.snapshot, retry, search.queue))
        while (queue := tournament.next()) is not None:
            row, held = tournament.pop(queue)
            mine, theirs = self.sides.of(queue)
            new, before = self.shares.share(mine), self.shares.share(theirs)
            rest = tournament.drop(queue)
            if search.notes is not None:
                for other, _ in rest:
                    search.notes.put(other, rules.ONE_A_QUEUE, queue=search.snapshot.quotas.names[queue])
                rule = rules.FAIR if new < before else rules.SHARE
                self._note(rule, row, queue, new, before, self._share_without(row, queue, held, theirs), INITIAL)
            if new < before and self._take(tournament, Taken(row, queue, FAIR, held, INITIAL)):
                return True
        return False

    def note_pruned(self, candidates: Rows) -> None:
        """Those whose queue, or a cohort above it, was or came back within its quota, so that nobody asked them."""
        search, quotas = self.search, self.search.snapshot.quotas
        assert search.notes is not None
        for at in candidates.tolist():
            row, queue = int(search.snapshot.rows[at]), int(search.snapshot.queue[at])
            if row in search.notes.found or queue == search.queue:
                continue
            path = quotas.path[queue]
            below = path[: path.index(self.sides.of(queue)[1]) + 1]
            node = next((node for node in reversed(below) if not self.shares.borrowing(node)), None)
            if node == queue:
                facts = {"queue": quotas.names[queue], "held": held(search, queue)}
                search.notes.put(row, rules.NOMINAL_BY_THEN, **facts)
            elif node is not None:
                facts = {"cohort": quotas.names[node], "held": held(search, node)}
                search.notes.put(row, rules.COHORT_NOMINAL, queue=quotas.names[queue], **facts)

    def _victim(self, found: Held, queue: int, reason: str) -> Taken:
        """One that is taken whatever the shares are."""
        row, amounts = found
        search, names = self.search, self.search.snapshot.quotas.names
        if search.notes is not None:
            settings, test = search.claimant.settings, tested(search.snapshot, search.claimant, row)
            if reason == OWN:
                search.notes.put(row, rules.WITHIN, queue=names[queue], policy=settings.within, test=test)
            else:
                advantage = f"with the claimant {names[search.queue]} stays within its quota, so shares do not matter"
                facts = {"held": held(search, queue), "advantage": advantage, "policy": settings.reclaim}
                search.notes.put(row, rules.RECLAIM, queue=names[queue], test=test, **facts)
        return Taken(row, queue, reason, amounts)

    def _share_without(self, row: int, queue: int, held: Asked, node: int) -> Share:
        book, code = self.search.book, self.search.snapshot.code(row)
        book.remove_all(queue, held, code)
        share = self.shares.share(node)
        book.add_all(queue, held, code)
        return share

    def _take(self, tournament: Tournament, victim: Taken) -> bool:
        """Take the victim; whether the claimant fits now, its own usage left out of the account."""
        search = self.search
        search.take(victim)
        self.taken.append(victim)
        tournament.changed(victim.queue)
        if self.plain:
            used, subtree = search.book.used, search.snapshot.quotas.subtree
            return all(used[pair][root] <= subtree[pair][root] for pair, root in self.sums)
        search.book.remove_all(search.queue, search.asked)
        fits = search.fits(borrowing=True)
        search.book.add_all(search.queue, search.asked)
        return fits

    def _note(
        self, rule: Rule, row: int, queue: int, new: Share, before: Share, after: Share | None, strategy: str
    ) -> None:
        search = self.search
        if search.notes is None:
            return
        mine, theirs = self.sides.of(queue)
        names, shares = search.snapshot.quotas.names, self.shares
        gone = [search.snapshot.state.work_names[victim.row] for victim in self.taken]
        search.notes.put(
            row,
            rule,
            ancestor=names[search.snapshot.quotas.parent[mine]],
            claimant_side=names[mine],
            side=names[theirs],
            new=shares.shown(mine, new),
            before=shares.shown(theirs, before),
            after="no need to ask" if after is None else shares.shown(theirs, after),
            gone=f" and {', '.join(gone[:3])}{' and more' if len(gone) > 3 else ''} gone" if gone else "",
            strategy=strategy,
            wanted=f"{names[mine]} to be at most {names[theirs]} after"
            if strategy == FINAL
            else f"{names[mine]} to be below {names[theirs]} before",
        )
