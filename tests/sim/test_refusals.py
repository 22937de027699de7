"""Who is refused for good is not counted as work done, and a replay keeps no garbage."""

from __future__ import annotations

import gc

import pytest

from cede.cli.bench.sim import Case, one_case
from cede.sim.simulate import Wishes, replay
from tests.sim.clusters import cluster_of, trace_of


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
    replay(many, cluster_of(), Wishes(backfill="off", queue="q"), watch)

    assert seen
    assert all(seen)
