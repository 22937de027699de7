"""Each way to ask an application for a checkpoint, with the examples: preempted, suspended, asked, resumed."""

import re
import sys
from pathlib import Path

import pytest

from tests.live.serving import LATE_S, Live, until

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples" / "checkpoint"
PROGRAMS = {
    "signal": (sys.executable, "count.py"),
    "signal-shell": ("sh", "count.sh"),
    "shm": (sys.executable, "train_shm.py"),
    "grpc": (sys.executable, "train_grpc.py"),
}
PACED = 'if [ $CEDE_RESUME = 1 ]; then exec "$@" 0.005; else exec "$@" 0.2; fi'
"""Seconds for each step: what is told to go has not counted to its end by then, and what resumes soon has."""


def begin(live: Live, way: str, name: str, steps: int) -> str:
    """The example of this protocol works on its first steps. It takes its time for them, until it resumes."""
    program, script = PROGRAMS[way]
    checkpoint = {"mode": "manual", "protocol": way.removesuffix("-shell")}
    command = ("sh", "-c", PACED, "sh", program, str(EXAMPLES / script), str(steps))
    live.submit(f"{way}-{name}", *command, checkpoint=checkpoint)
    live.said(f"{way}-{name}", "starting from 0")
    live.wait(f"{way}-{name}", "running")
    return f"{way}-{name}"


def saved(live: Live, name: str) -> int:
    """The step that its checkpoint names, of one that is suspended."""
    live.wait(name, "suspended")
    (file,) = (live.data / "jobs" / name / "checkpoint").iterdir()
    return int(re.findall(r"\d+", file.read_text())[0])


@pytest.mark.parametrize("way", PROGRAMS)
def test_a_preempted_example_goes_on_from_its_checkpoint(live: Live, way: str) -> None:
    name = begin(live, way, "preempted", 200)
    urgent = live.preempt(name)

    step = saved(live, name)
    live.wait(urgent, "running")
    live.client.cancel(urgent)
    ended = live.end(name)
    assert (ended["state"], ended["attempt"], ended["preempted"]) == ("completed", 2, 1)
    log = live.log(name)
    assert f"resuming from {step}, attempt 2" in log
    assert log.splitlines()[-1].startswith(("counted to 200", "trained 200 steps"))


@pytest.mark.parametrize("way", PROGRAMS)
def test_an_example_that_somebody_suspends_stays_away_until_it_is_resumed(live: Live, way: str) -> None:
    name = begin(live, way, "parked", 200)
    live.client.suspend(name)

    step = saved(live, name)
    away = live.client.job(name)
    assert (away["preempted"], bool(away["parked"])) == (0, True)
    assert live.node("n1")["used"] == {}
    live.client.resume(name)
    ended = live.end(name)
    assert (ended["state"], ended["attempt"], ended["parked"]) == ("completed", 2, "")
    assert f"resuming from {step}, attempt 2" in live.log(name)


@pytest.mark.parametrize("way", PROGRAMS)
def test_an_example_that_is_asked_for_a_checkpoint_runs_on(live: Live, way: str) -> None:
    name = begin(live, way, "asked", 100_000)
    for count in (1, 2):
        live.client.checkpoint(name)
        live.happened(name, "checkpointed", count)

    running = live.client.job(name)
    assert (running["state"], running["attempt"]) == ("running", 1)
    assert running["checkpoint"]["last"] is not None
    until(lambda: live.log(name).count("saved") >= 2)


@pytest.mark.parametrize("then", ["saves", "forgets"])
def test_an_application_that_asks_for_time_over_grpc_gets_some_and_no_more(live: Live, then: str) -> None:
    """One that keeps to what it was granted saves in time; one that does not is ended."""
    command = (sys.executable, str(Path(__file__).parent / "deferring.py"), then)
    name = f"{then}-later"
    times = {"checkpoint_timeout": {"saves": 30, "forgets": 10}[then], "max_deferral": 0.5}
    live.submit(
        name,
        *command,
        checkpoint={"mode": "manual", "protocol": "grpc"},
        times=times,
        requeue="never" if then == "forgets" else "always",
    )
    live.said(name, "ready")
    live.wait(name, "running")
    live.preempt(name)

    left = live.wait(name, "suspended", "failed")
    assert left["state"] == {"saves": "suspended", "forgets": "failed"}[then]
    assert live.log(name, attempt=1).split() == ["ready", "deferred", *(["saved"] if then == "saves" else [])]
    deferral = next(event for event in live.events(name) if event["signal"] == "defer")
    assert "asked for 1m more time and was given 500ms of at most 500ms" in deferral["why"]
    least = {"saves": 0.5, "forgets": 10.5}[then]
    took = live.seconds_between(name, "hint", {"saves": "saved", "forgets": "evict"}[then])
    assert least <= took < least + LATE_S
