"""A server is killed in the midst of a preemption; the next one finishes it, and nothing happens twice."""

from __future__ import annotations

import random

import pytest

from tests.live.crash.scene import ALL, SAVES, Scene, ended, pass_time, until

pytestmark = pytest.mark.slow

GRACE = {"grace_period": 3}


def test_a_victim_that_writes_its_checkpoint_is_not_asked_twice(scene: Scene) -> None:
    scene.fill({"takes": scene.sign()}, checkpoint=SAVES)
    scene.claim()
    until(lambda: len(scene.lines("victim", "hint")) == 4)

    scene.restart()
    scene.give_sign()

    assert scene.wait("claimant")["state"] == "completed"
    assert len(scene.lines("victim", "hint")) == len(scene.lines("victim", "told")) == 4
    assert scene.wait("victim", "running")["preempted"] == 1
    assert scene.decisions() == [("claimant", ["victim"])]
    resumed = until(lambda: len(found := scene.lines("victim", "resumed")) == 4 and found)
    assert {(one.member, one.details) for one in resumed} == {
        (one.member, one.details) for one in scene.lines("victim", "saved")
    }


def test_a_checkpoint_written_while_the_server_was_away_counts(scene: Scene) -> None:
    scene.fill({"takes": scene.sign(), "goes": True}, checkpoint=SAVES)
    scene.claim()
    until(lambda: len(scene.lines("victim", "hint")) == 4)

    def away() -> None:
        scene.give_sign()
        until(lambda: len(scene.lines("victim", "left")) == 4)

    scene.restart(away=away)

    assert scene.wait("claimant")["state"] == "completed"
    victim = scene.wait("victim", "running")
    assert (victim["attempt"], victim["preempted"], victim["requeues"]) == (2, 1, 0)
    assert len(until(lambda: len(got := scene.lines("victim", "resumed")) == 4 and got)) == 4


def test_a_victim_that_saved_for_later_and_got_to_its_end_while_the_server_was_away_has_completed(scene: Scene) -> None:
    scene.fill({"takes": scene.sign(), "steps": scene.sign()}, checkpoint=SAVES)
    scene.client.checkpoint("victim")
    until(lambda: len(scene.lines("victim", "hint")) == 4)
    scene.claim()
    scene.wait("claimant", "held")

    def away() -> None:
        scene.give_sign()
        until(lambda: len(scene.lines("victim", "complete")) == 4)

    scene.restart(away=away)

    victim = scene.wait("victim")
    assert (victim["state"], victim["attempt"], victim["preempted"]) == ("completed", 1, 0)
    assert scene.wait("claimant")["state"] == "completed"


def test_a_hold_outlives_the_server(scene: Scene) -> None:
    scene.fill({"lingers": scene.sign()})
    scene.claim()
    scene.wait("claimant", "held")
    until(lambda: len(scene.lines("victim", "told")) == 4)

    scene.restart()

    held = scene.client.job("claimant")
    assert (held["state"], held["waits_for"]) == ("held", ["victim"])
    scene.give_sign()
    assert scene.wait("claimant")["state"] == "completed"
    assert len(scene.lines("victim", "told")) == 4
    assert scene.decisions() == [("claimant", ["victim"])]
    assert scene.wait("victim", "running")["preempted"] == 1
    assert not any(node["held"].get("cpu") for node in scene.client.nodes())


def test_nobody_slips_into_a_hold_that_was_read_back(scene: Scene) -> None:
    scene.fill({"lingers": scene.sign()})
    scene.claim(members=4)
    scene.wait("claimant", "held")

    scene.restart()
    scene.submit("small", {"steps": 1}, priority=50)
    scene.give_sign()

    assert scene.wait("claimant")["state"] == "completed"
    [first, *_] = sorted(scene.lines("claimant", "begin") + scene.lines("small", "begin"), key=lambda line: line.at)
    assert first in scene.lines("claimant", "begin")


def test_a_claimant_whose_victim_left_while_the_server_was_away_starts(scene: Scene) -> None:
    scene.fill({"lingers": scene.sign()})
    scene.claim()
    # That it goes is on record before it is told, and the server may be gone by then.
    until(lambda: len(scene.lines("victim", "told")) == 4)

    def away() -> None:
        scene.give_sign()
        until(lambda: len(scene.lines("victim", "left")) == 4)

    scene.restart(away=away)

    assert scene.wait("claimant")["state"] == "completed"
    assert scene.wait("victim", "running")["preempted"] == 1


def test_the_grace_of_a_victim_ends_though_no_server_is_there(scene: Scene) -> None:
    scene.fill({"lingers": 600}, times=GRACE)
    scene.claim()
    told = until(lambda: len(lines := scene.lines("victim", "told")) == 4 and lines)

    scene.restart(away=lambda: until(lambda: all(map(ended, told))))

    assert scene.wait("claimant")["state"] == "completed"
    victim = scene.wait("victim", "running")
    assert (victim["attempt"], victim["preempted"]) == (2, 1)


def test_a_cancelled_job_is_gone_after_a_restart(scene: Scene) -> None:
    scene.submit("job", {"lingers": 0.3, "stray": True}, times={"grace_period": 10})
    until(lambda: scene.lines("job", "stray"))
    scene.wait("job", "running")
    scene.client.cancel("job")

    scene.restart()

    assert scene.wait("job")["state"] == "cancelled"
    assert len(scene.lines("job", "told")) == 1
    until(lambda: not scene.left())


def test_an_answer_that_was_given_holds_whenever_the_server_dies(scene: Scene) -> None:
    """Killed a moment after each answer: between what was stored and what was done, before and behind."""
    draw = random.Random(4)
    for number in range(8):
        scene.submit(f"job-{number}", {"steps": 1}, members=draw.choice([1, 3]))
        pass_time(draw.choice([0, 0, 0.002, 0.005, 0.01, 0.03]))
        scene.restart()

    for number in range(8):
        job = scene.wait(f"job-{number}")
        begun = scene.lines(f"job-{number}", "begin")
        assert (job["state"], job["attempt"], len(begun)) == ("completed", 1, job["members"])
    until(lambda: not scene.left())


def test_a_preemption_is_carried_out_once_whenever_the_server_dies(scene: Scene) -> None:
    """Killed at many points of one sequence after the other: held, hinted, told, left, starting."""
    draw = random.Random(5)
    scene.fill({"takes": 0.1, "lingers": 0.1}, checkpoint=SAVES)
    for number in range(10):
        scene.submit(f"claimant-{number}", {"steps": 1}, priority=90, **ALL)
        pass_time(draw.uniform(0, 0.4))
        scene.restart()
        assert scene.wait(f"claimant-{number}")["state"] == "completed"
        scene.wait("victim", "running")

    victim = scene.client.job("victim")
    assert victim["preempted"] == len(scene.decisions()) == 10
    for attempt in range(1, victim["attempt"] + 1):
        for what in ("begin", "told"):
            members = [line.member for line in scene.lines("victim", what) if line.attempt == attempt]
            assert len(members) == len(set(members))
    assert not scene.lines("victim", "overlap")
    assert all(
        event["decision"] for event in scene.client.events(after=0, workload="victim") if event["signal"] == "hint"
    )
