"""When a workload that waits for room will have it, as far as walltimes tell, and what it leaves for others till then.

EASY backfilling: somebody behind it may start if it ends before that time, or if it takes only room that will be left
beside it. Running workloads are expected to end when their walltime is over; one that is overdue is expected to end
at once, one that does not say how long it runs never. All that are expected to end at one time are gone at that time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.ends import ends_needed
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.orders import Rows
from cede.state.columns import NEVER, PREEMPTING, RESERVED, Bools, Int64s
from cede.state.state import State

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
    """The expected end of everybody that holds room and says how long it runs."""
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
