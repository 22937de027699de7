"""What a replay writes is there as a whole or not at all, and a second Ctrl-C is heard."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from cede.cli.sim_progress import Interrupts
from cede.model.errors import InputError
from cede.sim.files import files_draft, folder_draft
from tests.sim.replays import contents


def test_a_folder_is_there_when_the_block_has_ended_and_not_before(tmp_path: Path) -> None:
    with folder_draft(tmp_path / "out", ["a"], "inner") as draft:
        (draft / "a").write_text("1")
        assert not (tmp_path / "out").exists()

    assert contents(tmp_path) == {"out/a": b"1"}


def fail(draft: Path, name: str) -> None:
    (draft / name).write_text("1")
    raise KeyboardInterrupt


def test_nothing_is_left_of_a_block_that_failed(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), folder_draft(tmp_path / "out", ["a"], "inner") as draft:
        fail(draft, "a")
    with pytest.raises(KeyboardInterrupt), files_draft([tmp_path / "b.html"]) as draft:
        fail(draft, "b.html")

    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_may_be_there(tmp_path: Path) -> None:
    with folder_draft(tmp_path, ["a"], "inner") as draft:
        (draft / "a").write_text("1")

    assert contents(tmp_path) == {"a": b"1"}


def test_a_file_where_a_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="is there, and is no folder"), folder_draft(tmp_path / "out", [], "inner"):
        pytest.fail("it must not begin")


def test_by_force_what_an_earlier_one_left_goes_and_nothing_else(tmp_path: Path) -> None:
    for name in ("out/a", "out/b", "out/inner/1.yaml", "out/inner/notes.txt", "out/other/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("old")
    with folder_draft(tmp_path / "out", ["a", "b"], "inner", force=True) as draft:
        (draft / "inner").mkdir()
        (draft / "a").write_text("new")
        (draft / "inner" / "2.yaml").write_text("new")

    assert contents(tmp_path) == {
        "out/a": b"new",
        "out/inner/2.yaml": b"new",
        "out/inner/notes.txt": b"old",
        "out/other/x": b"old",
    }


def test_the_first_interrupt_is_noted_and_the_second_is_what_it_always_is() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.stopped
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)

    assert signal.getsignal(signal.SIGINT) is before
