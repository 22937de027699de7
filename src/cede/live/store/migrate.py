"""Bringing a database to the revision that this code knows."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from cede.live.store.errors import NewerError, in_our_words

HEAD = "0007"
"""The newest revision among the migrations."""
FOLDER = Path(__file__).with_name("migrations")


def migrate(engine: Engine) -> None:
    """The database is at HEAD, or a NewerError names its revision and ours. A failed migration changes nothing."""
    with in_our_words("the store cannot be opened"), engine.begin() as connection:
        found = revision(connection)
        if found != HEAD:
            _upgrade(connection, found)


def revision(connection: Connection) -> str | None:
    """The revision the database is at, none if it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return found


def _upgrade(connection: Connection, found: str | None) -> None:
    # Alembic takes a quarter of a second to import, and most starts of a server have nothing to migrate.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    config = Config()
    # A percent sign would be read as the beginning of a variable.
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise NewerError(
            f"the store is at revision {found}, which this Cede does not know: the newest it knows is {HEAD}; "
            "use the newer Cede that wrote it"
        )
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)
