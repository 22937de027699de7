"""The audit trail as a chain: each record carries the hash of the one before it, and its own, so that none can be
changed, taken out or put in unnoticed.

The state row keeps the number and the hash of the last one, so that none is missing at the end either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update
from sqlalchemy.exc import DBAPIError

from cede.live.store import codec
from cede.live.store.records import Chain
from cede.live.store.tables import AUDIT, STATE

BEGINNING = "0" * 64
"""What the first record has for the hash of the one before it."""
KEYS = ("sequence", "version", "at", "by", "role", "what", "about", "detail", "allowed", "rule", "previous")
"""What is hashed, in this order."""

_END = select(STATE.c.audit_last, STATE.c.audit_head)
_SET_END = update(STATE).where(STATE.c.id == 1).values(audit_last=bindparam("last"), audit_head=bindparam("head"))
_ADD = insert(AUDIT)
_ONE = select(*(AUDIT.c[key] for key in KEYS), AUDIT.c.hash)
_WALK = _ONE.order_by(AUDIT.c.sequence)
_NUMBERS = select(AUDIT.c.sequence).order_by(AUDIT.c.sequence)
_HIGHEST = select(func.max(AUDIT.c.sequence)).scalar_subquery()
_END_OF_ALL = select(STATE.c.audit_last, STATE.c.audit_head, _HIGHEST)
_AT_ONCE = 1000


def append(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """The rows follow the last one of the chain, in this transaction. What somebody else put in behind it is no part of
    the chain, and keeps its number."""
    last, head, highest = connection.execute(_END_OF_ALL).one()
    following = count(last + 1) if (highest or 0) <= last else _free(connection, last)
    made = linked(rows, list(islice(following, len(rows))), head)
    connection.execute(_ADD, made)
    connection.execute(_SET_END, {"last": made[-1]["sequence"], "head": made[-1]["hash"]})


def _free(connection: Connection, last: int) -> Iterator[int]:
    """Numbers behind this one that no record has."""
    number = last + 1
    with connection.execute(_NUMBERS.where(AUDIT.c.sequence > last)) as taken:
        for other in taken.scalars():
            yield from range(number, other)
            number = other + 1
    yield from count(number)


def linked(rows: Sequence[dict[str, Any]], numbers: Sequence[int], head: str) -> list[dict[str, Any]]:
    """The rows with these numbers and their hashes, behind the record whose hash is `head`."""
    made = []
    for number, row in zip(numbers, rows, strict=True):
        record = row | {"sequence": number, "previous": head}
        head = record["hash"] = digest(record)
        made.append(record)
    return made


def digest(record: Mapping[str, Any]) -> str:
    """The SHA-256 of a record: of the JSON array of its values, in the order of KEYS, without spaces."""
    return _digest([bool(record[key]) if key == "allowed" else record[key] for key in KEYS])


def _digest(values: Sequence[Any]) -> str:
    return hashlib.sha256(codec.text_of(list(values)).encode()).hexdigest()


def check(connection: Connection) -> Chain:
    """Walks the chain from its beginning to its end."""
    last, head = connection.execute(_END).one()
    number, before, right = 0, BEGINNING, 0
    for *values, own in _records(connection):
        if number == last and values[0] > last:
            return Chain(right, head, values[0], f"record {values[0]} was put in: record {last} was written last")
        if (fault := _fault(connection, values, own, number, before)) is not None:
            return Chain(right, head, *fault)
        number, before = values[0], own
        if number == last and before != head:
            return Chain(right, head, number, f"record {number} is another than the one that was written last")
        right += 1
    if number != last:
        why = f"record {number + 1} is missing: the trail ends before it, and record {last} was written last"
        return Chain(right, head, number + 1, why)
    return Chain(right, head)


def _records(connection: Connection) -> Iterator[Sequence[Any]]:
    """The values of each record and its hash, in their order; of one that cannot be read, only its number."""
    done: int | None = None
    try:
        for row in connection.execution_options(yield_per=_AT_ONCE).execute(_WALK):
            yield row
            done = row[0]
    except DBAPIError:
        # One of the next cannot be read, and takes all that were fetched with it along.
        left = _NUMBERS if done is None else _NUMBERS.where(AUDIT.c.sequence > done)
        for number in connection.execution_options(yield_per=_AT_ONCE).execute(left).scalars():
            yield _alone(connection, number)


def _alone(connection: Connection, number: int) -> Sequence[Any]:
    try:
        return connection.execute(_ONE.where(AUDIT.c.sequence == number)).one()
    except DBAPIError:
        return (number, *(None for _ in KEYS[1:]), None)


Fault = tuple[int, str]
"""The number of the record that is wrong, and what is wrong with it."""


def _fault(connection: Connection, values: Sequence[Any], own: Any, number: int, before: str) -> Fault | None:
    """What is wrong with a record behind record `number`, whose hash is `before`."""
    record = values[0]
    if own is None:
        return record, f"record {record} cannot be read"
    if values[-1] != before:
        return _stranger(connection, record, values[-1], number, before)
    try:
        right = own == _digest(values)
    except (TypeError, ValueError):
        return record, f"record {record} has a value that nobody wrote: it is no text and no number"
    return None if right else (record, f"record {record} is not as it was written")


def _stranger(connection: Connection, record: int, previous: Any, number: int, before: str) -> Fault:
    """What is wrong where a record does not follow record `number`. If it follows an earlier one, one of the two was
    put in, with hashes as they should be: the one that nothing follows."""
    earlier = select(func.max(AUDIT.c.sequence)).where(AUDIT.c.sequence < number, AUDIT.c.hash == previous)
    followed = connection.execute(earlier).scalar()
    goes_on = select(AUDIT.c.sequence).where(AUDIT.c.sequence > record, AUDIT.c.previous == before).limit(1)
    if connection.execute(goes_on).first() is not None:
        return record, f"record {record} does not follow record {number}, as a later one does: it was put in, or moved"
    if number and (followed is not None or previous == BEGINNING):
        between = _NUMBERS if followed is None else _NUMBERS.where(AUDIT.c.sequence > followed)
        first = connection.execute(between.limit(1)).scalar_one()
        return first, f"record {first} was put in: record {record}, which was written later, does not follow it"
    if record > number + 1:
        return number + 1, f"record {number + 1} is missing: record {record} follows another than record {number}"
    return record, f"record {record} does not follow the one before it: one of them was put in or changed"
