"""Every row of the table of timeouts: what becomes of a victim that answers, is slow, is silent, or asks for time."""

import re

import pytest

from tests.live.scenarios.scripts import DEAF, ENDING, LET_GO, POLITE, SAVES, SILENT, SLOWLY, answering
from tests.live.serving import HASTY, LATE_S, TIMES, Live

pytestmark = pytest.mark.slow

ANSWERS = {"checkpoint_timeout": 10}
"""Time for a sign of life, though the checkpoint never comes."""


def test_a_victim_that_saves_in_time_is_suspended_and_resumes_from_its_checkpoint(live: Live) -> None:
    live.runs("saver", ENDING, checkpoint=SAVES)
    live.preempt("saver", LET_GO)

    victim = live.wait("saver", "suspended")
    assert (victim["preempted"], victim["attempt"], victim["nodes"]) == (1, 1, [])
    live.let_go("saver-urgent")
    live.completed("saver-urgent")
    ended = live.end("saver")
    assert (ended["state"], ended["attempt"], ended["submitted"]) == ("completed", 2, victim["submitted"])
    assert live.log("saver") == "resumed 2\n1\n"
    assert live.log("saver", attempt=1) == "ready 1 0\n"
    assert live.signals("saver") == [
        *("submit", "start", "began", "hint", "saved", "evict", "suspend", "start", "began", "complete")
    ]


def test_a_victim_that_is_slow_but_answers_is_given_more_time_once(live: Live) -> None:
    live.runs("slow", SLOWLY, checkpoint=SAVES, times=ANSWERS | {"timeout_extension": 10})
    live.preempt("slow")

    live.happened("slow", "extend")
    live.let_go("slow")
    live.wait("slow", "suspended")
    assert live.signals("slow")[3:] == ["hint", "extend", "saved", "evict", "suspend"]


def test_a_victim_that_answers_is_given_half_as_long_again_and_then_it_is_ended(live: Live) -> None:
    live.runs("slower", SLOWLY, checkpoint=SAVES, requeue="never", times=ANSWERS)
    live.preempt("slower")

    ended = live.end("slower")
    assert (ended["state"], ended["rule"]) == ("failed", "live.unresponsive")
    assert 15 <= live.seconds_between("slower", "hint", "evict") < 15 + LATE_S
    assert " 5s" in next(event["why"] for event in live.events("slower") if event["signal"] == "extend")
    assert live.signals("slower")[3:] == ["hint", "extend", "evict", "fail"]


def test_a_silent_victim_is_told_to_go_and_has_failed(live: Live) -> None:
    live.runs("silent", SILENT, checkpoint=SAVES, requeue="never", times={"checkpoint_timeout": 1})
    live.preempt("silent")

    ended = live.end("silent")
    assert (ended["state"], ended["rule"], ended["exit_signal"]) == ("failed", "live.unresponsive", 15)
    # It says how long it took until it was gone.
    (took,) = re.findall(r"within ([0-9.]+)s after it was asked", ended["why"])
    assert 1 <= float(took) < 1 + LATE_S
    assert live.signals("silent")[3:] == ["hint", "evict", "fail"]
    live.wait("silent-urgent", "running")


def test_a_silent_victim_that_ignores_the_signal_is_killed_after_its_grace(live: Live) -> None:
    live.runs("deaf", DEAF, checkpoint=SAVES, requeue="never", times=HASTY)
    live.preempt("deaf")

    ended = live.end("deaf")
    assert (ended["state"], ended["rule"], ended["exit_signal"]) == ("failed", "live.unresponsive", 9)
    assert 1.0 <= live.seconds_between("deaf", "hint", "evict") < 1.0 + LATE_S
    assert 0.5 <= live.seconds_between("deaf", "evict", "fail") < 0.5 + LATE_S
    live.wait("deaf-urgent", "running")


def test_a_victim_without_checkpoints_is_told_to_go_at_once(live: Live) -> None:
    live.runs("plain", POLITE)
    live.preempt("plain", "sleep 0.3")

    live.end("plain-urgent")
    assert live.seconds_between("plain", "evict", "requeue") < TIMES["grace_period"]
    live.said("plain", "ready", attempt=2)
    again = live.wait("plain", "running")
    assert live.log("plain", attempt=1) == "ready\nbye\n"
    assert live.signals("plain") == ["submit", "start", "began", "evict", "requeue", "start", "began"]
    assert (again["preempted"], again["requeues"], again["attempt"]) == (1, 0, 2)


def test_a_victim_without_checkpoints_that_ignores_the_signal_is_killed_after_its_grace(live: Live) -> None:
    live.runs("stubborn", DEAF, times=HASTY)
    live.preempt("stubborn")

    left = live.wait("stubborn", "pending")
    assert 0.5 <= live.seconds_between("stubborn", "evict", "requeue") < 0.5 + LATE_S
    assert (left["exit_signal"], left["preempted"]) == (9, 1)


def test_a_deferral_is_granted_up_to_its_limit_and_then_the_victim_is_forced(live: Live) -> None:
    asks = answering('put defer "$hint 60"; sleep 300')
    live.runs("busy", asks, checkpoint=SAVES, requeue="never", times=ANSWERS)
    live.preempt("busy")

    ended = live.end("busy")
    assert (ended["state"], ended["rule"]) == ("failed", "live.unresponsive")
    assert 10.5 <= live.seconds_between("busy", "hint", "evict") < 10.5 + LATE_S
    deferral = next(event for event in live.events("busy") if event["rule"] == "live.deferral")
    assert "asked for 1m" in deferral["why"]
    assert "given 500ms of at most 500ms" in deferral["why"]


def test_a_victim_that_cannot_save_is_told_to_go_at_once_and_has_failed(live: Live) -> None:
    live.runs("full", answering('put failed "$hint the disk is full"'), checkpoint=SAVES, requeue="never")
    live.preempt("full")

    ended = live.end("full")
    assert (ended["state"], ended["rule"]) == ("failed", "live.checkpoint-failed")
    assert "the disk is full" in ended["why"]
    assert live.seconds_between("full", "hint", "evict") < TIMES["checkpoint_timeout"]
