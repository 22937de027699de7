"""Fair-sharing preemption: from the largest share down, queue by queue, as long as the shares allow it."""

from __future__ import annotations

from collections.abc import Container, Iterator
from heapq import heapify, heappop, heappush

import numpy as np

from cede.doctrines.kueue import rules
from cede.doctrines.kueue.candidate_order import CandidateOrder, CandidateUsage, Key
from cede.doctrines.kueue.candidates import pool_of, tested
from cede.doctrines.kueue.dominant_share import Share, Shares
from cede.doctrines.kueue.quota import Asked, Quotas
from cede.doctrines.kueue.search import (
    FAIR,
    NO_VICTIMS,
    OWN,
    RECLAIM,
    Outcome,
    Search,
    Target,
    Targets,
    spared_by_sums,
    sums_are_enough,
    usage_words,
)
from cede.doctrines.kueue.settings import FINAL, INITIAL
from cede.doctrines.parts.orders import Rows
from cede.model.rules import Rule
from cede.state.columns import NONE


class LeastCommonAncestor:
    """The children of the least common ancestor of the claimant's queue and another: the branches compared there."""

    def __init__(self, quotas: Quotas, queue: int) -> None:
        self.quotas = quotas
        self.path = quotas.path[queue]
        self._known: dict[int, tuple[int, int]] = {}

    def of(self, other: int) -> tuple[int, int]:
        below = self._known.get(other)
        if below is None:
            theirs = self.quotas.path[other]
            common = next(node for node in self.path if node in theirs)
            below = (self.path[self.path.index(common) - 1], theirs[theirs.index(common) - 1])
            self._known[other] = below
        return below


HeapEntry = tuple[int, float, Key | int, int]
"""Of a heap: the share, negated so that the largest comes first; what breaks a tie; the node."""


