"""Whatever goes wrong is told in a line or two, with an exit code and without a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cede.cli import failures
from cede.cli.failures import guarded, printable
from cede.model.errors import CedeError, InputError, Problem
from tests.unit.cli.calls import EXAMPLES, called, cede

GANG = EXAMPLES / "gang.yaml"

FILES = {
    "nothing": (b"", "the file is empty"),
    "a NUL byte": (b"cede: 1\x00", "a NUL byte is not text"),
    "binary": (b"\x7fELF\x02\x01\xff\xfe", "byte 0xff is not UTF-8"),
    "latin-1": ("name: größe".encode("latin-1"), "byte 0xf6 is not UTF-8 (save the file as UTF-8)"),
    "broken JSON": (b'{"cede": 1,', "EOF while parsing"),
    "broken YAML": (b"cede: [1\n", "did not find expected"),
    "a list": (b"- cede: 1\n", "a list is no cluster file"),
    "another version": (b"cede: 2\n", "2 is no format this Cede reads; write cede: 1"),
    "an unknown key": (b"cede: 1\nnodse: []\n", "nodse: there is no key 'nodse' (did you mean 'nodes'?)"),
    "an unknown doctrine": (b"cede: 1\ndoctrine: backendia\n", "did you mean 'backendai'?"),
    "no doctrine": (b"cede: 1\n", "the file names no doctrine"),
}


@pytest.mark.parametrize(("content", "words"), FILES.values(), ids=FILES.keys())
def test_a_file_that_cannot_be_used_is_told(
    content: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(content)
    ran = called(capsys, "plan", path)

    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.startswith("error")
    assert ran.err.count("\n") == 1


def test_a_missing_file_a_directory_and_a_nonsense_name_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing, folder = called(capsys, "plan", "nowhere.yaml"), called(capsys, "plan", tmp_path)

    assert missing.err == "error: nowhere.yaml: cannot be read: no such file or directory\n"
    assert folder.err == f"error: {tmp_path}: this is a directory, not a cluster file\n"
    assert called(capsys, "plan", "x" * 5000).code == 2


def test_a_file_that_fails_while_it_is_read_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "plan", "/proc/self/mem").err == "error: /proc/self/mem: cannot be read: input/output error\n"
    assert called(capsys, "plan", GANG, "--add", "nowhere.yaml").err.startswith("error: nowhere.yaml: cannot be read")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "secret.yaml"
    path.write_text("cede: 1")
    path.chmod(0)

    assert cede("plan", path).err == f"error: {path}: cannot be read: permission denied\n"


def test_a_file_that_is_too_large_is_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("plan", "diff", "settle", "lint", "show"):
        ran = called(capsys, command, GANG, "--max-size", "1Ki")

        assert ran.code == 2
        assert "files above 1024 are not read (raise the limit with --max-size" in ran.err


def test_standard_input_that_is_too_large_is_not_read() -> None:
    assert "standard input: has more than 10 bytes" in cede("plan", "-", "--max-size", "10", given=b"x" * 100).err


def test_a_size_that_is_none_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "lint", GANG, "--max-size", "big").err.startswith("error: --max-size: 'big' is no quantity")


def test_standard_input_can_be_read_once_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "plan", "-", "--add", "-").err == "error: --add -: standard input can be read once only\n"


def test_every_problem_is_listed_with_its_place_and_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("cede: 1\nqueues: [{nam: q}]\nworkloads: [{name: a, queue: p, priority: x}]\n")
    ran = called(capsys, "plan", path)

    assert ran.code == 2
    assert ran.err.splitlines()[0] == f"error: 3 problems in {path}"
    assert [line.split(": ")[0].strip() for line in ran.err.splitlines()[1:]] == [
        "queues[0].name",
        "queues[0].nam",
        "workloads[0].priority",
    ]


def test_of_very_many_problems_the_first_hundred_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("cede: 1\nnodes: [" + ", ".join(f"{{name: n{i}, x: 1}}" for i in range(150)) + "]\n")
    lines = called(capsys, "plan", path).err.splitlines()

    assert len(lines) == 102
    assert lines[-1] == "  and 50 more (CEDE_ALL_ERRORS=1 lists them all)"


def test_all_problems_are_listed_if_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("cede: 1\nnodes: [" + ", ".join(f"{{name: n{i}, x: 1}}" for i in range(150)) + "]\n")
    monkeypatch.setenv("CEDE_ALL_ERRORS", "1")
    lines = called(capsys, "plan", path).err.splitlines()

    assert len(lines) == 151
    assert lines[-1] == "  nodes[149].x: there is no key 'x'"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--for", "smal"], "--for: no workload is called 'smal' (did you mean 'small'?)"),
        (["--for", "tuning"], "--for: tuning is running, not pending: there is nothing to decide"),
        (["--set", "workloads[small].priorty=1"], "did you mean 'priority'?"),
        (["--set", "x"], "--set x: gives no value"),
        (["--without", "smal"], "did you mean 'small'?"),
        (["--doctrine", "backendia"], "did you mean 'backendai'?"),
        (["--doctrine", "backendai/26.9"], "backendai has no edition '26.9'"),
    ],
)
def test_a_wrong_option_is_told(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    ran = called(capsys, "plan", GANG, *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_unknown_options_and_missing_arguments_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = called(capsys, "plan")

    assert (nothing.code, nothing.err) == (
        2,
        "error: FILE: is missing (give a cluster file, or --live for the running server)\n",
    )
    assert "Missing argument 'FILE'" in called(capsys, "settle").err
    assert "No such option" in called(capsys, "plan", GANG, "--explian").err


def test_an_error_of_our_own_is_one_line_and_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("no such key")

    monkeypatch.setattr("cede.engine.cycle.plan", fail)
    ran = called(capsys, "plan", GANG)

    assert (ran.code, ran.out) == (70, "")
    assert ran.err.startswith("internal error: KeyError: 'no such key' - please report it")
    assert ran.err.count("\n") == 1

    monkeypatch.setenv("CEDE_DEBUG", "1")
    ran = called(capsys, "plan", GANG)
    assert ran.code == 70
    assert ran.err.startswith("Traceback")


def test_what_a_terminal_would_act_on_is_made_visible() -> None:
    assert printable("a\x1b[31mb\nc\u202e") == "a\\x1b[31mb\\nc\\u202e"
    assert printable("größe 日本") == "größe 日本"


def test_an_error_cannot_draw_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in called(capsys, "plan", GANG, "--for", "\x1b[31mred").err


def raising(error: BaseException) -> int:
    def run() -> None:
        raise error

    return guarded(run)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SystemExit(), 0),
        (SystemExit(0), 0),
        (SystemExit(1), 1),
        (SystemExit("words"), 1),
        (KeyboardInterrupt(), failures.INTERRUPTED),
        (InputError([Problem("a", "b")]), failures.WRONG_INPUT),
        (CedeError("words"), failures.WRONG_INPUT),
        (RecursionError(), failures.INTERNAL_ERROR),
        (MemoryError(), failures.INTERNAL_ERROR),
        (AssertionError("words"), failures.INTERNAL_ERROR),
    ],
)
def test_every_kind_of_end_has_its_exit_code(error: BaseException, code: int) -> None:
    assert raising(error) == code
