"""A whole server in this process, on a folder of its own: a client for it, and the means to wait for what must come."""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from cede.doctrines.document import parse_document
from cede.engine.clock import Machine, Reading
from cede.live.client import Client
from cede.live.client.errors import ClientError
from cede.live.config import ServerConfig, User
from cede.live.documents import Event, Node, Workload
from cede.live.server import LiveServer
from cede.model.lifecycle import FINAL

DEADLINE_S = 45.0
ACCOUNT = pwd.getpwuid(os.geteuid()).pw_name
"""Whose rights the jobs of a test have: those of whoever runs it."""
USERS = (User(name=ACCOUNT, role="admin", account=ACCOUNT),)
T = TypeVar("T")
TIMES = {"checkpoint_timeout": 30, "max_deferral": 0.5, "grace_period": 30}
"""Whoever answers has the time to, on a busy machine too."""
HASTY = {"checkpoint_timeout": 1, "max_deferral": 0.5, "grace_period": 0.5}
"""For whoever answers nothing: the test waits until its time is over."""
LATE_S = 30.0
"""So late a busy machine may do what is due."""


class SteppedClock(Machine):
    """This machine's clocks, of which the wall clock can be set, and another boot be had."""

    def __init__(self) -> None:
        super().__init__()
        self.stepped_us = 0
        self.boots = 0

    def step(self, hours: float) -> None:
        """The wall clock is set on by so much; back, if that is below 0."""
        self.stepped_us += round(hours * 3600e6)

    def reboot(self) -> None:
        """What counted elapsed time begins anew."""
        self.boots += 1

    def read(self) -> Reading:
        real = super().read()
        return Reading(real.wall + self.stepped_us, real.elapsed, f"{real.boot}{self.boots or ''}")


def cluster_of(*nodes: str, cpu: int = 4, doctrine: object = "backendai", **queue: Any) -> dict[str, Any]:
    """Nodes of one size and a queue in which higher priorities suspend lower ones."""
    settings = {"preemptible_priority": 50, "preemption_mode": "suspend"} | queue
    return {
        "cede": 1,
        "now": "2026-01-01T00:00:00Z",
        "doctrine": doctrine,
        "nodes": [{"name": name, "capacity": {"cpu": cpu, "memory": "8Gi"}} for name in nodes],
        "queues": [{"name": "default", "settings": settings}],
    }


