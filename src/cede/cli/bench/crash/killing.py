"""The killing, and other faults: when, and of whom, is drawn by lot."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

from cede.cli.bench.crash.disks import Disks
from cede.cli.bench.crash.faults import FAULTS, Scene
from cede.cli.bench.crash.moment import moment
from cede.cli.bench.crash.serving import PATIENCE_S, Server, Servers, guards
from cede.cli.bench.crash.stream import Stream

WHILE_IT_STARTS = 0.3
LIFE_S = (0.02, 1.4)
ZYGOTE, SUPERVISOR = 0.12, 0.08
"""How often something else is killed too."""


@dataclass(slots=True)
class Toll:
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
        self.toll = toll = Toll()
        self._draw = Random(f"kills {seed}")
        self._servers = servers
        self._stream = stream
        self._scene = Scene(self._draw, servers, disks, stream, evidence, toll.supervisors, toll.wrong)

    def kill(self, times: int, faults: Mapping[str, int], tell: Callable[[int], object]) -> None:
        """So many plain kills, and so many faults of each kind, each with a kill after it; in an order drawn by lot."""
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
            self.toll.gaps_s.append(time.monotonic() - last)
            last = time.monotonic()
            if kind is None:
                self.toll.starting += server.ready_s is None
                self.toll.serving += server.ready_s is not None
            self.toll.phases.update(moment(self._servers.data).keys())
            self._harm_supervisor(SUPERVISOR / 2)
            tell(number + 1)

    def _strike(self, kind: str, server: Server) -> Server:
        """The server that is there after the fault."""
        server.wait(PATIENCE_S)
        self._note(server)
        time.sleep(self._draw.uniform(*LIFE_S) / 2)
        after = FAULTS[kind](self._scene, server)
        self.toll.faults[kind] += 1
        return after

    def last(self) -> Server:
        """A server that nobody kills."""
        server = self._servers.start()
        server.wait(PATIENCE_S)
        self._note(server)
        return server

    def _live(self, server: Server) -> None:
        """Its life, up to the moment it is killed."""
        if self.toll.ready_s and self._draw.random() < WHILE_IT_STARTS:
            if server.wait(self._draw.uniform(0, median(self.toll.ready_s))):
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
        self.toll.ready_s.append(server.ready_s)
        self._stream.serve(there=True)

    def _harm_zygote(self, server: Server) -> None:
        if pid := server.zygote():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.toll.zygotes += 1

    def _harm_supervisor(self, chance: float) -> None:
        if self._draw.random() >= chance:
            return
        supervisors = sorted(guards(self._servers.data), key=lambda guard: guard.pid)
        if supervisors:
            guard = self._draw.choice(supervisors)
            with suppress(ProcessLookupError):
                os.kill(guard.pid, signal.SIGKILL)
                self.toll.supervisors.add((guard.name, guard.attempt))
