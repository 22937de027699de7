"""A replay by the short ways is the replay with whole plans, table for table, and its time adds up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cede.engine.drive.terms import Terms
from cede.engine.drive.ways import Backfill
from cede.model.nodes import NodeState
from cede.model.times import SECOND
from cede.sim.entries import Entries
from cede.sim.faults import Fault
from cede.sim.machine import Habits
from cede.sim.measures.conservation import check
from cede.sim.records import Records
from cede.sim.replay import Asked, Replay
from cede.sim.simulate import Wishes, replay
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
TABLES = ("jobs", "attempts", "holds", "decisions", "victims", "outages")


@pytest.mark.slow
@settings(max_examples=80)
@given(JOBS, NODES, FAULTS, HABITS, TERMS, st.sampled_from(["off", "strict", "easy"]), st.sampled_from([None, 25]))
def test_short_ways_give_the_tables_of_whole_plans(
    jobs: list[dict[str, Any]],
    nodes: list[int],
    drawn: list[tuple[int, int, NodeState, bool]],
    habits: Habits,
    terms: Terms,
    backfill: Backfill,
    until: int | None,
) -> None:
    trace, cluster = trace_of(*jobs), cluster_of([{"cpu": cpu} for cpu in nodes], preemptible_priority=8)
    faults = tuple(
        Fault(at * SECOND, f"n{node % len(nodes)}", state, evict and state == "cordoned")
        for at, node, state, evict in sorted(drawn)
    )
    last = None if until is None else until * SECOND
    quick = replay(trace, cluster, Wishes(backfill=backfill, until=last, habits=habits, terms=terms, faults=faults))
    assert check(quick) == []

    sizes = [{name: nano * shape.members for name, nano in shape.requests.items()} for shape in trace.shapes]
    records = Records(trace, sizes, "cpu", 0)
    entries = Entries(trace, terms, records)
    run = Replay(cluster.document, entries, records, Asked(backfill, last, habits, terms, faults, reasons=True), None)
    run.run()
    assert run.problems == []
    whole = records.tables()
    for table in TABLES:
        assert getattr(quick, table).to_dicts() == whole[table].to_dicts(), table
