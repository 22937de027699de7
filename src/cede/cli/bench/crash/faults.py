"""Faults beside the kill of a server: each is struck once in the life of a server, which is killed afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from cede.cli.bench.crash.disks import Disks
from cede.cli.bench.crash.job import started
from cede.cli.bench.crash.job_logs import read_log
from cede.cli.bench.crash.serving import PATIENCE_S, Guard, Server, Servers, guards
from cede.cli.bench.crash.stream import Stream
from cede.live.client import Client, ClientError
from cede.live.executors.local.guard import files
from cede.model.errors import CedeError
from cede.model.lifecycle import FINAL

STEPS_S = (-864_000, -7200, -60, -1, 1, 60, 7200, 864_000)
"""By how much the wall clock is set on or back."""
LIFE_S = (0.1, 1.2)
MOST_STOPPED = 3
LOOK_S = 0.02


SET_BACK = "the store was set back"
STORE = ("cede.db", "cede.db-wal", "cede.db-shm")
SETTLES_S = 1.0
"""By then a job that the server told to go just before it ended has written so, on a busy machine too."""


def copy_store(data: Path, to: Path) -> None:
    """A copy as the guide says to make one: SQLite's own backup, while the server runs."""
    to.unlink(missing_ok=True)
    with closing(sqlite3.connect(data / "cede.db")) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


class Restore:
    """From the moment the copy takes the store's place to the moment an admin has seen to all that is missing."""

    def __init__(self, data: Path, copy: Path, evidence: Path) -> None:
        """No server runs."""
        self._data = data
        self._evidence = evidence
        with closing(sqlite3.connect(copy)) as store:
            self._known = dict(store.execute("SELECT name, phase FROM workloads").fetchall())
            older = _version(store)
        with closing(sqlite3.connect(data / "cede.db")) as store:
            self.steps = _version(store) - older
        """How many steps are missing."""
        for name in STORE:
            (data / name).unlink(missing_ok=True)
        shutil.copy(copy, data / "cede.db")
        time.sleep(SETTLES_S)
        self._ran = {
            guard: began for guard in guards(data) if (began := started(guard.pid)) and not self._ordered(guard)
        }
        self.since = time.monotonic_ns()

    def seen_to(self, client: Client, stream: Stream) -> Iterator[str]:
        """What is not as it must be. The server is up, and nobody else asks it for anything.

        Afterwards an admin has ended and forgotten all orphans, and `stream` knows what the store does not.
        """
        problems = client.health()["problems"]
        if self.steps > 0 and not any(SET_BACK in problem for problem in problems):
            yield f"{self.steps} steps of the store are missing, and health tells only of {problems}"
        present = {job["name"] for job in client.jobs()}
        missing = {name for name in stream.ledger.tried if name not in present}
        ran = {path.stem for path in self._evidence.glob("*.log")} & (missing - stream.ledger.missing)
        orphans = {one["name"] for one in client.orphans()["orphans"]} - present
        for name in sorted(ran - orphans):
            yield f"{name} ran, the restored store has no record of it, and it is not among the orphans"
        if orphans and not any("no record" in problem for problem in problems):
            yield f"{len(orphans)} orphans are there, and health tells only of {problems}"
        yield from self._killed(orphans)
        for name in sorted(orphans):
            client.end_orphan(name)
        until = time.monotonic() + PATIENCE_S
        while running := [one for one in client.orphans()["orphans"] if one["running"] and one["name"] in orphans]:
            if time.monotonic() > until:
                yield f"{running[0]['name']} was ended by an admin, and still runs"
                break
            time.sleep(0.02)
        for name in sorted(orphans - {one["name"] for one in running}):
            client.forget_orphan(name)
        client.acknowledge_loss()
        if any(SET_BACK in problem for problem in client.health()["problems"]):
            yield "the loss was acknowledged, and health still tells of it"
        stale = [name for name in present if self._known.get(name) not in FINAL]
        stream.forget(missing, stale, self.since)

    def _killed(self, orphans: set[str]) -> Iterator[str]:
        """Orphans that were told to go or killed since, or whose supervisors ended before them.

        Their end had not been ordered when the server stopped. So one that did not end by itself was ended by the
        next server, which writes the end of a member that has no supervisor down as lost.
        """
        for guard, began in self._ran.items():
            if guard.name not in orphans or started(guard.pid) == began:
                continue
            end = files.get(str(self._folder(guard)), "exit.json")
            told = read_log(self._evidence, guard.name).of(guard.attempt, "told")
            if not end or end["told"] or end["lost"] or any(line.at > self.since for line in told):
                yield f"{guard.name} ran without a record, and was ended before an admin said so"

    def _folder(self, guard: Guard) -> Path:
        return self._data / "jobs" / guard.name / "attempts" / str(guard.attempt) / str(guard.member)

    def _ordered(self, guard: Guard) -> bool:
        """Whether a server had ordered its end: it may take its time over that."""
        return any((self._folder(guard) / name).exists() for name in ("end.json", "kill.json"))


def _version(store: sqlite3.Connection) -> int:
    return int(store.execute("SELECT version FROM state").fetchone()[0])


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
