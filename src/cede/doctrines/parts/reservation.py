"""How many of those who end one after another must have ended until a claim fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.fit import enough, fits, members_that_fit, place
from cede.doctrines.parts.orders import Rows
from cede.state.columns import ANY, NEVER, PREEMPTING, RESERVED, TIGHT, Bools, Int64s
from cede.state.state import State

FIRST = 256
"""How many ends are looked at first; and four times as many each time they were too few."""

Freed = Callable[[State, Rows], Int64s]
"""What is free on all nodes when these workloads have ended."""


def ends_needed(state: State, claim: Claim, rows: Rows, freed: Freed) -> int | None:
    """The fewest of these workloads, from the first on, without which the claim fits; none if all are too few."""
    adds_up = claim.need is not None and claim.placement in (ANY, TIGHT) and not state.between and not state.booked_on
    looked = FIRST
    while True:
        part = rows[:looked]
        count = _by_sums(state, claim, part) if adds_up else _by_halves(state, claim, part, freed)
        if count is not None or looked >= len(rows):
            return count
        looked *= 4


def _by_halves(state: State, claim: Claim, rows: Rows, freed: Freed) -> int | None:
    if not fits(state, claim, freed(state, rows)):
        return None
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if fits(state, claim, freed(state, rows[:middle])):
            high = middle
        else:
            low = middle + 1
    return low


def _by_sums(state: State, claim: Claim, rows: Rows) -> int | None:
    """Where members are alike and each node's room simply grows: all ends at once."""
    assert claim.need is not None
    residents = state.residents
    before = members_that_fit(claim, state.nodes.free[:, : state.nodes.size])
    if enough(state, claim, before):
        return 0
    turn = np.zeros(state.work.size, np.intp)
    turn[rows] = np.arange(len(rows))
    residents_there = residents_of_all(state, rows)
    residents_there = residents_there[claim.allowed[residents.node[residents_there]]]
    residents_there = residents_there[
        np.lexsort((turn[residents.work[residents_there]], residents.node[residents_there]))
    ]
    if not len(residents_there):
        return None
    nodes, ended = residents.node[residents_there], turn[residents.work[residents_there]]
    after = np.full(len(residents_there), claim.members)
    for column in claim.columns:
        freed = _sums_within(nodes, residents.amount[column, residents_there])
        np.minimum(after, (state.nodes.free[column, nodes] + freed) // claim.need[column], out=after)
    np.maximum(after, 0, out=after)
    same = np.append(False, nodes[1:] == nodes[:-1])
    gain = after - np.where(same, np.roll(after, 1), before[nodes])
    if claim.placement == ANY:
        room = int(before.sum()) + np.cumsum(np.bincount(ended, gain, len(rows)))
        full = np.flatnonzero(room >= claim.members)
    else:
        groups = state.nodes.group[: state.nodes.size]
        by_group = np.lexsort((ended, groups[nodes]))
        own = groups[nodes][by_group]
        had = np.bincount(groups, before, len(state.groups.names)).astype(np.int64)
        room = had[own] + _sums_within(own, gain[by_group])
        full = ended[by_group][room >= claim.members]
    return int(full.min()) + 1 if len(full) else None


def _sums_within(keys: Rows, amounts: Int64s) -> Int64s:
    """Running sums that begin anew with every key; equal keys stand together."""
    sums = np.cumsum(amounts)
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    lengths = np.diff(np.append(begins, len(keys)))
    running: Int64s = sums - np.repeat(sums[begins] - amounts[begins], lengths)
    return running


End = tuple[int, int, tuple[tuple[int, int], ...]]
Ends = Sequence[End]
"""Expected ends, the rows that end then, and what they hold of each column in all; in order."""


@dataclass(slots=True)
class Reservation:
    """From `at` on the claim has its room; `left` is what is then free on each node beside it."""

    at: int
    left: Int64s
    only: int | None = None
    """The one node there is to look at, if there is just one."""
    nodes: Sequence[int] = ()
    """Where the claim would then stand, if it could stand elsewhere too."""

    def may_pass(self, needs: Iterable[tuple[int, int, int]]) -> bool:
        """False only if one that does not end in time certainly passes nowhere; exact where there is but one node."""
        if self.only is None:
            return True
        left = self.left[:, self.only].tolist()
        for column, _, total in needs:  # noqa: SIM110 - any() takes three times as long
            if left[column] < total:
                return False
        return True

    def passes(self, state: State, claim: Claim, walltime: int, last: Bools | None = None) -> list[int] | None:
        """Nodes on which this one can start now without delaying the reservation; none if it cannot.

        `last`: as `place` has it.
        """
        free = state.nodes.free[:, : state.nodes.size]
        if walltime != NEVER and state.now + walltime <= self.at:
            return place(state, claim, free, last)
        return place(state, claim, np.minimum(free, self.left), last)

    def allows(self, claim: Claim, nodes: Sequence[int], now: int, walltime: int) -> bool:
        """Whether one that starts on just these nodes delays nothing."""
        if walltime != NEVER and now + walltime <= self.at:
            return True
        needs: dict[int, Int64s] = {}
        for node, need in zip(nodes, claim.vectors, strict=True):
            needs[node] = needs[node] + need if node in needs else need
        return all(bool((self.left[:, node] >= need)[need > 0].all()) for node, need in needs.items())

    def beside(self, state: State, holder: Claim, claim: Claim, nodes: Sequence[int]) -> Reservation | None:
        """The same with its holder elsewhere, so that another one on just these nodes delays nothing; none if it cannot
        be."""
        if not self.nodes:
            return None
        then = self.left.copy()
        _put(then, self.nodes, holder, 1)
        _put(then, nodes, claim, -1)
        moved = place(state, holder, then)
        if moved is None:
            return None
        _put(then, moved, holder, -1)
        _put(then, nodes, claim, 1)
        return Reservation(self.at, then, nodes=moved)

    def take(self, claim: Claim, nodes: Sequence[int], now: int, walltime: int) -> None:
        """Somebody started on these nodes: what it still holds when the reservation begins is not left any more."""
        if walltime != NEVER and now + walltime <= self.at:
            return
        _put(self.left, nodes, claim, -1)


def _put(room: Int64s, nodes: Sequence[int], claim: Claim, sign: int) -> None:
    """What the members take of these nodes, added to or taken from what each has."""
    for node, need in zip(nodes, claim.vectors, strict=True):
        room[:, node] += sign * need


def ends_of(state: State) -> list[End]:
    """The expected end of all that holds room and says how long it runs."""
    work, size = state.work, state.work.size
    rows = np.flatnonzero(
        (work.resident[:size] >= 0) & (work.walltime[:size] != NEVER) & (work.started[:size] != NEVER)
    )
    ends = work.started[rows] + work.walltime[rows]
    order = np.lexsort((rows, ends))
    return [
        (end, row, totals_of(state, row)) for end, row in zip(ends[order].tolist(), rows[order].tolist(), strict=True)
    ]


def totals_of(state: State, row: int) -> tuple[tuple[int, int], ...]:
    """What all members of a workload take of nodes, by column."""
    every = np.sum(state.members_of(row), axis=0)
    return tuple((column, int(every[column])) for column in np.flatnonzero(every).tolist())


def reserve(state: State, claim: Claim, ends: Ends, last: Bools | None = None) -> Reservation | None:
    """The reservation of a claim that does not fit now; none if no expected end makes room, or none is needed.

    `last`: as `place` has it.
    """
    size = state.nodes.size
    if not size:
        return None
    if size == 1 and claim.allowed[0] and claim.need is not None and not state.between:
        return _on_one_node(state, claim, 0, ends)
    times, rows = (np.array([end[part] for end in ends], np.int64) for part in (0, 1))
    return reserve_after(state, claim, times, rows, last)


def reserve_after(
    state: State, claim: Claim, times: Int64s, rows: Rows, last: Bools | None = None
) -> Reservation | None:
    """The same of workloads that end at these times, in order."""
    if not state.nodes.size:
        return None
    count = ends_needed(state, claim, rows, _freed)
    if not count:
        return None
    at = max(state.now, int(times[count - 1]))
    then = _freed(state, rows[: int(times.searchsorted(at, "right"))])
    nodes = place(state, claim, then, last)
    assert nodes is not None, "it fits then"
    _put(then, nodes, claim, -1)
    return Reservation(at, then, nodes=nodes)


def _freed(state: State, ended: Rows) -> Int64s:
    """What is free when these have ended; of what is leaving and what is held only the larger was not."""
    then = state.nodes.free[:, : state.nodes.size].copy()
    rows = residents_of_all(state, ended)
    if state.between:
        phase = state.work.state[state.residents.work[rows]]
        size = state.nodes.size
        leaving, held = state.nodes.leaving[:, :size].copy(), state.nodes.held[:, :size].copy()
        taken = np.maximum(leaving, held)
        _add(state, leaving, rows[phase == PREEMPTING], -1)
        _add(state, held, rows[phase == RESERVED], -1)
        then += taken - np.maximum(leaving, held)
        rows = rows[(phase != PREEMPTING) & (phase != RESERVED)]
    _add(state, then, rows, 1)
    for row in ended.tolist() if state.booked_on else ():
        for node, need in zip(state.booked_on.get(row, ()), state.members_of(row), strict=False):
            then[:, node] += need
    return then


def _add(state: State, amounts: Int64s, rows: Rows, sign: int) -> None:
    """What these residents hold, added to what each node has."""
    nodes = state.residents.node[rows]
    for column in range(len(amounts)):
        np.add.at(amounts[column], nodes, sign * state.residents.amount[column, rows])


def _covers(free: list[int], wanted: list[tuple[int, int]]) -> bool:
    for column, amount in wanted:  # noqa: SIM110 - all() takes three times as long
        if free[column] < amount:
            return False
    return True


def _on_one_node(state: State, claim: Claim, node: int, ends: Ends) -> Reservation | None:
    """The same where there is but one node to look at."""
    assert claim.need is not None
    free = state.nodes.free[:, node].tolist()
    wanted = [(column, int(claim.need[column]) * claim.members) for column in claim.columns]
    if _covers(free, wanted):
        return None
    at: int | None = None
    for end, _, totals in ends:
        if at is not None and end > at:
            break
        for column, amount in totals:
            free[column] += amount
        if at is None and _covers(free, wanted):
            at = max(end, state.now)
    if at is None:
        return None
    for column, amount in wanted:
        free[column] -= amount
    left = np.zeros((len(free), state.nodes.size), np.int64)
    left[:, node] = free
    return Reservation(at, left, node)
