"""CRIU: found where it works, with a reason where it does not, and a real dump and restore where it does."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cede.live.broker import criu
from cede.live.executors.local.guard import dumps
from tests.live.broker.peers import PATIENCE_S, eventually

WORKS, WHY = criu.works()
needs_criu = pytest.mark.skipif(not WORKS, reason=WHY)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may dump processes")

COUNT = "import time\nn = 0\nwhile True:\n    print(n, flush=True)\n    n += 1\n    time.sleep(0.02)\n"
PR_SET_CHILD_SUBREAPER = 36


def program(folder: Path, script: str) -> str:
    """A path with a program of this name and nothing else on it."""
    folder.mkdir()
    (folder / "criu").write_text(f"#!/bin/sh\n{script}\n", encoding="ascii")
    (folder / "criu").chmod(0o755)
    return str(folder)


def test_where_it_is_not_installed_it_does_not_work(tmp_path: Path) -> None:
    assert criu.works(str(tmp_path)) == (False, "criu is not installed")


@needs_root
def test_what_its_own_check_says_is_the_answer(tmp_path: Path) -> None:
    old = "echo 'Error (criu/vdso.c:381): vdso: Unexpected rt vDSO area bounds' >&2; exit 1"

    assert criu.works(program(tmp_path / "good", "echo 'Looks good.'")) == (True, "")
    assert criu.works(program(tmp_path / "mute", "exit 3")) == (False, "criu check says: exit 3")
    assert criu.works(program(tmp_path / "old", old)) == (
        False,
        "criu check says: vdso: Unexpected rt vDSO area bounds",
    )


@needs_root
def test_it_is_asked_once(tmp_path: Path) -> None:
    path = program(tmp_path / "bin", f"echo asked >>{tmp_path}/asked")
    for _ in range(3):
        assert criu.works(path) == (True, "")

    assert (tmp_path / "asked").read_text(encoding="ascii") == "asked\n"


@needs_root
def test_a_check_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(criu, "CHECK_S", 0.2)

    path = program(tmp_path / "bin", "exec /bin/sleep 60")
    assert criu.works(path) == (False, "criu check did not end within 0.2 s")


@pytest.fixture
def spec(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Of a supervisor, which this process is for a while: what loses its parent below it becomes its child."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    (tmp_path / "images").mkdir()
    yield {"criu": str(tmp_path / "images"), "member": 0, "protocol": "criu", "resume": True}
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def counting() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", COUNT],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def dumped(spec: dict[str, Any], pid: int, leaving: bool) -> str | None:
    """Why there is no usable dump; empty if there is one."""
    dump = dumps.Dump(spec)
    dump.begin(pid, leaving)
    assert dump.helper is not None
    dump.reaped(*os.waitpid(dump.helper, 0))
    return dump.result()


@needs_criu
def test_a_process_goes_on_after_a_dump_and_a_restore_with_another_reader(spec: dict[str, Any]) -> None:
    child = counting()
    assert child.stdout is not None
    seen = int(child.stdout.readline())

    assert dumped(spec, child.pid, leaving=True) == ""
    seen = max([seen, *map(int, child.stdout.read().split())])
    child.communicate(timeout=PATIENCE_S)  # until it is waited for its pid is taken
    note = dumps.dumped(spec)
    assert note is not None
    (out, to_out), (errors, to_errors) = os.pipe(), os.pipe()
    helper = dumps.restore(spec, note, (to_out, to_errors))
    assert os.waitpid(helper, 0)[1] == 0
    for fd in (to_out, to_errors, errors):
        os.close(fd)

    with os.fdopen(out) as stream:
        assert next(number for line in stream if (number := int(line)) > seen) == seen + 1
        os.kill(child.pid, 9)
        assert os.waitpid(child.pid, 0)[0] == child.pid


@needs_criu
def test_a_process_that_is_not_to_leave_goes_on_at_once(spec: dict[str, Any]) -> None:
    child = counting()
    assert child.stdout is not None
    try:
        assert dumped(spec, child.pid, leaving=False) == ""
        seen = len(os.read(child.stdout.fileno(), 2**20))

        eventually(lambda: len(os.read(child.stdout.fileno(), 1)) == 1, "it goes on counting")  # type: ignore[union-attr]
        assert seen > 0
    finally:
        child.kill()
        child.communicate(timeout=PATIENCE_S)
