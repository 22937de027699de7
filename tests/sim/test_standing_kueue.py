"""Kueue's workloads of the cluster file keep their flavors, their pod sets and their quota in a replay."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.engine.cluster import Cluster
from cede.model.errors import InputError
from cede.model.times import SECOND
from cede.sim.entries import Entries
from cede.sim.measures.conservation import check
from cede.sim.options import ReplayOptions
from cede.sim.records import Records
from cede.sim.replay import Replay
from cede.sim.simulate import prepare, replay
from cede.state.snapshot import snapshot
from tests.sim.clusters import trace_of
from tests.sim.test_replay import attempts

NODES = [
    {"name": "s", "capacity": {"cpu": 4}, "flavor": "spot"},
    {"name": "d", "capacity": {"cpu": 4}, "flavor": "fast"},
]
RUNS: dict[str, Any] = {"queue": "q", "state": "running", "submitted": -9, "started": -5, "walltime": 60}
SPOT = {**RUNS, "name": "spot", "requests": {"cpu": 2}, "usage": {"cpu@spot": 2}, "nodes": ["s"], "priority": 1}
PINNED = {**RUNS, "name": "pinned", "requests": {"cpu@fast": 1}, "nodes": ["d"], "preemptible": False}
MIXED = {
    **RUNS,
    "name": "mixed",
    "pod_sets": [
        {"name": "a", "count": 1, "requests": {"cpu@fast": 1}},
        {"name": "b", "count": 2, "requests": {"cpu@spot": "500m"}},
    ],
    "nodes": ["d", "s", "s"],
    "app": "x",
    "user": "ann",
    "preempted": 2,
}


def file_of(*workloads: dict[str, Any], nodes: bool = True) -> Cluster:
    quota = {"cpu@spot": 4, "cpu@fast": 4} if nodes else {"cpu": 4}
    groups = {"resource_groups": [{"resources": ["cpu"], "flavors": ["fast", "spot"]}]} if nodes else {}
    queue = {"name": "q", "guaranteed": quota, "settings": {"withinClusterQueue": "LowerPriority"}, **groups}
    return cede.load(
        {"cede": 1, "doctrine": "kueue", "nodes": NODES if nodes else [], "queues": [queue], "workloads": workloads}
    )


def test_the_replay_begins_with_the_cluster_of_the_file() -> None:
    cluster = file_of(SPOT, PINNED, MIXED)
    start = prepare(trace_of({"submitted": 0, "duration": 1, "cpu": 1}), cluster, ReplayOptions())
    records = Records(start.jobs, start.sizes, "cpu", 0)
    entries = Entries(start.jobs, ReplayOptions().terms, records, start.there)
    run = Replay(cluster.document, entries, records, ReplayOptions(), "off", start.begin, start.there)
    begins, written = run.driver.snapshot(), snapshot(cluster.state)

    assert [entry.like(uid=None) for entry in begins.workloads] == [entry.like(uid=None) for entry in written.workloads]
    assert (run.driver.state.tree.usage == cluster.state.tree.usage).all()
    assert (run.driver.state.nodes.used == cluster.state.nodes.used).all()


def test_one_that_gave_way_may_come_back_in_another_flavor() -> None:
    claimant = {"submitted": 0, "duration": 20, "cpu": 4, "priority": 9}
    small = {**SPOT, "requests": {"cpu": 1}, "usage": {"cpu@spot": 1}}
    result = replay(trace_of(claimant), file_of(small, {**PINNED, "requests": {"cpu@fast": 3}}), ReplayOptions())

    assert check(result) == []
    assert result.jobs["name"].to_list() == ["pinned", "spot", "j0"]
    assert attempts(result, 2) == [(0, 20, "completed", 20, 0, 0)]
    assert attempts(result, 1) == [(-5, 0, "preempted", 0, 5, 0), (0, 60, "completed", 60, 0, 0)]
    assert attempts(result, 0) == [(-5, 55, "completed", 60, 0, 0)]


def test_without_nodes_quota_is_what_the_workloads_of_the_file_hold() -> None:
    runs = {**RUNS, "name": "w", "requests": {"cpu": 3}}
    result = replay(trace_of({"submitted": 0, "duration": 20, "cpu": 4}), file_of(runs, nodes=False), ReplayOptions())

    assert check(result) == []
    assert result.jobs["first_start"].to_list() == [-5 * SECOND, 55 * SECOND]


def test_more_than_all_quota_cannot_be_held_in_the_beginning() -> None:
    runs = {**RUNS, "name": "w", "requests": {"cpu": 5}}
    with pytest.raises(InputError, match="workloads: hold more cpu than all queues are promised"):
        replay(trace_of({"submitted": 0, "duration": 20, "cpu": 4}), file_of(runs, nodes=False), ReplayOptions())


def test_one_that_may_run_with_fewer_members_is_refused() -> None:
    parts = [{"name": "a", "count": 2, "requests": {"cpu": 1}, "min_count": 1}]
    waits = {"name": "w", "queue": "q", "walltime": 60, "pod_sets": parts}
    with pytest.raises(InputError, match=r"workloads\[w\].pod_sets\[a\].min_count: w may run with fewer members"):
        replay(trace_of({"submitted": 0, "duration": 20, "cpu": 4}), file_of(waits), ReplayOptions())