class Tournament:
    """The tree above the candidates; `next` names a queue, `pop` takes its first candidate.

    From the root down, the child with the largest share wins, until that is a queue. The children of each cohort are in
    a heap. A node's share follows from its own usage and from quotas, so taking a workload changes the shares on its
    queue's path and no others: `changed` enters these anew, all other entries still hold, and an entry that was
    replaced is dropped when it comes to the top. Usage only falls during a pass, so a node that borrows nothing is out
    for good; the claimant's queue and the cohorts above it stay in, since their candidates need not borrow.
    """

    def __init__(self, shares: Shares, queue: int, candidates: CandidateOrder) -> None:
        self.shares = shares
        self.quotas = shares.quota_usage.quotas
        self.queue = queue
        self.candidates = candidates
        self.root = self.quotas.root[queue]
        self.mine = set(self.quotas.path[queue])
        self.pruned: set[int] = set()
        self.above_queues: set[int] = set()
        self.current: dict[int, HeapEntry] = {}
        self.queues: dict[int, list[HeapEntry]] = {}
        self.cohorts: dict[int, list[HeapEntry]] = {}
        self._enter_all()

    def has(self, queue: int) -> bool:
        return self.candidates.has(queue)

    def pop(self, queue: int) -> CandidateUsage:
        """The queue's first candidate and what it holds; the queue comes up again only after `changed`."""
        self.current.pop(queue, None)
        return self.candidates.pop(queue)

    def drop(self, queue: int) -> list[CandidateUsage]:
        """The queue is out, and these were its candidates."""
        self.pruned.add(queue)
        return self.candidates.drop(queue)

    def changed(self, queue: int) -> None:
        """The candidates or the usage of this queue changed, and with it that of the cohorts above."""
        self._enter_queue(queue)
        for cohort in self.quotas.path[queue][1:-1]:
            self._enter_cohort(cohort)

    def next(self) -> int | None:
        """The queue whose turn it is; None when no candidate is left."""
        if self.root == self.queue:
            return self.queue if self.has(self.queue) and self.queue not in self.pruned else None
        cohorts, own = self.cohorts, (self.queue,)
        while self.root not in self.pruned:
            node = self.root
            while True:
                queue, cohort = self._best(self._queues_of(node), own), self._best(cohorts.get(node), self.mine)
                if queue is None and cohort is None:
                    self.pruned.add(node)
                    break
                if cohort is None or (queue is not None and queue[:2] < cohort[:2]):
                    assert queue is not None
                    return queue[-1]
                node = cohort[-1]
        return None

    # -- heaps: the smallest key is the largest share -----------------------------------------------------------

    def _enter_all(self) -> None:
        """Every cohort on the way to a queue with candidates; its queues when it comes to them."""
        parents = self.quotas.parent
        self.above_queues = {parents[queue] for queue in self.candidates.queues()} - {NONE}
        for cohort in {node for parent in self.above_queues for node in self.quotas.path[parent][:-1]}:
            self.cohorts.setdefault(parents[cohort], []).append(self._entry(cohort, self._rank(cohort)))
        for heap in self.cohorts.values():
            heapify(heap)

    def _queues_of(self, cohort: int) -> list[HeapEntry] | None:
        """The queues of a cohort that have candidates, entered when they are first looked at."""
        heap = self.queues.get(cohort)
        if heap is None and cohort in self.above_queues:
            heap = self.queues[cohort] = []
            has, first, share, current = self.candidates.has, self.candidates.first, self.shares.share, self.current
            for child in self.quotas.children[cohort]:
                if has(child):
                    infinite, scaled = share(child)
                    entry = current[child] = (-infinite, -scaled, first(child), child)
                    heap.append(entry)
            heapify(heap)
        return heap

    def _entry(self, node: int, then: Key | int) -> HeapEntry:
        infinite, scaled = self.shares.share(node)
        entry = self.current[node] = (-infinite, -scaled, then, node)
        return entry

    def _rank(self, cohort: int) -> int:
        """Equal cohorts are taken by name; children stand in the order of their names."""
        return self.quotas.children[self.quotas.parent[cohort]].index(cohort)

    def _enter_queue(self, queue: int) -> None:
        heap = self.queues.get(self.quotas.parent[queue])
        if heap is not None and self.has(queue):
            heappush(heap, self._entry(queue, self.candidates.first(queue)))

    def _enter_cohort(self, cohort: int) -> None:
        if cohort in self.current:
            heappush(self.cohorts[self.quotas.parent[cohort]], self._entry(cohort, self._rank(cohort)))

    def _best(self, heap: list[HeapEntry] | None, excused: Container[int]) -> HeapEntry | None:
        """The largest share that is up to date; a node that borrows nothing is out, unless it is excused from that."""
        while heap:
            entry = heap[0]
            node = entry[-1]
            if node in self.pruned or entry is not self.current.get(node):
                heappop(heap)
            elif not entry[1] and node not in excused and not self.shares.borrowing(node):
                self.pruned.add(node)
                heappop(heap)
            else:
                return entry
        return None


def lawful_set(search: Search, taken: Targets) -> Targets:
    """The first lawful set of victims, spared in other orders; empty if there is none."""
    for order in _orders(taken):
        victims = _spared_in(search, taken, order)
        if lawful(search, victims):
            return victims
    return []


def lawful(search: Search, victims: Targets) -> bool:
    """Whether each victim passes the rule that admitted it, with only the victims of this set taken before it."""
    return not breach_of(search, victims)


def breach_of(search: Search, victims: Targets) -> str:
    """The first victim that does not pass, in words; nothing if all do."""
    quota_usage = search.snapshot.quota_usage.copy()
    quota_usage.add_all(search.queue, search.asked)
    shares, common_ancestor = (
        search.snapshot.shares(quota_usage),
        LeastCommonAncestor(search.snapshot.quotas, search.queue),
    )
    for victim in victims:
        code = search.snapshot.code(victim.row)
        if victim.reason != FAIR:
            quota_usage.remove_all(victim.queue, victim.amounts, code)
            continue
        mine, theirs = common_ancestor.of(victim.queue)
        new, before = shares.share(mine), shares.share(theirs)
        quota_usage.remove_all(victim.queue, victim.amounts, code)
        after = shares.share(theirs)
        if not (new <= after if victim.strategy == FINAL else new < before):
            names = search.snapshot.quotas.names
            return (
                f"{names[mine]} has share {shares.shown(mine, new)} against {shares.shown(theirs, before)} of "
                f"{names[theirs]}, {shares.shown(theirs, after)} without {search.snapshot.state.work_names[victim.row]}"
            )
    return ""


