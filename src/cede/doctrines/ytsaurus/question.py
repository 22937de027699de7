"""What the victims of one heartbeat must do and are judged by, for the exact solver.

A heartbeat looks at one node: victims stand there, and what starts takes their room. The order in which they go is
the order of preemption: the last one is as early in it as can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.question import Linear, Question
from cede.doctrines.ytsaurus.audit import remembers
from cede.doctrines.ytsaurus.cycle_usage import CycleUsage
from cede.doctrines.ytsaurus.node_allocations import (
    LEVEL_AGGRESSIVELY,
    LEVEL_PREEMPTIBLE,
    SSD_AGGRESSIVELY,
    SSD_NON,
    NodeAllocations,
    look,
)
from cede.doctrines.ytsaurus.starvation import Memory
from cede.doctrines.ytsaurus.update import Update
from cede.model.plan import Decision
from cede.state.columns import GONE, NONE, Int64s, Rows
from cede.state.state import State
from cede.state.units import WHOLE

STAGES = {
    "starving": LEVEL_PREEMPTIBLE,
    "aggressive": LEVEL_AGGRESSIVELY,
    "ssd": SSD_AGGRESSIVELY,
    "full-host": SSD_NON,
}
"""By the word for why an allocation goes, the least level that such a stage takes."""

SHARES = (
    "what the shares at the start of the cycle protected is not known at this point: all that run there and did not "
    "opt out count as open"
)
LEFT_OUT = {
    "full-host": ("what a whole host's work may cost is not looked at",),
    "ssd": ("what is protected in the stage for SSDs, and in which order the rest goes there, is not looked at",),
}
"""By the same word, what of a stage the question does not know."""


def question(state: State, _edition: str, made: Decision, _memory: Mapping[str, Any] | None = None) -> Question | None:
    """The question about a preemption on its node; none about those without a claimant."""
    if made.workload is None or not made.victims or not made.nodes:
        return None
    node, row = state.node_index[made.nodes[0]], state.work_index[made.workload]
    update = Update(state, Memory())
    tree = update.pools.tree
    ssd = tree.ssd.enable and tree.ssd.filter.matches(frozenset(state.labels.sets[int(state.nodes.labels[node])]))
    here = look(CycleUsage(update), node, set(), ssd=ssd)
    word = made.victims[0].reason
    open_ = here.open(STAGES.get(word, SSD_NON), normal=word == "starving")
    taken = np.isin(here.rows, [state.work_index[victim.workload] for victim in made.victims])
    relaxed = LEFT_OUT.get(word, ())
    if remembers(update) or _under_way(state) or (taken & ~open_).any():
        open_ = state.work.preemptible[here.rows] & ~update.op_graceful[here.operation] | taken
        relaxed = (*relaxed, SHARES)
    need = np.sum(state.members_of(row), axis=0)
    short = np.where(need > 0, need - state.nodes.free[:, node], 0)
    return about_node(state, claim_of(state, row), here, np.flatnonzero(open_), short, relaxed)


def about_node(
    state: State, claim: Claim, here: NodeAllocations, places: Rows, short: Int64s, relaxed: tuple[str, ...] = ()
) -> Question:
    """Which of those at these places on a node go so that nothing is short there."""
    lacking = np.flatnonzero(short > 0).tolist()
    return Question(
        claim=claim,
        rows=here.rows[places],
        objective="order of preemption",
        weights=np.arange(1.0, len(places) + 1),
        unit="place",
        by_order=True,
        conditions=tuple(
            Linear(_kept(state, column), here.amount[places, column].astype(np.float64), float(short[column]))
            for column in lacking
        ),
        places=False,
        relaxed=relaxed,
    )


def _kept(state: State, column: int) -> str:
    return "a whole node for itself" if column == WHOLE else f"enough {state.units.names[column]} on the node"


def _under_way(state: State) -> bool:
    """Whether the cycle has moved something already, so that shares are not those of its beginning."""
    work, size = state.work, state.work.size
    return bool(state.booked_on) or bool(((work.state[:size] == GONE) & (work.resident[:size] != NONE)).any())
