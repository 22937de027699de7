"""A replay by the short ways is the replay with whole plans, table for table, and its time adds up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cede
from cede.engine.cluster import Cluster
from cede.engine.drive.options import Backfill
from cede.engine.drive.terms import Terms
from cede.model.nodes import NodeState
from cede.model.quantities import NANO
from cede.model.times import SECOND
from cede.sim.faults import Fault
from cede.sim.machine import Habits
from cede.sim.measures.conservation import check
from cede.sim.options import ReplayOptions
from cede.sim.simulate import replay
from tests.sampling import examples
from tests.sim.clusters import cluster_of, trace_of

SECONDS = st.integers(0, 40)
JOBS = st.lists(
    st.fixed_dictionaries(
        {
            "submitted": SECONDS,
            "duration": st.integers(0, 30),
            "cpu": st.integers(1, 5),
            "members": st.sampled_from([1, 1, 1, 2]),
            "priority": st.sampled_from([1, 1, 5, 9]),
            "queue": st.just("q"),
            "walltime": st.sampled_from([None, 5, 10, 30]),
            "checkpoint": st.sampled_from(["none", "none", "auto", "manual"]),
            "checkpoint_time": st.sampled_from([None, 0, 3, 20]),
            "checkpoint_interval": st.sampled_from([None, None, 4]),
            "restart_time": st.sampled_from([None, 2]),
            "preemptible": st.sampled_from([True, True, True, False]),
        }
    ),
    min_size=1,
    max_size=14,
)
NODES = st.lists(st.integers(1, 5), min_size=1, max_size=3)
FAULTS = st.lists(
    st.tuples(SECONDS, st.integers(0, 2), st.sampled_from(["ready", "ready", "cordoned", "down"]), st.booleans()),
    max_size=5,
)
HABITS = st.builds(
    Habits, start_delay=st.sampled_from([0, 0, 2 * SECOND]), stop_time=st.sampled_from([0, 3 * SECOND, 9 * SECOND])
)
TERMS = st.builds(
    Terms,
    checkpoint_timeout=st.sampled_from([10 * SECOND, 600 * SECOND]),
    grace_period=st.sampled_from([0, 5 * SECOND]),
    hold_timeout=st.sampled_from([None, None, 2 * SECOND]),
)
THERE = st.lists(
    st.fixed_dictionaries(
        {
            "state": st.sampled_from(["running", "running", "running", "pending", "suspended"]),
            "requests": st.fixed_dictionaries({"cpu": st.integers(1, 5)}),
            "members": st.sampled_from([1, 1, 2]),
            "priority": st.sampled_from([1, 1, 5, 9]),
            "submitted": st.integers(-60, -30),
            "started": st.integers(-30, 0),
            "walltime": st.integers(0, 60),
            "checkpoint": st.fixed_dictionaries(
                {
                    "mode": st.sampled_from(["none", "auto"]),
                    "last": st.integers(-40, 0),
                    "time": st.sampled_from([0, 3]),
                }
            ),
            "preemptible": st.sampled_from([True, True, True, False]),
        }
    ),
    max_size=5,
)
TABLES = ("jobs", "attempts", "holds", "decisions", "victims", "outages")


def beside(cluster: Cluster, drawn: list[dict[str, Any]]) -> Cluster:
    """The cluster with these workloads; what would run and finds no room waits."""
    free = {node.name: node.capacity["cpu"] // NANO for node in cluster.document.nodes}
    workloads = []
    for number, one in enumerate(drawn):
        own = {"name": f"w{number}", "queue": "q", **one}
        need = own["requests"]["cpu"]
        places = [node for node, room in free.items() for _ in range(room // need)][: own["members"]]
        if own["state"] == "running" and len(places) == own["members"]:
            own["nodes"] = places
            for node in places:
                free[node] -= need
        elif own["state"] == "running":
            own["state"] = "pending"
        workloads.append(own)
    return cede.load({**cluster.to_dict(), "workloads": workloads})


@pytest.mark.slow
@examples(80)
@given(
    JOBS, NODES, THERE, FAULTS, HABITS, TERMS, st.sampled_from(["off", "strict", "easy"]), st.sampled_from([None, 25])
)
def test_short_ways_give_the_tables_of_whole_plans(
    jobs: list[dict[str, Any]],
    nodes: list[int],
    there: list[dict[str, Any]],
    drawn: list[tuple[int, int, NodeState, bool]],
    habits: Habits,
    terms: Terms,
    backfill: Backfill,
    until: int | None,
) -> None:
    trace = trace_of(*jobs)
    cluster = beside(cluster_of([{"cpu": cpu} for cpu in nodes], preemptible_priority=8), there)
    faults = tuple(
        Fault(at * SECOND, f"n{node % len(nodes)}", state, evict and state == "cordoned")
        for at, node, state, evict in sorted(drawn)
    )
    last = None if until is None else until * SECOND
    wishes = ReplayOptions(backfill=backfill, until=last, habits=habits, terms=terms, faults=faults)
    quick = replay(trace, cluster, wishes)
    assert check(quick) == []

    whole = replay(trace, cluster, replace(wishes, reasons=True))
    for table in TABLES:
        assert getattr(quick, table).to_dicts() == getattr(whole, table).to_dicts(), table
