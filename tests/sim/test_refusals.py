"""Who is refused for now waits in a replay; who is refused for good is not counted as work done."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import cede
from bench.sim import Case, one_case
from cede.engine.cluster import Cluster
from cede.sim.options import ReplayOptions
from cede.sim.simulate import replay
from cede.sim.traces.trace import Trace
from tests.sim.clusters import cluster_of, trace_of

JOBS = 6


def pool(edition: str, **settings: Any) -> Cluster:
    """A node with room for everybody, and a pool."""
    return cede.load(
        {
            "cede": 1,
            "doctrine": {"name": "ytsaurus", "edition": edition},
            "nodes": [{"name": "n", "capacity": {"cpu": 16, "memory": "64Gi"}}],
            "queues": [{"name": "a", "settings": settings}],
        }
    )


def arrivals() -> Trace:
    """A job each minute, an hour long."""
    return trace_of(*({"submitted": 60 * n, "duration": 3600, "cpu": 1, "queue": "a"} for n in range(JOBS)))


@pytest.mark.parametrize("edition", ["docs", "25.4"])
def test_jobs_beyond_the_limit_on_operations_wait_until_others_end(edition: str) -> None:
    cluster = pool(edition, max_operation_count=2, max_running_operation_count=2)

    result = replay(arrivals(), cluster, ReplayOptions(backfill="off"))

    assert result.jobs["state"].to_list() == ["completed"] * JOBS
    started = [time // 10**6 for time in result.jobs["first_start"].to_list()]
    assert started == [0, 60, 3600, 3660, 7200, 7260]


def test_a_rate_counts_no_refused_jobs() -> None:
    gangs = one_case(Case("ytsaurus/docs", 60), 600)

    assert gangs["complete"]
    assert gangs["taken"] == 60, "gangs over several nodes are left out where they would be refused"
    assert gangs["jobs_per_s"] == pytest.approx(gangs["taken"] / gangs["replay_s"])


def test_a_replay_lets_garbage_be_collected() -> None:
    seen = []

    def watch(_now: int, _submitted: int, _ended: int) -> bool:
        seen.append(gc.isenabled())
        return True

    many = trace_of(*({"submitted": n, "duration": 5, "cpu": 1} for n in range(400)))
    replay(many, cluster_of(), ReplayOptions(backfill="off", queue="q"), watch)

    assert seen
    assert all(seen)
