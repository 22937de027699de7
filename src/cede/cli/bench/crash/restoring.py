"""An older copy of the store is put in the place of the newer one, beside the newer folders of jobs."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from cede.cli.bench.crash.evidence import read_life
from cede.cli.bench.crash.job import started
from cede.cli.bench.crash.serving import PATIENCE_S, Guard, guards
from cede.cli.bench.crash.stream import Stream
from cede.live.client import Client
from cede.live.executors.local.guard import files
from cede.model.lifecycle import FINAL

SET_BACK = "the store was set back"
STORE = ("cede.db", "cede.db-wal", "cede.db-shm")
SETTLES_S = 1.0
"""Whom the server told to go just before it ended has said so by then, on a busy machine too."""


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

        Nobody had ordered their end when the server stopped. So whoever did not end by itself was ended by the next
        one, which writes the end of a member that has no supervisor down as lost.
        """
        for guard, began in self._ran.items():
            if guard.name not in orphans or started(guard.pid) == began:
                continue
            end = files.get(str(self._folder(guard)), "exit.json")
            told = read_life(self._evidence, guard.name).of(guard.attempt, "told")
            if not end or end["told"] or end["lost"] or any(line.at > self.since for line in told):
                yield f"{guard.name} ran without a record, and was ended before an admin said so"

    def _folder(self, guard: Guard) -> Path:
        return self._data / "jobs" / guard.name / "attempts" / str(guard.attempt) / str(guard.member)

    def _ordered(self, guard: Guard) -> bool:
        """Whether a server had ordered its end: it may take its time over that."""
        return any((self._folder(guard) / name).exists() for name in ("end.json", "kill.json"))


def _version(store: sqlite3.Connection) -> int:
    return int(store.execute("SELECT version FROM state").fetchone()[0])
