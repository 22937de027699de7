"""Every protocol, between a real program and Cede's side of it."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from cede.checkpoint import Checkpoint, listening
from docs.blocks import ROOT
from tests.live.broker.peers import PEERS, BySignal, Child, Peer, eventually, running

PROGRAM = Path(__file__).with_name("program.py")
EXAMPLES = ROOT / "examples" / "checkpoint"


@pytest.fixture(params=PEERS)
def peer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Peer]:
    made = PEERS[request.param](tmp_path)
    yield made
    made.close()


def test_a_hint_is_heard_and_answered_and_the_program_goes_on(peer: Peer) -> None:
    with running(peer, PROGRAM, "save") as child:
        child.says("ready")
        for hint in (1, 2):
            peer.ask(child, hint, leaving=hint == 2)
            eventually(lambda hint=hint: peer.answered("done") == f"{hint}", f"done {hint}")  # type: ignore[misc]

        assert child.ends() == 0
        assert child.lines == ["ready", "wanted 1 False", "done", "wanted 2 True", "done"]
        assert (peer.folder / "checkpoint/state").read_bytes() == b"saved"


@pytest.mark.parametrize("protocol", ["shm", "grpc"])
def test_a_hint_that_comes_between_a_look_and_the_wait_is_not_slept_through(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = PEERS[protocol](tmp_path)
    look = Checkpoint.wanted

    def looked(ck: Checkpoint) -> bool:
        hint = look(ck)
        if ck.channel.latest() is None:
            peer.ask(cast(Child, None), 1, leaving=True)
            eventually(lambda: ck.channel.latest() is not None, "the hint")
        return hint

    monkeypatch.setattr(Checkpoint, "wanted", looked)
    with listening(environment=peer.environment()) as ck:
        began = time.monotonic()

        assert ck.wait(500)
        assert time.monotonic() - began < 250
    peer.close()


def test_progress_is_told_before_the_end(peer: Peer) -> None:
    with running(peer, PROGRAM, "save") as child:
        child.says("ready")
        peer.ask(child, 1, leaving=True)
        eventually(lambda: peer.answered("progress") == "1 0.25", "progress")


def test_a_checkpoint_of_its_own_accord_answers_no_hint(peer: Peer) -> None:
    with running(peer, PROGRAM, "saved") as child:
        eventually(lambda: peer.answered("done") == "0", "done 0")
        peer.ask(child, 1, leaving=True)
        eventually(lambda: peer.answered("done") == "1", "done 1")


def test_a_failure_is_told_in_one_line(peer: Peer) -> None:
    with running(peer, PROGRAM, "fail") as child:
        child.says("ready")
        peer.ask(child, 1, leaving=True)
        why = "" if peer.environment()["CEDE_PROTOCOL"] == "shm" else "the disk is full"
        eventually(lambda: peer.answered("failed") == f"1 {why}", "failed")
        assert peer.answered("done") is None


def test_after_a_deferral_the_checkpoint_is_wanted_again(peer: Peer) -> None:
    with running(peer, PROGRAM, "defer", 1) as child:
        child.says("ready")
        asked = time.monotonic()
        peer.ask(child, 1, leaving=True)
        eventually(lambda: peer.answered("defer") == "1 1", "defer")
        eventually(lambda: peer.answered("done") == "1", "done")

        assert time.monotonic() - asked > 0.9
        assert child.ends() == 0


def test_a_deferral_never_goes_beyond_what_the_deadline_leaves_for_writing(peer: Peer) -> None:
    with running(peer, PROGRAM, "defer", 600) as child:
        child.says("ready")
        asked = time.monotonic()
        peer.ask(child, 1, leaving=True, deadline=time.time() + 1.6)  # it takes 1.5 s to write, it says
        eventually(lambda: peer.answered("done") == "1", "done")

        assert time.monotonic() - asked < 100


def test_a_decorated_function_is_called_beside_the_program(peer: Peer) -> None:
    with running(peer, PROGRAM, "hook") as child:
        child.says("ready")
        for hint in (1, 2):
            peer.ask(child, hint, leaving=True)
            eventually(lambda hint=hint: peer.answered("done") == f"{hint}", f"done {hint}")  # type: ignore[misc]

        child.has_said("ready", "saving 1", "saving 2")
        assert child.process.poll() is None


def test_with_exit_the_program_ends_in_order_after_the_answer(peer: Peer) -> None:
    with running(peer, PROGRAM, "hook-exit") as child:
        child.says("ready")
        peer.ask(child, 1, leaving=False)
        eventually(lambda: peer.answered("done") == "1", "done 1")
        assert child.process.poll() is None
        peer.ask(child, 2, leaving=True)

        assert child.ends() == 0
        assert peer.answered("done") == "2"
        assert child.lines == ["ready", "saving 1", "saving 2", "in order"]


def test_a_decorated_function_that_raises_has_failed(peer: Peer) -> None:
    with running(peer, PROGRAM, "hook-raise") as child:
        child.says("ready")
        peer.ask(child, 1, leaving=True)
        why = "" if peer.environment()["CEDE_PROTOCOL"] == "shm" else "OSError: the disk is full"
        eventually(lambda: peer.answered("failed") == f"1 {why}", "failed")

        assert child.process.poll() is None


def test_a_decorated_function_that_defers_is_called_again(peer: Peer) -> None:
    with running(peer, PROGRAM, "hook-defer", 0.2) as child:
        child.says("ready")
        peer.ask(child, 1, leaving=True)
        eventually(lambda: peer.answered("done") == "1", "done")

        child.has_said("ready", "saving 1", "saving 1")


def test_a_hint_in_the_midst_of_saving_is_answered_after_it(peer: Peer) -> None:
    with running(peer, PROGRAM, "hook-own") as child:
        child.says("in the midst")
        peer.ask(child, 1, leaving=True)
        (peer.folder / "checkpoint/go").touch()
        eventually(lambda: peer.answered("done") == "1", "done")

        child.has_said("ready", "saving 0", "in the midst", "saving 1")


@pytest.mark.parametrize(
    ("example", "protocol"),
    [("count.py", "signal"), ("count.sh", "signal"), ("train_shm.py", "shm"), ("train_grpc.py", "grpc")],
)
def test_an_example_resumes_from_where_it_left(example: str, protocol: str, tmp_path: Path) -> None:
    peer = PEERS[protocol](tmp_path)
    with running(peer, EXAMPLES / example, 100_000, 0.01) as child:
        child.says("starting from 0")
        peer.ask(child, 1, leaving=True)

        assert child.ends() == 0
        # The last one: until it hears of the hint, an example may save of its own accord.
        saved = [line for line in child.lines if line.startswith("saved")][-1].split()[1]
        assert peer.answered("done") == "1"
    for old in ("hint", "done"):
        (tmp_path / "control" / old).unlink(missing_ok=True)
    target = int(saved) + 3
    quiet = {"CEDE_RESUME": "1", "CEDE_ATTEMPT": "2", "CEDE_PROTOCOL": "none"}
    with running(peer, EXAMPLES / example, target, 0.01, **quiet) as child:
        assert child.ends() == 0
        assert child.lines[0] == f"resuming from {saved}, attempt 2"
        assert f" {target}" in child.lines[-1]
    peer.close()


def test_a_hint_from_before_the_handler_is_not_missed(tmp_path: Path) -> None:
    peer = BySignal(tmp_path)
    peer.write(1, leaving=True)
    with running(peer, PROGRAM, "save") as child:
        assert child.ends() == 0
        assert peer.answered("done") == "1"


def test_the_signal_is_the_one_that_is_named(tmp_path: Path) -> None:
    peer = BySignal(tmp_path)
    with running(peer, PROGRAM, "hook", CEDE_HINT_SIGNAL="USR2") as child:
        child.says("ready")
        peer.write(1, leaving=False)
        os.killpg(child.process.pid, signal.SIGUSR2)
        eventually(lambda: peer.answered("done") == "1", "done")
