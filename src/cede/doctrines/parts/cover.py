"""Victim sets taken in a given order until the claimant fits, then spared, last taken first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.fit import enough, fits, members_that_fit
from cede.doctrines.parts.limits import Limit
from cede.doctrines.parts.orders import Rows, order_of, ordered
from cede.state.columns import ANY, Bools, Int64s
from cede.state.state import State

SAMPLE = 256

FindsRoom = Callable[[Int64s], bool]


@dataclass(frozen=True, slots=True)
class Order:
    """The order in which workloads are taken: `first`, then `second`, ascending, then uid. Whole columns."""

    first: Rows
    second: Rows

    def of(self, state: State, rows: Rows) -> Rows:
        return ordered(state, rows, self.first[rows], self.second[rows])


def take_until_fits(
    state: State,
    claim: Claim,
    open_: Bools,
    order: Order,
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


def _for_one_member(state: State, claim: Claim, need: Int64s, open_: Bools, order: Order) -> list[int] | None:
    """Of all nodes, the one where the prefix is shortest.

    A node is ready when the open workloads on it, in order, have freed enough. The order is looked at up to one
    bound after another, each further on, until a node is ready: what lies beyond cannot be ready earlier.
    """
    for bound in _bounds(state, open_, order):
        rows = _up_to(state, claim, need, open_, order, bound)
        last, ready = _first_ready(state, claim, need, rows, order)
        if last is not None:
            return _spare_on_nodes(state, claim, need, ready, last, rows, order)
    return None


def _bounds(state: State, open_: Bools, order: Order) -> list[int | None]:
    """Open workloads that stand about where 1 %, 4 %, 16 % and a half of the order end; then no bound."""
    size = state.work.size
    if size <= 2 * SAMPLE:
        return [None]
    some: Rows = np.arange(0, size, size // SAMPLE)
    some = order.of(state, some[open_[some]])
    return [*(int(some[len(some) // part]) for part in (96, 24, 6, 2) if len(some) >= part), None]


def _up_to(state: State, claim: Claim, need: Int64s, open_: Bools, order: Order, bound: int | None) -> Rows:
    """Residents that go no later than the bound, on the nodes they could make ready.

    The sums are floating point and a little generous: they only say which nodes are worth an exact look.
    """
    if bound is None:
        works = np.flatnonzero(open_)
    else:
        last_first, last_second = order.first[bound], order.second[bound]
        works = np.flatnonzero(open_ & (order.first <= last_first))
        works = works[(order.first[works] < last_first) | (order.second[works] <= last_second)]
    residents = state.residents
    rows = residents_of_all(state, works)
    on = residents.node[rows]
    ready = claim.allowed.copy()
    for column in claim.columns:
        short = need[column] - state.nodes.free[column, : state.nodes.size]
        if short.max() > 0:
            freed = np.bincount(on, weights=residents.amount[column, rows], minlength=state.nodes.size)
            ready &= freed * (1 + 1e-9) >= short
    return rows[ready[on]]


def _first_ready(state: State, claim: Claim, need: Int64s, rows: Rows, order: Order) -> tuple[int | None, Rows]:
    """The last workload of the shortest prefix of these residents that makes a node ready, and those nodes."""
    if not len(rows):
        return None, rows
    works, on = state.residents.work[rows], state.residents.node[rows]
    turn = order_of(state, works, on, order.first[works], order.second[works])
    rows, works, on = rows[turn], works[turn], on[turn]
    new = np.concatenate(([True], on[1:] != on[:-1]))
    begins, group = np.flatnonzero(new), np.cumsum(new) - 1
    done = np.ones(len(rows), np.bool_)
    for column in claim.columns:
        short = need[column] - state.nodes.free[column, on]
        if short.max() > 0:
            amount = state.residents.amount[column, rows]
            freed = np.cumsum(amount)
            done &= freed - (freed - amount)[begins][group] >= short
    hits = np.flatnonzero(done)
    if not len(hits):
        return None, rows[:0]
    firsts = hits[np.concatenate(([True], group[hits][1:] != group[hits][:-1]))]
    ends = order.of(state, np.unique(works[firsts]))
    last = int(ends[0])
    return last, on[firsts[works[firsts] == last]]


def _spare_on_nodes(
    state: State, claim: Claim, need: Int64s, ready: Rows, last: int, rows: Rows, order: Order
) -> list[int]:
    """From the prefix that ends in `last`, what must go so that one of the ready nodes stays ready."""
    here = np.zeros(state.nodes.size, np.bool_)
    here[ready] = True
    rows = rows[here[state.residents.node[rows]]]
    works = order.of(state, np.unique(state.residents.work[rows]))
    prefix = works[: int(np.flatnonzero(works == last)[0]) + 1]
    amounts: dict[int, Int64s] = {}
    at = {int(node): place for place, node in enumerate(ready.tolist())}
    slack = state.nodes.free[:, ready] - need[:, None]
    for row in prefix.tolist():
        amounts[row] = np.zeros((len(need), len(ready)), np.int64)
        for resident in state.residents_of(row):
            place = at.get(int(state.residents.node[resident]))
            if place is not None:
                amounts[row][:, place] += state.residents.amount[:, resident]
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

    def enough_with(count: int) -> bool:
        if any(int(credit[:count].sum()) < short for short, credit in credits):
            return False
        return finds_room(_free_without(state, rows[:count]))

    count = _shortest(len(rows), enough_with)
    if count is None:
        return None
    room = _Room(state, claim, _free_without(state, rows[:count]), finds_room)
    left = [short - int(credit[:count].sum()) for short, credit in credits]
    victims: list[int] = []
    for at in range(count - 1, -1, -1):
        row = int(rows[at])
        cheaper = [need + int(credit[at]) for need, (_, credit) in zip(left, credits, strict=True)]
        room.put_back(row)
        if max(cheaper, default=0) <= 0 and room.fits():
            left = cheaper
        else:
            room.take(row)
            victims.append(row)
    return victims[::-1]


def _useful(state: State, claim: Claim, open_: Bools) -> Rows:
    """Open workloads that stand on a node the claimant may use."""
    if not state.nodes.size:
        return np.flatnonzero(open_)
    residents = state.residents
    works = residents.work[: residents.size]
    here = open_[works] & claim.allowed[residents.node[: residents.size]] & (residents.count[: residents.size] > 0)
    return np.unique(works[here]).astype(np.intp)


def _shortest(most: int, enough_with: Callable[[int], bool]) -> int | None:
    """The smallest count, from 1 to `most`, that is enough; more is never worse than less."""
    if most == 0 or not enough_with(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if enough_with(middle):
            high = middle
        else:
            low = middle
    return high


def _free_without(state: State, gone: Rows) -> Int64s:
    """Free amounts with these workloads gone."""
    free = state.nodes.free[:, : state.nodes.size].copy()
    mask = np.zeros(state.work.size, np.bool_)
    mask[gone] = True
    residents = state.residents
    rows = np.flatnonzero(mask[residents.work[: residents.size]] & (residents.count[: residents.size] > 0))
    for column in range(len(state.units)):
        np.add.at(free[column], residents.node[rows], residents.amount[column, rows])
    return free


class _Room:
    """Free amounts under trial, with the count of members that fit kept current node by node."""

    def __init__(self, state: State, claim: Claim, free: Int64s, finds_room: FindsRoom) -> None:
        self.state, self.claim, self.free, self.finds_room = state, claim, free, finds_room
        self.room = members_that_fit(claim, free) if claim.need is not None else None
        self.total = 0 if self.room is None else int(self.room.sum())

    def put_back(self, row: int) -> None:
        self._move(row, -1)

    def take(self, row: int) -> None:
        self._move(row, 1)

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
