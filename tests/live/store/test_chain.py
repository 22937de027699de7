"""The audit trail is a chain: whatever is done to it behind the store's back is found, and the first record named."""

import re
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, create_engine, event, make_url, text

from cede.live.store.chain import BEGINNING, KEYS, digest, linked
from cede.live.store.engines import FOLDER
from cede.live.store.records import AuditRequest, Chain
from cede.live.store.store import Store, StoreError
from cede.model.lifecycle import Phase
from tests.live.store.entries import START, job, submitted

Damage = Callable[[sqlite3.Connection], object]


def note(store: Store, *about: str) -> None:
    for name in about:
        store.note_audit(AuditRequest(0, "ann", "admin", "cancel", name), 7)


def rewritten(connection: sqlite3.Connection, number: int, **changed: object) -> None:
    """The record says something else, and its hash agrees with it."""
    connection.row_factory = sqlite3.Row
    row = dict(connection.execute("SELECT * FROM audit WHERE sequence = ?", (number,)).fetchone()) | changed
    connection.execute("UPDATE audit SET what = ?, hash = ? WHERE sequence = ?", (row["what"], digest(row), number))


def run(statement: str) -> Damage:
    return lambda connection: connection.execute(statement)


def put_in(connection: sqlite3.Connection, *numbers: int) -> None:
    """Records as somebody makes them who knows the hashes: they follow the last one."""
    connection.row_factory = sqlite3.Row
    last = dict(connection.execute("SELECT * FROM audit ORDER BY sequence DESC LIMIT 1").fetchone())
    given = numbers or (7,)
    for row in linked([last] * len(given), given, last["hash"]):
        keys = ", ".join(f'"{key}"' for key in row)
        connection.execute(f"INSERT INTO audit ({keys}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))


DAMAGES: dict[str, tuple[Damage, int, str]] = {
    "a word is changed": (run("UPDATE audit SET about = 'z' WHERE sequence = 3"), 3, "not as it was written"),
    "a refusal becomes a permission": (run("UPDATE audit SET allowed = 0 WHERE sequence = 6"), 6, "not as it was"),
    "a time is changed": (run("UPDATE audit SET at = 8 WHERE sequence = 1"), 1, "not as it was written"),
    "a version is changed": (run("UPDATE audit SET version = 1 WHERE sequence = 2"), 2, "not as it was written"),
    "a record and its hash are changed": (lambda c: rewritten(c, 3, what="drain"), 4, "does not follow"),
    "the last record and its hash are changed": (lambda c: rewritten(c, 6, what="drain"), 6, "another than the one"),
    "the first record is taken out": (run("DELETE FROM audit WHERE sequence = 1"), 1, "record 1 is missing"),
    "two are taken out": (run("DELETE FROM audit WHERE sequence IN (3, 4)"), 3, "record 3 is missing"),
    "the last two are taken out": (run("DELETE FROM audit WHERE sequence > 4"), 5, "record 6 was written last"),
    "all are taken out": (run("DELETE FROM audit"), 1, "record 1 is missing"),
    "two change places": (
        run("UPDATE audit SET sequence = CASE sequence WHEN 2 THEN -3 ELSE -2 END WHERE sequence IN (2, 3)"),
        2,
        "does not follow",
    ),
    "one is put in at the end": (put_in, 7, "was put in"),
    "one is put in far behind the end": (lambda c: put_in(c, 2**63 - 1), 2**63 - 1, "record 6 was written last"),
    "one is put in before the first": (
        run(
            "INSERT INTO audit SELECT 0, version, at, by, role, what, about, detail, allowed, rule, previous, hash "
            "FROM audit WHERE sequence = 1"
        ),
        0,
        "not as it was written",
    ),
    "a text becomes bytes": (run("UPDATE audit SET detail = x'ff00' WHERE sequence = 3"), 3, "that nobody wrote"),
    "a text cannot be decoded": (
        run("UPDATE audit SET detail = CAST(x'ff00' AS TEXT) WHERE sequence = 4"),
        4,
        "record 4 cannot be read",
    ),
    "a hash cannot be decoded": (
        run("UPDATE audit SET hash = CAST(x'ff00' AS TEXT) WHERE sequence = 1"),
        1,
        "record 1 cannot be read",
    ),
    "a time becomes a fraction": (run("UPDATE audit SET at = 7.5 WHERE sequence = 5"), 5, "not as it was written"),
    "a record has another number": (run("UPDATE audit SET sequence = 9 WHERE sequence = 6"), 9, "not as it was"),
}


@pytest.mark.parametrize(("damage", "number", "why"), DAMAGES.values(), ids=DAMAGES.keys())
def test_whatever_is_done_to_the_trail_is_found(url: str, damage: Damage, number: int, why: str) -> None:
    store = Store.open(url)
    note(store, "a", "b", "c", "d", "e", "f")
    assert store.check_audit() == Chain(6, store.audit()[-1].hash)
    harm(url, damage)

    result = store.check_audit()
    assert result.broken == number
    assert why in result.why
    store.close()


def harm(url: str, damage: Damage) -> None:
    """Done by somebody who has the file, and takes away what stands against it."""
    with sqlite3.connect(make_url(url).database or "") as connection:
        for word in ("update", "delete"):
            connection.execute(f"DROP TRIGGER audit_no_{word}")
        damage(connection)
        connection.execute("UPDATE audit SET sequence = -sequence WHERE sequence < 0")
    connection.close()


FORGED: dict[str, tuple[tuple[int, ...], int]] = {
    "one behind the last": ((7,), 7),
    "three behind the last": ((7, 8, 9), 7),
    "one in the way of what comes": ((8,), 8),
    "one with the largest number there is": ((2**63 - 1,), 2**63 - 1),
}


@pytest.mark.parametrize(("numbers", "named"), FORGED.values(), ids=FORGED.keys())
def test_what_is_put_in_stops_nobody_and_is_told_for_ever(url: str, numbers: tuple[int, ...], named: int) -> None:
    store = Store.open(url)
    note(store, "a", "b", "c", "d", "e", "f")
    with sqlite3.connect(make_url(url).database or "") as connection:
        put_in(connection, *numbers)
    connection.close()
    audit = [AuditRequest(at, "ann", "user", "submit", name) for at, name in enumerate("gh")]
    submitted(store, job("g"), job("h"), audit=audit)
    note(store, "i")

    entries = store.audit()
    assert [entry.about for entry in entries if entry.sequence not in numbers] == list("abcdefghi")
    assert store.check_audit().broken == named
    assert "put in" in store.check_audit().why
    store.close()


def test_a_record_put_into_an_empty_trail_stops_nobody_either(url: str) -> None:
    store = Store.open(url)
    with sqlite3.connect(make_url(url).database or "") as connection:
        row = (1, None, 5, "eve", "admin", "cancel", "job", "", 1, "", BEGINNING)
        made = dict(zip(KEYS, row, strict=True))
        connection.execute(f"INSERT INTO audit VALUES ({', '.join('?' * 12)})", (*row, digest(made)))
    connection.close()
    note(store, "a")

    assert [entry.by for entry in store.audit()] == ["eve", "ann"]
    assert (store.check_audit().count, store.check_audit().broken) == (1, 1)
    store.close()


def test_the_database_itself_refuses_to_change_or_delete_a_record(url: str) -> None:
    store = Store.open(url)
    note(store, "a")
    with sqlite3.connect(make_url(url).database or "") as connection:
        for statement in ("UPDATE audit SET what = 'x'", "DELETE FROM audit"):
            with pytest.raises(sqlite3.IntegrityError, match="never changed or deleted"):
                connection.execute(statement)
    connection.close()
    store.close()


def test_an_empty_trail_is_whole(url: str) -> None:
    store = Store.open(url)
    assert store.check_audit() == Chain(0, BEGINNING)
    store.close()


def test_every_way_into_the_trail_goes_on_with_the_chain(url: str) -> None:
    store = Store.open(url)
    audit = [AuditRequest(at, "ann", "user", "submit", name) for at, name in enumerate("ab")]
    notes = [AuditRequest(0, "ann", "scheduler", "start", "a")]
    submitted(store, job("a"), job("b", phase=Phase.COMPLETED, ended=5), audit=audit, notes=notes)
    note(store, "a")
    store.prune(ended_before=START, events_before=None, inputs_before=START + 1, now=START)
    store.close()
    store = Store.open(url)
    submitted(store, job("c"), audit=audit[:1])

    entries = store.audit()
    assert [entry.what for entry in entries] == ["submit", "submit", "start", "cancel", "delete", "delete", "submit"]
    assert [entry.previous for entry in entries] == [BEGINNING, *(entry.hash for entry in entries[:-1])]
    assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))
    assert store.check_audit() == Chain(len(entries), entries[-1].hash)
    store.close()


