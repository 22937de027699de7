"""Storms on a real server: the published loop of Kueue, and a job that always fails and always comes back."""

from typing import Any

import pytest

from tests.live.scenarios.scripts import SLOW_TO_GO
from tests.live.serving import Live, until

pytestmark = pytest.mark.slow

QUEUE = {
    "parent": "lab",
    "guaranteed": {"cpu": 0},
    "settings": {"withinClusterQueue": "LowerOrNewerEqualPriority", "reclaimWithinCohort": "Any"},
}


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    """`detect` and `asr` evict each other for ever, by fair sharing."""
    return {
        "cede": 1,
        "now": "2026-01-01T00:00:00Z",
        "doctrine": {"name": "kueue", "preemption": "FairSharing"},
        "nodes": [{"name": "n1", "capacity": {"cpu": 200}}],
        "queues": [{"name": "lab", "guaranteed": {"cpu": 100}}, {"name": "vision"} | QUEUE, {"name": "speech"} | QUEUE],
    }


def test_two_who_evict_each_other_for_ever_are_slowed_down_and_everybody_is_told(live: Live) -> None:
    live.runs("asr", SLOW_TO_GO, queue="speech", cpu=70, requeue="always")
    live.shell("detect", SLOW_TO_GO, queue="vision", cpu=60, requeue="always")
    live.happened("detect", "hold")
    # The circle takes three: `label` must come while `asr` is leaving, however long that takes on a busy machine.
    live.runs("label", SLOW_TO_GO, queue="vision", cpu=30, requeue="always")
    for name in ("asr", "detect", "label"):
        live.let_go(name)

    def held_back() -> dict[str, Any]:
        waiting = [live.client.job(name) for name in ("asr", "detect")]
        return next((dict(job) for job in waiting if job["rule"] == "live.breaker"), {})

    held = until(held_back, what="the breaker held one of them back")
    made = [one for one in live.client.decisions() if one["victims"]]
    assert len(made) <= 6
    assert "detect" in held["why"]
    assert "asr" in held["why"]
    assert "cede settle" in held["why"]
    # What is committed is told to health and metrics a moment later.
    until(lambda: (live.client.health()["status"], live.client.health()["alarms"]) == ("impaired", 1))
    until(lambda: "cede_breaker_held_back 1.0" in live.client.metrics())
    why = live.client.why(held["name"])
    assert any("live.breaker" in line["rule"] for line in why["story"])


def test_a_job_that_always_fails_and_always_comes_back_is_tried_later_each_time(live: Live) -> None:
    live.submit("broken", "false", queue="speech", cpu=1, requeue="always", max_requeues=100)
    live.happened("broken", "back off", times=3)

    waits = [event["why"] for event in live.events("broken") if event["signal"] == "back off"]
    assert ["in 1s" in waits[0], "in 2s" in waits[1], "in 4s" in waits[2]] == [True, True, True]
    assert live.client.job("broken")["state"] == "pending"
    live.client.cancel("broken")
    assert live.end("broken")["state"] == "cancelled"
