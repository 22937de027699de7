import ctypes
import json
import os
import struct
import sys
import textwrap
import time
from pathlib import Path

import pytest

from cede.engine.drive.facts import Began, Checkpointed, CheckpointFailed, Deferral, Exited, Heard
from cede.engine.drive.orders import Hint
from cede.live.task import Task
from tests.live.executor.stand import Stand, shell, task, until

SIGNALLED = """
import json, os, signal, sys, time
control = os.environ["CEDE_CONTROL_DIR"]
def put(name, text):
    with open(f"{control}/.{name}", "w") as file:
        file.write(text)
    os.rename(f"{control}/.{name}", f"{control}/{name}")
def asked(*_):
    hint = json.load(open(f"{control}/hint"))
    os.write(1, f"asked {hint['hint']} {hint['leaving']}\\n".encode())
    ANSWER
signal.signal(getattr(signal, os.environ["CEDE_HINT_SIGNAL"]), asked)
os.write(1, b"ready\\n")
while True:
    time.sleep(0.05)
"""
WAIT = "while :; do sleep 0.01; done"
MAPPED = """
import mmap, os, struct, time
with open(os.environ["CEDE_CONTROL_DIR"] + "/flag", "r+b") as file:
    flag = mmap.mmap(file.fileno(), 64)
assert flag[:8] == b"CEDESHM1"
def put(at, kind, value):
    struct.pack_into("<" + kind, flag, at, value)
print("ready", flush=True)
seen = 0
while True:
    time.sleep(0.002)
    hint, leaving, deadline = struct.unpack_from("<IIQ", flag, 8)
    if hint != seen:
        seen = hint
        print("asked", hint, bool(leaving), deadline, flush=True)
        ANSWER
"""


def python(program: str, answer: str, **others: object) -> Task:
    body = textwrap.indent(textwrap.dedent(answer).strip(), "    ").strip().replace("\n", "\n    ")
    return task(sys.executable, "-I", "-c", program.replace("ANSWER", body), **others)


def signalled(answer: str, **others: object) -> Task:
    return python(SIGNALLED, answer, protocol="signal", **others)


def mapped(answer: str) -> Task:
    return python(MAPPED, answer, protocol="shm")


def ready(stand: Stand, wanted: Task) -> None:
    stand.run("job", wanted)
    stand.said("job", "ready")


def hint(stand: Stand, number: int = 1, *, leaving: bool = True, deadline: int | None = None) -> None:
    stand.executor.hint(Hint("job", 1, number, leaving, deadline))


@pytest.mark.parametrize("wanted", [signalled('put("done", str(hint["hint"]))'), mapped('put(24, "I", hint)')])
def test_an_application_that_answers_has_a_checkpoint(stand: Stand, wanted: Task) -> None:
    ready(stand, wanted)
    hint(stand)

    assert stand.wait(Checkpointed, "job") == Checkpointed("job", 1, 1)
    until(lambda: "asked 1 True" in stand.text("job"))
    hint(stand, 2, leaving=False)
    assert stand.wait(Checkpointed, "job", count=2) == Checkpointed("job", 1, 2)
    until(lambda: "asked 2 False" in stand.text("job"))


@pytest.mark.parametrize(
    ("wanted", "fact"),
    [
        (signalled('put("failed", "1 the disk is full")'), CheckpointFailed("job", 1, 1, "the disk is full")),
        (
            mapped('put(28, "I", hint)'),
            CheckpointFailed("job", 1, 1, "the application reported that its checkpoint failed"),
        ),
        (signalled('put("progress", "1 0.25")'), Heard("job", 1, 1, 0.25)),
        (mapped('put(32, "f", 0.25)'), Heard("job", 1, 1, 0.25)),
        (signalled('put("defer", "1 30")'), Deferral("job", 1, 1, 30_000_000)),
        (mapped('put(36, "I", 30)'), Deferral("job", 1, 1, 30_000_000)),
    ],
)
def test_an_application_may_say(stand: Stand, wanted: Task, fact: CheckpointFailed | Heard | Deferral) -> None:
    ready(stand, wanted)
    hint(stand)

    until(lambda: len(stand.facts) > 1)
    assert stand.facts == [Began("job", 1), fact]