@dataclass
class Live:
    """A server that listens. Names are given once: every test has its own."""

    cluster: dict[str, Any] | None
    config: ServerConfig
    machine: Machine = field(default_factory=Machine)
    server: LiveServer = field(init=False)
    client: Client = field(init=False)

    def start(self) -> None:
        document = None if self.cluster is None else parse_document(self.cluster)
        self.server = LiveServer(self.config, document, machine=self.machine)
        ready = self.server.start()
        self.client = Client(ready.url, ready.local_token)

    def stop(self) -> None:
        """The server ends; what it started goes on."""
        self.client.close()
        self.server.stop()

    @property
    def data(self) -> Path:
        assert self.config.data is not None
        return self.config.data

    # -- workloads ---------------------------------------------------------------------------------------------

    def submit(self, name: str, *command: str, **more: Any) -> Workload:
        given: dict[str, Any] = {"cwd": "/", "cpu": 4, "priority": 1}
        return self.client.submit(command, name=name, **given | more)

    def shell(self, name: str, script: str, **more: Any) -> Workload:
        return self.submit(name, "sh", "-c", script, **more)

    def runs(self, name: str, script: str, says: str = "ready", **more: Any) -> Workload:
        """The workload runs, and has said that it is ready for what the test has in mind."""
        self.shell(name, script, **more)
        self.said(name, says)
        return self.wait(name, "running")

    def preempt(self, victim: str, script: str = "exec sleep 300", **more: Any) -> str:
        """The name of a claimant that wants its room."""
        name = f"{victim}-urgent"
        self.shell(name, script, **{"priority": 9} | more)
        return name

    def let_go(self, name: str) -> None:
        """Whoever waits to be let go (`tests.live.scenarios.scripts`) waits no longer."""
        folder = self.data / "jobs" / name / "checkpoint"
        until(folder.is_dir, what=f"{name} has a folder")
        (folder / "go").touch()

    def wait(self, name: str, *states: str, within: float = DEADLINE_S) -> Workload:
        """The workload once it is in one of these states; another end is an error at once."""
        job = self.client.wait(name, within, states=(*states, *FINAL))
        assert job["state"] in states, f"{name} is {job['state']}: {job['why']}"
        return job

    def end(self, name: str, within: float = DEADLINE_S) -> Workload:
        return self.client.wait(name, within)

    def completed(self, name: str, within: float = DEADLINE_S) -> Workload:
        return self.wait(name, "completed", within=within)

    def log(self, name: str, **which: Any) -> str:
        return b"".join(self.client.logs(name, **which)).decode()

    def said(self, name: str, text: str, within: float = DEADLINE_S, **which: Any) -> str:
        """Its log, once this text is in it."""

        def heard() -> str:
            try:
                log = self.log(name, **which)
            except ClientError as error:
                if error.status not in (404, 422):
                    raise
                return ""  # it has not begun, or not that attempt
            return log if text in log else ""

        return until(heard, within, f"{name} said {text!r}")

    def events(self, name: str | None = None) -> list[Event]:
        return list(self.client.events(workload=name))

    def signals(self, name: str) -> list[str]:
        """What happened to it, but for what only tells why it waits."""
        return [event["signal"] for event in self.events(name) if event["signal"] not in ("wait", "refuse")]

    def happened(self, name: str, signal: str, times: int = 1, within: float = DEADLINE_S) -> None:
        """Wait until this happened to it so often."""
        until(lambda: self.signals(name).count(signal) >= times, within, f"{name}: {signal}")

    def seconds_between(self, name: str, first: str, second: str) -> float:
        """From the first time that one thing happened to it until the first time that the other did, by its record."""
        at = {event["signal"]: datetime.fromisoformat(event["at"]) for event in reversed(self.events(name))}
        return (at[second] - at[first]).total_seconds()

    def rules(self, name: str) -> list[str]:
        return [event["rule"] for event in self.events(name)]

    def node(self, name: str) -> Node:
        return next(node for node in self.client.nodes() if node["name"] == name)

    def clear(self) -> None:
        """Whatever is under way has ended."""
        for node in self.client.nodes():
            if node["state"] != "ready":
                self.client.undrain(node["name"])
        names = [job["name"] for job in self.client.jobs() if job["state"] not in FINAL]
        for name in names:
            try:
                self.client.cancel(name)
            except ClientError as error:
                if error.status not in (404, 409):
                    raise
        for name in names:
            self.end(name)


@contextmanager
def serving(
    folder: Path,
    cluster: dict[str, Any] | None = None,
    *,
    users: Sequence[User] = USERS,
    times: Mapping[str, Any] = TIMES,
    machine: Machine | None = None,
    **config: Any,
) -> Iterator[Live]:
    """A server with its data in this folder, on a port of its own. At the end nothing of it is left running."""
    given = {"port": 0, "data": folder, "users": users, "times": times} | config
    live = Live(cluster, ServerConfig.model_validate(given), machine or Machine())
    live.start()
    try:
        yield live
    finally:
        live.clear()
        live.stop()


def until(condition: Callable[[], T], within: float = DEADLINE_S, what: str = "it came true") -> T:
    """What this returns, once that is something; it is an error if that takes too long."""
    ends = time.monotonic() + within
    while not (value := condition()):
        assert time.monotonic() < ends, f"not within {within:g} s: {what}"
        time.sleep(0.01)
    return value


def alive(pid: int) -> bool:
    """Whether this process runs; one that only waits to be buried does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
