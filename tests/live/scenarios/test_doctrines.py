"""The same sequence under other doctrines: quotas with nodes, and a group that ends whom it preempts."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.live.scenarios.scripts import ENDING, POLITE, SAVES, SAVING, SLEEPS
from tests.live.scenarios.twin import assert_replays
from tests.live.serving import LATE_S, Live, cluster_of, serving, until

pytestmark = pytest.mark.slow

Start = Callable[[dict[str, Any]], Live]

KUEUE: dict[str, Any] = {
    "cede": 1,
    "now": "2026-01-01T00:00:00Z",
    "doctrine": "kueue",
    "nodes": [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")],
    "queues": [
        {"name": "all", "guaranteed": {"cpu": 0}},
        *(
            {
                "name": name,
                "parent": "all",
                "guaranteed": {"cpu": 4},
                "settings": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
            }
            for name in ("red", "blue")
        ),
    ],
}

YUNIKORN: dict[str, Any] = {
    "cede": 1,
    "now": "2026-01-01T00:00:00Z",
    "doctrine": "yunikorn",
    "nodes": [{"name": "n1", "capacity": {"cpu": 8}}],
    "queues": [
        {"name": "root"},
        {"name": "root.prod", "parent": "root", "guaranteed": {"cpu": 4}, "settings": {"preemption.delay": "0.5s"}},
        {"name": "root.test", "parent": "root", "guaranteed": {"cpu": 4}, "settings": {"preemption.delay": "0.5s"}},
    ],
}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A server of its own for each test; when it is over, its twin must have done the same."""
    open_ones: list[tuple[AbstractContextManager[Live], Path]] = []

    def begin(cluster: dict[str, Any]) -> Live:
        folder = tmp_path / str(len(open_ones))
        manager = serving(folder, cluster)
        live = manager.__enter__()
        open_ones.append((manager, folder))
        return live

    yield begin
    for manager, folder in open_ones:
        manager.__exit__(None, None, None)
        assert_replays(folder)


def test_under_kueue_a_queue_reclaims_what_another_borrowed(start: Start) -> None:
    live = start(KUEUE)
    live.runs("own", SLEEPS, queue="red")
    live.runs("borrows", SAVING, queue="red", checkpoint=SAVES)
    assert next(queue for queue in live.client.queues() if queue["name"] == "red")["usage"] == {"cpu@default": 8}
    live.shell("rightful", SLEEPS, queue="blue")

    live.wait("rightful", "running")
    left = live.wait("borrows", "suspended")
    assert left["preempted"] == 1
    (decision,) = (one for one in live.client.decisions(workload="borrows") if one["victims"])
    assert (decision["workload"], decision["doctrine"]) == ("rightful", "kueue")
    assert decision["rule"].startswith("kueue.")
    live.client.cancel("own")
    live.said("borrows", "ready 2 1", attempt=2)


def test_under_kueue_a_higher_priority_preempts_within_its_queue_and_its_quota(start: Start) -> None:
    live = start(KUEUE | {"queues": [{key: value for key, value in KUEUE["queues"][1].items() if key != "parent"}]})
    live.runs("low", ENDING, queue="red", checkpoint=SAVES)
    live.shell("over-quota", SLEEPS, queue="red")
    assert live.client.job("over-quota")["state"] == "pending"
    assert live.node("n2")["used"] == {}
    live.shell("high", "sleep 0.2", queue="red", priority=9)

    live.completed("high")
    until(lambda: {live.client.job(name)["state"] for name in ("low", "over-quota")} >= {"completed", "running"})
    assert live.log("low", attempt=2).startswith("resumed 2")


def test_under_kueue_a_gang_that_fits_its_quota_waits_for_nodes(start: Start) -> None:
    live = start(KUEUE)
    live.client.drain("n2")
    live.shell("wide", SLEEPS, queue="red", members=2, cpu=3)
    live.shell("small", SLEEPS, queue="blue", cpu=1)

    live.wait("small", "running")
    assert live.client.job("wide")["state"] == "pending"
    live.client.undrain("n2")
    assert sorted(live.wait("wide", "running")["nodes"]) == ["n1", "n2"]