@pytest.mark.parametrize(
    "answer", ['put("done", "7")', 'put("done", "x")', 'put("failed", "2 no")', 'put("progress", "1 nan")']
)
def test_an_answer_that_makes_no_sense_is_none(stand: Stand, answer: str) -> None:
    ready(stand, signalled(f'{answer}; put("defer", "1 1")'))
    hint(stand)
    stand.wait(Deferral, "job")

    assert stand.facts == [Began("job", 1), Deferral("job", 1, 1, 1_000_000)]


def test_a_hint_that_comes_again_is_the_same_hint(stand: Stand) -> None:
    ready(stand, signalled('put("done", str(hint["hint"]))'))
    for _ in range(5):
        hint(stand, deadline=1_700_000_000_000_000)
    stand.wait(Checkpointed, "job")
    hint(stand, deadline=1_700_000_100_000_000)

    note = stand.folder("job") / "control" / "hint"
    until(lambda: json.loads(note.read_text()) == {"hint": 1, "leaving": True, "deadline": 1_700_000_100.0})
    assert stand.facts == [Began("job", 1), Checkpointed("job", 1, 1)]
    stand.terminate("job")
    stand.wait(Exited, "job")
    assert stand.text("job").count("asked") == 1


def test_a_program_that_does_not_mind_the_signal_yet_is_not_ended_by_it(stand: Stand) -> None:
    wanted = signalled('put("done", str(hint["hint"]))')
    script = (
        wanted.command[-1]
        .replace('print("ready"', 'print("never"')
        .replace("signal.signal", "time.sleep(0.5)\nsignal.signal")
    )
    stand.run("job", wanted.model_copy(update={"command": (*wanted.command[:-1], script)}))
    hint(stand)

    assert stand.wait(Checkpointed, "job") == Checkpointed("job", 1, 1)


def test_shells_around_the_application_are_spared(stand: Stand) -> None:
    wanted = signalled('put("done", str(hint["hint"])); sys.exit(0)')
    stand.run("job", task("/bin/sh", "-c", '"$@"; echo after $?; sleep 0.1', "sh", *wanted.command, protocol="signal"))
    stand.said("job", "ready")
    hint(stand)

    assert stand.wait(Exited, "job") == Exited("job", 1, code=0)
    assert stand.facts[1] == Checkpointed("job", 1, 1)
    assert "after 0" in stand.text("job")


def test_another_signal_may_be_agreed_on(stand: Stand) -> None:
    ready(stand, signalled('put("done", "1")', hint_signal="SIGUSR2"))
    hint(stand)

    assert stand.wait(Checkpointed, "job").hint == 1


@pytest.mark.parametrize(
    "wanted", [signalled('put("done", "1"); os._exit(5)'), mapped('put(24, "I", hint); os._exit(5)')]
)
def test_an_answer_right_before_the_end_is_heard(stand: Stand, wanted: Task) -> None:
    ready(stand, wanted)
    hint(stand)

    stand.wait(Exited, "job")
    assert stand.facts == [Began("job", 1), Checkpointed("job", 1, 1), Exited("job", 1, code=5)]


def test_checkpoints_of_its_own_accord_are_heard_of(stand: Stand) -> None:
    again = "until [ -e $CEDE_CHECKPOINT_DIR/go ]; do sleep 0.01; done; echo 0 > $CEDE_CONTROL_DIR/done"
    stand.run("job", shell(f"echo 0 > $CEDE_CONTROL_DIR/done; {again}; sleep 100", protocol="signal"))
    assert stand.wait(Checkpointed, "job") == Checkpointed("job", 1, 0)
    (stand.data / "jobs" / "job" / "checkpoint" / "go").touch()

    assert stand.wait(Checkpointed, "job", count=2) == Checkpointed("job", 1, 0)


@pytest.mark.slow
def test_checkpoints_of_its_own_accord_are_seen_in_shared_memory(stand: Stand) -> None:
    stand.run("job", task("sleep", "100", protocol="shm"))
    with (stand.folder("job") / "control" / "flag").open("r+b") as file:
        os.pwrite(file.fileno(), struct.pack("<Q", 1_700_000_000_000_000), 40)

    assert stand.wait(Checkpointed, "job") == Checkpointed("job", 1, 0)


def test_a_flood_of_progress_is_thinned_out(stand: Stand) -> None:
    script = "for n in $(seq 100 999); do echo 1 0.$n > $CEDE_CONTROL_DIR/progress; done"
    answers = f"trap '{script}; echo 1 > $CEDE_CONTROL_DIR/done' USR1"
    stand.run("job", shell(f"{answers}; echo ready; {WAIT}", protocol="signal"))
    stand.said("job", "ready")
    began = time.monotonic()
    hint(stand)
    stand.wait(Checkpointed, "job")

    heard = [fact for fact in stand.facts if isinstance(fact, Heard)]
    assert 1 <= len(heard) <= 3 + (time.monotonic() - began) / 0.2
    assert heard[-1].progress == 0.999


