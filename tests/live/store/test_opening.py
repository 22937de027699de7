import stat
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from cede.live.store.engines import FOLDER, HEAD
from cede.live.store.store import NewerError, Store, StoreError
from cede.live.store.tables import METADATA
from tests.live.store.entries import job, submitted


def test_the_migrations_end_in_the_tables_of_the_code(url: str) -> None:
    Store.open(url).close()
    engine = create_engine(url)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    engine.dispose()


def test_the_newest_migration_is_the_one_the_code_looks_for() -> None:
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("path_separator", "os")

    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def test_readers_keep_few_pages_in_memory(url: str) -> None:
    """However large the database grows: there are many, and what they keep is of no use after the next write."""
    store = Store.open(url)
    with store._reads() as connection:
        pages = connection.exec_driver_sql("PRAGMA cache_size").scalar_one()
    store.close()

    assert -256 <= pages < 0


def test_a_newer_database_is_refused_with_both_revisions_and_left_alone(url: str) -> None:
    store = Store.open(url)
    submitted(store, job("a"))
    store.close()
    _set_revision(url, "9999")

    with pytest.raises(NewerError, match=f"revision 9999.*newest it knows is {HEAD}"):
        Store.open(url)
    _set_revision(url, HEAD)
    store = Store.open(url)
    assert store.taken("a")
    store.close()


def test_a_store_of_the_first_revision_is_brought_to_the_present_one(url: str) -> None:
    engine = create_engine(url)
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("path_separator", "os")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(text("UPDATE state SET version = 7"))
    engine.dispose()

    store = Store.open(url)
    assert (store.load().version, store.load().kept) == (7, {})
    store.close()


def test_a_migration_that_fails_changes_nothing(url: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE tokens (id INTEGER)"))

    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT name FROM sqlite_master")).scalars().all() == ["tokens"]
    engine.dispose()


def test_only_the_owner_may_open_the_files(tmp_path: Path) -> None:
    path = tmp_path / "cede.db"
    path.touch(mode=0o644)
    store = Store.open(f"sqlite:///{path}")
    submitted(store, job("a"))

    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["cede.db", "cede.db-shm", "cede.db-wal"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    store.close()


def test_the_settings_that_make_a_commit_last_are_on(store: Store) -> None:
    with store._writes() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }

    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 10_000}


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        ("cede.db", "is no address of a store"),
        ("mysql://somewhere/cede", "no store in mysql"),
        ("sqlite:////nowhere/at/all/cede.db", "cannot be opened: no such file or directory"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str, complaint: str) -> None:
    with pytest.raises(StoreError, match=complaint):
        Store.open(url)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and long enough to be seen as none" * 30, encoding="utf-8")

    with pytest.raises(StoreError, match="not a database"):
        Store.open(f"sqlite:///{path}")
    assert path.read_text(encoding="utf-8").startswith("not a database")


def _set_revision(url: str, revision: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
    engine.dispose()