def _orders(taken: Targets) -> Iterator[Targets]:
    """Ways to put victims back: the latest first, the earliest first, other queues' first, the own ones first."""
    yield taken[::-1]
    yield taken
    yield sorted(taken, key=lambda victim: victim.reason != FAIR)
    latest = taken[::-1]
    yield sorted(latest, key=lambda victim: victim.reason == FAIR)


def _spared_in(search: Search, taken: Targets, order: Targets) -> Targets:
    """What is left of the victims after putting back, in this order, those that are not needed, the last one too."""
    trial = Search(search.snapshot, search.claimant, search.asked, search.contested, None)
    if search.room is not None:
        trial.room = search.room.afresh()
    for victim in taken:
        trial.take(victim)
    gone = {victim.row for victim in taken}
    for victim in order:
        trial.put_back(victim)
        if trial.fits():
            gone.discard(victim.row)
        else:
            trial.take(victim)
    return [victim for victim in taken if victim.row in gone]


def find(search: Search) -> Outcome:
    """The victims; none if the share rules find no way."""
    candidates = _candidates(search)
    if not len(candidates):
        return NO_VICTIMS
    search.quota_usage.add_all(search.queue, search.asked)
    in_nominal = all(not search.quota_usage.borrows(pair, search.queue) for pair in search.contested)
    run = _FairSearch(search, in_nominal)
    fits = run.first_pass(candidates)
    if not fits and len(search.snapshot.mode.strategies) > 1:
        fits = run.second_pass()
    if search.notes is not None:
        run.note_pruned(candidates)
    search.quota_usage.remove_all(search.queue, search.asked)
    if not fits:
        if search.notes is not None:
            for victim in run.taken:
                search.notes.stays(victim.row, rules.TOO_LITTLE)
        return NO_VICTIMS
    return _spared(search, run, in_nominal)


def _spared(search: Search, run: _FairSearch, in_nominal: bool) -> Outcome:
    """The victims after sparing. If none was spared, or shares did not matter, none can have become unlawful."""
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
    snapshot, quota_usage = search.snapshot, search.quota_usage
    pool = pool_of(search)
    above = np.zeros(snapshot.quotas.size, np.bool_)
    for pair in search.contested:
        table = zip(quota_usage.used[pair], snapshot.quotas.subtree[pair], strict=True)
        above |= np.array([used > quota for used, quota in table], np.bool_)
    borrows = above[snapshot.queue[pool.others]]
    if search.notes is not None:
        for at in pool.others[~borrows].tolist():
            queue = int(snapshot.queue[at])
            facts = {"queue": snapshot.quotas.names[queue], "held": usage_words(search, queue)}
            search.notes.put(int(snapshot.rows[at]), rules.NOMINAL, **facts)
    return np.concatenate([pool.own, pool.others[borrows]])


