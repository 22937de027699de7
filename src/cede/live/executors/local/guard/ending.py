"""Signals to a member's processes: the command's group, and whatever left it."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from . import procfs

HELD_AT_MOST = 0.05


def ended(pid: int) -> bool:
    """Whether the child has ended; it is not reaped, so that its pid stays its own."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def hold(pid: int) -> bool:
    """The child stands still, which is to say that it had not ended: a signal sent now arrives before its end.

    Without this, one that ends by itself between our look and our signal would count as told to go. A child that
    neither stops nor ends in time, because it waits inside the kernel, has not ended either.
    """
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + HELD_AT_MOST
    while time.monotonic() < deadline:
        status = os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        if status is not None:
            return status.si_code in (os.CLD_STOPPED, os.CLD_TRAPPED)
        time.sleep(0.0002)
    return not ended(pid)


def signal_all(pid: int | None, number: int) -> None:
    """Every process of the member is signalled: the group of the child, if it has not been reaped, and every other
    descendant of this process."""
    if pid is not None:
        with suppress(ProcessLookupError):
            os.killpg(pid, number)
    for process in procfs.below(os.getpid()):
        if process.group != pid:
            procfs.send(process, number)


def tell(pid: int) -> bool:
    """Whether the child was told to end before it ended."""
    if ended(pid) or not hold(pid):
        return False
    signal_all(pid, signal.SIGTERM)
    signal_all(pid, signal.SIGCONT)
    return True


def kill_cgroup(cgroups: list[str]) -> None:
    for cgroup in cgroups:
        with suppress(OSError):
            fd = os.open(f"{cgroup}/cgroup.kill", os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.write(fd, b"1")
            finally:
                os.close(fd)


def members(cgroups: list[str]) -> list[procfs.Process]:
    """The processes in these groups."""
    pids = {int(pid) for cgroup in cgroups for pid in (procfs.read(f"{cgroup}/cgroup.procs") or b"").split()}
    processes = (procfs.look(pid) for pid in sorted(pids))
    return [process for process in processes if process is not None and process.state not in "ZX"]


def remove_cgroups(cgroups: list[str]) -> None:
    """The groups are gone, unless something that cannot end is still in them; so is what was made to hold them, if they
    were the last."""
    for cgroup in cgroups:
        for _ in range(20):
            try:
                os.rmdir(cgroup)
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.001)
            else:
                with suppress(OSError):
                    os.rmdir(os.path.dirname(cgroup))
                break


def reap(kept: int) -> list[tuple[int, int]]:
    """Pid and status of ended children, which are reaped: all but the one to be kept."""
    reaped = []
    for child in procfs.children(os.getpid()):
        if child != kept:
            with suppress(ChildProcessError):
                pid, status = os.waitpid(child, os.WNOHANG)
                if pid:
                    reaped.append((pid, status))
    return reaped
