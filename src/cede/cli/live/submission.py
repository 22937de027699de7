"""The options of a submission as the API takes them, and its refusals as options."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from cede.cli.live.times import pairs
from cede.model.errors import InputError, Problem, did_you_mean, shown

if TYPE_CHECKING:
    from cede.live.client import Client

MODES = ("none", "auto", "manual")
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
    found = {name: amount for name, amount in named.items() if amount is not None}
    return (found | pairs("--request", others, "NAME=AMOUNT")) or None


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


def print_all(client: Client, name: str) -> None:
    """Everything the workload writes until it has ended, each stream to its own."""
    from cede.cli.live.logs import print_bytes
    from cede.cli.live.output_of import Wanted, followed
    from cede.live.client import ClientError

    failed: list[ClientError] = []

    def errors() -> None:
        try:
            for piece in followed(client, Wanted(name, stream="err")):
                sys.stderr.buffer.write(piece)
                sys.stderr.flush()
        except ClientError as error:
            failed.append(error)

    # A daemon, so that Ctrl-C ends the command.
    other = threading.Thread(target=errors, daemon=True)
    other.start()
    print_bytes(followed(client, Wanted(name)))
    other.join()
    if failed:
        raise failed[0]
