"""What a victim set of this doctrine had to do, for an exact solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cede.doctrines.lattice import core
from cede.doctrines.lattice.candidates import candidates
from cede.doctrines.lattice.core_library import core_costs
from cede.doctrines.lattice.lending import claim_within
from cede.doctrines.lattice.memory import fell_short, homes_of
from cede.doctrines.lattice.policy import pool_for
from cede.doctrines.lattice.settings import POLICY, settings_of
from cede.doctrines.lattice.victim_choice import of_pool
from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.cost import PARTS, nodes_of
from cede.doctrines.parts.question import Linear, Question
from cede.model.plan import Decision
from cede.state.state import State

LIBRARY_COST = "cost by the library"
"""What `core` chooses by, in whole minutes and without GPUs; not the cost that every plan tells."""


def question(state: State, edition: str, made: Decision, memory: Mapping[str, Any] | None = None) -> Question | None:
    """The least cost under the rules of the edition, and by what was remembered when it was decided."""
    if made.workload is None or not made.victims:
        return None
    row = state.work_index[made.workload]
    known = {} if memory is None else memory
    if edition == POLICY:
        return of_policy(state, row, homes_of(known, made.workload))
    taken = {victim.workload for victim in made.victims}
    return of_core(state, row, tuple(name for name in fell_short(known, made.workload) if name not in taken))


def of_policy(state: State, row: int, homes: tuple[str, ...] = ()) -> Question:
    """`homes` are vClusters that took their nodes back from the claimant."""
    settings = settings_of(state)
    claim = claim_within(state, row)
    pool, _ = pool_for(state, claim, settings, candidates(state, claim, settings, homes))
    return of_pool(pool)


def of_core(state: State, row: int, before: tuple[str, ...] = ()) -> Question:
    """The cheapest set that frees as many nodes as it wants; whether it fits there the library does not ask.

    `before` are those who were taken for the claimant and did not make it fit.
    """
    claim = claim_of(state, row)
    rows = np.flatnonzero(core.candidates(state, claim, before).all.open)
    freed = nodes_of(state, rows).astype(np.float64)
    most = settings_of(state).max_victims
    return Question(
        claim=claim,
        rows=rows,
        objective=LIBRARY_COST,
        weights=np.rint(core_costs(state, rows) * PARTS),
        unit="min",
        scale=float(PARTS),
        conditions=(
            Linear("nodes freed", freed, low=float(claim.members)),
            Linear("max_victims", np.ones(len(rows)), high=most),
        ),
        places=False,
    )
