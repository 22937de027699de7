"""What a case of a rule is: a cluster in which the rule fires, and the sentence that it gives there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cede
from cede.doctrines.catalog import doctrine_of
from cede.engine.cycle import plan_state
from cede.engine.events import Requeued, Started, Ticked, apply
from cede.model.times import SECOND
from cede.state.build import build


@dataclass(frozen=True)
class Case:
    """A cluster, the workload that is decided, and the sentence about `about` (the decision itself if None).

    `second`: the rule speaks only of what was done before, so that the sentence is of a second cycle, a second later.
    """

    cluster: cede.Cluster
    said: str
    about: str | None = None
    decided: str | None = "in"
    second: bool = False
    back: bool = False
    """In the second cycle the victims of the first one are back where they were."""


Order = tuple[cede.Cluster, list[str]]
"""A cluster, and who comes before whom in it."""


def explained(case: Case) -> cede.Plan:
    """The plan in which the rule speaks. Between two cycles victims leave; nobody starts, unless they come back."""
    if not case.second:
        return cede.plan(case.cluster, explain=True)
    state, doctrine = build(case.cluster.document), doctrine_of(case.cluster.document.doctrine)
    memory: dict[str, Any] = {}
    for victim in sorted(plan_state(state, doctrine, memory=memory).victims):
        nodes = state.nodes_of(state.work_index[victim])
        apply(state, Requeued(victim))
        if case.back:
            apply(state, Started(victim, tuple(nodes)))
    apply(state, Ticked(state.now + SECOND))
    return plan_state(state, doctrine, explain=True, memory=memory)