def written_before(url: str, *numbers: int) -> None:
    """A store of the revision before, with these records."""
    engine = create_engine(url)
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("path_separator", "os")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
        row = ":number, NULL, 5, 'ann', 'admin', 'cancel', 'jöb', '', 1, ''"
        connection.execute(text(f"INSERT INTO audit VALUES ({row})"), [{"number": number} for number in numbers])
    engine.dispose()


def test_a_trail_written_before_there_was_a_chain_becomes_one(url: str) -> None:
    written_before(url, 1, 2, 4)

    store = Store.open(url)
    note(store, "more")
    assert [entry.sequence for entry in store.audit()] == [1, 2, 4, 5]
    assert store.check_audit() == Chain(4, store.audit()[-1].hash)
    harm(url, run("DELETE FROM audit WHERE sequence = 4"))
    assert store.check_audit().broken == 3
    store.close()


def test_a_long_trail_becomes_a_chain_some_at_a_time(url: str) -> None:
    written_before(url, *range(1, 2502))
    sizes: list[int] = []

    def executed(_connection: Any, _cursor: Any, statement: str, given: Any, _context: Any, many: bool) -> None:
        if statement.startswith("UPDATE audit"):
            sizes.append(len(given) if many else 1)

    event.listen(Engine, "before_cursor_execute", executed)
    try:
        store = Store.open(url)
    finally:
        event.remove(Engine, "before_cursor_execute", executed)

    assert sizes == [1000, 1000, 501]
    assert store.check_audit().count == 2501
    assert store.check_audit().broken is None
    store.close()


def test_a_revision_does_what_it_did_whatever_the_code_does_today() -> None:
    for file in sorted((FOLDER / "versions").glob("r*.py")):
        imports = re.findall(r"^(?:from|import) cede.*$", file.read_text(), re.MULTILINE)
        assert (file.name, imports) == (file.name, [])


def test_a_step_that_is_not_stored_leaves_no_record(url: str) -> None:
    store = Store.open(url)
    audit = [AuditRequest(0, "ann", "user", "submit", "a")]
    submitted(store, job("a"), audit=audit)
    before = store.check_audit()
    with pytest.raises(StoreError):
        submitted(store, job("a"), audit=audit)
    assert before.count == 1
    assert store.check_audit() == before
    store.close()
