"""Faults beside the kill of a server: each is struck once in the life of a server, which is killed afterwards."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from cede.cli.bench.crash.disks import Disks
from cede.cli.bench.crash.restoring import Restore, copy_store
from cede.cli.bench.crash.serving import PATIENCE_S, Server, Servers, guards
from cede.cli.bench.crash.stream import Stream
from cede.live.client import Client, ClientError
from cede.model.errors import CedeError

STEPS_S = (-864_000, -7200, -60, -1, 1, 60, 7200, 864_000)
"""By how much the wall clock is set on or back."""
LIFE_S = (0.1, 1.2)
MOST_STOPPED = 3
LOOK_S = 0.02


@dataclass(slots=True)
class Scene:
    """What a fault is struck at."""

    draw: Random
    servers: Servers
    disks: Disks
    stream: Stream
    evidence: Path
    supervisors: set[tuple[str, int]]
    """Attempts that lost a supervisor by our hand."""
    wrong: list[str]
    """What a server did not do or say that it should have."""

    def live(self) -> None:
        time.sleep(self.draw.uniform(*LIFE_S))

    def client(self) -> Client:
        return Client(data=self.servers.data)

    def up(self, log: Path | None = None) -> Server:
        """A server that answers, or has ended by itself."""
        server = self.servers.start(log)
        server.wait(PATIENCE_S)
        return server

    def told(self, what: str) -> None:
        """Health tells of it before long."""
        until, problems = time.monotonic() + PATIENCE_S, list[str]()
        with self.client() as client:
            while time.monotonic() < until:
                with suppress(ClientError):
                    problems = client.health()["problems"]
                    if any(what in problem for problem in problems):
                        return
                time.sleep(LOOK_S)
        self.wrong.append(f"health tells of {problems}, and should of: {what}")


Strike = Callable[[Scene, Server], Server]
"""Struck at a server that answers; the one that is there afterwards, which may have ended."""


def _full(scene: Scene, server: Server) -> Server:
    """No byte is left on the disk of the store, and by lot on that of the jobs; by lot until after the next kill."""
    disks = scene.disks
    both = scene.draw.random() < 0.5
    try:
        disks.fill(disks.store, *([disks.jobs] if both else []))
        scene.told("no space left")
        scene.live()
        if scene.draw.random() < 0.5:
            scene.stream.serve(there=False)
            server.kill()
    finally:
        disks.free()
    scene.live()
    return server


def _read_only(scene: Scene, server: Server) -> Server:
    """A server is started on a disk that takes nothing: it may end, and says why. Jobs go on meanwhile."""
    scene.stream.serve(there=False)
    server.kill()
    if why := scene.disks.read_only():
        scene.wrong.append(f"somebody writes to the disk of the store though no server is there: {why}")
        return server
    log = scene.servers.log.with_name("read-only.log")
    log.unlink(missing_ok=True)
    try:
        try:
            scene.up(log).kill()
        except CedeError:  # it ended by itself
            if "read-only" not in log.read_text().lower():
                scene.wrong.append("a server ended on a read-only disk, and did not say that it is")
        scene.live()
    finally:
        scene.disks.writable()
    return server


def _clock(scene: Scene, server: Server) -> Server:
    scene.servers.clock.step(scene.draw.choice(STEPS_S))
    scene.live()
    return server


def _restored(scene: Scene, server: Server) -> Server:
    """What happened in part of a server's life is gone from the store, not from the folders of its jobs."""
    servers = scene.servers
    copy = servers.log.with_name("copy.db")
    copy_store(servers.data, copy)
    scene.live()
    scene.stream.pause()
    server.kill() if scene.draw.random() < 0.5 else server.stop()
    restore = Restore(servers.data, copy, scene.evidence)
    after = scene.up()
    with scene.client() as client:
        scene.wrong.extend(restore.seen_to(client, scene.stream))
    scene.stream.serve(there=True)
    scene.live()
    return after


def _stopped(scene: Scene, server: Server) -> Server:
    """Some supervisors are stopped, as a job can that has their rights, and some are killed."""
    supervisors = sorted(guards(scene.servers.data), key=lambda guard: guard.pid)
    for guard in scene.draw.sample(supervisors, min(len(supervisors), MOST_STOPPED)):
        with suppress(ProcessLookupError):
            if scene.draw.random() < 0.3:
                os.kill(guard.pid, signal.SIGKILL)
                scene.supervisors.add((guard.name, guard.attempt))
            else:
                os.kill(guard.pid, signal.SIGSTOP)
    scene.live()
    return server


FAULTS: dict[str, Strike] = {
    "full": _full,
    "read-only": _read_only,
    "clock": _clock,
    "restored": _restored,
    "stopped": _stopped,
}
OF_DISKS = ("full", "read-only")
"""Faults that need file systems of their own."""
