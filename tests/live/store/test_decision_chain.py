"""The decisions are a chain too: whatever is done to them or to their victims behind the store's back is found."""

import sqlite3
from collections.abc import Callable

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine, make_url, text

from cede.live.store.decisions import BEGINNING
from cede.live.store.engines import FOLDER
from cede.live.store.store import Store
from tests.live.store.entries import job, made, stepped, submitted

Damage = Callable[[sqlite3.Connection], object]


def run(statement: str) -> Damage:
    return lambda connection: connection.execute(statement)


def taken_out(number: int) -> Damage:
    def damage(connection: sqlite3.Connection) -> None:
        for table in ("victims", "decisions"):
            connection.execute(f"DELETE FROM {table} WHERE number = {number}")

    return damage


DAMAGES: dict[str, tuple[Damage, int, str]] = {
    "a victim is taken out": (
        run("DELETE FROM victims WHERE number = 2 AND name = 'b'"),
        2,
        "not as they were written",
    ),
    "a victim is put in": (run("INSERT INTO victims VALUES ('c', 1)"), 1, "not as they were written"),
    "a victim is another": (run("UPDATE victims SET name = 'c' WHERE number = 2 AND name = 'a'"), 2, "its victims"),
    "a reason is changed": (run("UPDATE decisions SET body = '{}' WHERE number = 3"), 3, "not as they were"),
    "a claimant is changed": (run("UPDATE decisions SET claimant = 'z' WHERE number = 1"), 1, "not as they were"),
    "a time is changed": (run("UPDATE decisions SET at = 1 WHERE number = 2"), 2, "not as they were"),
    "one is taken out": (
        taken_out(2),
        3,
        "does not follow",
    ),
    "the last is taken out": (
        taken_out(3),
        3,
        "decision 3 was written last",
    ),
    "one is put in": (
        run(
            "INSERT INTO decisions SELECT 9, version, at, claimant, doctrine, edition, settings_hash, cluster_hash, "
            "body, kept, previous, hash FROM decisions WHERE number = 3"
        ),
        9,
        "was put in",
    ),
}


def filled(url: str) -> Store:
    store = Store.open(url)
    submitted(store, job("a"), job("b"), job("c"))
    for number, victims in ((1, ()), (2, ("a", "b")), (3, ("b",))):
        stepped(store, decisions=[made(number, "c", *victims)])
    return store


@pytest.mark.parametrize(("damage", "number", "why"), DAMAGES.values(), ids=DAMAGES.keys())
def test_whatever_is_done_to_the_decisions_is_found(url: str, damage: Damage, number: int, why: str) -> None:
    store = filled(url)
    whole = store.check_audit()
    assert (whole.broken, whole.decisions) == (None, 3)
    with sqlite3.connect(make_url(url).database or "") as connection:
        for table in ("decisions", "victims"):
            for word in ("update", "delete"):
                connection.execute(f"DROP TRIGGER {table}_no_{word}")
        damage(connection)
    connection.close()

    result = store.check_audit()
    assert (result.broken, result.what) == (number, "decision")
    assert why in result.why
    store.close()


def test_the_database_itself_refuses_to_change_or_delete_a_decision(url: str) -> None:
    store = filled(url)
    with sqlite3.connect(make_url(url).database or "") as connection:
        for table in ("decisions", "victims"):
            for statement in (f"UPDATE {table} SET number = 7", f"DELETE FROM {table}"):
                with pytest.raises(sqlite3.IntegrityError, match="never changed or deleted"):
                    connection.execute(statement)
    connection.close()
    store.close()


def test_what_was_stored_before_is_a_chain_and_keeps_its_names_and_tokens(url: str) -> None:
    engine, config = create_engine(url), Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("path_separator", "os")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0004")
        connection.execute(
            text(
                "INSERT INTO workloads (name, submitted_in, owner, phase, job, task) "
                "VALUES ('a', 1, 'ann', 'completed', '{}', '{}')"
            )
        )
        for number in (1, 2):
            row = f"{number}, 1, 5, 'jöb', 'backendai', '26.8', '', '', '{{}}', NULL"
            connection.execute(text(f"INSERT INTO decisions VALUES ({row})"))
        connection.execute(text("INSERT INTO victims VALUES ('a', 2)"))
        connection.execute(text("INSERT INTO tokens VALUES (1, 'x', 'ann', 'user', '[]', 5, 0)"))
    engine.dispose()

    store = Store.open(url)
    result = store.check_audit()
    assert (result.broken, result.decisions, result.decision_head != BEGINNING) == (None, 2, True)
    assert store.called("ann", "a") == "a"
    assert [token.expires for token in store.tokens()] == [None]
    stepped(store, decisions=[made(3, None, "a")])
    assert store.check_audit().decisions == 3
    store.close()
