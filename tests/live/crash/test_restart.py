"""A server goes, and the jobs do not."""

import os
import signal

import pytest

from tests.live.crash.scene import SAVES, Scene, ended, pass_time, until

pytestmark = pytest.mark.slow

BOTH = pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])


@BOTH
def test_running_jobs_go_on_and_are_taken_over(number: int, scene: Scene) -> None:
    scene.submit("job", {"steps": scene.sign()})
    scene.submit("gang", {"steps": scene.sign()}, members=3)
    before = {name: scene.wait(name, "running") for name in ("job", "gang")}
    until(lambda: len(scene.lines("job", "begin") + scene.lines("gang", "begin")) == 4)

    scene.restart(number=number)

    for name, was in before.items():
        job = scene.client.job(name)
        assert (job["state"], job["attempt"], job["began"]) == ("running", 1, was["began"])
    scene.give_sign()
    assert {scene.wait(name)["state"] for name in before} == {"completed"}
    assert len(scene.lines("job", "begin")) == 1
    assert len(scene.lines("gang", "begin")) == 3
    until(lambda: not scene.left())


@BOTH
def test_a_job_does_not_notice_that_the_server_is_away(number: int, scene: Scene) -> None:
    scene.submit("job", {"steps": scene.sign()})
    scene.wait("job", "running")

    def away() -> None:
        scene.give_sign()
        until(lambda: scene.lines("job", "complete"))

    scene.restart(number=number, away=away)

    assert scene.wait("job")["exit_code"] == 0


@pytest.mark.parametrize(("code", "state"), [(0, "completed"), (7, "failed")])
def test_how_it_ended_while_the_server_was_away_is_known(code: int, state: str, scene: Scene) -> None:
    scene.submit("job", {"steps": scene.sign(), "code": code})
    scene.wait("job", "running")

    def away() -> None:
        scene.give_sign()
        until(lambda: scene.lines("job", "complete", "fail") and not scene.left())

    scene.restart(away=away)

    job = scene.wait("job")
    assert (job["state"], job["exit_code"], job["exit_signal"]) == (state, code, None)
    assert (job["attempt"], len(scene.lines("job", "begin"))) == (1, 1)


def test_a_signal_that_ended_it_while_the_server_was_away_is_known(scene: Scene) -> None:
    scene.client.submit(
        ["sh", "-c", "while ! [ -e sign ]; do sleep 0.02; done; kill -9 $$"], name="job", cwd=str(scene.notes)
    )
    scene.wait("job", "running")

    def away() -> None:
        scene.give_sign()
        until(lambda: not scene.left())

    scene.restart(away=away)

    job = scene.wait("job")
    assert (job["state"], job["exit_code"], job["exit_signal"]) == ("failed", None, 9)


def test_a_walltime_that_ran_out_while_the_server_was_away_is_kept(scene: Scene) -> None:
    scene.submit("job", walltime=12)
    until(lambda: scene.lines("job", "step"))
    scene.wait("job", "running")

    scene.restart(away=lambda: pass_time(12.2))

    job = scene.wait("job")
    assert (job["state"], job["rule"]) == ("failed", "live.walltime")
    assert len(scene.lines("job", "told")) == 1


def test_who_was_suspended_by_somebody_stays_so(scene: Scene) -> None:
    scene.submit("job", {"steps": scene.sign()}, checkpoint=SAVES)
    until(lambda: scene.lines("job", "step"))
    scene.wait("job", "running")
    scene.client.suspend("job")
    scene.wait("job", "suspended")

    scene.restart()

    assert scene.client.job("job")["parked"]
    scene.client.resume("job")
    scene.give_sign()
    assert scene.wait("job")["state"] == "completed"
    [resumed] = scene.lines("job", "resumed")
    assert resumed.details == scene.lines("job", "saved")[-1].details


def test_a_data_directory_that_was_used_before_has_its_past(scene: Scene) -> None:
    scene.submit("old", {"steps": 1})
    scene.wait("old")
    last = [event["number"] for event in scene.client.events(after=0)][-1]

    for number in (signal.SIGKILL, signal.SIGTERM):
        scene.restart(number=number)

    assert scene.client.job("old")["state"] == "completed"
    with pytest.raises(Exception, match="names are used once"):
        scene.submit("old")
    scene.submit("new", {"steps": 1})
    assert scene.wait("new")["state"] == "completed"
    assert min(event["number"] for event in scene.client.events(after=0, workload="new")) > last


def test_a_second_server_on_the_same_data_directory_is_refused(scene: Scene) -> None:
    scene.submit("job", {"steps": scene.sign()})
    scene.wait("job", "running")

    second = scene.servers.start()
    until(lambda: not second.lives())

    assert "is using it already" in scene.log()
    scene.give_sign()
    assert scene.wait("job")["state"] == "completed"
    assert len(scene.lines("job", "begin")) == 1


def test_a_killed_supervisor_costs_one_attempt(scene: Scene) -> None:
    scene.submit("job", {"steps": scene.sign(), "stray": True})
    scene.wait("job", "running")
    strays = until(lambda: scene.lines("job", "stray"))

    scene.kill_supervisor("job")
    scene.give_sign()

    job = scene.wait("job")
    assert (job["state"], job["attempt"], job["requeues"]) == ("completed", 2, 1)
    assert ended(strays[0])
    assert not scene.lines("job", "overlap")


def test_a_supervisor_killed_while_the_server_was_away_costs_one_attempt(scene: Scene) -> None:
    scene.submit("job", {"steps": scene.sign(), "stray": True})
    scene.wait("job", "running")
    strays = until(lambda: scene.lines("job", "stray"))

    scene.restart(away=lambda: scene.kill_supervisor("job"))
    scene.give_sign()

    job = scene.wait("job")
    assert (job["state"], job["attempt"], job["requeues"]) == ("completed", 2, 1)
    assert ended(strays[0])
    assert not scene.lines("job", "overlap")


def test_without_its_zygote_a_server_goes_on(scene: Scene) -> None:
    scene.submit("before", {"steps": scene.sign()})
    scene.wait("before", "running")
    zygote = scene.server.zygote()
    assert zygote is not None

    os.kill(zygote, signal.SIGKILL)

    scene.submit("after", {"steps": 1})
    assert scene.wait("after")["state"] == "completed"
    scene.give_sign()
    assert scene.wait("before")["state"] == "completed"
    assert scene.server.zygote() not in (None, zygote)
