"""Checkpoints by CRIU: the processes of a member written to files by root, and made again from them.

The files lie in a folder that only the server's account can write: who could change them could become anybody.
"""

from __future__ import annotations

import os
import signal
from typing import Any

from . import files, procfs

NOTE = "cede.json"
LOG = "dump.log"
PROGRAM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
COMMON = ["--tcp-established", "--ext-unix-sk", "--file-locks", "--shell-job"]


class Dump:
    """One dump at a time, by a `criu` that is a child of this process."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._folder: str = spec["criu"]
        self._member: int = spec["member"]
        self._next = ""
        self._pid: int | None = None
        self._why: str | None = None

    @property
    def helper(self) -> int | None:
        """The pid of a criu at work: it must be left to finish."""
        return self._pid

    def begin(self, pid: int, leaving: bool) -> None:
        if self._pid is not None:
            return
        self._next = f"{self._folder}/{self._member}.new"
        os.makedirs(self._next, 0o700, exist_ok=True)
        for name in os.listdir(self._next):
            os.unlink(f"{self._next}/{name}")
        streams = [os.readlink(f"/proc/{pid}/fd/{fd}") if _has(pid, fd) else "" for fd in (1, 2)]
        files.put(self._next, NOTE, {"pid": pid, "streams": streams})
        stay = [] if leaving else ["--leave-running"]
        self._pid = run(["dump", "-t", str(pid), "-D", self._next, "-o", LOG, *COMMON, *stay])

    def result(self) -> str | None:
        """Once after a dump ended: why it failed, "" if it did not. None at all other times."""
        why, self._why = self._why, None
        return why

    def reaped(self, pid: int, status: int) -> None:
        """A child of this process was reaped: if it was the criu at work, its dump is over."""
        if pid != self._pid:
            return
        self._pid = None
        if os.waitstatus_to_exitcode(status) == 0:
            self._keep()
            self._why = ""
        else:
            self._why = f"criu could not dump its processes: {last_line(f'{self._next}/{LOG}')}"

    def _keep(self) -> None:
        """The new dump takes the place of the last one."""
        kept, old = f"{self._folder}/{self._member}", f"{self._folder}/{self._member}.old"
        if os.path.isdir(kept):
            os.rename(kept, old)
        os.rename(self._next, kept)
        if os.path.isdir(old):
            for name in os.listdir(old):
                os.unlink(f"{old}/{name}")
            os.rmdir(old)


def _has(pid: int, fd: int) -> bool:
    return os.path.lexists(f"/proc/{pid}/fd/{fd}")


def dumped(spec: dict[str, Any]) -> dict[str, Any] | None:
    """What is known of the member's dump, if there is one to go on from."""
    return (
        files.get(f"{spec['criu']}/{spec['member']}", NOTE) if spec["protocol"] == "criu" and spec["resume"] else None
    )


def restore(spec: dict[str, Any], note: dict[str, Any], streams: tuple[int, int]) -> int:
    """A criu at work that makes the processes again, with these ends of pipes in the place of their old outputs."""
    folder = f"{spec['criu']}/{spec['member']}"
    inherit = []
    for fd, old in zip(streams, note["streams"], strict=True):
        if old.startswith("pipe:"):
            inherit += ["--inherit-fd", f"fd[{fd}]:{old}"]
    arguments = ["restore", "-d", "-D", folder, "-o", "restore.log", *COMMON, *inherit]
    return run(arguments, keep=streams)


def run(arguments: list[str], keep: tuple[int, ...] = ()) -> int:
    """The pid of a criu with these arguments."""
    pid = os.fork()
    if pid:
        return pid
    try:
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        for fd in keep:
            os.set_inheritable(fd, True)
        os.execvpe("criu", ["criu", *arguments], {"PATH": PROGRAM_PATH})
    finally:
        os._exit(127)


def last_line(path: str) -> str:
    """The last error in a log of criu."""
    text = (procfs.read(path) or b"").decode(errors="replace").strip()
    errors = [line for line in text.splitlines() if "Error" in line]
    return (errors or text.splitlines() or ["it left no log"])[-1][-200:]