class _FairSearch:
    """Both passes: the victims so far, and the candidates that failed the first rule."""

    def __init__(self, search: Search, in_nominal: bool) -> None:
        self.search = search
        self.shares = search.snapshot.shares(search.quota_usage)
        self.common_ancestor = LeastCommonAncestor(search.snapshot.quotas, search.queue)
        self.in_nominal = in_nominal
        self.taken: Targets = []
        self.retry: list[int] = []
        self.sums = [(pair, search.snapshot.quotas.root[search.queue]) for pair, amount in search.asked if amount]
        self.plain = sums_are_enough(search)

    def first_pass(self, candidates: Rows) -> bool:
        """By the first strategy; true as soon as the claimant fits."""
        search = self.search
        snapshot = search.snapshot
        strategy = snapshot.mode.strategies[0]
        tournament = Tournament(self.shares, search.queue, CandidateOrder(snapshot, candidates, search.queue))
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

    def _first_that_passes(self, tournament: Tournament, queue: int, strategy: str) -> Target | None:
        mine, theirs = self.common_ancestor.of(queue)
        new, before = self.shares.share(mine), self.shares.share(theirs)
        if new[0] and not before[0]:  # shares only fall: no candidate here passes either rule
            for row, _ in tournament.drop(queue):
                self.retry.append(row)
                self._note(rules.SHARE, row, queue, new, before, None, strategy)
            return None
        while tournament.has(queue):
            row, held = tournament.pop(queue)
            after = self._share_without(row, queue, held, theirs)
            if new <= after if strategy == FINAL else new < before:
                self._note(rules.FAIR, row, queue, new, before, after, strategy)
                return Target(row, queue, FAIR, held, strategy)
            self._note(rules.SHARE, row, queue, new, before, after, strategy)
            self.retry.append(row)
        return None

    def second_pass(self) -> bool:
        """By the second strategy over candidates that failed the first: at most one of each queue."""
        search = self.search
        retry: Rows = np.searchsorted(search.snapshot.rows, np.sort(np.array(self.retry, np.intp)))
        tournament = Tournament(self.shares, search.queue, CandidateOrder(search.snapshot, retry, search.queue))
        while (queue := tournament.next()) is not None:
            row, held = tournament.pop(queue)
            mine, theirs = self.common_ancestor.of(queue)
            new, before = self.shares.share(mine), self.shares.share(theirs)
            rest = tournament.drop(queue)
            if search.notes is not None:
                for other, _ in rest:
                    search.notes.put(other, rules.ONE_A_QUEUE, queue=search.snapshot.quotas.names[queue])
                rule = rules.FAIR if new < before else rules.SHARE
                self._note(rule, row, queue, new, before, self._share_without(row, queue, held, theirs), INITIAL)
            if new < before and self._take(tournament, Target(row, queue, FAIR, held, INITIAL)):
                return True
        return False

    def note_pruned(self, candidates: Rows) -> None:
        """Note candidates whose queue, or a cohort above it, is within its quota, so that their turn never came."""
        search, quotas = self.search, self.search.snapshot.quotas
        assert search.notes is not None
        for at in candidates.tolist():
            row, queue = int(search.snapshot.rows[at]), int(search.snapshot.queue[at])
            if row in search.notes.reasons or queue == search.queue:
                continue
            path = quotas.path[queue]
            below = path[: path.index(self.common_ancestor.of(queue)[1]) + 1]
            node = next((node for node in reversed(below) if not self.shares.borrowing(node)), None)
            if node == queue:
                facts = {"queue": quotas.names[queue], "held": usage_words(search, queue)}
                search.notes.put(row, rules.NOMINAL_BY_THEN, **facts)
            elif node is not None:
                facts = {"cohort": quotas.names[node], "held": usage_words(search, node)}
                search.notes.put(row, rules.COHORT_NOMINAL, queue=quotas.names[queue], **facts)

    def _victim(self, candidate: CandidateUsage, queue: int, reason: str) -> Target:
        """One that is taken whatever the shares are."""
        row, amounts = candidate
        search, names = self.search, self.search.snapshot.quotas.names
        if search.notes is not None:
            settings, test = search.claimant.settings, tested(search.snapshot, search.claimant, row)
            if reason == OWN:
                search.notes.put(row, rules.WITHIN, queue=names[queue], policy=settings.within, test=test)
            else:
                advantage = f"with the claimant {names[search.queue]} stays within its quota, so shares do not matter"
                facts = {"held": usage_words(search, queue), "advantage": advantage, "policy": settings.reclaim}
                search.notes.put(row, rules.RECLAIM, queue=names[queue], test=test, **facts)
        return Target(row, queue, reason, amounts)

    def _share_without(self, row: int, queue: int, held: Asked, node: int) -> Share:
        quota_usage, code = self.search.quota_usage, self.search.snapshot.code(row)
        quota_usage.remove_all(queue, held, code)
        share = self.shares.share(node)
        quota_usage.add_all(queue, held, code)
        return share

    def _take(self, tournament: Tournament, victim: Target) -> bool:
        """Take the victim; whether the claimant fits now, its own usage left out of the account."""
        search = self.search
        search.take(victim)
        self.taken.append(victim)
        tournament.changed(victim.queue)
        if self.plain:  # usage is a plain sum then, and what the claimant asks for is in it already
            used, subtree = search.quota_usage.used, search.snapshot.quotas.subtree
            return all(used[pair][root] <= subtree[pair][root] for pair, root in self.sums)
        search.quota_usage.remove_all(search.queue, search.asked)
        fits = search.fits(borrowing=True)
        search.quota_usage.add_all(search.queue, search.asked)
        return fits

    def _note(
        self, rule: Rule, row: int, queue: int, new: Share, before: Share, after: Share | None, strategy: str
    ) -> None:
        search = self.search
        if search.notes is None:
            return
        mine, theirs = self.common_ancestor.of(queue)
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
