"""Natural ends: when walltimes make room for who waits, and what is kept for the first that does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.lattice.lending import borrowed_by
from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.cost import HOUR
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.reservation import Reservation, reserve, reserve_after, totals_of
from cede.model.plan import Decision
from cede.state.columns import NEVER, RESERVED, Int64s
from cede.state.state import State

AHEAD = 24 * HOUR
"""Ends that are further off are not looked at."""


def natural_ends(state: State, within: int = AHEAD) -> tuple[Int64s, Rows]:
    """When somebody is expected to end, in order, and who. Who is overdue, or does not say how long it runs, never
    is."""
    work, size = state.work, state.work.size
    here = (work.state[:size] >= RESERVED) & (work.resident[:size] >= 0)
    rows = np.flatnonzero(here & (work.walltime[:size] != NEVER) & (work.started[:size] != NEVER))
    times = work.started[rows] + work.walltime[rows]
    if state.booked_on:
        booked = np.array([row for row in state.booked_on if work.walltime[row] != NEVER], np.intp)
        rows, times = np.append(rows, booked), np.append(times, state.now + work.walltime[booked])
    ahead = (times > state.now) & (times <= state.now + within)
    rows, times = rows[ahead], times[ahead]
    turn = np.argsort(times)
    return times[turn], rows[turn]


def reservation_of(state: State, claim: Claim, within: int = AHEAD) -> Reservation | None:
    """From when on natural ends give it its room; none if they do not in time."""
    last = borrowed_by(state, int(state.work.queue[claim.row]))
    times, rows = natural_ends(state, within)
    if state.nodes.size > 1:
        return reserve_after(state, claim, times, rows, last)
    ends = [(end, row, totals_of(state, row)) for end, row in zip(times.tolist(), rows.tolist(), strict=True)]
    return reserve(state, claim, ends, last)


@dataclass(slots=True)
class Head:
    """The first that waits for natural ends, whom nobody delays who starts in idle room."""

    claim: Claim
    reservation: Reservation

    @property
    def name(self) -> str:
        return self.claim.name

    def beside(self, state: State, claim: Claim, nodes: list[int], walltime: int) -> list[int] | None:
        """Where this one starts without delaying the head: there, or elsewhere; none if it cannot."""
        if self.reservation.allows(claim, nodes, state.now, walltime):
            return nodes
        borrowed = borrowed_by(state, int(state.work.queue[claim.row]))
        passing = self.reservation.passes(state, claim, walltime, borrowed)
        if passing is not None:
            return passing
        if self._moves(state, claim, nodes):
            return nodes
        late = self.claim.allowed.astype(np.int64) + (0 if borrowed is None else 2 * borrowed)
        other = place(state, claim, last=late)
        return other if other is not None and other != nodes and self._moves(state, claim, other) else None

    def _moves(self, state: State, claim: Claim, nodes: list[int]) -> bool:
        """Whether the head finds its room elsewhere while this one is on these nodes; if so, that is where it is."""
        moved = self.reservation.beside(state, self.claim, claim, nodes)
        if moved is not None:
            self.reservation = moved
        return moved is not None

    def follow(self, state: State, made: Decision) -> None:
        """Somebody preempted: what it takes, and what its victims would still have held, changes what is left."""
        at, left = self.reservation.at, self.reservation.left
        for victim in made.victims:
            row = state.work_index[victim.workload]
            ends = int(state.work.started[row]), int(state.work.walltime[row])
            if NEVER not in ends and state.now < sum(ends) <= at:
                continue
            for resident in state.residents_of(row):
                left[:, state.residents.node[resident]] += state.residents.amount[:, resident]
        claimant = state.work_index[made.workload or ""]
        nodes = [state.node_index[name] for name in made.nodes]
        self.reservation.take(claim_of(state, claimant), nodes, state.now, int(state.work.walltime[claimant]))


def head_of(state: State, claim: Claim) -> Head | None:
    """The one with this claim as the head; none if natural ends do not give it its room in time."""
    reservation = reservation_of(state, claim)
    return None if reservation is None else Head(claim, reservation)
