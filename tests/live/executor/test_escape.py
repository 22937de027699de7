"""Jobs that turn against their supervisor, or leave it."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cede.engine.drive.facts import Exited, Stuck
from cede.engine.drive.orders import Kill
from cede.live.executors.local.cgroups import Cgroups
from cede.live.executors.local.guard import procfs
from tests.live.executor.stand import Stand, shell, until

FREEZER = Path("/sys/fs/cgroup/freezer")


def strays(mark: float) -> list[int]:
    """Processes that sleep for exactly so long, whatever their environment and session."""
    wanted = f"sleep\0{mark}\0".encode()
    return [pid for pid in procfs.pids() if (procfs.read(f"/proc/{pid}/cmdline") or b"") == wanted]


def state_of_supervisor(stand: Stand) -> str:
    lock = stand.folder("job") / "lock"
    words = lock.read_text().split() if lock.exists() else []
    process = procfs.look(int(words[0])) if words else None
    return "" if process is None else process.state


def escaping(mark: float) -> str:
    """A daemon with an empty environment, in a session of its own, whose parent is gone."""
    return f"(env -i setsid sh -c 'sleep {mark} & exec sleep {mark}' &); "


@pytest.mark.parametrize("cgroups", [True, False])
def test_what_left_a_job_that_killed_its_supervisor_is_found_and_ended(stand: Stand, cgroups: bool) -> None:
    if not cgroups:
        stand.executor._cgroups = Cgroups()
    elif stand.executor._cgroups.parent is None:
        pytest.skip("no control group can be made here")
    mark = 4001.25 + cgroups
    stand.launch("job", shell(f"{escaping(mark)} sleep 0.5; kill -KILL $PPID; exec sleep {mark}"))
    until(lambda: len(strays(mark)) >= 2)

    assert stand.wait(Exited, "job").lost
    until(lambda: not strays(mark))


def test_what_escapes_while_the_server_is_away_is_ended_too(stand: Stand) -> None:
    stand.executor._cgroups = Cgroups()
    mark = 4003.25
    stand.run("job", shell(f"{escaping(mark)} exec sleep {mark}"))
    until(lambda: len(strays(mark)) >= 3)
    stand.executor.close()
    os.kill(stand.supervisor("job"), signal.SIGKILL)

    stand.executor = stand._new()
    stand.open()
    stand.executor.adopt({"job": 1})
    assert stand.wait(Exited, "job").lost
    until(lambda: not strays(mark))


@pytest.mark.parametrize("script", ["kill -STOP $PPID; exec sleep 300", "while :; do kill -STOP $PPID; done"])
def test_a_job_that_stops_its_supervisor_is_ended_all_the_same(stand: Stand, script: str) -> None:
    stand.launch("job", shell(script))
    until(lambda: state_of_supervisor(stand) == "T")
    stand.terminate("job", grace_s=0)
    for _ in range(2):
        stand.executor.kill(Kill("job", 1))

    stand.wait(Exited, "job")
    assert stand.processes() == []


def test_a_supervisor_that_was_stopped_goes_on_when_records_are_compared(stand: Stand) -> None:
    stand.run("job", shell("exec sleep 300"))
    os.kill(stand.supervisor("job"), signal.SIGSTOP)
    until(lambda: state_of_supervisor(stand) == "T")
    stand.executor.adopt({"job": 1})

    until(lambda: state_of_supervisor(stand) == "S")


@pytest.fixture
def freezer() -> Iterator[Path]:
    """A control group whose processes not even SIGKILL ends while they are frozen."""
    group = FREEZER / f"cede-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no process can be frozen here: {error}")
    yield group
    (group / "freezer.state").write_text("THAWED")
    until(lambda: not (group / "cgroup.procs").read_text().split())
    group.rmdir()


def test_what_cannot_be_ended_is_named(stand: Stand, freezer: Path) -> None:
    stand.run("job", shell("exec sleep 300"))
    pid = stand.pid("job")
    (freezer / "cgroup.procs").write_text(str(pid))
    (freezer / "freezer.state").write_text("FROZEN")
    until(lambda: (freezer / "freezer.state").read_text().strip() == "FROZEN")
    for _ in range(2):
        stand.executor.kill(Kill("job", 1))

    [told] = [fact for fact in stand.facts if isinstance(fact, Stuck)]
    assert told.why == f"process {pid} (sleep) waits inside the kernel"
    (freezer / "freezer.state").write_text("THAWED")
    assert stand.wait(Exited, "job").signal == 9


def test_a_mark_that_cannot_be_removed_hides_no_end(stand: Stand) -> None:
    stand.run("job", shell("until [ -e $CEDE_CHECKPOINT_DIR/go ]; do sleep 0.01; done; exit 5"))
    mark = stand.data / "active" / "job@1"
    mark.unlink()
    mark.mkdir()
    (stand.data / "jobs" / "job" / "checkpoint" / "go").touch()

    assert stand.wait(Exited, "job").code == 5
    mark.rmdir()


def test_an_end_is_told_with_its_time(stand: Stand) -> None:
    before = time.time_ns() // 1000
    ended = stand.end("job", shell("exit 5"))

    assert ended.at is not None
    assert before <= ended.at <= time.time_ns() // 1000
