"""The preferred set where nobody shares a node with another candidate: what each frees simply adds up.

Exact by dynamic programming over (victims, nodes still wanted); of candidates that free alike only the first by cost,
class and uid can be in a preferred set, so that thousands of them come down to a few.
"""

from __future__ import annotations

import numpy as np

from cede.doctrines.lattice.pool import Pool, Taste, within
from cede.doctrines.parts.claim import residents_of_all
from cede.doctrines.parts.fit import members_that_fit
from cede.state.columns import ANY, TIGHT, Bools, Int64s

CELLS = 6_000_000
"""Tables larger than this are not made."""
SETS = 2_000
"""So many sets that are equal in number and cost are compared by class and uid."""
INFINITE = np.int64(1) << 61


class Additive:
    """What each candidate frees, in members that find room, and how many more must; by group where they go to one."""

    def __init__(self, pool: Pool, gains: list[Int64s], wanted: list[int]) -> None:
        self.pool, self.gains, self.wanted = pool, gains, wanted

    def feasible(self) -> bool:
        return any(int(gain.sum()) >= wanted for gain, wanted in zip(self.gains, self.wanted, strict=True))

    def best(self) -> list[int] | None:
        """Places in the pool of the preferred set; none if no set keeps the limits."""
        tables = [
            Table(self.pool, gain, wanted)
            for gain, wanted in zip(self.gains, self.wanted, strict=True)
            if int(gain.sum()) >= wanted
        ]
        cheapest = min((table.cheapest() for table in tables), default=INFINITE)
        if cheapest >= INFINITE:
            return None
        limit = within(int(cheapest))
        fewest = min(count for table in tables if (count := table.fewest(limit)) is not None)
        least = min(table.cost_of(fewest) for table in tables)
        found = [table.preferred(fewest, int(least)) for table in tables if table.cost_of(fewest) == least]
        return min(found)[1]

    def fewest(self) -> int:
        """How many victims it takes at least, whatever they cost."""
        found = []
        for gain, wanted in zip(self.gains, self.wanted, strict=True):
            enough = np.flatnonzero(np.cumsum(np.sort(gain)[::-1]) >= wanted)
            found += [int(enough[0]) + 1] if len(enough) else []
        return min(found)

    @property
    def small(self) -> bool:
        """Whether the tables can be made."""
        most, _ = self.pool.bounds()
        cells = 0
        for gain, wanted in zip(self.gains, self.wanted, strict=True):
            kept = len(kept_of(gain, wanted, most))
            cells += kept * (min(wanted, kept if most is None else most) + 1) * (wanted + 1)
        return cells <= CELLS


