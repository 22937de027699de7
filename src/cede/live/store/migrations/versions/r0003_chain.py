"""The audit trail as a chain of hashes, which nobody changes or shortens.

What a record hashes to is written out here: what the code does later is no part of what this revision did.
"""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

log = logging.getLogger("cede.store")

_KEPT = "records of the audit trail are never changed or deleted"
_BEGINNING = "0" * 64
_KEYS = ("sequence", "version", "at", "by", "role", "what", "about", "detail", "allowed", "rule")
_AT_ONCE = 1000
_LONG = 20_000
"""So many records take long enough for somebody to wonder."""
_PAGE = sa.text("SELECT * FROM audit WHERE sequence > :after ORDER BY sequence LIMIT :most")
_FIRST = sa.text("SELECT * FROM audit ORDER BY sequence LIMIT :most")
_LINK = sa.text("UPDATE audit SET previous = :previous, hash = :hash WHERE sequence = :sequence")
_END = sa.text("UPDATE state SET audit_last = :last, audit_head = :head")


def upgrade() -> None:
    op.add_column("state", sa.Column("audit_last", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("state", sa.Column("audit_head", sa.String(64), nullable=False, server_default=_BEGINNING))
    op.add_column("audit", sa.Column("previous", sa.String(64), nullable=False, server_default=""))
    op.add_column("audit", sa.Column("hash", sa.String(64), nullable=False, server_default=""))
    _chain(op.get_bind())
    for word in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER audit_no_{word.lower()} BEFORE {word} ON audit BEGIN SELECT RAISE(ABORT, '{_KEPT}'); END"
        )


def _chain(connection: sa.Connection) -> None:
    """What was written before is a chain from now on."""
    records = connection.execute(sa.text("SELECT COUNT(*) FROM audit")).scalar_one()
    if records >= _LONG:
        log.warning("the audit trail becomes a chain of hashes, once: %d records; this takes a while", records)
    last, head = 0, _BEGINNING
    for page in _pages(connection):
        links = []
        for row in page:
            last, previous, head = row["sequence"], head, _digest(row, head)
            links.append({"sequence": last, "previous": previous, "hash": head})
        connection.execute(_LINK, links)
    connection.execute(_END, {"last": last, "head": head})


def _pages(connection: sa.Connection) -> Iterator[Sequence[sa.RowMapping]]:
    """All records in their order, some at a time."""
    page = connection.execute(_FIRST, {"most": _AT_ONCE}).mappings().all()
    while page:
        yield page
        after = page[-1]["sequence"]
        page = connection.execute(_PAGE, {"after": after, "most": _AT_ONCE}).mappings().all()


def _digest(row: sa.RowMapping, previous: str) -> str:
    values = [bool(row[key]) if key == "allowed" else row[key] for key in _KEYS]
    return hashlib.sha256(json.dumps([*values, previous], separators=(",", ":")).encode()).hexdigest()
