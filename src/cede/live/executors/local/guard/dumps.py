"""Checkpoints by CRIU: the processes of a member written to files by root, and made again from them.

The files lie in a folder that only the server's account can write: others could become any account by changing them.
"""

from __future__ import annotations

import os
import signal
from typing import Any

from . import files, procfs
from .command import NotStartedError, Started, limited

NOTE = "cede.json"
LOG = "dump.log"
RESTORE_LOG = "restore.log"
PROGRAM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
COMMON = ["--tcp-established", "--ext-unix-sk", "--file-locks", "--shell-job", "--manage-cgroups=ignore"]


class Dump:
    """One dump at a time, by a `criu` that is a child of this process."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        self._kept = f"{spec['criu']}/{spec['member']}"
        self._next = f"{self._kept}.new"
        self._pid: int | None = None
        self._why: str | None = None
        self._takes_all = False
        self.took_all = False
        """Whether the last dump ended the processes: it was asked for in order to leave, whatever was said since."""

    @property
    def helper(self) -> int | None:
        """The pid of a criu at work: it must be left to finish."""
        return self._pid

    def begin(self, pid: int, leaving: bool) -> None:
        if self._pid is not None:
            return
        stay = [] if leaving else ["--leave-running"]
        try:
            _clear(self._next)
            os.makedirs(self._next, 0o700)
            streams = [os.readlink(f"/proc/{pid}/fd/{fd}") if _has(pid, fd) else "" for fd in (1, 2)]
            note = {"pid": pid, "streams": streams, "mark": self._spec.get("mark")}
            files.put(self._next, NOTE, note)
            self._pid = run(["dump", "-t", str(pid), "-D", self._next, "-o", LOG, *COMMON, *stay])
            self._takes_all = leaving
        except OSError as error:
            self._why = f"its processes could not be dumped: {error}"

    def result(self) -> str | None:
        """Once after a dump ended: why it failed, "" if it did not. None at all other times."""
        why, self._why = self._why, None
        return why

    def reaped(self, pid: int, status: int) -> None:
        """A child of this process was reaped: if it was the criu at work, its dump is over."""
        if pid != self._pid:
            return
        self._pid = None
        if os.waitstatus_to_exitcode(status) != 0:
            self._why = f"criu could not dump its processes: {last_line(f'{self._next}/{LOG}')}"
            return
        try:
            self._keep()
        except OSError as error:
            self._why = f"the dump of its processes could not be kept: {error}"
        else:
            self._why, self.took_all = "", self._takes_all

    def _keep(self) -> None:
        """The new dump takes the place of the last one, and would be there after a loss of power."""
        for name in os.listdir(self._next):
            fd = os.open(f"{self._next}/{name}", os.O_RDONLY | os.O_CLOEXEC)
            os.fsync(fd)
            os.close(fd)
        _clear(f"{self._kept}.old")
        if os.path.isdir(self._kept):
            os.rename(self._kept, f"{self._kept}.old")
        os.rename(self._next, self._kept)
        _clear(f"{self._kept}.old")


def _clear(folder: str) -> None:
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            os.unlink(f"{folder}/{name}")
        os.rmdir(folder)


def _has(pid: int, fd: int) -> bool:
    return os.path.lexists(f"/proc/{pid}/fd/{fd}")


def dumped(spec: dict[str, Any]) -> dict[str, Any] | None:
    """What is known of the member's dump, if there is one to go on from."""
    return (
        files.get(f"{spec['criu']}/{spec['member']}", NOTE) if spec["protocol"] == "criu" and spec["resume"] else None
    )


def resume(spec: dict[str, Any], note: dict[str, Any]) -> Started:
    """The member's processes as they were, children of this process again, writing to new pipes."""
    out, out_end = os.pipe()
    err, err_end = os.pipe()
    try:
        with limited(spec):
            _, status = os.waitpid(restore(spec, note, (out_end, err_end)), 0)
    finally:
        os.close(out_end)
        os.close(err_end)
    if os.waitstatus_to_exitcode(status) != 0:
        why = last_line(f"{spec['criu']}/{spec['member']}/{RESTORE_LOG}")
        raise NotStartedError(f"criu could not restore its processes: {why}")
    for fd in (out, err):
        os.set_blocking(fd, False)
    return Started(note["pid"], (out, err))


def restore(spec: dict[str, Any], note: dict[str, Any], streams: tuple[int, int]) -> int:
    """A criu at work that makes the processes again, with these ends of pipes in the place of their old outputs."""
    folder = f"{spec['criu']}/{spec['member']}"
    inherit = []
    for fd, old in zip(streams, note["streams"], strict=True):
        if old.startswith("pipe:"):
            inherit += ["--inherit-fd", f"fd[{fd}]:{old}"]
    return run(["restore", "-d", "-D", folder, "-o", RESTORE_LOG, *COMMON, *inherit], keep=streams)


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
