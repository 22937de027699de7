"""What a supervisor is told: the command with all around it, as spec.json; and what an attempt is, as launch.json."""

from __future__ import annotations

import json
import os
import secrets
import socket
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cede.engine.drive.orders import Launch
from cede.live.errors import UnavailableError
from cede.live.executors.local.folders import Folders
from cede.live.executors.local.gpus import NodeFacts
from cede.live.executors.local.guard import files
from cede.live.executors.local.guard.outcome import gave_way
from cede.live.executors.local.rights import Rights
from cede.live.lineage import Stamp
from cede.live.task import Task

PATH = "/usr/local/bin:/usr/bin:/bin"
FIRST_PORT, PORTS = 20_000, 10_000
OOM = int(Path("/proc/self/oom_score_adj").read_text())
"""How readily commands are killed when memory runs out: like this server. Supervisors are spared, if that may be."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What stays the same for all members, decided once and read again after a restart."""

    name: str
    attempt: int
    nodes: tuple[str, ...]
    resume: bool
    protocol: str
    grace_us: int
    port: int | None
    """Where the first member of a gang is to listen."""
    gpus: tuple[tuple[str, ...] | None, ...]
    stamp: Stamp | None = None
    """The store that ordered it; none of an attempt of an older Cede."""
    requests: dict[str, int] = field(default_factory=dict)
    """What each member fills of its node, in billionths."""
    exclusive: bool = False

    @property
    def key(self) -> tuple[str, int]:
        return self.name, self.attempt


def new_attempt(order: Launch, task: Task, gpus: Sequence[Sequence[str] | None], stamp: Stamp | None = None) -> Attempt:
    port = _free_port(order) if len(order.nodes) > 1 else None
    devices = tuple(None if some is None else tuple(some) for some in gpus)
    return Attempt(
        order.name,
        order.attempt,
        order.nodes,
        order.resume,
        task.protocol,
        task.grace_us,
        port,
        devices,
        stamp,
        dict(task.requests),
        task.exclusive,
    )


def put_attempt(folder: Path, attempt: Attempt) -> None:
    files.put(str(folder), "launch.json", asdict(attempt), durable=False)


def get_attempt(folder: Path) -> Attempt | None:
    """The attempt whose folder this is; none if it was never begun, or its record was cut short."""
    fields = files.get(str(folder), "launch.json")
    if not fields:
        return None
    gpus = tuple(None if some is None else tuple(some) for some in fields.pop("gpus"))
    stamp = fields.pop("stamp", None)
    stamped = None if stamp is None else Stamp(*stamp)
    return Attempt(nodes=tuple(fields.pop("nodes")), gpus=gpus, stamp=stamped, **fields)


def member_spec(
    folders: Folders, attempt: Attempt, task: Task, rights: Rights, env: Mapping[str, str], cgroups: Mapping[Path, Path]
) -> dict[str, Any]:
    """What spec.json of the member with this environment holds; the environment gets the member's own mark too."""
    mark = secrets.token_hex(16)
    return {
        "name": attempt.name,
        "attempt": attempt.attempt,
        "member": int(env["CEDE_RANK"]),
        "command": task.command,
        "env": {**env, "CEDE_MARK": mark},
        "mark": mark,
        "cwd": task.cwd,
        "account": rights.account,
        "uid": rights.uid,
        "gid": rights.gid,
        "groups": rights.groups,
        "protocol": task.protocol,
        "hint_signal": task.hint_signal,
        "log_limit": task.log_limit,
        "walltime_us": task.walltime_us,
        "grace_us": task.grace_us,
        "resume": attempt.resume,
        "data": str(folders.data),
        "criu": f"{folders.job(attempt.name)}/criu",
        "cgroups": [str(group) for group in cgroups],
        "homes": [str(home) for home in cgroups.values()],
        "oom": OOM,
    }


def environment(
    folders: Folders,
    attempt: Attempt,
    task: Task,
    rights: Rights,
    nodes: Mapping[str, NodeFacts],
    broker: Mapping[str, str],
) -> dict[str, str]:
    """What the environments of all members share: a clean base of the account, then the task's own, then ours.

    Nothing of the server's environment is in it.
    """
    addresses = [nodes.get(node, NodeFacts()).address for node in attempt.nodes]
    size = len(attempt.nodes)
    env = {
        "PATH": PATH,
        "HOME": rights.home,
        "USER": rights.account,
        "LOGNAME": rights.account,
        "SHELL": rights.shell or "/bin/sh",
        "LANG": "C.UTF-8",
        **({"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}),
        **task.env,
        "CEDE_JOB": attempt.name,
        "CEDE_ATTEMPT": str(attempt.attempt),
        "CEDE_RESUME": str(int(attempt.resume)),
        "CEDE_CHECKPOINT_DIR": f"{folders.job(attempt.name)}/checkpoint",
        "CEDE_PROTOCOL": task.protocol,
        "CEDE_HINT_SIGNAL": task.hint_signal,
        "CEDE_SIZE": str(size),
        "CEDE_NODES": ",".join(attempt.nodes),
        "CEDE_ADDRESSES": ",".join(addresses),
        **broker,
    }
    if size > 1:
        env |= {"WORLD_SIZE": str(size), "MASTER_ADDR": addresses[0], "MASTER_PORT": str(attempt.port)}
    return env


def member_environment(attempt: Attempt, member: int, folder: str) -> dict[str, str]:
    """What only the environment of this member holds."""
    env = {
        "CEDE_RANK": str(member),
        "CEDE_NODE": attempt.nodes[member],
        "CEDE_CONTROL_DIR": f"{folder}/control",
    }
    if len(attempt.nodes) > 1:
        env["RANK"] = str(member)
    devices = attempt.gpus[member]
    if devices is not None:
        env["CUDA_VISIBLE_DEVICES"] = ",".join(devices)
    return env


def _free_port(order: Launch) -> int:
    """A port that nothing listens on, outside the range from which the kernel gives ports away."""
    start = zlib.crc32(json.dumps([order.name, order.attempt]).encode())
    for step in range(PORTS):
        port = FIRST_PORT + (start + step) % PORTS
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    return FIRST_PORT + start % PORTS


class LocalAttemptFiles:
    """A record may be older than an answer, where a store was restored: then the member's own file tells of it."""

    def __init__(self, data: Path) -> None:
        self._folders = Folders(data)

    def size(self, name: str, attempt: int) -> int | None:
        """How many members the attempt has; none if it left no trace."""
        record = get_attempt(self._folders.attempt(name, attempt))
        return None if record is None else len(record.nodes)

    def keep_answer(self, name: str, attempt: int, member: int, hint: int) -> None:
        """The member has answered this hint, which asked it to leave; UnavailableError if that cannot be kept now."""
        folder = str(self._folders.member(name, attempt, member))
        try:
            with suppress(FileNotFoundError):  # nothing is left of the attempt
                files.put(folder, "said.json", gave_way(hint), durable=False)
        except OSError as error:
            raise UnavailableError(f"{folder}: {(error.strerror or str(error)).lower()}") from None
