"""YTsaurus live: who starves preempts, clocks run on through a crash, and a node does not preempt all the time."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import cede
from tests.live.scenarios.dying import PATIENT_S, child
from tests.live.scenarios.scripts import SAVES, SAVING, SLEEPS
from tests.live.scenarios.twin import assert_replays
from tests.live.serving import LATE_S, Live, serving, until

pytestmark = pytest.mark.slow


def cluster(edition: str, options: dict[str, Any]) -> dict[str, Any]:
    """One node and two pools, which share it evenly."""
    return {
        "cede": 1,
        "now": "2026-01-01T00:00:00Z",
        "doctrine": {"name": "ytsaurus", "edition": edition, **options},
        "nodes": [{"name": "n1", "capacity": {"cpu": 8}}],
        "queues": [{"name": "a"}, {"name": "b"}],
    }


def preemptions(live: Live) -> list[dict[str, Any]]:
    return [dict(one) for one in live.client.decisions() if one["victims"]]


def when(text: str) -> datetime:
    return datetime.fromisoformat(text)


def first(live: Live, name: str, signal: str) -> datetime:
    """When this happened to it first, by its record."""
    return next(when(event["at"]) for event in live.events(name) if event["signal"] == signal)


@pytest.mark.parametrize("edition", ["docs", "25.4"])
def test_a_starving_job_takes_the_newest_allocation_beyond_a_share_which_saves_leaves_and_resumes(
    tmp_path: Path, edition: str
) -> None:
    options = {"fair_share_starvation_timeout": 1, "preemptive_scheduling_backoff": 0.1}
    with serving(tmp_path, cluster(edition, options)) as live:
        live.runs("old", SLEEPS, queue="a", app="exp")
        live.runs("new", SAVING, queue="a", app="exp", checkpoint=SAVES)
        live.shell("starving", SLEEPS, queue="b")
        live.shell("behind", SLEEPS, queue="a", app="exp")

        live.wait("starving", "running", within=PATIENT_S)
        left = live.wait("new", "suspended", within=PATIENT_S)
        assert (left["preempted"], live.client.job("old")["preempted"]) == (1, 0)
        assert "ytsaurus.not-starving" in live.rules("starving")
        assert live.seconds_between("starving", "submit", "hold") > 1
        assert live.client.job("behind")["state"] == "pending"
        (decision,) = preemptions(live)
        assert (decision["workload"], decision["victims"]) == ("starving", ["new"])
        assert (decision["edition"], decision["rule"]) == (edition, "ytsaurus.starving")
        again = cede.plan(cede.load(live.client.decision_cluster(decision["number"])))
        victims = [[victim.workload for victim in made.victims] for made in again.decisions if made.victims]
        assert victims == [["new"]]
        live.client.cancel("behind")
        live.client.cancel("starving")
        live.said("new", "ready 2 1", within=PATIENT_S, attempt=2)
    assert_replays(tmp_path)


def test_a_clock_runs_on_through_kill_9_and_a_restart(tmp_path: Path) -> None:
    timeout = timedelta(seconds=4)
    options = {"fair_share_starvation_timeout": timeout.seconds, "preemptive_scheduling_backoff": 0.1}
    with child(tmp_path, cluster("docs", options)) as live:
        live.runs("old", SLEEPS, queue="a", app="exp")
        live.runs("new", SLEEPS, queue="a", app="exp")
        live.shell("starving", SLEEPS, queue="b")
        began = first(live, "starving", "submit")
        live.kill()
        live.start()
        up = when(live.client.snapshot()["now"])

        live.wait("starving", "running", within=PATIENT_S)
        (decision,) = preemptions(live)
        moment = live.client.decision_cluster(decision["number"])
        clocks = {app["name"]: app["settings"]["below_fair_share_since"] for app in moment["apps"]}
        assert when(clocks["starving"]) == began < up
        held = first(live, "starving", "hold")
        # It starves when it would have without the restart, or at once if that was while nobody was there.
        assert timeout < held - began
        assert held - max(began + timeout, up) < timedelta(seconds=LATE_S)
        assert "below its fair share for" in decision["why"]
    assert_replays(tmp_path / "data")


def test_a_node_preempts_for_one_at_a_time_and_not_again_before_its_backoff_is_over(tmp_path: Path) -> None:
    backoff = timedelta(seconds=2)
    # Both claimants are there long before their operation starves.
    options = {"fair_share_starvation_timeout": 15, "preemptive_scheduling_backoff": backoff.seconds}
    with serving(tmp_path, cluster("docs", options)) as live:
        for name in ("one", "two", "three", "four"):
            live.runs(name, SLEEPS, queue="a", app="exp", cpu=2)
        for name in ("first", "second"):
            live.shell(name, SLEEPS, queue="b", app="claims", cpu=2)

        for name in ("first", "second"):
            live.wait(name, "running", within=PATIENT_S)
        decisions = preemptions(live)
        assert [(one["workload"], one["victims"]) for one in decisions] == [("first", ["four"]), ("second", ["three"])]
        assert when(decisions[1]["at"]) - when(decisions[0]["at"]) > backoff
        until(lambda: {live.client.job(name)["state"] for name in ("three", "four")} == {"pending"})
        assert set(live.rules("second")) & {"ytsaurus.backoff", "ytsaurus.node-waits", "ytsaurus.one-a-heartbeat"}
    assert_replays(tmp_path)
