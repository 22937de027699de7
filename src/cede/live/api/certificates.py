"""Certificates asked for through the API: for how long, and of a decision that was made before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query

from cede.doctrines.catalog import doctrine_of
from cede.doctrines.parts.doctrine import BRISK
from cede.engine.certify import MOST_LIVE_SECONDS, ahead_of, certified
from cede.engine.cluster import Cluster
from cede.engine.cycle import plan_state, recalled_of
from cede.model.plan import Decision, Plan

Seconds = Annotated[
    float | None,
    Query(
        gt=0,
        le=MOST_LIVE_SECONDS,
        allow_inf_nan=False,
        description="Prove how near the victims are to the best there are, within so many seconds.",
    ),
]


def decided(cluster: Cluster, made: Decision, kept: Mapping[str, Any], seconds: float) -> Decision:
    """The decision with a certificate, by the cluster that it was made from and what was in memory then; as it is if
    it cannot be asked about.

    Other decisions of the same cycle may have come before it: they are made again, and followed up to it.
    """
    state, doctrine = cluster.state, doctrine_of(cluster.document.doctrine)
    cycle = plan_state(state, doctrine, misses=False, memory=recalled_of(state, doctrine, kept), effort=BRISK)
    again = None if made.workload is None else cycle.of(made.workload)
    same = again is not None and {one.workload for one in again.victims} == {one.workload for one in made.victims}
    ahead = ahead_of(cycle, made.workload) if same and made.workload is not None else ()
    alone = Plan(cycle.doctrine, cycle.edition, cycle.now, (made,), cycle.version)
    memory = recalled_of(state, doctrine, kept)
    return certified(state, doctrine, alone, seconds, ahead=ahead, memory=memory).decisions[0]
