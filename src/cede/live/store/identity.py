"""Whether the store is the one that was here before: a restored, truncated or swapped one is noticed."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, select, update

from cede.live.lineage import Fork, Lineage, Stamp, remembers
from cede.live.store.records import AuditRequest
from cede.live.store.tables import STATE
from cede.live.store.writing import note_audit

SUFFIX = "-seen"
_WIDTH = 128
_COLUMNS = select(STATE.c.identity, STATE.c.generation, STATE.c.version, STATE.c.forks, STATE.c.loss)


class HighWaterMark:
    """The high-water mark, a small file beside the database: how far the store had come when it was last written to.

    It is written after each commit, and is never ahead of what is on disk: a store that is behind it has lost steps.
    """

    def __init__(self, database: Path) -> None:
        self._fd = os.open(f"{database}{SUFFIX}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def read(self) -> Stamp | None:
        try:
            return Stamp(*json.loads(os.pread(self._fd, _WIDTH, 0)))
        except (ValueError, TypeError):
            return None

    def write(self, stamp: Stamp) -> None:
        """Of one length always, so that it needs no room on a disk that has none left."""
        with suppress(OSError):
            os.pwrite(self._fd, json.dumps(stamp).ljust(_WIDTH).encode(), 0)

    def close(self) -> None:
        os.close(self._fd)


def read_lineage(connection: Connection) -> Lineage:
    return _lineage(connection.execute(_COLUMNS).one())


def compare(connection: Connection, seen: Stamp | None, at: int) -> Lineage:
    """The lineage of the store, which begins a new generation if it knows less than was seen here before."""
    known = read_lineage(connection)
    if seen is None or remembers(known.stamp, known.forks, seen):
        return known
    loss = _loss(known.stamp, seen)
    generation = known.stamp.generation
    forks = known.forks
    if seen.identity == known.stamp.identity:
        generation = max(generation, seen.generation) + 1
        forks = (*forks, Fork(generation, known.stamp.version))
    told = f"{known.loss}; {loss}" if known.loss else loss
    connection.execute(update(STATE).values(generation=generation, forks=json.dumps(forks), loss=told))
    note_audit(connection, AuditRequest(0, by="cede", role="store", what="notice", about="store", detail=loss), at)
    return read_lineage(connection)


def acknowledge(connection: Connection) -> None:
    """Somebody knows of the loss."""
    connection.execute(update(STATE).values(loss=""))


def _loss(now: Stamp, seen: Stamp) -> str:
    if now.identity != seen.identity:
        return f"the store is another one: this folder had {seen.identity[:8]}, and now has {now.identity[:8]}"
    if now.generation == seen.generation:
        missing = seen.version - now.version
        return (
            f"the store was set back: it is at step {now.version} and was at {seen.version}, so that the last "
            f"{missing} steps are missing"
        )
    return f"the store was set back: it is at step {now.version}, from before it was set back the last time"


def _lineage(row: Row[*tuple[Any, ...]]) -> Lineage:
    forks = tuple(Fork(*each) for each in json.loads(row.forks))
    return Lineage(Stamp(row.identity, row.generation, row.version), forks, row.loss)
