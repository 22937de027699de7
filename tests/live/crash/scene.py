"""A data directory and the servers that have it one after the other, with jobs that keep evidence of their own."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from cede.cli.bench.crash import job, job_logs
from cede.cli.bench.crash.job_logs import JobLog, Line
from cede.cli.bench.crash.job_specs import CLUSTER, JobSpec
from cede.cli.bench.crash.serving import ForkServer, Server, Servers, end_remains, guards, remains
from cede.live.client import Client
from cede.live.documents import Workload
from cede.live.executors.local.guard import procfs

DEADLINE_S = 60.0
SAVES = {"mode": "manual", "protocol": "signal"}
ALL = {"cpu": 4}
"""What a whole node has."""


def until(condition: Callable[[], Any]) -> Any:
    """What the condition became, once it is true."""
    end = time.monotonic() + DEADLINE_S
    while not (value := condition()):
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.003)
    return value


def pass_time(seconds: float) -> None:
    """So long nothing is done: the moment is what the test is about."""
    time.sleep(seconds)


class Scene:
    """One server at a time. `folder` must be open to the account that jobs run as."""

    def __init__(
        self, fork_server: ForkServer, folder: Path, worker: tuple[str, str], *, isolated: bool = True
    ) -> None:
        self.notes = folder / "evidence"
        self.notes.mkdir()
        self.notes.chmod(0o1777)
        self._python = worker[1]
        self._isolated = isolated
        self.servers = Servers(fork_server, folder, CLUSTER, worker[0])
        self.data = self.servers.data
        self._client: Client | None = None
        self.server = self._up()

    @property
    def client(self) -> Client:
        """For all its servers: they listen at the same place, and know the same token."""
        if self._client is None:
            self._client = Client(data=self.data)
        return self._client

    def _up(self) -> Server:
        server = self.servers.start()
        assert server.wait(DEADLINE_S), "the server did not start"
        return server

    def restart(self, *, away: Callable[[], object] = lambda: None, number: int = signal.SIGKILL) -> None:
        """The server ends, `away` happens, and another takes its place."""
        if number == signal.SIGKILL:
            self.server.kill()
        else:
            self.server.stop()
        away()
        self.server = self._up()

    def submit(self, name: str, acts: dict[str, Any] | None = None, **asks: Any) -> Workload:
        """A job that acts so; by default it counts for about an hour."""
        spec = JobSpec(name, {"steps": 90_000, "tick": 0.04} | (acts or {}))
        command = spec.command(self._python, str(Path(job.__file__)), str(self.notes))
        if not self._isolated:  # it needs more than the standard library
            command.remove("-S")
        times = {"grace_period": 60, "checkpoint_timeout": 60} | asks.pop("times", {})
        return self.client.submit(command, name=name, cwd="/", times=times, **({"cpu": 1, "priority": 1} | asks))

    def fill(self, acts: dict[str, Any] | None = None, **asks: Any) -> None:
        """A victim that has every node, and has begun."""
        self.submit("victim", acts, members=4, **(ALL | asks))
        # With its first step a member minds what it is told.
        until(lambda: len({line.member for line in self.lines("victim", "step")}) == 4)
        self.wait("victim", "running")

    def claim(self, **asks: Any) -> None:
        """A short urgent job that needs one of the nodes."""
        self.submit("claimant", {"steps": 1}, priority=90, **(ALL | asks))

    def wait(self, name: str, *states: str) -> Workload:
        return self.client.wait(name, DEADLINE_S, states=states) if states else self.client.wait(name, DEADLINE_S)

    def lines(self, name: str, *what: str) -> list[Line]:
        """What the job wrote down, in these words."""
        log = job_logs.read(self.notes).get(name, JobLog(name, ()))
        return [line for line in log.lines if line.what in what]

    def sign(self) -> str:
        """A file that is not there yet, for jobs that wait for it."""
        return str(self.notes / "sign")

    def give_sign(self) -> None:
        (self.notes / "sign").touch()

    def decisions(self) -> list[tuple[str | None, list[str]]]:
        """Who took whose room, by the records."""
        return [(one["workload"], one["victims"]) for one in self.client.decisions() if one["victims"]]

    def kill_supervisor(self, name: str) -> None:
        [guard] = [one for one in guards(self.data) if one.name == name]
        os.kill(guard.pid, signal.SIGKILL)

    def left(self) -> list[str]:
        """Processes of jobs, and their supervisors."""
        return [left.what for left in remains(self.data)]

    def log(self) -> str:
        return self.servers.log.read_text() if self.servers.log.exists() else ""

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self.server.kill()
        # What the server asked for last is still begun, and would be overlooked until it is in its folder; and a zygote
        # stays until what it forked has ended.
        until(self._is_empty)

    def _is_empty(self) -> bool:
        """Whether nothing is left once what there is was ended."""
        beginning = list(_beginning(self.data))
        end_remains(self.data)
        return not beginning


def _beginning(data: Path) -> Iterator[int]:
    """Zygotes of this data directory, and what they forked that is no supervisor yet."""
    for pid in procfs.pids():
        with suppress(OSError):
            links = [Path(f"/proc/{pid}/{link}").readlink() for link in ("fd/2", "cwd")]
            if links == [data / "guard.log", Path("/")]:
                yield pid


def ended(line: Line) -> bool:
    """Whether the process that wrote this line is gone."""
    return job.started(line.pid) != line.start
