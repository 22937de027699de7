"""What an application holds, apart from how its hints travel."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import cede.checkpoint
from cede.checkpoint import Checkpoint
from cede.checkpoint import checkpoint as module
from cede.checkpoint.by_shm import HINT, LENGTH, MAGIC
from cede.checkpoint.environment import Environment, read_environment, signal_number


def under(folder: Path, protocol: str = "signal", **more: str) -> dict[str, str]:
    return {"CEDE_PROTOCOL": protocol, "CEDE_CONTROL_DIR": str(folder), "CEDE_CHECKPOINT_DIR": str(folder), **more}


def ask(folder: Path, hint: int, leaving: bool = False) -> None:
    (folder / "hint").write_text(json.dumps({"hint": hint, "leaving": leaving}), encoding="ascii")
    os.kill(os.getpid(), signal.SIGUSR1)


def answer(folder: Path, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


def test_outside_cede_nothing_is_ever_asked(tmp_path: Path) -> None:
    with cede.checkpoint.listening(environment={}) as ck:
        assert not ck.wanted()
        assert not ck.wait(0.01)
        ck.done()
        ck.saved()
        ck.failed("why")
        ck.progress(0.5)
        ck.defer(1)

        assert (ck.attempt, ck.resuming, ck.leaving, ck.hint, ck.directory) == (1, False, False, 0, Path())
    assert list(tmp_path.iterdir()) == []


def test_importing_it_brings_nothing_but_the_standard_library() -> None:
    code = "import sys, cede.checkpoint\nprint(*sorted({name.partition('.')[0] for name in sys.modules}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = set(ran.stdout.split())

    assert found & {"grpc", "google", "numpy", "pydantic"} == set()


def test_a_protocol_that_nobody_knows_is_a_warning() -> None:
    with (
        pytest.warns(UserWarning, match="nobody here knows the protocol 'carrier-pigeon'"),
        cede.checkpoint.listening(environment={"CEDE_PROTOCOL": "carrier-pigeon"}) as ck,
    ):
        assert not ck.wanted()


@pytest.mark.parametrize("protocol", ["signal", "shm", "grpc"])
def test_a_protocol_without_its_place_says_what_is_missing(protocol: str) -> None:
    with (
        pytest.raises(ValueError, match="is not set"),
        cede.checkpoint.listening(environment={"CEDE_PROTOCOL": protocol}),
    ):
        pass


def test_a_flag_that_is_none_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"CEDESHM1", b"x" * 64):
        (tmp_path / "flag").write_bytes(content)
        with (
            pytest.raises(ValueError, match="is not a flag"),
            cede.checkpoint.listening(environment=under(tmp_path, "shm")),
        ):
            pass


def test_a_process_listens_in_one_place(tmp_path: Path) -> None:
    with cede.checkpoint.listening(environment={}), pytest.raises(RuntimeError, match="already listens"):
        cede.checkpoint.listening(environment={}).__enter__()
    with cede.checkpoint.listening(environment=under(tmp_path)):
        pass


def test_an_answered_hint_is_wanted_no_more(tmp_path: Path) -> None:
    with cede.checkpoint.listening(environment=under(tmp_path)) as ck:
        for hint, leaving in ((1, False), (2, True)):
            ask(tmp_path, hint, leaving)
            assert ck.wanted()
            assert ck.wanted()
            assert (ck.hint, ck.leaving) == (hint, leaving)
            ck.done()
            assert not ck.wanted()
            assert (ck.hint, ck.leaving) == (0, leaving)
            assert answer(tmp_path, "done") == f"{hint}"


def test_the_answer_is_for_the_hint_that_was_told_and_not_for_one_that_came_meanwhile(tmp_path: Path) -> None:
    with cede.checkpoint.listening(environment=under(tmp_path)) as ck:
        ask(tmp_path, 1)
        assert ck.wanted()
        ask(tmp_path, 2)
        ck.done()

        assert answer(tmp_path, "done") == "1"
        assert ck.wanted()
        assert ck.hint == 2


def test_to_know_of_a_hint_is_a_sign_of_life(tmp_path: Path) -> None:
    with cede.checkpoint.listening(environment=under(tmp_path)) as ck:
        ask(tmp_path, 7)
        assert ck.wanted()

        assert answer(tmp_path, "progress") == "7 0"


def test_progress_is_not_told_more_often_than_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROGRESS_EVERY", 60.0)
    with cede.checkpoint.listening(environment=under(tmp_path)) as ck:
        ask(tmp_path, 1)
        assert ck.wanted()
        for part in (0.5, 0.6, 0.7):
            ck.progress(part)

        assert answer(tmp_path, "progress") == "1 0.5"
        with pytest.raises(ValueError, match="from 0 to 1"):
            ck.progress(1.1)
        with pytest.raises(ValueError, match="above 0"):
            ck.defer(0)


def test_in_another_thread_the_file_is_looked_at(tmp_path: Path) -> None:
    heard: list[int] = []

    def listen() -> None:
        with cede.checkpoint.listening(environment=under(tmp_path)) as ck:
            ready.set()
            if ck.wait(60):
                heard.append(ck.hint)
                ck.done()

    ready = threading.Event()
    thread = threading.Thread(target=listen)
    thread.start()
    assert ready.wait(60)
    (tmp_path / "hint").write_text('{"hint": 1, "leaving": true}', encoding="ascii")
    thread.join()

    assert heard == [1]
    assert answer(tmp_path, "done") == "1"


def test_a_signal_after_the_block_ends_nobody(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGUSR1)
    try:
        with cede.checkpoint.listening(environment=under(tmp_path)) as ck:
            pass
        ask(tmp_path, 1)

        assert not ck.wanted()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_hint_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    with cede.checkpoint.listening(environment=under(tmp_path)) as ck:
        for text in ("", "{", "{}", "[]", '{"hint": "x", "leaving": 1}', "7"):
            (tmp_path / "hint").write_text(text, encoding="ascii")
            os.kill(os.getpid(), signal.SIGUSR1)

            assert not ck.wanted()


def test_what_is_written_is_there_in_full_and_read_again(tmp_path: Path) -> None:
    with cede.checkpoint.listening(environment={"CEDE_CHECKPOINT_DIR": str(tmp_path / "new")}) as ck:
        ck.write("state.json", b"old")
        ck.write("state.json", b"new")
        ck.write("shards/0", b"first")

        assert ck.read("state.json") == b"new"
        assert sorted(path.name for path in ck.directory.rglob("*")) == ["0", "shards", "state.json"]
        with pytest.raises(FileNotFoundError):
            ck.read("other")


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc/x", "a/../../x"])
def test_no_name_leads_out_of_the_directory(name: str, tmp_path: Path) -> None:
    with (
        cede.checkpoint.listening(environment={"CEDE_CHECKPOINT_DIR": str(tmp_path)}) as ck,
        pytest.raises(ValueError, match="not the name of a file"),
    ):
        ck.write(name, b"")


def test_a_job_that_resumes_restores_before_it_hears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story: list[str] = []
    for name, value in under(tmp_path, CEDE_RESUME="1").items():
        monkeypatch.setenv(name, value)
    (tmp_path / "hint").write_text('{"hint": 1, "leaving": false}', encoding="ascii")

    @cede.checkpoint.on_hint(restore=lambda ck: story.append(f"restore {ck.attempt}"))
    def save(ck: Checkpoint) -> None:
        story.append(f"save {ck.hint}")

    save()
    save.stop()

    assert story == ["restore 1", "save 1", "save 0"]
    assert answer(tmp_path, "done") == "0"


SIGNALS = {"SIGUSR1": signal.SIGUSR1, "USR2": signal.SIGUSR2, "usr1": signal.SIGUSR1, "12": signal.SIGUSR2}


@pytest.mark.parametrize(("text", "number"), SIGNALS.items())
def test_a_signal_has_many_names(text: str, number: int) -> None:
    assert signal_number(text) == number


def test_the_place_is_what_the_environment_says(tmp_path: Path) -> None:
    said = under(tmp_path, CEDE_JOB="j", CEDE_ATTEMPT="3", CEDE_RESUME="1", CEDE_RANK="2", CEDE_SIZE="4")
    said["CEDE_CHECKPOINT_INTERVAL"] = "90.5"

    assert read_environment(said) == Environment(
        job="j",
        attempt=3,
        resuming=True,
        directory=tmp_path,
        control=tmp_path,
        protocol="signal",
        rank=2,
        size=4,
        interval=90.5,
    )


INTERRUPTED = """
import signal, sys
import cede.checkpoint

