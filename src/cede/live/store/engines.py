"""Connections to the database: one that writes, and as many as needed that only read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from cede.live.store.errors import StoreError

BUSY_MS = 10_000
"""How long a connection waits for another process's lock."""


READER_CACHE_KIB = 256
"""Pages that a reader keeps in memory. SQLite would keep 2 MiB in each of them, and forgets them whenever anything was
written: all that more of them do is to let a server grow with its database."""


def open_engines(address: str) -> tuple[Engine, Engine]:
    """Where to write and where to read. A file is made if there is none; nobody but its owner may open it."""
    try:
        url = make_url(address)
    except ArgumentError:
        raise StoreError(f"'{address}' is no address of a store; write sqlite:////path/cede.db") from None
    if url.get_backend_name() != "sqlite":
        raise StoreError(f"Cede keeps no store in {url.get_backend_name()}; write sqlite:////path/cede.db")
    if not url.database or url.database == ":memory:":
        raise StoreError("a store needs a file; write sqlite:////path/cede.db")
    _make_private(Path(url.database))
    return _writer(url), _reader(url)


def _make_private(path: Path) -> None:
    # SQLite gives the files beside it the same rights.
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        path.chmod(0o600)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise StoreError(f"the store {path} cannot be opened: {reason}") from None


def _writer(url: URL) -> Engine:
    engine = create_engine(url, pool_size=1, max_overflow=0)
    _prepare(engine, "BEGIN IMMEDIATE", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")
    return engine


def _reader(url: URL) -> Engine:
    engine = create_engine(url, pool_size=8, max_overflow=-1)
    _prepare(engine, "BEGIN", "query_only=ON", f"cache_size=-{READER_CACHE_KIB}")
    return engine


def _prepare(engine: Engine, begin: str, *pragmas: str) -> None:
    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        # Without this the driver begins transactions by itself, and none for reading: two reads could see two versions.
        connection.isolation_level = None
        for pragma in (f"busy_timeout={BUSY_MS}", *pragmas):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        connection.exec_driver_sql(begin)
