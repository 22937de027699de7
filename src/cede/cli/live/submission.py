"""The options of a submission as the API takes them, and its refusals as options."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cede.cli.live.option_values import pairs
from cede.model.errors import InputError, Problem, did_you_mean, shown

if TYPE_CHECKING:
    from cede.live.client import Client
    from cede.live.documents import Workload

MODES = ("none", "auto", "manual")
STREAMS = ("out", "err")
NO_INPUT = "give it to the command as a file, or write < /dev/null"
_OPTIONS = {
    "requests.cpu": "--cpu",
    "requests.memory": "--memory",
    "requests.gpu": "--gpu",
    "times.grace_period": "--grace",
    "checkpoint.mode": "--checkpoint",
    "checkpoint.protocol": "--checkpoint",
}
_SAME = (
    *("name", "queue", "priority", "project", "tenant", "members", "walltime", "kind", "placement", "cwd", "requeue"),
    *("env", "exclusive", "sensitive", "app"),
)


def option_of(place: str) -> str:
    """The option that a place of the submission came from."""
    if place in _OPTIONS:
        return _OPTIONS[place]
    first, _, rest = place.partition(".")
    if first == "requests" and rest:
        return f"--request {rest}"
    if first == "times" and rest:
        return f"--{rest.replace('_', '-')}"
    if first == "constraints" and rest.startswith("nodes"):
        return "--node"
    if first in _SAME:
        return f"--{first} {rest}".rstrip()
    return place


def requests_of(cpu: str | None, memory: str | None, gpu: str | None, others: Iterable[str]) -> dict[str, str] | None:
    """What one member asks for."""
    named = {"cpu": cpu, "memory": memory, "gpu": gpu}
    requests = {name: amount for name, amount in named.items() if amount is not None}
    return (requests | pairs("--request", others, "NAME=AMOUNT")) or None


def checkpoint_of(typed: str | None) -> dict[str, str] | None:
    """MODE or MODE:PROTOCOL."""
    if typed is None:
        return None
    mode, colon, protocol = typed.partition(":")
    if mode not in MODES:
        hint = did_you_mean(mode, MODES) or "write none, auto, manual, or one with a protocol as auto:signal"
        raise InputError([Problem("--checkpoint", f"{shown(mode)} is none of {', '.join(MODES)}", hint)])
    return {"mode": mode, "protocol": protocol} if colon else {"mode": mode}


def folder(typed: str | None) -> Path:
    """Where the command runs: there must be such a place, for whoever submits is on the same machine."""
    path = Path.cwd() if typed is None else Path(typed).expanduser().resolve()
    if typed is not None and not path.is_dir():
        raise InputError([Problem("--cwd", f"there is no directory {shown(typed)}")])
    return path


def check_stdin() -> str:
    """Nothing that was piped here is lost in silence: it is an error, for a job reads nothing from standard input.

    What to say of a pipe that nothing came from yet, and that may be open only because whoever started us left it so:
    nothing, if there is none.
    """
    import os
    import select
    import stat

    try:
        fd = sys.stdin.fileno()
        kind = os.fstat(fd)
    except (AttributeError, OSError, ValueError):  # there is none
        return ""
    if stat.S_ISREG(kind.st_mode):
        left = kind.st_size > os.lseek(fd, 0, os.SEEK_CUR)
    elif stat.S_ISFIFO(kind.st_mode) or stat.S_ISSOCK(kind.st_mode):
        if not select.select([fd], [], [], 0)[0]:
            return f"standard input is a pipe, and nothing of it reaches the job ({NO_INPUT})"
        left = _holds(fd, kind.st_mode)
    else:
        return ""
    if left:
        raise InputError([Problem("standard input", "a job does not read it, and this would be lost", NO_INPUT)])
    return ""


def _holds(fd: int, mode: int) -> bool:
    """Whether there is something to read from a pipe or a socket that can be read, be it its end."""
    import array
    import fcntl
    import os
    import socket
    import stat
    import termios

    if stat.S_ISSOCK(mode):
        with socket.socket(fileno=os.dup(fd)) as made:
            return bool(made.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    size = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, size)
    return size[0] > 0


def misplaced(command: Sequence[str], options: Collection[str], *, parted: bool) -> str:
    """The hint for options of `submit` that stand behind the command, which gets them. `parted`: a `--` means that."""
    words = [word for word in command[1:] if word.partition("=")[0] in options]
    if parted or not words:
        return ""
    them = "it is given" if len(words) == 1 else "they are given"
    return (
        f"{', '.join(dict.fromkeys(words))}: behind the command, so {them} to it "
        "(options of submit stand before it; write -- before the command if it is meant so)"
    )


def print_all(client: Client, job: Workload, *, aside: bool = False) -> None:
    """Everything the workload writes until it has ended, each stream to its own, or both to standard error (`aside`);
    lines of several members prefixed."""
    from cede.cli.live.job_output import lines_of_all, pieces, prefixed

    if job["members"] == 1:
        for piece in pieces(client, job["name"]):
            _write("err" if aside else piece.stream, piece.data)
        return
    for line in lines_of_all(client, job["name"], job["members"], None, STREAMS, follow=True):
        _write("err" if aside else line.stream, prefixed(line, job["members"]))


def _write(stream: str, data: bytes) -> None:
    file = sys.stdout if stream == "out" else sys.stderr
    if hasattr(file, "buffer"):
        file.buffer.write(data)
    else:
        file.write(data.decode(errors="replace"))
    file.flush()