def additive(pool: Pool) -> Additive | None:
    """The pool as such a one; none where candidates share nodes, or members differ, or must be spread."""
    state, claim = pool.state, pool.claim
    if claim.need is None or claim.placement not in (ANY, TIGHT) or not pool.uniform:
        return None
    residents = state.residents
    rows = residents_of_all(state, pool.rows)
    rows = rows[claim.allowed[residents.node[rows]]]
    nodes = residents.node[rows]
    before = members_that_fit(claim, state.nodes.free[:, : state.nodes.size])
    free = state.nodes.free[:, nodes] + residents.amount[:, rows]
    after = np.full(len(rows), claim.members)
    for column in claim.columns:
        np.minimum(after, free[column] // claim.need[column], out=after)
    gain = np.maximum(after, 0) - before[nodes]
    if len(nodes) and int(np.bincount(nodes).max()) > 1:
        return None
    place = np.zeros(state.work.size, np.intp)
    place[pool.rows] = np.arange(len(pool.rows))
    at = place[residents.work[rows]]
    count = len(pool.rows)
    if claim.placement == ANY:
        wanted = claim.members - int(before.sum())
        return Additive(pool, [_sums(at, gain, count)], [wanted])
    groups = state.nodes.group[: state.nodes.size]
    room = np.bincount(groups, before, len(state.groups.names)).astype(np.int64)
    known = np.unique(groups[nodes])
    gains = [_sums(at, np.where(groups[nodes] == group, gain, 0), count) for group in known.tolist()]
    return Additive(pool, gains, [claim.members - int(room[group]) for group in known.tolist()])


def _sums(at: Int64s, gain: Int64s, count: int) -> Int64s:
    return np.bincount(at, gain, count).astype(np.int64)


def kept_of(gain: Int64s, wanted: int, most: int | None) -> Int64s:
    """Places of those who can be in a preferred set: of as many as free alike, so many as could be needed."""
    useful = np.flatnonzero(gain > 0)
    worth = np.minimum(gain[useful], wanted)
    turn = np.argsort(worth, kind="stable")
    sorted_worth = worth[turn]
    begins = np.searchsorted(sorted_worth, sorted_worth)
    number = np.empty(len(useful), np.int64)
    number[turn] = np.arange(len(useful)) - begins
    limit = -(-wanted // np.maximum(worth, 1))
    if most is not None:
        limit = np.minimum(limit, most)
    return useful[number < limit]


class Table:
    """The least cost of covering so much with just so many of the candidates from each place on."""

    def __init__(self, pool: Pool, gain: Int64s, wanted: int) -> None:
        self.pool = pool
        most, self.value = pool.bounds()
        self.kept = kept_of(gain, wanted, most)
        self.gain = np.minimum(gain[self.kept], wanted)
        self.cost = pool.cost[self.kept]
        self.wanted = wanted
        counts = min(wanted, len(self.kept) if most is None else most)
        tables = np.full((len(self.kept) + 1, counts + 1, wanted + 1), INFINITE, np.int64)
        tables[-1, 0, 0] = 0
        for at in range(len(self.kept) - 1, -1, -1):
            later, own = tables[at + 1], int(self.gain[at])
            taken = np.full_like(later, INFINITE)
            taken[1:, own:] = later[:-1, : wanted + 1 - own]
            taken[1:, :own] = later[:-1, :1]
            np.minimum(later, np.minimum(taken + self.cost[at], INFINITE), out=tables[at])
        self.tables = tables

    def _costs(self) -> Int64s:
        """By number of victims, the least cost; infinite where it is not below the value."""
        found: Int64s = self.tables[0, :, self.wanted]
        return found if self.value is None else np.where(found < self.value, found, INFINITE)

    def cheapest(self) -> int:
        return int(self._costs().min())

    def fewest(self, limit: int) -> int | None:
        """The fewest victims that cost at most this."""
        enough: Bools = self._costs() <= limit
        return int(enough.argmax()) if enough.any() else None

    def cost_of(self, count: int) -> int:
        costs = self._costs()
        return int(costs[count]) if count < len(costs) else int(INFINITE)

    def preferred(self, count: int, cost: int) -> tuple[Taste, list[int]]:
        """Of all sets of just so many victims and so much cost, the one with the lowest classes, then uids."""
        best: tuple[Taste, list[int]] | None = None
        seen = 0
        stack: list[tuple[int, int, int, int, list[int], frozenset[tuple[int, int]]]] = [
            (0, count, self.wanted, cost, [], frozenset())
        ]
        while stack and seen < SETS:
            at, left, wanted, rest, taken, skipped = stack.pop()
            if not left and not wanted:
                if not rest:
                    seen += 1
                    places = [int(self.kept[one]) for one in taken]
                    found = self.pool.taste(places), places
                    best = found if best is None else min(best, found)
                continue
            if at == len(self.kept):
                continue
            kind = (int(self.gain[at]), int(self.cost[at]))
            if self.tables[at + 1, left, wanted] <= rest:
                stack.append((at + 1, left, wanted, rest, taken, skipped | {kind}))
            more = max(0, wanted - kind[0])
            if kind not in skipped and self.tables[at + 1, left - 1, more] + kind[1] <= rest:
                stack.append((at + 1, left - 1, more, rest - kind[1], [*taken, at], skipped))
        assert best is not None, "what the table says can be had"
        return best
