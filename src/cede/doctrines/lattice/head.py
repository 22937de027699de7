"""The first that waits for natural ends, and who may start though it waits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.lattice.lending import borrowed_by
from cede.doctrines.lattice.reserving import reservation_of
from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.reservation import Reservation
from cede.model.plan import Decision
from cede.state.columns import NEVER
from cede.state.state import State


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
        found = self.reservation.passes(state, claim, walltime, borrowed)
        if found is not None:
            return found
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
    found = reservation_of(state, claim)
    return None if found is None else Head(claim, found)
