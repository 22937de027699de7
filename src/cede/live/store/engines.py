"""Bringing a database to the revision that this code knows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError

from cede.live.store.errors import NewerError, StoreError, in_our_words

HEAD = "0007"
"""The newest revision among the migrations."""
FOLDER = Path(__file__).with_name("migrations")


def migrate(engine: Engine) -> None:
    """The database is at HEAD, or a NewerError names its revision and ours. A failed migration changes nothing."""
    with in_our_words("the store cannot be opened"), engine.begin() as connection:
        current = revision(connection)
        if current != HEAD:
            _upgrade(connection, current)


def revision(connection: Connection) -> str | None:
    """The revision the database is at, none if it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    current: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return current


def _upgrade(connection: Connection, current: str | None) -> None:
    # Alembic takes a quarter of a second to import, and most starts of a server have nothing to migrate.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    config = Config()
    # A percent sign would be read as the beginning of a variable.
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if current is not None and current not in known:
        raise NewerError(
            f"the store is at revision {current}, which this Cede does not know: the newest it knows is {HEAD}; "
            "use the newer Cede that wrote it"
        )
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)


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
