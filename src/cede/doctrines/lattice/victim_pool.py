"""The candidates of one claimant as a search sees them, and what a set of them is judged by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from cede.doctrines.lattice.settings import EXACT
from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.fit import fits, members_that_fit
from cede.doctrines.parts.greedy_cover import cover
from cede.doctrines.parts.orders import Rows, order_of, tie_break
from cede.state.columns import ANY, SPREAD, TIGHT, Bools, Int64s
from cede.state.state import State

Taste = tuple[int, int, list[int], list[tuple[str, str]]]
"""What sets are compared by, the smaller is preferred: victims, cost, classes from the highest on, uids and names."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates. `counted` are those whom `most` and `value` bind; costs are whole numbers.

    `value` is what the counted ones must cost less than; none, like no `most`, is no limit.
    """

    state: State
    claim: Claim
    rows: Rows
    cost: Int64s
    counted: Bools
    most: int | None
    value: int | None

    @property
    def limited(self) -> bool:
        return self.most is not None or self.value is not None

    @property
    def uniform(self) -> bool:
        """Whether the limits bind all or none, so that sums over the whole set tell."""
        return not self.limited or bool(self.counted.all()) or not self.counted.any()

    def bounds(self) -> tuple[int | None, int | None]:
        """Most victims, and the cost that they must stay below, for sets of a uniform pool."""
        return (self.most, self.value) if self.counted.all() else (None, None)

    def only(self, kept: Bools | Rows) -> Pool:
        return replace(self, rows=self.rows[kept], cost=self.cost[kept], counted=self.counted[kept])

    def allows(self, at: Iterable[int]) -> bool:
        """Whether a set, by places in the pool, keeps the limits."""
        bound = [place for place in at if self.counted[place]]
        if self.most is not None and len(bound) > self.most:
            return False
        return self.value is None or not bound or sum(int(self.cost[place]) for place in bound) < self.value

    def taste(self, at: Iterable[int]) -> Taste:
        places = list(at)
        last = tie_break(self.state)
        rows = [int(self.rows[place]) for place in places]
        classes = sorted((int(self.state.work.priority[row]) for row in rows), reverse=True)
        return len(places), sum(int(self.cost[place]) for place in places), classes, sorted(map(last, rows))

    def victims(self, at: Iterable[int]) -> list[int]:
        return [int(self.rows[place]) for place in sorted(at)]


def in_turn(pool: Pool) -> Pool:
    """The same by cost, class and uid, as a search wants them."""
    return pool.only(order_of(pool.state, pool.rows, pool.cost, pool.state.work.priority[pool.rows]))


def cost_ceiling(cost: int) -> int:
    """What a set may cost where the cheapest one costs this: a tenth more."""
    return 11 * cost // 10


FIRST = 512
"""How many of the cheapest are looked at first; four times as many each time that was not enough."""
ENOUGH = 64
"""A bound that leaves no more than so many need not be better."""
GROUPS = 16
"""In so many groups a set is looked for, those first that have most room."""


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The candidates who could be in the preferred set, in turn; none, if it is certain that there is none.

    `known` are places of some lawful set, if one was found.
    """

    pool: Pool
    known: list[int] | None = None


def shortlist_of(pool: Pool) -> Shortlist:
    """The candidates of this pool that could be in the preferred set.

    The preferred set is among those within a tenth of the cheapest one, and no set costs less than one of its members.
    So once some lawful set is known, what costs more than a tenth above it is in no preferred set, and nothing
    cheaper is missing as soon as all up to that cost were looked at. Who stands only where no member more fits, even if
    all those leave, can be left out of any set: it frees as much, costs no more and has fewer victims. Until a lawful
    set is known the cheapest are looked at, then four times as many, so that a large pool is rarely read whole.
    """
    claim, count = pool.claim, len(pool.rows)
    if claim.need is None or not count or not pool.state.nodes.size:
        return Shortlist(in_turn(pool) if count and without(pool, np.arange(count)) else _nobody(pool))
    before = members_that_fit(claim, pool.state.nodes.free[:, : pool.state.nodes.size])
    if pool.most is not None and pool.counted.all() and at_least(pool, before) > pool.most:
        return Shortlist(_nobody(pool))
    looked = FIRST
    while True:
        dearest = int(np.partition(pool.cost, looked - 1)[looked - 1]) if looked < count else int(pool.cost.max())
        standing = CandidateNodes(in_turn(pool.only(pool.cost <= dearest)), before)
        known = standing.some_cover()
        limit = None if known is None else cost_ceiling(int(standing.pool.cost[known].sum()))
        if known is not None and limit is not None and (looked >= count or limit <= dearest):
            useful = standing.useful(limit)
            return Shortlist(standing.pool.only(useful), (np.cumsum(useful) - 1)[known[useful[known]]].tolist())
        if known is None and looked >= count:
            enough = without(pool, np.arange(count))
            return Shortlist(standing.pool.only(standing.useful(dearest)) if enough else _nobody(pool))
        looked *= 4


