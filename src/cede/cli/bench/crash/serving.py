"""The server under test: started on one data directory again and again, killed, and found out about from outside."""

from __future__ import annotations

import getpass
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from cede.cli.bench.crash.clock_steps import ClockStep
from cede.live.data_directory import read_note
from cede.model.errors import CedeError

PATIENCE_S = 60.0
LOOK_S = 0.003
OFTEN = {
    "compare_every": 2,
    "backoff": {"delay": 0.2, "max_delay": 2},
    "breaker": {"delay": 0.5, "max_delay": 2},
}
"""What happens every half minute or later elsewhere happens often enough here to be met by a fault."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A supervisor, by the folder it stands in."""

    pid: int
    name: str
    attempt: int
    member: int


class ForkServer:
    """A process that has the modules of a server in memory, and forks servers."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cede.cli.bench.crash.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # No pool of threads for arithmetic: a fork would take one of them along.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        if self._answer() != "ready":
            raise CedeError("the modules of the server could not be loaded")

    def _answer(self) -> str:
        assert self._process.stdout is not None, "it was asked for"
        return self._process.stdout.readline().strip()

    def fork(self, settings: str) -> int:
        """The pid of a new server."""
        assert self._process.stdin is not None, "it was asked for"
        self._process.stdin.write(f"{settings}\n")
        self._process.stdin.flush()
        return int(self._answer())

    def close(self) -> None:
        """Every server that it forked is gone, and so is it."""
        self._process.communicate(timeout=PATIENCE_S)


class Servers:
    """Servers of one data directory, which listen at the same place one after the other."""

    def __init__(
        self, fork_server: ForkServer, folder: Path, cluster: dict[str, Any], account: str, data: Path | None = None
    ) -> None:
        self.data = data or folder / "data"
        self.log = folder / "server.log"
        self.clock = ClockStep(folder / "clock-step")
        self._fork_server = fork_server
        user = {"name": getpass.getuser(), "role": "admin", "account": account if os.geteuid() == 0 else None}
        config = {"port": _free_port(), "data": str(self.data), "users": [user], **OFTEN}
        self._settings = {"cluster": cluster, "config": config, "clock": str(self.clock.path)}

    def start(self, log: Path | None = None) -> Server:
        """A server that writes to its log, or to this one."""
        began = time.monotonic()
        settings = self._settings | {"log": str(log or self.log)}
        return Server(self.data, self._fork_server.fork(json.dumps(settings)), began)


class Server:
    """One server, from its fork to its end."""

    def __init__(self, data: Path, pid: int, began: float) -> None:
        self._data = data
        self._began = began
        self.pid = pid
        try:
            self._pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            self._pidfd = -1
        self.ready_s: float | None = None
        """How long it took until it answered; none while it does not."""

    def lives(self) -> bool:
        if self._pidfd < 0:
            return False
        ended = select.poll()
        ended.register(self._pidfd, select.POLLIN)
        return not ended.poll(0)

    def wait(self, most_s: float) -> bool:
        """Whether it answers requests, at once when it does, or after so long."""
        until = time.monotonic() + most_s
        while self.ready_s is None:
            note = read_note(self._data)
            if note is not None and note.pid == self.pid:
                self.ready_s = time.monotonic() - self._began
            elif not self.lives():
                raise CedeError("the server ended by itself; its log says why")
            elif time.monotonic() > until:
                return False
            else:
                time.sleep(LOOK_S)
        return True

    def kill(self) -> None:
        """Only the server: what it started goes on."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """It ends as an admin would end it."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        if self._pidfd < 0:
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)
        ended = select.poll()
        ended.register(self._pidfd, select.POLLIN)
        if not ended.poll(PATIENCE_S * 1000):
            raise CedeError(f"the server did not end within {PATIENCE_S:g} s of signal {number}")
        os.close(self._pidfd)
        self._pidfd = -1

    def zygote(self) -> int | None:
        """The process that forks supervisors for it, if there is one just now."""
        for pid in _pids():
            if _parent(pid) == self.pid and b"guard.zygote" in _read(pid, "cmdline"):
                return pid
        return None


def guards(data: Path) -> Iterator[Guard]:
    """The supervisors of this data directory that live, whoever their server was."""
    jobs = (data / "jobs").resolve()
    for pid in _pids():
        with suppress(OSError, ValueError):
            words = Path(f"/proc/{pid}/cwd").readlink().relative_to(jobs).parts
            if len(words) == 4 and words[1] == "attempts" and b"guard.zygote" in _read(pid, "cmdline"):
                yield Guard(pid, words[0], int(words[2]), int(words[3]))


@dataclass(frozen=True, slots=True)
class Leftover:
    """A process that is still there."""

    pid: int
    what: str


def remains(data: Path) -> list[Leftover]:
    """Every process of this data directory that lives: supervisors, and whatever they started."""
    processes = [
        Leftover(guard.pid, f"the supervisor of {guard.name}, attempt {guard.attempt}") for guard in guards(data)
    ]
    place = f"CEDE_CHECKPOINT_DIR={data}/jobs/".encode()
    for pid in _pids():
        mine = [variable for variable in _read(pid, "environ").split(b"\0") if variable.startswith(place)]
        if mine:
            processes.append(Leftover(pid, f"a process of {mine[0][len(place) :].decode().partition('/')[0]}"))
    return processes


def end_remains(data: Path) -> None:
    """Nothing is left of this data directory; for a run that is over, however it ended."""
    until = time.monotonic() + PATIENCE_S
    while (processes := remains(data)) and time.monotonic() < until:
        for left in processes:
            with suppress(ProcessLookupError):
                os.kill(left.pid, signal.SIGKILL)
        time.sleep(LOOK_S)


def _free_port() -> int:
    """A port that nothing listens on, and that the kernel gives to nobody while the server is away."""
    draw = Random()
    while True:
        port = draw.randint(20_000, 29_999)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _pids() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())


def _read(pid: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""


def _parent(pid: int) -> int | None:
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else None
