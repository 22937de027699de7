"""One classical attempt where nobody keeps quota to itself: whole stretches of the walk at once.

Without lending limits in the tree, and without borrowing limits above the claimant, a victim frees for the claimant
just what it holds, and what the claimant can take is what the root has left: sums take the place of walks through the
tree. A queue gives the first ones of its candidates, up to where it is back within its quota, unless a cohort above it
is back before; so a stretch is summed up until a cohort comes back, and the rest of it again without that cohort's
queues. The victims are those of the general attempt.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cede.doctrines.kueue.quota import Asked, Quotas
from cede.doctrines.kueue.reach import Reach
from cede.doctrines.kueue.search import BORROW, OWN, RECLAIM, Found, Search, Taken
from cede.doctrines.kueue.walk import Stretch, Walk
from cede.doctrines.parts.orders import Rows
from cede.state.columns import Bools, Int8s, Int64s

MOST = 1 << 62
REASONS = (RECLAIM, BORROW, OWN)
ONE_BY_ONE = 64
"""After so many were spared by looking for the next one in C, the others are gone through one by one."""


def is_plain(search: Search) -> bool:
    """Whether a whole attempt can be made of sums; never where somebody reads along."""
    return search.notes is None and sums_are_enough(search)


def sums_are_enough(search: Search) -> bool:
    """Whether what the claimant can take is what the root has left; never where nodes count, or usage overlaps."""
    if search.room is not None or search.book.moments is not None:
        return False
    quotas = search.snapshot.quotas
    path = quotas.path[search.queue]
    return all(
        _sums_up(quotas, pair, path[-1]) and all(quotas.borrowing[pair][node] is None for node in path)
        for pair in search.pairs
    )


def _sums_up(quotas: Quotas, pair: int, root: int) -> bool:
    """No queue of the tree keeps anything of this to itself, and it is counted in one column within 64 bits."""
    key = f"sums up {pair} {root}"
    found = quotas.kept.get(key)
    if found is None:
        tree = [node for node in range(quotas.size) if quotas.root[node] == root]
        found = quotas.kept[key] = (
            all(quotas.lending[pair][node] is None for node in tree)
            and all(factor == 1 for _, factor in quotas.columns[pair])
            and sum(quotas.subtree[pair][node] for node in tree) < MOST
        )
    return bool(found)


def spared_by_sums(search: Search, taken: Found) -> Found:
    """Who is left after putting back, latest but the last first, whoever is not needed; borrowing is allowed."""
    quotas, used = search.snapshot.quotas, search.book.used
    root = quotas.root[search.queue]
    slack = {pair: quotas.subtree[pair][root] - used[pair][root] - amount for pair, amount in search.asked if amount}
    kept = [taken[-1]]
    for victim in reversed(taken[:-1]):
        for pair, amount in victim.amounts:
            if pair in slack and amount > slack[pair]:
                kept.append(victim)
                break
        else:
            for pair, amount in victim.amounts:
                if pair in slack:
                    slack[pair] -= amount
    return kept[::-1]


def attempt(search: Search, reach: Reach, walk: Walk, borrowing: bool) -> Found:
    """As the general attempt; the book of the search stays as it is."""
    sums = _Sums(search, reach, borrowing)
    for stretch in walk:
        if sums.enough_after(stretch):
            return sums.victims()
    return []


def _cohorts_above(reach: Reach) -> list[Rows]:
    """By depth in the tree, for each queue within reach the cohort there that it is in; -1 for none.

    Only cohorts below the common ancestor. Each is in one table, whether a queue is just below it or further down.
    """
    quotas = reach.quotas
    tables: list[Rows] = []
    for branch in reach.branches:
        if quotas.height[branch.ancestor] < 2 or not branch.queues:
            continue
        queues: Rows = np.array(branch.queues, np.intp)
        for level, cohorts in enumerate(_below(quotas, branch.ancestor)):
            if level == len(tables):
                tables.append(np.full(quotas.size, -1, np.intp))
            tables[level][queues] = cohorts[queues]
    return tables


def _below(quotas: Quotas, ancestor: int) -> list[Rows]:
    """By depth below the ancestor, so that a cohort is in one table only: for every queue the cohort it is in."""
    key = f"below {ancestor}"
    known = quotas.kept.get(key)
    found: list[Rows] = known if isinstance(known, list) else []
    if not found:
        found = [np.full(quotas.size, -1, np.intp) for _ in range(quotas.height[ancestor] - 1)]
        for queue, path in enumerate(quotas.path):
            if ancestor in path and not quotas.is_cohort(queue):
                for level, cohort in enumerate(path[path.index(ancestor) - 1 : 0 : -1]):
                    found[level][queue] = cohort
        quotas.kept[key] = found
    return found


@dataclass(slots=True)
class _Pile:
    """Victims so far, in the order of taking."""

    positions: list[Rows] = field(default_factory=list)
    reasons: list[Int8s] = field(default_factory=list)
    given: list[Int64s] = field(default_factory=list)


class _Sums:
    """Usage by node and what the claimant still lacks, as columns; `slack` is below zero where it lacks something."""

    def __init__(self, search: Search, reach: Reach, borrowing: bool) -> None:
        self.search = search
        self.reach = reach
        self.borrowing = borrowing
        quotas, book = search.snapshot.quotas, search.book
        pairs, queue = search.pairs, search.queue
        self.used: Int64s = np.array([book.used[pair] for pair in pairs], np.int64)
        self.quota: Int64s = np.array([quotas.subtree[pair] for pair in pairs], np.int64)
        asked: Int64s = np.array([amount for _, amount in search.asked], np.int64)
        root = quotas.root[queue]
        self.slack: Int64s = self.quota[:, root] - self.used[:, root] - asked
        self.slack[asked == 0] = MOST  # of nothing there is always enough, even where too much is taken
        self.own_slack: Int64s = self.quota[:, queue] - self.used[:, queue] - asked
        self.contested = [pairs.index(pair) for pair in search.contested]
        self.done: Bools = np.zeros(quotas.size, np.bool_)
        self.above = _cohorts_above(reach)
        self.pile = _Pile()

    def enough_after(self, stretch: Stretch) -> bool:
        """Take from this stretch what may be taken; whether the claimant fits at some point, where it stops."""
        snapshot = self.search.snapshot
        positions = stretch.positions
        held: Int64s = np.stack([snapshot.usage(pair, snapshot.rows[positions]) for pair in self.search.pairs])
        reason: Int8s = np.full(len(positions), REASONS.index(OWN if stretch.own else RECLAIM), np.int8)
        if stretch.usable is not None:
            usable = np.array(stretch.usable, np.bool_)
            reason[usable] = REASONS.index(BORROW)
            if self.borrowing:
                positions, held, reason = positions[usable], held[:, usable], reason[usable]
        while len(positions):
            stop, enough = self._up_to(positions, held, reason, own=stretch.own)
            if enough:
                return True
            rest = np.arange(len(positions)) >= stop
            if not stretch.own:
                rest &= ~self.done[snapshot.queue[positions]]
            positions, held, reason = positions[rest], held[:, rest], reason[rest]
        return False

    def _up_to(self, positions: Rows, held: Int64s, reason: Int8s, *, own: bool) -> tuple[int, bool]:
        """Take until the claimant fits, or a cohort is back within its quota, or the end; where that was."""
        queues = self.search.snapshot.queue[positions]
        if own:
            taken, stop = np.ones(len(positions), np.bool_), len(positions)
        else:
            taken = self._exceeds(queues, held)
            stop = self._first_back(queues, held, taken)
        lacks = self.slack[:, None] + np.cumsum(held * taken, axis=1)
        fits = taken & (lacks >= 0).all(axis=0)
        if not self.borrowing:
            own_lacks = self.own_slack[:, None] + (np.cumsum(held, axis=1) if own else 0)
            fits &= (own_lacks >= 0).all(axis=0)
        hits = np.flatnonzero(fits[:stop])
        end = int(hits[0]) + 1 if len(hits) else stop
        self._take(positions[:end][taken[:end]], held[:, :end][:, taken[:end]], reason[:end][taken[:end]], own=own)
        if not own and end < len(positions) and not len(hits):
            self._note_back()
        return end, bool(len(hits))

    def _exceeds(self, nodes: Rows, held: Int64s) -> Bools:
        """Whether each one's node is above its quota when all before it under the same node are gone."""
        if not len(nodes):
            return np.zeros(0, np.bool_)
        turn = np.argsort(nodes, kind="stable")
        sorted_nodes = nodes[turn]
        new = np.concatenate(([True], sorted_nodes[1:] != sorted_nodes[:-1]))
        begins, group = np.flatnonzero(new), np.cumsum(new) - 1
        above = np.zeros(len(nodes), np.bool_)
        for number in self.contested:
            amount = held[number][turn]
            before = np.cumsum(amount) - amount
            before -= before[begins][group]
            above |= self.used[number, sorted_nodes] - before > self.quota[number, sorted_nodes]
        found = np.empty(len(nodes), np.bool_)
        found[turn] = above
        return found

    def _first_back(self, queues: Rows, held: Int64s, taken: Bools) -> int:
        """The place of the first one taken whose cohort would be back within its quota by then."""
        stop = len(queues)
        at: Rows = np.flatnonzero(taken)
        for above in self.above:
            cohorts = above[queues[at]]
            here = cohorts >= 0
            exceeds = self._exceeds(cohorts[here], held[:, at[here]])
            back = at[here][~exceeds]
            if len(back):
                stop = min(stop, int(back[0]))
        return stop

    def _note_back(self) -> None:
        """Queues below a cohort that is back within its quota are out."""
        within: Bools = np.all(self.used[self.contested] <= self.quota[self.contested], axis=0)
        for above in self.above:
            self.done |= (above >= 0) & within[above]

    def _take(self, positions: Rows, held: Int64s, reason: Int8s, *, own: bool) -> None:
        self.slack = self.slack + held.sum(axis=1)
        if own:
            self.own_slack = self.own_slack + held.sum(axis=1)
        else:
            queues = self.search.snapshot.queue[positions]
            for used, amount in zip(self.used, held, strict=True):
                np.subtract.at(used, queues, amount)
                for above in self.above:
                    cohorts = above[queues]
                    np.subtract.at(used, cohorts[cohorts >= 0], amount[cohorts >= 0])
        self.pile.positions.append(positions)
        self.pile.reasons.append(reason)
        self.pile.given.append(held)

    def victims(self) -> Found:
        """Who is left after putting back, latest but the last first, whoever is not needed."""
        snapshot, pairs = self.search.snapshot, self.search.pairs
        positions, reasons = np.concatenate(self.pile.positions), np.concatenate(self.pile.reasons)
        given = np.concatenate(self.pile.given, axis=1)
        kept = self._kept(given, reasons == REASONS.index(OWN))
        rows, queues = snapshot.rows[positions[kept]].tolist(), snapshot.queue[positions[kept]].tolist()
        known: dict[tuple[int, ...], Asked] = {}
        found: Found = []
        for row, queue, code, *held in zip(rows, queues, reasons[kept].tolist(), *given[:, kept].tolist(), strict=True):
            amounts = known.get(key := tuple(held))
            if amounts is None:
                amounts = known[key] = tuple(pair for pair in zip(pairs, held, strict=True) if pair[1])
            found.append(Taken(row, queue, REASONS[code], amounts))
        return found

    def _kept(self, given: Int64s, own: Bools) -> Bools:
        kept = np.ones(given.shape[1], np.bool_)
        slack, own_slack = self.slack.copy(), self.own_slack.copy()
        end = given.shape[1] - 1
        spared = 0
        while end > 0:
            begin = 0 if spared < ONE_BY_ONE else max(0, end - ONE_BY_ONE)
            part = given[:, begin:end]
            free = (part <= slack[:, None]).all(axis=0)
            if not self.borrowing:
                free &= ~own[begin:end] | (part <= own_slack[:, None]).all(axis=0)
            hits = np.flatnonzero(free)
            if not len(hits):
                end = begin
                continue
            end = begin + int(hits[-1])
            kept[end] = False
            spared += 1
            slack -= given[:, end]
            if own[end]:
                own_slack -= given[:, end]
        return kept