def at_least(pool: Pool, before: Int64s) -> int:
    """How many victims are needed at least.

    A victim leaves no more nodes than it has members, and on each of them no more members find room than on the largest
    node if that were empty. Those two numbers bound what any victim adds to any set, so that as many as it takes of the
    largest such bounds are needed whatever the placement: tight and spread need room for all members, too.
    """
    missing = pool.claim.members - int(before.sum())
    reach = _reach(pool)
    widest = reach if len(reach) <= ENOUGH else np.partition(reach, len(reach) - ENOUGH)[-ENOUGH:]
    sums = np.cumsum(np.sort(widest)[::-1])
    if len(widest) < len(reach) and sums[-1] < missing:
        sums = np.cumsum(np.sort(reach)[::-1])
    return int(np.searchsorted(sums, missing)) + 1


def _reach(pool: Pool) -> Int64s:
    """How many members find room because of each, at most."""
    state = pool.state
    most = int(members_that_fit(pool.claim, state.nodes.capacity[:, : state.nodes.size]).max())
    return most * state.work.members[pool.rows].astype(np.int64)


def fewest(pool: Pool) -> int | None:
    """How many victims it takes, where limits and costs do not matter; none where that is not told quickly."""
    claim, state = pool.claim, pool.state
    if claim.need is None or claim.placement != ANY or not state.nodes.size or not len(pool.rows):
        return None
    before = members_that_fit(claim, state.nodes.free[:, : state.nodes.size])
    reach, least = _reach(pool), at_least(pool, before)
    for count in (ENOUGH, FIRST):
        at = max(0, len(reach) - count)
        widest = pool.only(reach >= np.partition(reach, at)[at])
        if len(widest.rows) > 4 * FIRST:
            break
        standing = CandidateNodes(in_turn(widest), before)
        largest = np.argsort(-standing.gains_alone(), kind="stable")[:least]
        if len(largest) == least and without(standing.pool, largest):
            return least
    return None


def _nobody(pool: Pool) -> Pool:
    return pool.only(np.zeros(len(pool.rows), np.bool_))


def without(pool: Pool, places: Int64s) -> bool:
    """Whether the claimant fits with these gone."""
    state, claim = pool.state, pool.claim
    free = state.nodes.free[:, : state.nodes.size].copy()
    rows = residents_of_all(state, pool.rows[places])
    on = state.residents.node[rows]
    for column in claim.columns:
        np.add.at(free[column], on, state.residents.amount[column, rows])
    return fits(state, claim, free)


