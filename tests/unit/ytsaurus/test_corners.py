"""Cases in which one node's heartbeat changes what another can do, and what is leaving counts no more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cede
from cede.doctrines.ytsaurus import decide, node_prospects
from cede.doctrines.ytsaurus.heartbeat import Heartbeats
from cede.state.columns import Bools

STARVES = {"below_fair_share_since": -1000}


def running(name: str, queue: str, cpu: int, *nodes: str, **more: Any) -> dict[str, Any]:
    held = {"state": "running", "started": -5, "nodes": list(nodes), "members": len(nodes)}
    return {"name": name, "queue": queue, "app": queue, "requests": {"cpu": cpu}, **held, **more}


def pending(name: str, queue: str, cpu: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "queue": queue, "app": f"{queue}-in", "requests": {"cpu": cpu}, **more}


def cluster(queues: list[dict[str, Any]], workloads: list[dict[str, Any]]) -> dict[str, Any]:
    nodes = [{"name": "n1", "capacity": {"cpu": 4}}, {"name": "n2", "capacity": {"cpu": 2}}]
    doctrine = {"name": "ytsaurus", "edition": "docs"}
    return {"cede": 1, "doctrine": doctrine, "nodes": nodes, "queues": queues, "workloads": workloads}


SEVERAL_NODES = cluster(
    [
        {"name": "a", "guaranteed": {"cpu": 3}, "settings": STARVES},
        {"name": "b"},
        {"name": "e", "guaranteed": {"cpu": 3}},
    ],
    [
        running("wide", "b", 2, "n1", "n2"),
        pending("c", "a", 3),
        pending("d", "e", 1, constraints={"nodes": ["n2"]}),
        pending("late", "e", 2, constraints={"nodes": ["n2"]}),
    ],
)
LIMIT_IN_THE_CYCLE = cluster(
    [
        {
            "name": "p",
            "max": {"cpu": 2},
            "guaranteed": {"cpu": 2},
            "settings": {"resource_limits_overcommit_tolerance": {"cpu": 4}},
        },
        {"name": "a", "parent": "p", "guaranteed": {"cpu": 2}, "settings": STARVES},
        {"name": "b", "parent": "p"},
        {"name": "z"},
        {"name": "y", "guaranteed": {"cpu": 3}},
    ],
    [
        running("r1", "b", 1, "n2"),
        running("r2", "b", 1, "n2", started=-4),
        running("z1", "z", 1, "n1"),
        running("z2", "z", 3, "n1", started=-4),
        pending("y1", "y", 4),
        pending("c", "a", 3, constraints={"nodes": ["n1"]}),
    ],
)


@pytest.mark.parametrize("document", [SEVERAL_NODES, LIMIT_IN_THE_CYCLE], ids=["several-nodes", "limit-in-the-cycle"])
def test_no_node_is_passed_by_where_something_would_happen(
    document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cede.plan(cede.load(document)).to_dict()
    monkeypatch.setattr(node_prospects, "PAIRS", 0)
    roughly = cede.plan(cede.load(document)).to_dict()

    def everywhere(beats: Heartbeats, may_try: Bools | None, *_: object, only_starts: bool) -> tuple[Bools, Bools]:
        every = np.ones(beats.state.nodes.size, np.bool_)
        return every, ~every if only_starts or may_try is None else may_try

    monkeypatch.setattr(decide, "worth_a_heartbeat", everywhere)

    assert cede.plan(cede.load(document)).to_dict() == found == roughly


def test_room_of_a_victim_on_another_node_is_used_in_the_same_cycle() -> None:
    made = cede.plan(cede.load(SEVERAL_NODES))

    assert made.of("c") is not None
    assert {one.workload: one.action for one in made.decisions} == {"c": "preempt", "d": "start", "late": "wait"}


def test_what_is_leaving_counts_against_no_limit() -> None:
    """Its usage is zero at once, so that another of its pool may start; whoever checks the plan counts alike."""
    document = cluster(
        [{"name": "x", "max": {"cpu": 2}}],
        [running("old", "x", 1, "n1", state="preempting"), running("now", "x", 1, "n1"), pending("next", "x", 1)],
    )
    loaded = cede.load(document)
    made = cede.plan(loaded)

    assert {one.workload: one.action for one in made.decisions} == {"next": "start"}
    assert cede.verify(loaded, made) == []
