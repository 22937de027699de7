"""The kills and other faults of a run: when and where each strikes is drawn by lot."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from cede.cli.bench.crash.disks import Disks
from cede.cli.bench.crash.faults import FAULTS, Scene
from cede.cli.bench.crash.serving import PATIENCE_S, Server, Servers, guards
from cede.cli.bench.crash.stream import Stream
from cede.live.executors.local.guard import files

WHILE_IT_STARTS = 0.3
LIFE_S = (0.02, 1.4)
ZYGOTE, SUPERVISOR = 0.12, 0.08
"""How often something else is killed too."""


@dataclass(slots=True)
class KillRecord:
    """What was killed, and where it was then."""

    starting: int = 0
    serving: int = 0
    zygotes: int = 0
    supervisors: set[tuple[str, int]] = field(default_factory=set)
    """Attempts that lost a supervisor."""
    phases: Counter[str] = field(default_factory=Counter)
    """Kills that met a workload in this phase."""
    ready_s: list[float] = field(default_factory=list)
    """Seconds from each start to the first answer."""
    gaps_s: list[float] = field(default_factory=list)
    """Seconds from one kill to the next."""
    faults: Counter[str] = field(default_factory=Counter)
    """Faults that were struck, by kind."""
    wrong: list[str] = field(default_factory=list)
    """What servers did not do or say in a fault though they should have."""


class Killer:
    """Starts servers, strikes faults at them and kills them; the stream is told of each."""

    def __init__(self, seed: int, servers: Servers, stream: Stream, disks: Disks, evidence: Path) -> None:
        self.record = record = KillRecord()
        self._draw = Random(f"kills {seed}")
        self._servers = servers
        self._stream = stream
        self._scene = Scene(self._draw, servers, disks, stream, evidence, record.supervisors, record.wrong)

    def kill(self, times: int, faults: Mapping[str, int], tell: Callable[[int], object]) -> None:
        """Plain kills, and faults of each kind with a kill after each, in an order drawn by lot."""
        plan = [None] * times + [kind for kind, count in faults.items() for _ in range(count)]
        self._draw.shuffle(plan)
        last = time.monotonic()
        for number, kind in enumerate(plan):
            server = self._servers.start()
            try:
                if kind is None:
                    self._live(server)
                else:
                    server = self._strike(kind, server)
            finally:
                self._stream.serve(there=False)
                server.kill()
            self.record.gaps_s.append(time.monotonic() - last)
            last = time.monotonic()
            if kind is None:
                self.record.starting += server.ready_s is None
                self.record.serving += server.ready_s is not None
            self.record.phases.update(phases_at_kill(self._servers.data).keys())
            self._harm_supervisor(SUPERVISOR / 2)
            tell(number + 1)

    def _strike(self, kind: str, server: Server) -> Server:
        """The server that is there after the fault."""
        server.wait(PATIENCE_S)
        self._note(server)
        time.sleep(self._draw.uniform(*LIFE_S) / 2)
        after = FAULTS[kind](self._scene, server)
        self.record.faults[kind] += 1
        return after

    def last(self) -> Server:
        """A server that nobody kills."""
        server = self._servers.start()
        server.wait(PATIENCE_S)
        self._note(server)
        return server

    def _live(self, server: Server) -> None:
        """Its life, up to the moment it is killed."""
        if self.record.ready_s and self._draw.random() < WHILE_IT_STARTS:
            if server.wait(self._draw.uniform(0, median(self.record.ready_s))):
                self._note(server)
            return
        server.wait(PATIENCE_S)
        self._note(server)
        life_s = self._draw.uniform(*LIFE_S)
        first_s = life_s * self._draw.random()
        time.sleep(first_s)
        if self._draw.random() < ZYGOTE:
            self._harm_zygote(server)
        self._harm_supervisor(SUPERVISOR / 2)
        time.sleep(life_s - first_s)

    def _note(self, server: Server) -> None:
        assert server.ready_s is not None, "it was waited for"
        self.record.ready_s.append(server.ready_s)
        self._stream.serve(there=True)

    def _harm_zygote(self, server: Server) -> None:
        if pid := server.zygote():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.record.zygotes += 1

    def _harm_supervisor(self, chance: float) -> None:
        if self._draw.random() >= chance:
            return
        supervisors = sorted(guards(self._servers.data), key=lambda guard: guard.pid)
        if supervisors:
            guard = self._draw.choice(supervisors)
            with suppress(ProcessLookupError):
                os.kill(guard.pid, signal.SIGKILL)
                self.record.supervisors.add((guard.name, guard.attempt))


BETWEEN = {"starting": "launch.json", "preempting": "end.json", "cancelling": "end.json", "checkpointing": "hint.json"}
"""Phases that follow from a decision, and the file in which the executor's part of it first shows."""


def phases_at_kill(data: Path) -> Counter[str]:
    """What there was of each phase, and how much of it was `ordered`: decided and stored, and not yet begun."""
    phases: Counter[str] = Counter()
    with TemporaryDirectory(prefix="cede-moment-") as folder:
        # A copy, so that it is the next server that finds the store as this one left it.
        for path in data.glob("cede.db*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, folder)
        with closing(sqlite3.connect(Path(folder) / "cede.db")) as store:
            try:
                rows = store.execute(
                    "SELECT name, phase, job FROM workloads WHERE ended IS NULL OR phase NOT IN "
                    "('completed', 'failed', 'cancelled', 'preempted')"
                ).fetchall()
            except sqlite3.OperationalError:  # killed before there were tables
                return phases
    for name, phase, body in rows:
        phases[phase] += 1
        if phase in BETWEEN and not _acted(data, name, phase, json.loads(body)):
            phases["ordered"] += 1
    return phases


def _acted(data: Path, name: str, phase: str, job: dict[str, Any]) -> bool:
    """Whether the executor had begun what the phase asks of it."""
    attempt = data / "jobs" / name / "attempts" / str(job.get("attempt", 0))
    if phase == "starting":
        return (attempt / BETWEEN[phase]).exists()
    members = [path for path in attempt.glob("*") if path.is_dir()]
    if phase == "checkpointing":
        return any((files.get(str(path), BETWEEN[phase]) or {}).get("hint") == job.get("hint") for path in members)
    return any((path / BETWEEN[phase]).exists() or (path / "exit.json").exists() for path in members)