class CandidateNodes:
    """Where the candidates stand: one entry for each of them on each node that the claimant may use."""

    def __init__(self, pool: Pool, before: Int64s) -> None:
        state, claim = pool.state, pool.claim
        assert claim.need is not None
        self.pool, self.before = pool, before
        residents = state.residents
        rows = residents_of_all(state, pool.rows)
        rows = rows[claim.allowed[residents.node[rows]]]
        self.nodes, self.on = np.unique(residents.node[rows], return_inverse=True)
        place = np.zeros(state.work.size, np.intp)
        place[pool.rows] = np.arange(len(pool.rows))
        self.at: Int64s = place[residents.work[rows]]
        self.need = claim.need[claim.columns]
        self.free = np.array([state.nodes.free[column, self.nodes] for column in claim.columns])
        self.amount = np.array([residents.amount[column, rows] for column in claim.columns])
        self.had = before[self.nodes]
        self.missing = claim.members - int(before.sum())

    def useful(self, limit: int) -> Bools:
        """Who costs no more than this and stands where one member more can find room if some of those leave."""
        pool = self.pool
        here = (pool.cost <= limit)[self.at]
        on, count = self.on[here], len(self.nodes)
        counted = pool.counted[self.at[here]]
        enough = np.ones(count, np.bool_)
        for column, need in enumerate(self.need.tolist()):
            amount = self.amount[column, here]
            freed = np.bincount(on, np.where(counted, 0, amount), count)
            bound = np.bincount(on, np.where(counted, amount, 0), count)
            if pool.most is not None:
                # No more than `most` of those that count leave one node: together as much as so many of the largest.
                largest = np.zeros(count)  # amounts times a number may be beyond whole numbers of 64 bits
                np.maximum.at(largest, on[counted], amount[counted])
                bound = np.minimum(bound, pool.most * largest)
            # Floating point, and generous by a billionth: it may leave a candidate in, and never takes one out.
            enough &= (self.free[column] + freed + bound) * (1 + 1e-9) >= need * (self.had + 1)
        useful = np.zeros(len(pool.rows), np.bool_)
        useful[self.at[here][enough[on]]] = True
        return useful

    def some_cover(self) -> Int64s | None:
        """Some lawful set, by places, as cheap as is quickly found; none if none was found."""
        pool = self.pool
        best: Int64s | None = None
        cost = left = 0
        for enough, sets in ((ENOUGH, self._few()), (EXACT, self._many())):
            for places in sets if best is None or left > enough else ():
                own = int(pool.cost[places].sum())
                if (best is None or own < cost) and pool.allows(places.tolist()) and without(pool, places):
                    best, cost = places, own
                    left = int(pool.cost.searchsorted(cost_ceiling(cost), "right"))
                    if left <= enough:
                        break
        return best

    def _few(self) -> Iterator[Int64s]:
        """Sets that may be enough: one victim alone, and few that free much for their cost."""
        for gains, missing in self._wanted():
            alone = np.flatnonzero((gains >= missing) & self._affordable())
            if len(alone):
                yield alone[:1]
            places = cover(self.pool.cost, gains, missing)
            if places is not None:
                yield np.array(places, np.intp)

    def _many(self) -> Iterator[Int64s]:
        """Others: the fewest, whatever they cost, and all of some nodes."""
        for gains, missing in self._wanted():
            places = cover(np.ones_like(gains), gains, missing)
            if places is not None:
                yield np.array(places, np.intp)
        cleared = self._gain_cleared()
        for here, missing in self._places():
            yield from self._cleared(np.where(here, cleared, 0), missing)

    def _wanted(self) -> Iterator[tuple[Int64s, int]]:
        """How many more members each makes room for if it leaves alone, and how many it takes; of each place."""
        gain = self._gain_alone()
        for here, missing in self._places():
            if missing > 0 and self.pool.claim.placement != SPREAD:
                yield self._each(np.where(here[self.on], gain, 0)), missing

    def _places(self) -> Iterator[tuple[Bools, int]]:
        """Where all members may go, as nodes, and how many find no room there: everywhere, or in some group."""
        if self.pool.claim.placement != TIGHT:
            yield np.ones(len(self.nodes), np.bool_), self.missing
            return
        state, members = self.pool.state, self.pool.claim.members
        groups = state.nodes.group[: state.nodes.size]
        room = np.bincount(groups, self.before, len(state.groups.names)).astype(np.int64)
        of_node = groups[self.nodes]
        reach = room + np.bincount(of_node, self._gain_cleared(), len(room)).astype(np.int64)
        for group in np.argsort(-reach, kind="stable")[:GROUPS].tolist():
            if room[group] < members <= reach[group]:
                yield of_node == group, members - int(room[group])

    def _affordable(self) -> Bools:
        pool = self.pool
        if pool.value is None:
            return np.ones(len(pool.rows), np.bool_)
        affordable: Bools = ~pool.counted | (pool.cost < pool.value)
        return affordable

    def _cleared(self, gain: Int64s, missing: int) -> Iterator[Int64s]:
        """All work on the nodes that are cheapest for each member that finds room there."""
        cost = np.bincount(self.on, self.pool.cost[self.at], len(self.nodes))
        useful = np.flatnonzero(gain > 0)
        turn = useful[np.argsort(cost[useful] / gain[useful], kind="stable")]
        enough = np.flatnonzero(np.cumsum(gain[turn]) >= missing)
        if len(enough):
            chosen = np.zeros(len(self.nodes), np.bool_)
            chosen[turn[: int(enough[0]) + 1]] = True
            gone = np.zeros(len(self.pool.rows), np.bool_)
            gone[self.at[chosen[self.on]]] = True
            yield np.flatnonzero(gone)

    def gains_alone(self) -> Int64s:
        """How many more members find room if just this one leaves."""
        return self._each(self._gain_alone())

    def necessary(self) -> Bools:
        """Who must go in any case: without this one, all others are not enough.

        Only where members may stand anywhere: then room is the sum over nodes, and with all others gone one that stays
        takes from it what its own nodes hold less because of it.
        """
        free = self._cleared_free()
        full = self._members(free)
        lost = self._each(full[self.on] - self._members(free[:, self.on] - self.amount))
        needed: Bools = lost > int((full - self.had).sum()) - self.missing
        return needed

    def _members(self, free: Int64s) -> Int64s:
        """How many members fit into each of these."""
        room = np.full(free.shape[1], self.pool.claim.members)
        for column, need in enumerate(self.need.tolist()):
            np.minimum(room, free[column] // need, out=room)
        members: Int64s = np.maximum(room, 0, out=room)
        return members

    def _each(self, amounts: Int64s) -> Int64s:
        """Sums over the nodes of each candidate."""
        return np.bincount(self.at, amounts, len(self.pool.rows)).astype(np.int64)

    def _gain_alone(self) -> Int64s:
        """How many more members find room on a node if just this one leaves it."""
        more: Int64s = self._members(self.free[:, self.on] + self.amount) - self.had[self.on]
        return more

    def _gain_cleared(self) -> Int64s:
        """How many more members find room on each node if all candidates leave it."""
        more: Int64s = self._members(self._cleared_free()) - self.had
        return more

    def _cleared_free(self) -> Int64s:
        """What is free on each node if all candidates leave it."""
        free = self.free.copy()
        for column in range(len(self.need)):
            np.add.at(free[column], self.on, self.amount[column])
        return free
