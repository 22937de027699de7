"""Whether a member still has its supervisor, and what is done for one that lost it."""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cede.live.executors.local.guard import ending, files, procfs
from cede.live.executors.local.guard.ending import remove_cgroups
from cede.live.executors.local.guard.outcome import end_remains, ordered_cause, outcome, remains

log = logging.getLogger(__name__)

STRUCK_S = 0.2
"""So long a process may take to be gone after SIGKILL before it is named."""
STATES = {"D": "waits inside the kernel", "T": "is stopped", "t": "is traced", "R": "is still running"}


@contextmanager
def _lock(folder: str, *, wait: bool) -> Iterator[bool]:
    """Whether the lock of the member is ours."""
    fd = os.open(f"{folder}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)


def supervised(folder: str) -> bool:
    """Whether a supervisor holds the member's lock."""
    with _lock(folder, wait=False) as ours:
        return not ours


def _supervisor(folder: str) -> procfs.Process | None:
    """The process that holds the member's lock."""
    if not supervised(folder):
        return None
    pid, start = (int(word) for word in (Path(folder) / "lock").read_text().split() or ["0", "0"])
    process = procfs.look(pid)
    return process if process is not None and process.start == start and process.state not in "ZX" else None


def let_go_on(folder: str) -> None:
    """A supervisor that somebody stopped goes on."""
    try:
        process = _supervisor(folder)
    except OSError:  # the folder was deleted
        return
    if process is not None and process.state in "Tt":
        log.warning("%s: its supervisor was stopped, and goes on", folder)
        procfs.send(process, signal.SIGCONT)


def strike(folder: str) -> list[str]:
    """SIGKILL to every process of the member, below its supervisor or not; what is there all the same, in words."""
    spec, began = files.get(folder, "spec.json") or {}, files.get(folder, "began.json") or {}
    try:
        holder = _supervisor(folder)
    except OSError:
        return []
    ending.kill_cgroup(spec.get("cgroups", []))
    deadline = time.monotonic() + STRUCK_S
    while True:
        left = [] if holder is None else procfs.below(holder.pid)
        left += remains(spec, began) if began.get("boot") == procfs.boot() else []
        for process in left:
            procfs.send(process, signal.SIGKILL)
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.01)
    states = {process.pid: process.state for process in left}
    return [f"process {pid} ({procfs.name(pid)}) {STATES.get(state, 'is there')}" for pid, state in states.items()]


def supervisor(folder: str) -> int | None:
    """A pidfd of the very process that holds the member's lock; none if there is none."""
    if not supervised(folder):
        return None
    pid, start = (int(word) for word in (Path(folder) / "lock").read_text().split() or ["0", "0"])
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return None
    # Looked at after the descriptor was opened: the pid cannot have become another's in between.
    if procfs.lives(pid, start):
        return fd
    os.close(fd)
    return None


def conclude(
    folder: str, *, told: bool = False, cause: str = "", error: str = "", wait: bool = False
) -> dict[str, Any] | None:
    """How a member without a supervisor ended; none if it has one. From now on no supervisor will start it.

    Nothing is left of one whose supervisor died. One that never began has been `told` to end before it did, for this
    `cause`, or could not because of an `error`, or is lost.
    """
    try:
        with _lock(folder, wait=wait) as ours:
            if not ours:
                return None
            end = files.get(folder, "exit.json")
            if end:
                return end
            spec = files.get(folder, "spec.json") or {}
            began = files.get(folder, "began.json")
            if began is not None:
                end_remains(spec, began)
            remove_cgroups(spec.get("cgroups", []))
            unknown = began is not None or not (told or error)
            if unknown:
                result = outcome(lost=True, cause=ordered_cause(folder) or "")
            else:
                result = outcome(told=told, cause=cause, error=error)
            files.put(folder, "exit.json", result)
            return result
    except FileNotFoundError:  # somebody deleted the folder: there is nothing to keep
        return outcome(lost=True)