def test_what_was_said_while_the_server_was_away_is_reported(stand: Stand) -> None:
    there = 'os.path.exists(os.environ["CEDE_CHECKPOINT_DIR"] + "/go")'
    ready(stand, signalled(f'[time.sleep(0.01) for _ in iter(lambda: {there}, True)]; put("done", "1")'))
    hint(stand)
    until(lambda: "asked" in stand.text("job"))
    stand.executor.close()
    (stand.data / "jobs" / "job" / "checkpoint" / "go").touch()
    until((stand.folder("job") / "said.json").exists)
    stand.executor = stand._new()
    stand.open()
    stand.executor.adopt({"job": 1})

    assert stand.wait(Checkpointed, "job") == Checkpointed("job", 1, 1)


@pytest.mark.parametrize(
    "trick",
    {
        "a link to a file of another": 'os.symlink("/etc/passwd", f"{control}/.x")',
        "a second name of a file": 'put("y", "1 leaked"); os.link(f"{control}/y", f"{control}/.x")',
        "a pipe": 'os.mkfifo(f"{control}/.x")',
        "a folder": 'os.mkdir(f"{control}/.x")',
    }.values(),
)
def test_a_trick_in_the_control_folder_is_no_answer_and_does_no_harm(stand: Stand, trick: str) -> None:
    moved = 'os.rename(f"{control}/.x", f"{control}/failed")'
    ready(stand, signalled(f'{trick}; {moved}; put("done", "1")'))
    hint(stand)

    assert stand.wait(Checkpointed, "job").hint == 1
    assert not [fact for fact in stand.facts if isinstance(fact, CheckpointFailed)]


@pytest.mark.skipif(int(Path("/proc/sys/fs/inotify/max_user_instances").read_text()) > 1000, reason="too many watches")
def test_answers_are_heard_though_no_watch_is_left(stand: Stand) -> None:
    libc = ctypes.CDLL(None)
    held = []
    try:
        while (fd := libc.inotify_init1(0)) >= 0:
            held.append(fd)
        ready(stand, signalled('put("done", "1")'))
        hint(stand)

        assert stand.wait(Checkpointed, "job").hint == 1
    finally:
        for fd in held:
            os.close(fd)


def test_a_hint_that_cannot_be_written_is_still_signalled(stand: Stand) -> None:
    answers = "trap 'echo 1 > $CEDE_CONTROL_DIR/done' USR1"
    stand.run("job", shell(f"mkdir $CEDE_CONTROL_DIR/hint; {answers}; echo ready; {WAIT}", protocol="signal"))
    stand.said("job", "ready")
    hint(stand)

    assert stand.wait(Checkpointed, "job").hint == 1


def test_a_flag_that_is_cut_short_does_no_harm(stand: Stand) -> None:
    stand.run("job", shell("truncate -s 0 $CEDE_CONTROL_DIR/flag; echo cut; sleep 100", protocol="shm"))
    stand.said("job", "cut")
    hint(stand)
    time.sleep(0.1)  # some looks at the flag
    stand.terminate("job")

    assert stand.wait(Exited, "job").told


def test_with_grpc_the_broker_is_asked_and_the_job_told_where_it_is(stand: Stand) -> None:
    asked: list[Hint] = []
    stand.executor.close()
    stand._options = {
        "broker_address": "unix:/run/broker",
        "broker_hint": asked.append,
        "broker_token": lambda name, attempt: f"secret-{name}-{attempt}",
    }
    stand.executor = stand._new()
    stand.open()
    stand.run("job", shell("echo $CEDE_BROKER $CEDE_BROKER_TOKEN $CEDE_PROTOCOL; sleep 100", protocol="grpc"))
    hint(stand)

    stand.said("job", "unix:/run/broker secret-job-1 grpc")
    assert asked == [Hint("job", 1, 1, leaving=True)]


def test_nobody_is_asked_who_has_no_protocol(stand: Stand) -> None:
    stand.run("job", task("sleep", "100"))
    hint(stand)
    stand.terminate("job")

    assert stand.wait(Exited, "job").signal == 15