def interrupt(frame, event, arg):
    if event == "line" and frame.f_code is not interrupt.__code__:
        signal.raise_signal(signal.SIGUSR1)
    return interrupt

with cede.checkpoint.listening() as ck:
    sys.settrace(interrupt)
    ck.wait(0.01)
    sys.settrace(None)
print("it goes on")
"""


def test_a_hint_may_come_between_any_two_lines_of_waiting_for_one(tmp_path: Path) -> None:
    environment = os.environ | under(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], env=environment, capture_output=True, text=True, timeout=300, check=True
    )

    assert ran.stdout == "it goes on\n"


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    """A folder in which no answer can be written: other folders are in their places."""
    for name in ("progress", "defer", "done", "failed"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_nobody_dies_of_a_hint_because_no_answer_can_be_written(unwritable: Path) -> None:
    with cede.checkpoint.listening(environment=under(unwritable)) as ck:
        ask(unwritable, 1)
        assert ck.wanted()
        ck.progress(0.5)
        ck.saved()
        ck.failed("no room")
        for name in ("progress", "done", "failed"):
            (unwritable / name).rmdir()
        ck.wait(0)

    assert answer(unwritable, "progress") == "1 0.5"
    assert (answer(unwritable, "done"), answer(unwritable, "failed")) == ("0", "1 no room")


def test_who_saved_goes_on_when_its_answer_is_written_and_not_before(unwritable: Path) -> None:
    with cede.checkpoint.listening(environment=under(unwritable)) as ck:
        ask(unwritable, 1, leaving=True)
        assert ck.wanted()
        frees = threading.Timer(0.5, (unwritable / "done").rmdir)
        frees.start()
        ck.done()

        assert answer(unwritable, "done") == "1"
        frees.join()


CANNOT_SAVE = """
import os, signal, sys, time
from pathlib import Path
import cede.checkpoint

