import os
import resource
from pathlib import Path

import pytest

from cede.engine.drive.facts import Began, Exited
from cede.live.task import Task
from tests.live.executor.stand import ME, Stand, shell, task

LIBRARY = 1 << 31 | 1 << 32
"""Signals 32 and 33, which the C library keeps for itself."""


def test_a_command_begins_runs_and_ends(stand: Stand) -> None:
    ended = stand.end("job", shell("echo hello; echo oops >&2; exit 3"))

    assert stand.facts == [Began("job", 1), Exited("job", 1, code=3)]
    assert ended.code == 3
    assert (stand.text("job"), stand.text("job", stream="err")) == ("hello\n", "oops\n")


def test_an_end_by_a_signal_is_told_by_its_number(stand: Stand) -> None:
    assert stand.end("job", shell("kill -SEGV $$")) == Exited("job", 1, signal=11)


def test_the_environment_is_clean_and_tells_what_the_job_is(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_SERVER", "x")
    stand.end("job", task("env", "-0", env={"MINE": "a\nb", "PATH": "/usr/bin:/bin"}))

    env = dict(line.split("=", 1) for line in stand.text("job").rstrip("\0").split("\0"))
    job = stand.data / "jobs" / "job"
    assert "SECRET_OF_THE_SERVER" not in env
    assert {key: env[key] for key in ("MINE", "PATH", "USER", "LOGNAME")} == {
        "MINE": "a\nb",
        "PATH": "/usr/bin:/bin",
        "USER": ME,
        "LOGNAME": ME,
    }
    assert {key: value for key, value in env.items() if key.startswith("CEDE_") and key != "CEDE_MARK"} == {
        "CEDE_JOB": "job",
        "CEDE_ATTEMPT": "1",
        "CEDE_RESUME": "0",
        "CEDE_CHECKPOINT_DIR": str(job / "checkpoint"),
        "CEDE_CONTROL_DIR": str(job / "attempts" / "1" / "0" / "control"),
        "CEDE_PROTOCOL": "none",
        "CEDE_HINT_SIGNAL": "SIGUSR1",
        "CEDE_RANK": "0",
        "CEDE_SIZE": "1",
        "CEDE_NODE": "n0",
        "CEDE_NODES": "n0",
        "CEDE_ADDRESSES": "10.0.0.0",
    }


def test_a_command_inherits_nothing_but_its_streams(stand: Stand) -> None:
    script = "ls /proc/self/fd | wc -l; cat /proc/self/status | grep -e SigIgn -e SigBlk -e SigCgt; umask; ulimit -n"
    stand.end("job", task("/bin/sh", "-c", script))

    count, *masks, umask, files = stand.text("job").split("\n")[:-1]
    assert int(count) == 4  # three streams, and the folder that ls reads
    unusual = {line.split()[0]: int(line.split()[1], 16) & ~LIBRARY for line in masks}
    assert unusual == {"SigBlk:": 0, "SigIgn:": 0, "SigCgt:": 0}
    assert (umask, files) == ("0022", str(stand.executor._descriptors))
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= stand.executor._descriptors


def test_its_input_is_empty_and_its_outputs_can_be_opened_by_name(stand: Stand) -> None:
    assert stand.end("job", shell("cat; echo one > /dev/stdout; echo two > /dev/stderr")).code == 0
    assert (stand.text("job"), stand.text("job", stream="err")) == ("one\n", "two\n")


def test_it_leads_a_session_of_its_own(stand: Stand) -> None:
    stand.run("job", task("sleep", "100"))

    pid = stand.pid("job")
    assert (os.getsid(pid), os.getpgid(pid)) == (pid, pid)
    assert os.getsid(stand.supervisor("job")) == stand.supervisor("job")


def test_it_works_where_it_was_told_to(stand: Stand, tmp_path: Path) -> None:
    stand.end("job", task("/bin/pwd", cwd=str(tmp_path)))

    assert stand.text("job") == f"{tmp_path}\n"


@pytest.mark.parametrize(
    ("wanted", "why"),
    {
        "no such command": (task("no-such-command"), "no-such-command could not be started: there is no such command"),
        "no such path": (task("/no/such"), "/no/such could not be started: there is no such command"),
        "a folder": (task("/tmp"), "/tmp could not be started: it may not be run by this account, or is no program"),
        "no such folder": (task("true", cwd="/no/such"), "its working directory /no/such is not there"),
        "not a folder": (task("true", cwd="/etc/passwd"), "its working directory /etc/passwd is no directory"),
        "a NUL": (task("tr\0ue"), "'tr\\x00ue' could not be started: embedded null byte"),
        "too long": (
            task("true", "x" * 200_000),
            "true could not be started: its arguments and environment are too long",
        ),
        "an unknown account": (task("true", account="no-such"), "there is no account 'no-such' on this machine"),
    }.values(),
)
def test_what_cannot_be_started_is_an_end_with_a_sentence(stand: Stand, wanted: Task, why: str) -> None:
    assert stand.end("job", wanted) == Exited("job", 1, error=why)
    assert len(stand.facts) == 1
    assert stand.executor.logs("job", 1, 0, "out", 0, 100).ended


def test_a_script_is_run_only_with_its_interpreter(stand: Stand, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    script = tmp_path / "script"
    script.write_text("echo hello\n")
    script.chmod(0o755)

    assert "no program of a known format" in stand.end("job", task(str(script))).error


def test_a_relative_command_is_looked_for_in_its_working_directory(stand: Stand, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\necho here\n")
    script.chmod(0o755)
    stand.end("job", task("./run.sh", cwd=str(tmp_path)))

    assert stand.text("job") == "here\n"


def test_the_checkpoint_folder_stays_over_attempts(stand: Stand) -> None:
    stand.end("job", shell("echo $CEDE_ATTEMPT $CEDE_RESUME >> $CEDE_CHECKPOINT_DIR/log"))
    stand.launch("job", shell("echo $CEDE_ATTEMPT $CEDE_RESUME >> $CEDE_CHECKPOINT_DIR/log"), attempt=2, resume=True)
    stand.wait(Exited, "job", count=2)

    assert (stand.data / "jobs" / "job" / "checkpoint" / "log").read_text() == "1 0\n2 1\n"


def test_a_long_data_directory_is_no_obstacle(data: Path) -> None:
    stand = Stand(data / ("x" * 100) / ("y" * 100))
    stand.open()
    stand.run("j" * 100, task("sleep", "100"))
    stand.terminate("j" * 100)
    ended = stand.wait(Exited, "j" * 100)
    stand.clear()

    assert ended.signal == 15


@pytest.mark.parametrize("name", ["..", "a/b", "", ".hidden", "x" * 221, "a\nb"])
def test_a_name_is_never_a_path(stand: Stand, name: str) -> None:
    with pytest.raises(ValueError, match="no name of a job"):
        stand.launch(name, task("true"))


@pytest.mark.slow
def test_many_at_once_are_all_started_and_all_end(stand: Stand) -> None:
    """More than any socket or pipe between server, zygote and supervisors can hold."""
    names = [f"job-{number}" for number in range(500)]
    for name in names:
        stand.launch(name, task("true"))

    assert {stand.wait(Exited, name).code for name in names} == {0}
    assert len(stand.facts) == 2 * len(names)


def test_one_that_was_given_no_node_cannot_be_started_and_says_why(stand: Stand) -> None:
    stand.launch("job", shell("true"), members=0)

    assert "no node" in stand.wait(Exited, "job").error
