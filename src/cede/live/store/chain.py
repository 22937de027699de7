"""The audit trail as a chain: each record carries the hash of the one before it, and its own, so that none can be
changed, taken out or put in unnoticed.

The state row keeps the number and the hash of the last one, so that none is missing at the end either.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

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
_WALK = select(*(AUDIT.c[key] for key in KEYS), AUDIT.c.hash).order_by(AUDIT.c.sequence)
_AT_ONCE = 1000


def append(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """The rows follow the last one of the chain, in this transaction."""
    last, head = connection.execute(_END).one()
    made = linked(rows, last, head)
    connection.execute(_ADD, made)
    connection.execute(_SET_END, {"last": made[-1]["sequence"], "head": made[-1]["hash"]})


def linked(rows: Sequence[dict[str, Any]], last: int, head: str) -> list[dict[str, Any]]:
    """The rows with their numbers and hashes, behind record `last`, whose hash is `head`."""
    made = []
    for number, row in enumerate(rows, last + 1):
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
    number, before, count = 0, BEGINNING, 0
    for *values, own in connection.execution_options(yield_per=_AT_ONCE).execute(_WALK):
        if why := _fault(values, own, number, before):
            missing = values[-1] != before and values[0] > number + 1
            return Chain(count, head, number + 1 if missing else values[0], why)
        number, before, count = values[0], own, count + 1
        if number > last:
            return Chain(count - 1, head, number, f"record {number} was put in: record {last} was written last")
        if number == last and before != head:
            return Chain(count - 1, head, number, f"record {number} is another than the one that was written last")
    if number != last:
        why = f"record {number + 1} is missing: the trail ends before it, and record {last} was written last"
        return Chain(count, head, number + 1, why)
    return Chain(count, head)


def _fault(values: Sequence[Any], own: str, number: int, before: str) -> str:
    """What is wrong with a record behind record `number`, whose hash is `before`; empty if nothing is."""
    if values[-1] != before:
        if values[0] > number + 1:
            return f"record {number + 1} is missing: record {values[0]} follows another than record {number}"
        return f"record {values[0]} does not follow the one before it: one of them was put in or changed"
    return "" if own == _digest(values) else f"record {values[0]} is not as it was written"
