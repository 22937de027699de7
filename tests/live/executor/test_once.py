import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cede.engine.drive.facts import Began, Exited
from cede.engine.drive.orders import Kill
from cede.live.executors.local.guard import files, procfs
from cede.live.task import Task
from tests.live.executor.stand import Stand, shell, task, until

SERVER = Path(__file__).with_name("server.py")
ROOT = Path(__file__).parents[3]


@contextmanager
def another_server(data: Path, wanted: Task) -> Iterator[subprocess.Popen[str]]:
    """A process with an executor on this data directory, to be killed."""
    command = [sys.executable, str(SERVER), str(data), wanted.model_dump_json()]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        try:
            yield process
        finally:
            process.kill()


def ask(process: subprocess.Popen[str], name: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{name}\n")
    process.stdin.flush()


def starts(stand: Stand, name: str) -> int:
    """How often the command began, by its own account."""
    log = stand.data / "jobs" / name / "checkpoint" / "starts"
    return len(log.read_text().splitlines()) if log.exists() else 0


COUNTS = "echo $$ >> $CEDE_CHECKPOINT_DIR/starts; "


def test_a_repeated_launch_starts_nothing(stand: Stand) -> None:
    wanted = shell(f"{COUNTS} sleep 0.2")
    for _ in range(5):
        stand.launch("job", wanted)
    stand.wait(Exited, "job")
    once = [Began("job", 1), Exited("job", 1, code=0)]
    assert stand.facts == once
    stand.launch("job", wanted)

    assert starts(stand, "job") == 1
    assert stand.facts == once * 2, "how it ended is told again: whoever asks may not have heard of it"


def test_another_attempt_is_another_start(stand: Stand) -> None:
    stand.launch("job", shell(COUNTS))
    stand.wait(Exited, "job")
    stand.launch("job", shell(COUNTS), attempt=2)
    stand.wait(Exited, "job", count=2)

    assert starts(stand, "job") == 2


def test_a_job_outlives_its_server_and_is_adopted(data: Path) -> None:
    wanted = shell(f"{COUNTS} sleep 100; exit 5")
    stand = Stand(data)
    with another_server(data, wanted) as server:
        ask(server, "job")
        assert server.stdout is not None
        assert server.stdout.readline() == "Began job\n"
        server.kill()
    pid = stand.pid("job")
    assert procfs.look(pid) is not None

    stand.open()
    stand.executor.adopt({"job": 1})
    stand.launch("job", wanted)
    stand.wait(Began, "job")
    assert stand.pid("job") == pid
    until(lambda: starts(stand, "job") == 1)
    stand.terminate("job")
    assert stand.wait(Exited, "job").told
    assert starts(stand, "job") == 1
    stand.clear()


def test_what_ended_while_the_server_was_away_is_reported(data: Path) -> None:
    wanted = shell("sleep 0.3; exit 5")
    stand = Stand(data)
    with another_server(data, wanted) as server:
        ask(server, "job")
        until((stand.folder("job") / "began.json").exists)
        server.kill()
    until((stand.folder("job") / "exit.json").exists)

    stand.open()
    stand.executor.adopt({"job": 1})
    assert stand.facts == [Began("job", 1), Exited("job", 1, code=5)]
    stand.clear()


@pytest.mark.slow
def test_a_server_that_is_killed_at_any_moment_never_makes_a_command_run_twice(data: Path) -> None:
    wanted = shell(COUNTS)
    stand = Stand(data)
    names = [f"job-{number}" for number in range(60)]
    for number in range(0, len(names), 4):
        with another_server(data, wanted) as server:
            for name in names[number : number + 4]:
                ask(server, name)
            time.sleep(0.0015 * number)
            server.kill()  # some requests are still on their way to the zygote
    stand.open()
    stand.executor.adopt(dict.fromkeys(names, 1))
    for name in names:
        stand.launch(name, wanted)
    for name in names:
        ended = stand.wait(Exited, name)
        assert (starts(stand, name), ended.code) == (1, 0)
    # An order for what has ended tells its end once more, and it is the same end.
    assert len({fact for fact in stand.facts if isinstance(fact, Exited)}) == len(names)
    stand.clear()


def test_two_supervisors_of_one_member_start_it_once(stand: Stand) -> None:
    """As when a request of a dead server is still under way while the next server asks again."""
    wanted = shell(f"{COUNTS} sleep 0.1")
    stand.launch("job", wanted)
    for _ in range(5):
        stand.executor._zygote.fork([str(stand.folder("job"))])

    assert stand.wait(Exited, "job").code == 0
    until(lambda: not stand.supervised())
    assert starts(stand, "job") == 1
    assert stand.facts == [Began("job", 1), Exited("job", 1, code=0)]


def test_jobs_outlive_the_zygote_and_new_ones_are_started_by_another(stand: Stand) -> None:
    stand.run("old", task("sleep", "100"))
    first = stand.executor._zygote.pid
    os.kill(first, signal.SIGKILL)
    for number in range(8):
        stand.launch(f"new-{number}", shell(COUNTS))

    for number in range(8):
        assert stand.wait(Exited, f"new-{number}").code == 0
        assert starts(stand, f"new-{number}") == 1
    assert stand.executor._zygote.pid != first
    stand.terminate("old")
    assert stand.wait(Exited, "old").told


@pytest.mark.slow
def test_a_zygote_that_is_killed_at_any_moment_loses_no_start(stand: Stand) -> None:
    names = [f"job-{number}" for number in range(60)]
    for number, name in enumerate(names):
        stand.launch(name, shell(COUNTS))
        if number % 4 == 3:
            time.sleep(0.0005 * number)
            with suppress(ProcessLookupError):  # the last one is dead, the next one not yet there
                os.kill(stand.executor._zygote.pid, signal.SIGKILL)
        if number % 8 == 7:
            until(lambda: stand.executor._zygote.ready)

    for name in names:
        ended = stand.wait(Exited, name)
        assert (starts(stand, name), ended.code, ended.lost) == (1, 0, False)


def test_a_job_whose_supervisor_is_killed_is_lost_and_gone(stand: Stand) -> None:
    stray = "setsid sh -c 'trap \"\" TERM; exec sleep 100' & "
    stand.run("job", shell(f"{COUNTS} ( {stray} ); sleep 100"))
    until(lambda: len(stand.processes()) >= 3)
    os.kill(stand.supervisor("job"), signal.SIGKILL)

    assert stand.wait(Exited, "job") == Exited("job", 1, lost=True)
    assert stand.processes() == []
    stand.launch("job", shell(COUNTS))
    assert starts(stand, "job") == 1


def test_a_job_whose_supervisor_died_with_the_server_is_lost_and_gone(data: Path) -> None:
    stand = Stand(data)
    with another_server(data, shell(f"{COUNTS} sleep 100")) as server:
        ask(server, "job")
        assert server.stdout is not None
        assert server.stdout.readline() == "Began job\n"
        server.kill()
    os.kill(stand.supervisor("job"), signal.SIGKILL)

    stand.open()
    stand.executor.adopt({"job": 1})
    assert stand.wait(Exited, "job") == Exited("job", 1, lost=True)
    assert stand.processes() == []
    stand.clear()


def test_a_supervisor_that_finds_a_begun_job_never_starts_it_again(stand: Stand) -> None:
    stand.run("job", shell(f"{COUNTS} sleep 100"))
    until(lambda: starts(stand, "job") == 1)
    stand.executor._zygote.fork([str(stand.folder("job"))])  # it waits for the lock
    os.kill(stand.supervisor("job"), signal.SIGKILL)

    assert stand.wait(Exited, "job").lost
    until(lambda: not stand.supervised())
    assert starts(stand, "job") == 1


def test_a_reused_pid_is_never_touched(stand: Stand) -> None:
    """The files of a job whose processes are gone name a process that is another's by now."""
    with subprocess.Popen(["sleep", "100"], start_new_session=True) as other:
        time.sleep(0.03)  # the kernel tells start times apart by hundredths of a second
        stand.end("job", task("true"))
        began = files.get(str(stand.folder("job")), "began.json") or {}
        forged = began | {"pid": other.pid, "supervisor": other.pid}
        (stand.folder("job") / "exit.json").unlink()
        (stand.folder("job") / "began.json").write_text(json.dumps(forged))
        (stand.folder("job") / "lock").write_text(f"{other.pid} {began['start']}")
        stand.restart({"job": 1})

        assert stand.wait(Exited, "job", count=2).lost
        stand.executor.kill(Kill("job", 1))
        assert other.poll() is None
        other.kill()


def test_a_process_of_before_the_last_boot_is_never_touched(stand: Stand) -> None:
    with subprocess.Popen(["sleep", "100"], start_new_session=True) as other:
        stand.end("job", task("true"))
        process = procfs.look(other.pid)
        assert process is not None
        forged = {"pid": other.pid, "start": process.start, "boot": "another"}
        (stand.folder("job") / "exit.json").unlink()
        (stand.folder("job") / "began.json").write_text(json.dumps(forged))
        stand.restart({"job": 1})

        assert stand.wait(Exited, "job", count=2).lost
        assert other.poll() is None
        other.kill()


def test_a_start_that_was_only_half_written_down_counts_as_one(stand: Stand) -> None:
    stand.end("job", shell(COUNTS))
    (stand.folder("job") / "exit.json").unlink()
    (stand.folder("job") / "began.json").write_bytes(b"")
    stand.restart({"job": 1})
    stand.launch("job", shell(COUNTS))

    assert stand.wait(Exited, "job", count=2).lost
    assert starts(stand, "job") == 1


def test_an_attempt_that_is_not_listed_is_left_alone_and_found(stand: Stand) -> None:
    stand.run("wanted", task("sleep", "100"))
    stand.run("unknown", task("sleep", "100"))
    stand.restart({"wanted": 1})

    def known(names: Collection[str]) -> set[str]:
        return {"wanted"} & set(names)

    traces = {(trace.name, trace.attempt, trace.running) for trace in stand.executor.survey(known)}
    assert traces == {("wanted", 1, True), ("unknown", 1, True)}
    assert procfs.look(stand.pid("unknown")) is not None
    assert [fact for fact in stand.facts if isinstance(fact, Exited)] == []
    stand.executor.kill(Kill("unknown", 1))
    assert stand.wait(Exited, "unknown").signal == 9
    assert [trace.running for trace in stand.executor.survey(known)] == [False, True]
    stand.terminate("wanted")
    assert stand.wait(Exited, "wanted").told


def test_of_what_was_never_begun_there_is_no_trace(stand: Stand) -> None:
    assert stand.executor.adopt({"never": 1}) == ["never"]
    assert stand.executor.survey(lambda _: ()) == []


def test_after_many_restarts_each_end_is_reported(stand: Stand) -> None:
    stand.run("job", task("sleep", "100"))
    for _ in range(5):
        stand.restart({"job": 1})
    stand.terminate("job")

    assert stand.wait(Exited, "job").told
    stand.restart({"job": 1})
    assert stand.wait(Exited, "job", count=2) == stand.wait(Exited, "job")


def test_what_is_forgotten_leaves_no_file(stand: Stand) -> None:
    stand.end("job", shell("mkdir -p $CEDE_CHECKPOINT_DIR/a/b; ln -s /etc $CEDE_CHECKPOINT_DIR/etc"))
    stand.run("other", task("sleep", "100"))
    stand.executor.forget("job")
    stand.executor.forget("unknown")

    assert not (stand.data / "jobs" / "job").exists()
    until(lambda: not list((stand.data / "trash").iterdir()))
    assert Path("/etc/passwd").exists()
    assert (stand.data / "jobs" / "other").exists()
