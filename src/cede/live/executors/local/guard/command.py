"""The start of a member's command, with its account's rights and nothing of its supervisor's.

It is spawned, not forked: a fork would copy the supervisor's memory only for exec to throw it away, which takes longer
than all the rest. So whatever the command is to inherit, this process is for a moment itself.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

REASONS = {
    errno.ENOENT: "there is no such command",
    errno.EACCES: "it may not be run by this account, or is no program",
    errno.EPERM: "it may not be run by this account",
    errno.ENOEXEC: "it is no program of a known format; a script begins with #! and its interpreter",
    errno.E2BIG: "its arguments and environment are too long",
    errno.ENOTDIR: "its path leads through a file",
    errno.ELOOP: "its path leads in circles",
}
OOM = "/proc/self/oom_score_adj"


class Started(NamedTuple):
    """A command that runs, and the ends of the pipes it writes to."""

    pid: int
    outputs: tuple[int, int]


class NotStartedError(Exception):
    """What kept the command from starting, in a sentence."""


def start(spec: dict[str, Any]) -> Started:
    out, out_end = os.pipe()
    err, err_end = os.pipe()
    pid: int | None = None
    try:
        if spec["groups"] is not None:  # or it could not open /dev/stdout
            for end in (out_end, err_end):
                os.fchown(end, spec["uid"], spec["gid"])
        with _place(spec), _rights(spec), _oom(spec["oom"]), limited(spec):
            pid = _spawn(spec, out_end, err_end)
    except OSError as error:
        if pid is not None:  # it runs, but we could not become ourselves again
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        raise NotStartedError(f"the command could not be started: {error}") from None
    finally:
        os.close(out_end)
        os.close(err_end)
    for fd in (out, err):
        os.set_blocking(fd, False)
    return Started(pid, (out, err))


def _spawn(spec: dict[str, Any], out: int, err: int) -> int:
    program = spec["command"][0]
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, out, 1),
        (os.POSIX_SPAWN_DUP2, err, 2),
    ]
    try:
        os.environ["PATH"] = spec["env"].get("PATH", os.defpath)  # where spawnp looks
        return os.posix_spawnp(
            program,
            spec["command"],
            spec["env"],
            file_actions=streams,
            resetids=True,
            setsid=True,
            setsigmask=[],
            setsigdef=signal.valid_signals(),
        )
    except OSError as error:
        reason = REASONS.get(error.errno or 0, os.strerror(error.errno or 0))
        raise NotStartedError(f"{program} could not be started: {reason}") from None
    except ValueError as error:
        raise NotStartedError(f"{program!r} could not be started: {error}") from None


@contextmanager
def _rights(spec: dict[str, Any]) -> Iterator[None]:
    """What is spawned now has the rights of the account, though this process keeps its own.

    Its real ids are the account's: the child makes them its effective ones, and exec then its saved ones. Until exec
    the saved ones are still root's, so that nobody may trace a child that shares the memory of this process.
    """
    if spec["groups"] is None:
        yield
        return
    groups = os.getgroups()
    try:
        os.setgroups(spec["groups"])
        os.setresgid(spec["gid"], -1, -1)
        os.setresuid(spec["uid"], -1, -1)
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        os.setgroups(groups)


@contextmanager
def _place(spec: dict[str, Any]) -> Iterator[None]:
    """This process is in the working directory, which the account was able to enter by itself."""
    home = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    foreign = spec["groups"] is not None
    groups = os.getgroups()
    try:
        if foreign:
            os.setgroups(spec["groups"])
            os.setegid(spec["gid"])
            os.seteuid(spec["uid"])
        try:
            _enter(spec)
        finally:
            if foreign:
                os.seteuid(0)
                os.setegid(0)
                os.setgroups(groups)
        yield
    finally:
        os.fchdir(home)
        os.close(home)


def _enter(spec: dict[str, Any]) -> None:
    cwd = spec["cwd"]
    try:
        os.chdir(cwd)
    except FileNotFoundError:
        raise NotStartedError(f"its working directory {cwd} is not there") from None
    except NotADirectoryError:
        raise NotStartedError(f"its working directory {cwd} is no directory") from None
    except PermissionError:
        raise NotStartedError(f"{spec['account']} may not enter its working directory {cwd}") from None
    except (OSError, ValueError) as error:
        raise NotStartedError(f"its working directory {cwd!r} cannot be entered: {error}") from None
    for folder in (spec["env"]["CEDE_CHECKPOINT_DIR"], spec["env"]["CEDE_CONTROL_DIR"]):
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            raise NotStartedError(
                f"{spec['account']} cannot reach {folder}: "
                "the server's data directory must lie where every account may pass through"
            )


@contextmanager
def _oom(wanted: int) -> Iterator[None]:
    """What is spawned now is killed before this process when memory runs out."""
    with open(OOM, "rb") as file:
        own = file.read()
    with suppress(OSError):
        _write(OOM, b"%d" % max(wanted, min(1000, int(own) + 100)))
    try:
        yield
    finally:
        with suppress(OSError):
            _write(OOM, own)


@contextmanager
def limited(spec: dict[str, Any]) -> Iterator[None]:
    """What is spawned now is in its control groups; this process only while it spawns."""
    try:
        try:
            for cgroup in spec["cgroups"]:
                _write(f"{cgroup}/cgroup.procs", b"0")
        except OSError as error:
            raise NotStartedError(f"its limits could not be set: {error}") from None
        yield
    finally:
        for home in spec["homes"]:
            _write(f"{home}/cgroup.procs", b"0")


def _write(path: str, text: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text)
    finally:
        os.close(fd)
