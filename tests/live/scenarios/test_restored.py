"""A store that is not what it was: restored from a copy, cut, or another one."""

import os
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from cede.live.client.errors import ClientError
from cede.live.controller import Controller
from cede.live.errors import UnavailableError
from tests.live.scenarios.scripts import ENDING, LET_GO, SAVES, answering
from tests.live.scenarios.twin import assert_replays
from tests.live.serving import Live, alive, cluster_of, serving, until


def copy_store(data: Path, to: Path) -> None:
    """As the guide says: SQLite's own backup."""
    with closing(sqlite3.connect(data / "cede.db")) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


def put_back(data: Path, copy: Path) -> None:
    remove_store(data)
    shutil.copy(copy, data / "cede.db")


def remove_store(data: Path) -> None:
    for name in ("cede.db", "cede.db-wal", "cede.db-shm"):
        (data / name).unlink(missing_ok=True)


def pid_of(live: Live, name: str) -> int:
    return int(live.said(name, "pid ").split("pid ")[1].split()[0])


pytestmark = pytest.mark.slow

STAYS = "echo pid $$; exec sleep 300"


def test_work_that_a_restored_store_knows_nothing_of_is_left_alone_until_an_admin_decides(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    with serving(data, cluster_of("n1")) as live:
        live.shell("before", STAYS, cpu=1)
        live.wait("before", "running")
        copy_store(data, copy)
        live.shell("after", STAYS, cpu=1)
        pids = {name: pid_of(live, name) for name in ("before", "after")}
        live.shell("short", "true", cpu=1)
        live.completed("short")
        live.stop()
        put_back(data, copy)
        live.start()

        loss, orphans = live.client.health()["problems"]
        assert "the store was set back" in loss
        assert "steps are missing" in loss
        assert orphans.startswith("2 workloads have no record, and 1 of them run")
        left = {one["name"]: one["running"] for one in live.client.orphans()["orphans"]}
        assert left == {"after": True, "short": False}
        assert all(alive(pid) for pid in pids.values())
        assert live.wait("before", "running")["attempt"] == 1
        for name in left:
            with pytest.raises(ClientError, match="no record knows") as caught:
                live.shell(name, "true", cpu=1)
            assert caught.value.status == 409
        with pytest.raises(ClientError, match="still runs"):
            live.client.forget_orphan("after")

        live.client.end_orphan("after")
        until(lambda: not alive(pids["after"]))
        until(lambda: not any(one["running"] for one in live.client.orphans()["orphans"]))
        for name in left:
            live.client.forget_orphan(name)
        assert live.client.acknowledge_loss()["orphans"] == []
        health = live.client.health()
        assert (health["status"], health["problems"]) == ("ok", [])
        assert alive(pids["before"])
        live.shell("after", "true", cpu=1)
        live.completed("after")
        whats = [one["what"] for one in live.client.audit()]
        assert {"notice", "end orphan", "forget orphan", "acknowledge loss"} <= set(whats)
        live.stop()
        live.start()
        assert live.client.health()["status"] == "ok"


def test_jobs_that_went_on_after_the_copy_was_made_have_the_end_they_had(tmp_path: Path) -> None:
    """One was running and was cancelled, another waited for its room and ran: the copy knows neither."""
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    with serving(data, cluster_of("n1")) as live:
        live.shell("first", STAYS)
        live.wait("first", "running")
        live.shell("second", "exit 4")
        live.shell("third", STAYS)
        copy_store(data, copy)
        live.client.cancel("first")
        assert live.end("second")["exit_code"] == 4
        then = live.client.job("second")
        live.wait("third", "running")
        pid = pid_of(live, "third")
        live.stop()
        put_back(data, copy)
        live.start()

        assert live.end("first")["state"] == "cancelled"
        now = live.end("second")
        assert (now["state"], now["exit_code"], now["attempt"]) == ("failed", 4, 1)
        assert (now["began"], now["ended"]) == (then["began"], then["ended"])
        assert live.wait("third", "running")["attempt"] == 1
        assert alive(pid)
        assert live.log("third").count("pid") == 1


@pytest.mark.parametrize("now", [False, True])
def test_a_gang_that_was_cancelled_after_the_copy_was_made_stays_cancelled(tmp_path: Path, now: bool) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    with serving(data, cluster_of("n1", "n2")) as live:
        live.runs("gang", "trap 'exit 143' TERM; echo ready; while :; do sleep 0.05; done", members=2, requeue="always")
        copy_store(data, copy)
        live.client.cancel("gang", now=now)
        assert live.end("gang")["state"] == "cancelled"
        live.stop()
        put_back(data, copy)
        live.start()

        gang = live.end("gang")
        assert (gang["state"], gang["attempt"]) == ("cancelled", 1)


def test_who_cancels_a_job_ends_the_attempt_too_that_its_restored_record_did_not_know(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    with serving(data, cluster_of("n1")) as live:
        live.shell("first", STAYS, cpu=3)
        live.wait("first", "running")
        for name in ("wanted", "unwanted"):
            live.shell(name, STAYS, cpu=2)
            live.client.suspend(name)
        copy_store(data, copy)
        live.client.cancel("first")
        for name in ("wanted", "unwanted"):
            live.client.resume(name)
        pids = {name: pid_of(live, name) for name in ("wanted", "unwanted")}
        live.stop()
        put_back(data, copy)
        live.start()

        orphans = {one["name"]: one["why"] for one in live.client.orphans()["orphans"]}
        assert "knows no attempts" in orphans["unwanted"]
        assert alive(pids["unwanted"])

        live.client.cancel("unwanted")
        until(lambda: not alive(pids["unwanted"]))
        until(lambda: [one["name"] for one in live.client.orphans()["orphans"]] == ["wanted"])
        assert live.end("unwanted")["state"] == "cancelled"
        live.client.resume("wanted")
        assert live.wait("wanted", "running")["attempt"] == 1
        assert alive(pids["wanted"])
        live.client.cancel("wanted")
        assert live.end("wanted")["state"] == "cancelled"


def test_a_store_that_lost_half_of_its_log_is_told(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, cluster_of("n1")) as live:
        for number in range(12):
            live.shell(f"job-{number}", STAYS if number == 11 else "exec sleep 300", cpu="0.1", requests=None)
        live.wait("job-11", "running")
        pid = pid_of(live, "job-11")
        main, log = ((data / name).read_bytes() for name in ("cede.db", "cede.db-wal"))
        live.stop()
        remove_store(data)
        (data / "cede.db").write_bytes(main)
        (data / "cede.db-wal").write_bytes(log[: len(log) // 2])
        live.start()

        assert "steps are missing" in live.client.health()["problems"][0]
        assert "job-11" in {one["name"] for one in live.client.orphans()["orphans"]}
        assert alive(pid)
        for one in live.client.orphans()["orphans"]:
            live.client.end_orphan(one["name"])


def test_another_store_ends_nothing_of_the_one_before(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, cluster_of("n1")) as live:
        live.shell("job", STAYS, cpu=1)
        pid = pid_of(live, "job")
        live.stop()
        remove_store(data)
        live.start()

        assert "the store is another one" in live.client.health()["problems"][0]
        assert [(one["name"], one["running"]) for one in live.client.orphans()["orphans"]] == [("job", True)]
        time.sleep(0.5)
        assert alive(pid)
        live.client.end_orphan("job")
        until(lambda: not alive(pid))


def test_a_record_of_something_that_is_gone_without_a_trace_is_put_right(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(data, cluster_of("n1")) as live:
        live.shell("job", STAYS, cpu=1, requeue="never")
        live.wait("job", "running")
        supervisor = int((data / "jobs" / "job" / "attempts" / "1" / "0" / "lock").read_text().split()[0])
        live.stop()
        os.kill(supervisor, signal.SIGKILL)
        until(lambda: not alive(supervisor))
        shutil.rmtree(data / "jobs" / "job")
        live.start()

        assert live.end("job")["rule"] == "live.node-failure"


def test_a_job_ended_when_it_did_though_the_server_was_away(tmp_path: Path) -> None:
    data, go = tmp_path / "data", tmp_path / "go"
    with serving(data, cluster_of("n1")) as live:
        live.runs("job", f"echo ready; until [ -e {go} ]; do sleep 0.05; done", cpu=1)
        live.stop()
        go.touch()
        until((record := data / "jobs" / "job" / "attempts" / "1" / "0" / "exit.json").exists)
        ended = record.stat().st_mtime
        time.sleep(3)  # the time between is what the test is about
        live.start()

        job = live.completed("job")
        assert job["ended"] is not None
        assert datetime.fromisoformat(job["ended"]).timestamp() <= ended + 0.5
        last = live.events("job")[-1]
        assert (last["signal"], last["at"]) == ("complete", job["ended"])


def test_room_that_work_without_a_record_fills_is_not_given_away(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    with serving(data, cluster_of("n1"), compare_every=0.2) as live:
        live.shell("small", "true", cpu=1)
        live.completed("small")
        copy_store(data, copy)
        live.shell("after", STAYS, cpu=3)
        live.said("after", "pid ")
        live.stop()
        put_back(data, copy)
        live.start()

        live.shell("large", "true", cpu=2)
        live.shell("other", "true", cpu=1)
        live.completed("other")
        assert live.client.job("large")["state"] == "pending"
        assert live.node("n1")["occupied"]["cpu"] == 3
        live.client.end_orphan("after")
        live.completed("large")
        until(lambda: not live.node("n1")["occupied"].get("cpu"))
    assert_replays(data)


def test_room_that_work_fills_whose_record_says_it_is_suspended_is_not_given_away(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    with serving(data, cluster_of("n1"), compare_every=0.2) as live:
        live.shell("first", STAYS, cpu=3)
        live.wait("first", "running")
        live.shell("parked", STAYS, cpu=3)
        live.client.suspend("parked")
        copy_store(data, copy)
        live.client.cancel("first")
        live.client.resume("parked")
        pid = pid_of(live, "parked")
        live.stop()
        put_back(data, copy)
        live.start()

        live.shell("large", "true", cpu=2)
        live.shell("other", "true", cpu=1)
        live.completed("other")
        assert live.client.job("large")["state"] == "pending"
        live.client.resume("parked")
        assert live.wait("parked", "running")["attempt"] == 1
        assert alive(pid)
        live.client.cancel("parked")
        live.completed("large")
    assert_replays(data)


def test_a_record_that_cannot_be_read_is_said_to_be_so_and_what_runs_of_it_is_left_to_an_admin(tmp_path: Path) -> None:
    with serving(tmp_path, cluster_of("n1"), compare_every=0.2) as live:
        live.shell("bad", STAYS, cpu=3)
        pid = pid_of(live, "bad")
        live.stop()
        with closing(sqlite3.connect(tmp_path / "cede.db")) as store, store:
            store.execute("UPDATE workloads SET job = '{\"workload\": 1}' WHERE name = 'bad'")
        live.start()

        asks = (live.client.job, live.client.why, live.client.cancel, live.client.suspend, live.log)
        for ask in (*asks, lambda name: list(live.client.events(workload=name))):
            with pytest.raises(ClientError, match="the record of bad cannot be read") as caught:
                ask("bad")
            assert (caught.value.status, caught.value.rule) == (409, "live.unreadable-record")
        assert "the record of bad cannot be read" in live.client.server()["problem"]
        live.shell("large", "true", cpu=2)
        assert [(one["name"], one["running"]) for one in live.client.orphans()["orphans"]] == [("bad", True)]
        assert live.client.job("large")["state"] == "pending"
        assert alive(pid)
        live.client.end_orphan("bad")
        live.completed("large")
        assert not alive(pid)


def test_a_server_that_stops_while_records_are_compared_stops_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(5):
        with serving(tmp_path / str(number), cluster_of("n1"), compare_every=0.001) as live:
            controller = live.server.controller
            assert controller is not None
            began = time.monotonic()
        assert time.monotonic() - began < 20
        with pytest.raises(UnavailableError, match="the server is stopping"):
            controller.describe().result(5)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_records_that_are_compared_all_the_time_keep_no_order_waiting(tmp_path: Path) -> None:
    with serving(tmp_path, cluster_of("n1"), compare_every=0) as live:
        for number in range(5):
            live.shell(f"job-{number}", "true", cpu=1)
        for number in range(5):
            live.completed(f"job-{number}")


def test_no_order_waits_for_the_records_that_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Future[Any]] = []
    answers = Controller._call

    def ask(controller: Controller, look: Callable[[], Any]) -> Future[Any]:
        """Nobody answers what is in force: a scheduler that is busy for long."""
        if look != controller._in_force:
            return answers(controller, look)
        asked.append(Future())
        return asked[-1]

    monkeypatch.setattr(Controller, "_call", ask)
    with serving(tmp_path, cluster_of("n1"), compare_every=0) as live:
        until(lambda: asked)
        live.shell("job", "true", cpu=1)
        live.completed("job")


def test_who_left_as_it_was_once_asked_to_did_not_complete_though_its_restored_record_knows_nothing(
    tmp_path: Path,
) -> None:
    """It heard that it was to leave; then that was taken back, and it left all the same when it had saved."""
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    leaves = answering(f'echo heard; {LET_GO}; put done "$hint"; exit 0')
    with serving(data, cluster_of("n1")) as live:
        live.runs("first", STAYS, "pid ", cpu=4, priority=9)
        live.shell("job", leaves, checkpoint=SAVES, times={"checkpoint_timeout": 300})
        copy_store(data, copy)
        live.client.cancel("first")
        live.said("job", "ready")
        live.wait("job", "running")
        urgent = live.preempt("job")
        live.said("job", "heard")
        live.client.cancel(urgent)
        hint = data / "jobs" / "job" / "attempts" / "1" / "0" / "hint.json"
        until(lambda: '"leaving":false' in hint.read_text().replace(" ", ""))
        time.sleep(0.5)  # its supervisor has heard of it too
        live.stop()
        live.let_go("job")
        until((data / "jobs" / "job" / "attempts" / "1" / "0" / "exit.json").exists)
        put_back(data, copy)
        live.start()

        live.happened("job", "suspend")
        assert live.said("job", "ready 2")
        live.client.cancel("job")


GRPC_LEAVES = """
import sys, time
from pathlib import Path
from cede.checkpoint import listening
with listening() as ck:
    print("ready", ck.attempt, flush=True)
    while not ck.wait(60):
        pass
    print("heard", flush=True)
    go = ck.directory / "go"
    while sys.argv[1] == "late" and not go.exists():
        time.sleep(0.02)
    ck.done()
"""


@pytest.mark.parametrize("when", ["late", "soon"])
def test_an_answer_over_grpc_that_a_restored_record_does_not_know_is_no_end(tmp_path: Path, when: str) -> None:
    """`late`: when its leaving had been taken back already."""
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    checkpoint = {"mode": "manual", "protocol": "grpc"}
    with serving(data, cluster_of("n1")) as live:
        live.runs("first", STAYS, "pid ", cpu=4, priority=9)
        command = (sys.executable, "-c", GRPC_LEAVES, when)
        live.submit("job", *command, checkpoint=checkpoint, times={"checkpoint_timeout": 300})
        copy_store(data, copy)
        live.client.cancel("first")
        live.said("job", "ready")
        live.wait("job", "running")
        urgent = live.preempt("job")
        live.said("job", "heard")
        if when == "late":
            live.client.cancel(urgent)
            live.happened("job", "withdraw")
            live.let_go("job")
        until((data / "jobs" / "job" / "attempts" / "1" / "0" / "exit.json").exists)
        live.stop()
        put_back(data, copy)
        live.start()

        live.happened("job", "suspend")
        for one in live.client.orphans()["orphans"]:  # who wanted its room may have had it already
            live.client.end_orphan(one["name"])
        assert live.said("job", "ready 2")
        live.client.cancel("job")


@pytest.mark.parametrize("restores", [1, 2])
def test_who_waits_by_a_restored_record_and_runs_keeps_its_room(tmp_path: Path, restores: int) -> None:
    """Who stood ahead of it was cancelled since: by the copy that one is next for the room in which it runs."""
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    with serving(data, cluster_of("n1")) as live:
        live.shell("first", STAYS, cpu=3)
        live.wait("first", "running")
        live.shell("ahead", STAYS, cpu=4, priority=20, preempts=False)
        live.shell("job", STAYS, cpu=3, preempts=False)
        copy_store(data, copy)
        live.client.cancel("ahead")
        live.client.cancel("first")
        pid = pid_of(live, "job")
        for _ in range(restores):
            live.stop()
            put_back(data, copy)
            live.start()

            assert live.wait("job", "running")["attempt"] == 1
            assert live.client.job("ahead")["state"] == "pending"
            assert alive(pid)
            assert live.node("n1")["workloads"] == ["job"]
            assert not live.node("n1")["occupied"].get("cpu")
        live.client.cancel("job")
        live.wait("ahead", "running")
    assert_replays(data)


def test_who_waits_by_a_restored_record_and_has_ended_has_its_end_though_there_is_no_room(tmp_path: Path) -> None:
    """It left with its checkpoint, went on from it, and ended: all of that, and nobody had to make way for it."""
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    with serving(data, cluster_of("n1")) as live:
        live.shell("first", STAYS, cpu=4)
        live.wait("first", "running")
        live.shell("job", ENDING, checkpoint=SAVES)
        live.shell("failing", "exit 7", cpu=1)
        copy_store(data, copy)
        live.client.cancel("first")
        live.said("job", "ready")
        live.wait("job", "running")
        live.client.suspend("job")
        live.wait("job", "suspended")
        live.client.resume("job")
        then = live.completed("job")
        assert live.end("failing")["exit_code"] == 7
        live.runs("last", STAYS, "pid ", cpu=4)
        live.stop()
        put_back(data, copy)
        live.start()

        assert live.node("n1")["occupied"]["cpu"] == 4
        now = live.completed("job")
        assert [now[key] for key in ("attempt", "began", "ended")] == [
            then[key] for key in ("attempt", "began", "ended")
        ]
        assert live.end("failing")["exit_code"] == 7
        assert live.signals("job").count("began") == 2
        live.client.end_orphan("last")
    assert_replays(data)