folder = Path(os.environ["CEDE_CONTROL_DIR"])

@cede.checkpoint.on_hint
def save(ck):
    raise OSError(28, "No space left on device")

os.kill(os.getpid(), signal.SIGUSR1)
end = time.monotonic() + 60
while not (folder / "failed").exists() and time.monotonic() < end:
    time.sleep(0.01)
print("it goes on")
"""


def test_a_save_that_fails_is_told_though_its_traceback_can_be_written_nowhere(tmp_path: Path) -> None:
    (tmp_path / "hint").write_text(json.dumps({"hint": 1, "leaving": False}), encoding="ascii")
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-c", CANNOT_SAVE],
            env=os.environ | under(tmp_path),
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            timeout=300,
            check=True,
        )

    assert ran.stdout == "it goes on\n"
    assert answer(tmp_path, "failed").startswith("1 OSError: [Errno 28] No space left")


@pytest.mark.parametrize("seconds", [1e12, float("inf")])
def test_no_number_of_seconds_is_too_large_to_be_asked_for(tmp_path: Path, seconds: float) -> None:
    with (tmp_path / "flag").open("wb") as file:
        file.write(MAGIC.ljust(LENGTH, b"\0"))
    for protocol in ("signal", "shm"):
        with cede.checkpoint.listening(environment=under(tmp_path, protocol)) as ck:
            if protocol == "signal":
                ask(tmp_path, 1)
            else:
                with (tmp_path / "flag").open("r+b") as file:
                    file.seek(HINT)
                    file.write((1).to_bytes(4, "little"))
            assert ck.wanted()
            ck.defer(seconds)
            assert not ck.wanted()