def test_under_kube_scheduler_a_pod_takes_one_node_and_its_victim_comes_back(start: Start) -> None:
    nodes = [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")]
    budgets = [{"name": "kept", "workloads": ["covered"], "allowed": 0}]
    doctrine = {"name": "kubernetes", "disruption_budgets": budgets}
    cluster = {"cede": 1, "now": "2026-01-01T00:00:00Z", "doctrine": doctrine, "nodes": nodes}
    live = start({**cluster, "queues": [{"name": "default"}]})
    live.runs("covered", POLITE, priority=1)
    live.runs("open", POLITE, priority=5, preempts=False)
    live.shell("high", "sleep 0.2", priority=9)
    live.shell("shy", SLEEPS, priority=7, preempts=False)

    live.completed("high")
    assert live.client.job("covered")["preempted"] == 0
    assert live.client.job("open")["preempted"] == 1
    assert "kubernetes.lower-priority" in live.rules("high")
    assert live.wait("shy", "running")["nodes"] == live.client.job("high")["nodes"]


@pytest.mark.parametrize("saves", [True, False])
def test_a_group_whose_mode_is_terminate_ends_its_victims(start: Start, saves: bool) -> None:
    live = start(cluster_of("n1", preemption_mode="terminate"))
    live.runs("victim", SAVING if saves else POLITE, checkpoint=SAVES if saves else "none")
    live.preempt("victim", "sleep 0.2")

    ended = live.end("victim")
    assert (ended["state"], ended["rule"], ended["preempted"]) == ("preempted", "live.preempted", 1)
    assert "victim-urgent" in ended["why"]
    assert "the doctrine ends what it preempts" in ended["why"]
    live.completed("victim-urgent")
    assert live.client.job("victim")["state"] == "preempted"


def test_under_the_shipped_edition_victims_are_rescheduled(start: Start) -> None:
    doctrine = {"name": "backendai", "edition": "26.8"}
    settings = {"enabled": True, "preemption_mode": "reschedule", "victim_scope": "resource-group"}
    cluster = cluster_of("n1", doctrine=doctrine) | {"queues": [{"name": "default", "settings": settings}]}
    live = start(cluster)
    live.runs("first", POLITE, job_priority=1)
    live.preempt("first", "sleep 0.2", job_priority=9)

    live.completed("first-urgent")
    live.said("first", "ready", attempt=2)
    assert live.client.job("first")["preempted"] == 1


@pytest.mark.parametrize("edition", ["laws", "1.9"])
def test_under_yunikorn_a_queue_under_its_guarantee_takes_from_one_over_and_nobody_slips_back(
    start: Start, edition: str
) -> None:
    live = start(YUNIKORN | {"doctrine": {"name": "yunikorn", "edition": edition}})
    live.runs("old", SLEEPS, queue="root.test")
    live.runs("young", POLITE, queue="root.test")
    live.shell("prod-1", SLEEPS, queue="root.prod")

    live.wait("prod-1", "running")
    victim = live.wait("young", "pending")
    assert (victim["preempted"], live.client.job("old")["preempted"]) == (1, 0)
    (decision,) = (one for one in live.client.decisions(workload="young") if one["victims"])
    assert (decision["workload"], decision["edition"], decision["rule"]) == (
        "prod-1",
        edition,
        "yunikorn.over-guarantee",
    )
    until(lambda: live.client.job("young")["rule"] in ("yunikorn.law-4", "yunikorn.guarantee-check"))
    live.client.cancel("old")
    live.said("young", "ready", attempt=2)


def test_under_yunikorn_a_claimant_waits_for_its_delay_and_then_preempts_though_nothing_happens(start: Start) -> None:
    live = start(YUNIKORN)
    for name in ("one", "two"):
        live.runs(name, SLEEPS, queue="root.test")
    live.shell("prod-1", SLEEPS, queue="root.prod")

    live.wait("prod-1", "running")
    assert "yunikorn.delay" in live.rules("prod-1")
    assert 0.5 <= live.seconds_between("prod-1", "submit", "hold") < 0.5 + LATE_S
