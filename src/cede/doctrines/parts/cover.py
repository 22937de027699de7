"""Victim sets taken in a given order until the claimant fits, then spared, last taken first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.fit import enough, fits, members_that_fit
from cede.doctrines.parts.limits import Limit
from cede.doctrines.parts.orders import Rows, order_of, ordered
from cede.state.columns import ANY, Bools, Int64s
from cede.state.state import State

SAMPLE = 128
MIN_SAMPLE = 32
MANY = 4_000

FindsRoom = Callable[[Int64s], bool]


@dataclass(frozen=True, slots=True)
class VictimOrder:
    """The order in which workloads are taken: `first`, then `second`, ascending, then uid. Whole columns."""

    first: Rows
    second: Rows

    def of(self, state: State, rows: Rows) -> Rows:
        return ordered(state, rows, self.first[rows], self.second[rows])


def take_until_fits(
    state: State,
    claim: Claim,
    open_: Bools,
    order: VictimOrder,
    limits: list[Limit],
    *,
    anywhere: bool = False,
    finds_room: FindsRoom | None = None,
) -> list[int] | None:
    """The victims of the shortest prefix of the order that makes the claimant fit, spared; None if all are too few.

    `anywhere`: also those that stand on no node the claimant may use, who can only relieve a limit.
    `finds_room`: whether members of different size find room in so much that is free, if not as `fits` says.
    """
    if claim.single and claim.need is not None and not limits:
        return _for_one_member(state, claim, claim.need, open_, order)
    rows: Rows = np.flatnonzero(open_) if anywhere else _useful(state, claim, open_)
    return _for_a_gang(state, claim, order.of(state, rows), limits, finds_room)


# -- one member: the node that is ready first ------------------------------------------------------------------------


def _for_one_member(state: State, claim: Claim, need: Int64s, open_: Bools, order: VictimOrder) -> list[int] | None:
    """Of all nodes, the one where the prefix is shortest.

    A node is ready when the open workloads on it, in order, have freed enough. The order is looked at up to one
    bound after another, each further on, until a node could be ready: what lies beyond cannot be ready earlier. If
    many could be, a bound in between leaves fewer.
    """
    claim = _where_short(state, claim, need)
    some = _sample(state, open_, order)
    fails, works = -1, len(some)
    rows: Rows | None = None
    for at in sorted({len(some) // part for part in (96, 24, 6, 2)} - {len(some)}):
        rows = _up_to(state, claim, need, open_, order, int(some[at]))
        if len(rows):
            works = at
            break
        fails = at
    if rows is None or not len(rows):
        rows = _up_to(state, claim, need, open_, order, None)
    while len(rows) > MANY and works - fails > 1:
        middle = (fails + works) // 2
        fewer = _up_to(state, claim, need, open_, order, int(some[middle]))
        fails, works, rows = (fails, middle, fewer) if len(fewer) else (middle, works, rows)
    last, ready = _first_ready(state, claim, need, rows, order)
    if last is None:  # the bound was a little generous
        rows = _up_to(state, claim, need, open_, order, None)
        last, ready = _first_ready(state, claim, need, rows, order)
    return None if last is None else _spare_on_nodes(state, claim, need, ready, last, rows, order)


def _where_short(state: State, claim: Claim, need: Int64s) -> Claim:
    """The claim with only the columns that some node is short of; of the others every node has enough anyway."""
    least = state.nodes.free[:, : state.nodes.size].min(axis=1, initial=np.iinfo(np.int64).max)
    return replace(claim, columns=[column for column in claim.columns if need[column] > least[column]])


def _sample(state: State, open_: Bools, order: VictimOrder) -> Rows:
    """Some of the open workloads, in order; none where all of them are few."""
    size = state.work.size
    some: Rows = np.arange(0, size, max(1, size // SAMPLE))
    some = some[open_[some]]
    return order.of(state, some) if size > 2 * SAMPLE and len(some) > MIN_SAMPLE else some[:0]


def _up_to(state: State, claim: Claim, need: Int64s, open_: Bools, order: VictimOrder, bound: int | None) -> Rows:
    """Residents that go no later than the bound, on the nodes they could make ready.

    The sums are floating point and a little generous: they only say which nodes are worth an exact look.
    """
    if bound is None:
        works = np.flatnonzero(open_)
    else:
        last_first, last_second = order.first[bound], order.second[bound]
        works = np.flatnonzero(open_ & (order.first <= last_first))
        second, uids = order.second[works], state.work.uid_first
        within = (second < last_second) | ((second == last_second) & (uids[works] <= uids[bound]))
        works = works[within | (order.first[works] < last_first)]
    residents = state.residents
    rows = residents_of_all(state, works)
    on = residents.node[rows]
    ready = claim.allowed.copy()
    size, free = state.nodes.size, state.nodes.free
    for column in claim.columns:
        short = need[column] - free[column, :size]
        freed = np.bincount(on, weights=residents.amount[column, rows], minlength=size)
        ready &= freed * (1 + 1e-9) >= short
    return rows[ready[on]]


def _first_ready(state: State, claim: Claim, need: Int64s, rows: Rows, order: VictimOrder) -> tuple[int | None, Rows]:
    """The last workload of the shortest prefix of these residents that makes a node ready, and those nodes."""
    if not len(rows):
        return None, rows
    residents, free = state.residents, state.nodes.free
    works, on = residents.work[rows], residents.node[rows]
    turn = order_of(state, works, on, order.first[works], order.second[works])
    rows, works, on = rows[turn], works[turn], on[turn]
    new = np.concatenate(([True], on[1:] != on[:-1]))
    begins, group = np.flatnonzero(new), np.cumsum(new) - 1
    done = np.ones(len(rows), np.bool_)
    for column in claim.columns:
        amount = residents.amount[column, rows]
        freed = np.cumsum(amount)
        done &= freed - (freed - amount)[begins][group] >= need[column] - free[column, on]
    hits = np.flatnonzero(done)
    if not len(hits):
        return None, rows[:0]
    firsts = hits[np.concatenate(([True], group[hits][1:] != group[hits][:-1]))]
    ends = order.of(state, np.unique(works[firsts]))
    last = int(ends[0])
    return last, on[firsts[works[firsts] == last]]


def _spare_on_nodes(
    state: State, claim: Claim, need: Int64s, ready: Rows, last: int, rows: Rows, order: VictimOrder
) -> list[int]:
    """From the prefix that ends in `last`, what must go so that one of the ready nodes stays ready.

    The last taken is asked first. Who could not stay then cannot stay later, since each that stays leaves less slack.
    """
    here = np.zeros(state.nodes.size, np.bool_)
    here[ready] = True
    residents = state.residents
    rows = rows[here[residents.node[rows]]]
    works = order.of(state, np.unique(residents.work[rows]))
    prefix = works[: int(np.flatnonzero(works == last)[0]) + 1]
    if len(prefix) == 1:
        return [last]
    amounts: dict[int, Int64s] = {}
    at = {int(node): place for place, node in enumerate(ready.tolist())}
    slack = state.nodes.free[:, ready] - need[:, None]
    for row in prefix.tolist():
        amounts[row] = np.zeros((len(need), len(ready)), np.int64)
        for resident in state.residents_of(row):
            place = at.get(int(residents.node[resident]))
            if place is not None:
                amounts[row][:, place] += residents.amount[:, resident]
        slack += amounts[row]
    columns = claim.columns
    victims: list[int] = []
    for row in reversed(prefix.tolist()):
        without = slack - amounts[row]
        if (without[columns] >= 0).all(axis=0).any():
            slack = without
        else:
            victims.append(row)
    return victims[::-1]


# -- gangs, and claims that a limit above the nodes stands against ---------------------------------------------------


def _for_a_gang(
    state: State, claim: Claim, rows: Rows, limits: list[Limit], finds_room: FindsRoom | None
) -> list[int] | None:
    if finds_room is None or claim.need is not None:
        finds_room = partial(fits, state, claim)
    credits = [(limit.short, limit.credit(state, rows)) for limit in limits]
    count, free = _shortest(state, rows, credits, finds_room)
    if count is None:
        return None
    room = _Room(state, claim, free, finds_room)
    left = [short - int(credit[:count].sum()) for short, credit in credits]
    given = [credit[:count].tolist() for _, credit in credits]
    # Once is enough, from the last taken to the first: those that stay only make room smaller, so that a victim that
    # could not stay when it was asked cannot stay later either. None of the result is superfluous, as far as members of
    # different size are packed by a search that ends.
    matters = room.matters(rows[:count]).tolist()
    victims: list[int] = []
    for at, row in reversed(list(enumerate(rows[:count].tolist()))):
        cheaper = [need + credit[at] for need, credit in zip(left, given, strict=True)]
        if max(cheaper, default=0) <= 0 and (not matters[at] or room.fits_with(row)):
            left = cheaper
        else:
            victims.append(row)
    return victims[::-1]


def _useful(state: State, claim: Claim, open_: Bools) -> Rows:
    """Open workloads that stand on a node the claimant may use."""
    if not state.nodes.size:
        return np.flatnonzero(open_)
    residents = state.residents
    works = residents.work[: residents.size]
    here = open_[works] & claim.allowed[residents.node[: residents.size]] & (residents.count[: residents.size] > 0)
    useful = np.zeros(state.work.size, np.bool_)
    useful[works[here]] = True
    return np.flatnonzero(useful)


def _shortest(
    state: State, rows: Rows, credits: list[tuple[int, Int64s]], finds_room: FindsRoom
) -> tuple[int | None, Int64s]:
    """The smallest count of these that is enough, and what is free with them gone.

    Halving is allowed because more gone is never worse: free amounts only grow, and with equal members so does the
    count of those that fit. Members of different size are packed by a search that gives up after some steps; there the
    count that is found fits, and one smaller might have been found to fit by a longer search.
    """

    def enough(count: int, free: Int64s) -> bool:
        return all(int(credit[:count].sum()) >= short for short, credit in credits) and finds_room(free)

    base = state.nodes.free[:, : state.nodes.size]
    low, high, best = 0, len(rows), _free_without(state, base, rows)
    if not len(rows) or not enough(high, best):
        return None, base
    while high - low > 1:
        middle = (low + high) // 2
        free = _free_without(state, base, rows[low:middle])
        if enough(middle, free):
            high, best = middle, free
        else:
            low, base = middle, free
    return high, best


def _free_without(state: State, free: Int64s, gone: Rows) -> Int64s:
    """What is free, with these workloads gone as well."""
    result = free.copy()
    rows = residents_of_all(state, gone)
    on = state.residents.node[rows]
    for column in range(len(state.units)):
        np.add.at(result[column], on, state.residents.amount[column, rows])
    return result


class _Room:
    """Free amounts under trial, with the count of members that fit kept current node by node."""

    def __init__(self, state: State, claim: Claim, free: Int64s, finds_room: FindsRoom) -> None:
        self.state, self.claim, self.free, self.finds_room = state, claim, free, finds_room
        self.room = members_that_fit(claim, free) if claim.need is not None else None
        self.total = 0 if self.room is None else int(self.room.sum())

    def matters(self, rows: Rows) -> Bools:
        """Whose going makes room at all: not of those who stand only where no member fits even so.

        Room is counted node by node, and it only shrinks from here on: there they can stay without a look.
        """
        if self.room is None:
            return np.ones(len(rows), np.bool_)
        residents = residents_of_all(self.state, rows)
        useful = np.zeros(self.state.work.size, np.bool_)
        useful[self.state.residents.work[residents[self.room[self.state.residents.node[residents]] > 0]]] = True
        return useful[rows]

    def fits_with(self, row: int) -> bool:
        """Whether the claim fits with this one back; if so it stays back."""
        self._move(row, -1)
        if self.fits():
            return True
        self._move(row, 1)
        return False

    def _move(self, row: int, sign: int) -> None:
        residents = self.state.residents
        for resident in self.state.residents_of(row):
            node = int(residents.node[resident])
            self.free[:, node] += sign * residents.amount[:, resident]
            if self.room is not None and self.claim.allowed[node]:
                self.total -= int(self.room[node])
                self.room[node] = self._members_on(node)
                self.total += int(self.room[node])

    def _members_on(self, node: int) -> int:
        need = self.claim.need
        assert need is not None
        room = min(int(self.free[column, node]) // int(need[column]) for column in self.claim.columns)
        return max(0, min(room, self.claim.members))

    def fits(self) -> bool:
        if self.room is None:
            return self.finds_room(self.free)
        if self.claim.placement == ANY:
            return self.total >= self.claim.members
        return enough(self.state, self.claim, self.room)
