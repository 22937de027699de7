"""Cancelled and suspended by somebody, in whatever state it is."""

import os
import signal

import pytest

from cede.live.client.errors import ClientError
from tests.live.scenarios.scripts import DEAF, ENDING, LET_GO, POLITE, SAVES, SAVING, SILENT, SLEEPS, SLOW_TO_GO
from tests.live.serving import HASTY, LATE_S, Live, alive

pytestmark = pytest.mark.slow


def test_a_pending_workload_is_cancelled_at_once(live: Live) -> None:
    live.runs("fills-1", SLEEPS)
    live.shell("waits", SLEEPS)

    ended = live.client.cancel("waits")
    assert (ended["state"], ended["rule"], ended["attempt"]) == ("cancelled", "live.cancelled", 0)
    live.client.cancel("fills-1")
    live.end("fills-1")
    assert live.client.job("waits")["state"] == "cancelled"


def test_a_held_workload_is_cancelled_at_once(live: Live) -> None:
    live.runs("victim-of-held", SILENT, checkpoint=SAVES)
    live.preempt("victim-of-held")
    live.wait("victim-of-held-urgent", "held")

    assert live.client.cancel("victim-of-held-urgent")["state"] == "cancelled"
    assert live.node("n1")["held"] == {}


def test_a_starting_workload_is_cancelled_before_or_after_it_began(live: Live) -> None:
    live.shell("just-started", SLEEPS)
    live.client.cancel("just-started")

    ended = live.end("just-started")
    assert (ended["state"], ended["rule"]) == ("cancelled", "live.cancelled")


def test_a_running_workload_is_told_to_go_and_is_cancelled(live: Live) -> None:
    live.runs("running", POLITE, checkpoint=SAVES)
    live.client.cancel("running")

    ended = live.end("running")
    assert (ended["state"], ended["rule"], ended["exit_code"]) == ("cancelled", "live.cancelled", 3)
    assert "hint" not in live.signals("running")


def test_a_running_workload_that_ignores_it_is_killed_after_its_grace(live: Live) -> None:
    live.runs("ignores", DEAF, times=HASTY)
    assert live.client.cancel("ignores")["state"] == "cancelling"

    ended = live.end("ignores")
    assert (ended["state"], ended["exit_signal"]) == ("cancelled", 9)
    assert 0.5 <= live.seconds_between("ignores", "cancel", "end") < 0.5 + LATE_S


def test_a_checkpointing_workload_is_cancelled_and_keeps_its_claimant_waiting_no_longer(live: Live) -> None:
    live.runs("saving-1", SILENT, checkpoint=SAVES, times={"checkpoint_timeout": 600})
    live.preempt("saving-1")
    live.wait("saving-1", "checkpointing")
    live.client.cancel("saving-1")

    ended = live.end("saving-1")
    assert (ended["state"], ended["preempted"]) == ("cancelled", 0)
    live.wait("saving-1-urgent", "running")


def test_a_preempting_workload_is_cancelled_and_never_queues_again(live: Live) -> None:
    live.runs("going", SLOW_TO_GO)
    live.preempt("going", "sleep 0.1")
    live.wait("going", "preempting")
    live.client.cancel("going")
    live.let_go("going")

    assert live.end("going")["state"] == "cancelled"
    live.completed("going-urgent")
    assert live.client.job("going")["attempt"] == 1


def test_a_suspended_workload_is_cancelled_at_once(live: Live) -> None:
    live.runs("asleep", SAVING, checkpoint=SAVES)
    live.client.suspend("asleep")
    live.wait("asleep", "suspended")

    assert live.client.cancel("asleep")["state"] == "cancelled"


def test_to_cancel_twice_changes_nothing(live: Live) -> None:
    live.runs("twice", SLOW_TO_GO)
    live.client.cancel("twice")
    assert live.client.cancel("twice")["state"] == "cancelling"
    live.let_go("twice")

    assert live.end("twice")["state"] == "cancelled"
    assert live.signals("twice").count("cancel") == 1
    with pytest.raises(ClientError) as refused:
        live.client.cancel("twice")
    assert refused.value.status in (404, 409)


def test_a_cancelled_workload_that_ends_well_before_it_is_told_has_completed(live: Live) -> None:
    """Its own end comes first when it comes first."""
    live.shell("racing", "exit 0")
    live.completed("racing")

    with pytest.raises(ClientError):
        live.client.cancel("racing")
    assert live.client.job("racing")["state"] == "completed"


def test_a_stopped_process_is_ended_too(live: Live) -> None:
    live.runs("stopped", f"echo $$ >{live.data}/stopped; {SLEEPS}", times=HASTY)
    pid = int((live.data / "stopped").read_text())
    os.kill(pid, signal.SIGSTOP)
    live.client.cancel("stopped")

    assert live.end("stopped")["state"] == "cancelled"
    assert not alive(pid)


def test_suspending_one_that_saves_nothing_would_lose_its_work(live: Live) -> None:
    live.runs("unsaved", POLITE)
    with pytest.raises(ClientError, match="would lose its work") as refused:
        live.client.suspend("unsaved")
    assert refused.value.rule == "live.would-lose-work"

    live.client.suspend("unsaved", force=True)
    away = live.wait("unsaved", "pending")
    assert (away["parked"] != "", away["rule"], away["preempted"]) == (True, "live.parked", 0)
    live.client.resume("unsaved")
    live.said("unsaved", "ready", attempt=2)


def test_a_pending_workload_that_is_suspended_does_not_start(live: Live) -> None:
    live.runs("fills-2", SLEEPS)
    live.shell("kept-back", "echo at last")
    live.client.suspend("kept-back")
    live.client.cancel("fills-2")
    live.end("fills-2")

    assert live.client.job("kept-back")["state"] == "pending"
    live.client.resume("kept-back")
    live.completed("kept-back")


def test_a_victim_that_somebody_suspends_meanwhile_stays_away(live: Live) -> None:
    live.runs("both", ENDING, checkpoint=SAVES)
    live.preempt("both", LET_GO)
    live.client.suspend("both")
    live.wait("both-urgent", "running")
    live.let_go("both-urgent")

    live.end("both-urgent")
    away = live.wait("both", "suspended")
    assert (away["parked"] != "", away["preempted"]) == (True, 1)
    live.client.resume("both")
    live.completed("both")


def test_resuming_what_nobody_suspended_is_refused(live: Live) -> None:
    live.runs("awake", SLEEPS)
    with pytest.raises(ClientError) as refused:
        live.client.resume("awake")
    assert (refused.value.status, refused.value.rule) == (409, "live.not-now")
