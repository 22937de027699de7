"""Processes as /proc shows them, told apart by their start time, so that a reused pid is never taken for another."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import NamedTuple


class Process(NamedTuple):
    pid: int
    parent: int
    group: int
    state: str
    start: int
    session: int = 0


def read(path: str) -> bytes | None:
    """The whole of a file in /proc; none if it, or its process, is gone or hidden from us."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        parts = []
        while part := os.read(fd, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return None
    finally:
        os.close(fd)


def look(pid: int) -> Process | None:
    text = read(f"/proc/{pid}/stat")
    if text is None:
        return None
    # The name of the program stands in brackets and may hold anything, brackets too.
    fields = text[text.rindex(b")") + 2 :].split()
    return Process(pid, int(fields[1]), int(fields[2]), fields[0].decode(), int(fields[19]), int(fields[3]))


def lives(pid: int, start: int) -> bool:
    """Whether this very process is there and has not ended."""
    process = look(pid)
    return process is not None and process.start == start and process.state not in "ZX"


def boot() -> str:
    """This run of the kernel: start times are only comparable within one."""
    return (read("/proc/sys/kernel/random/boot_id") or b"").decode().strip()


def pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def children(pid: int) -> list[int]:
    child_pids: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return child_pids
    for thread in threads:
        text = read(f"/proc/{pid}/task/{thread}/children")
        if text is None and not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):  # an unusual kernel
            return [other.pid for other in map(look, pids()) if other is not None and other.parent == pid]
        child_pids += map(int, (text or b"").split())
    return child_pids


def below(pid: int) -> list[Process]:
    """Every process that descends from this one and has not ended, as far as one look can tell."""
    descendants: list[Process] = []
    seen = {pid}
    front = [pid]
    while front:
        for child in children(front.pop()):
            process = look(child) if child not in seen else None
            if process is not None:
                seen.add(child)
                front.append(child)
                if process.state not in "ZX":
                    descendants.append(process)
    return descendants


def marked(mark: str) -> list[Process]:
    """Every process whose environment holds this variable, written NAME=VALUE."""
    wanted = mark.encode()
    processes = []
    for pid in pids():
        environment = read(f"/proc/{pid}/environ")
        if environment is not None and wanted in environment.split(b"\0"):
            process = look(pid)
            if process is not None and process.state not in "ZX":
                processes.append(process)
    return processes


def session(number: int, since: int) -> list[Process]:
    """Every process in this session that began no earlier and has not ended."""
    processes = (look(pid) for pid in pids())
    return [one for one in processes if one and one.session == number and one.start >= since and one.state not in "ZX"]


def name(pid: int) -> str:
    """What its program calls itself."""
    return (read(f"/proc/{pid}/comm") or b"?").decode(errors="replace").strip()


def send(process: Process, number: int) -> bool:
    """Whether this very process was there to be signalled; never another that has its pid."""
    try:
        fd = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        current = look(process.pid)
        if current is None or current.start != process.start:
            return False
        signal.pidfd_send_signal(fd, number)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def minds(pid: int, number: int) -> bool:
    """Whether the process would outlive this signal: it catches, ignores or blocks it."""
    text = read(f"/proc/{pid}/status") or b""
    masks = [int(line.split()[1], 16) for line in text.splitlines() if line[:7] in (b"SigBlk:", b"SigIgn:", b"SigCgt:")]
    return any(mask >> (number - 1) & 1 for mask in masks)
