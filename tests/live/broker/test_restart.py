"""Applications outlive the server: what they were asked and what they answered is not lost."""

import socket
import stat
from pathlib import Path

import pytest

from cede.engine.drive.facts import Checkpointed, Deferral
from cede.engine.drive.orders import Hint
from cede.live.broker.attempt_tokens import load_secret, token
from cede.live.broker.service import Broker
from tests.live.broker.client import connected
from tests.live.broker.peers import SECRET, ByGrpc, eventually, running

PROGRAM = Path(__file__).with_name("program.py")


def again(peer: ByGrpc, folder: Path) -> None:
    """The server dies, and another takes its place."""
    peer.broker.close()
    peer.broker = Broker(peer.facts.append, SECRET)
    assert peer.broker.open(folder) == peer.environment()["CEDE_BROKER"]


def test_after_a_restart_a_hint_is_heard(tmp_path: Path) -> None:
    peer = ByGrpc(tmp_path)
    with running(peer, PROGRAM, "save") as child:
        child.says("ready")
        peer.ask(child, 1, leaving=False)
        eventually(lambda: peer.answered("done") == "1", "done 1")
        again(peer, tmp_path)
        peer.ask(child, 2, leaving=True)

        assert child.ends() == 0
        assert peer.answered("done") == "2"
    peer.close()


def test_a_hint_that_waits_when_the_program_starts_is_heard(tmp_path: Path) -> None:
    peer = ByGrpc(tmp_path)
    peer.broker.hint(Hint("count", 1, 1, leaving=True))
    with running(peer, PROGRAM, "save") as child:
        assert child.ends() == 0
        assert peer.answered("done") == "1"
    peer.close()


def test_an_answer_whose_record_was_lost_is_given_again(tmp_path: Path) -> None:
    peer = ByGrpc(tmp_path)
    with running(peer, PROGRAM, "hook") as child:
        child.says("ready")
        peer.ask(child, 1, leaving=True)
        eventually(lambda: peer.answered("done") == "1", "done 1")
        peer.facts.clear()  # the server was killed before it wrote them down
        again(peer, tmp_path)
        peer.ask(child, 1, leaving=True)

        eventually(lambda: peer.answered("done") == "1", "done 1 again")
        child.has_said("ready", "saving 1")
    peer.close()


def test_an_answer_waits_for_the_server_to_come_back(tmp_path: Path) -> None:
    peer = ByGrpc(tmp_path)
    with running(peer, PROGRAM, "hook-own") as child:
        child.says("in the midst")
        peer.broker.close()
        (tmp_path / "checkpoint/go").touch()
        child.says("saving 0")
        again(peer, tmp_path)

        eventually(lambda: Checkpointed("count", 1, 0) in peer.facts, "the checkpoint of its own accord")
    peer.close()


def test_a_refused_deferral_is_over_at_once(tmp_path: Path) -> None:
    peer = ByGrpc(tmp_path)
    with running(peer, PROGRAM, "hook-defer", 60) as child:
        child.says("ready")
        peer.ask(child, 1, leaving=True)
        eventually(lambda: any(isinstance(fact, Deferral) for fact in peer.facts), "it asks")
        peer.broker.granted("count", 1, 1, 0)
        eventually(lambda: peer.answered("done") == "1", "done")
    peer.close()


def test_a_program_with_a_wrong_token_goes_on_unasked(tmp_path: Path) -> None:
    peer = ByGrpc(tmp_path)
    with running(peer, PROGRAM, "saved", CEDE_BROKER_TOKEN="wrong", PYTHONWARNINGS="default") as child:
        child.says("ready")
        peer.ask(child, 1, leaving=True)

        with pytest.raises(AssertionError):
            eventually(lambda: peer.facts != [] or child.process.poll() is not None, "an answer", patience=1)
    peer.close()


def test_the_secret_stays_and_is_nobody_else_s(tmp_path: Path) -> None:
    first = load_secret(tmp_path)

    assert load_secret(tmp_path) == first
    assert len(first) == 32
    assert stat.S_IMODE((tmp_path / "broker.key").stat().st_mode) == 0o600
    assert token(first, "job", 1) != token(first, "job", 11) != token(load_secret(tmp_path), "job1", 1)


@pytest.mark.parametrize(("shared", "mode"), [(False, 0o600), (True, 0o666)])
def test_the_socket_is_for_other_accounts_only_if_jobs_have_them(shared: bool, mode: int, tmp_path: Path) -> None:
    broker = Broker(print, b"secret")
    broker.open(tmp_path, shared=shared)

    assert stat.S_IMODE((tmp_path / "broker.sock").stat().st_mode) == mode
    broker.close()


def test_where_the_path_is_too_long_for_a_socket_it_is_loopback_with_a_port_that_stays(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    addresses = []
    for _ in range(2):
        broker = Broker(print, b"secret")
        addresses.append(broker.open(folder))
        with connected(addresses[-1]):
            broker.close()

    assert addresses[0] == addresses[1]
    assert addresses[0].startswith("127.0.0.1:")


def test_a_port_that_somebody_has_taken_is_another_one(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (folder / "broker.port").write_text(str(port), encoding="ascii")
        broker = Broker(print, b"secret")

        assert broker.open(folder) != f"127.0.0.1:{port}"
        broker.close()
