"""Names that are unique for each owner, tokens that expire, and the decisions as a chain of hashes.

What a decision hashes to is written out here: what the code does later is no part of what this revision did.
"""

import hashlib
import json
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_BEGINNING = "0" * 64
_KEPT = "decisions and their victims are never changed or deleted"
_KEYS = "number, version, at, claimant, doctrine, edition, settings_hash, cluster_hash, body, kept"
_AT_ONCE = 1000
_PAGE = sa.text(f"SELECT {_KEYS} FROM decisions WHERE number > :after ORDER BY number LIMIT :most")
_VICTIMS = sa.text("SELECT name, number FROM victims WHERE number BETWEEN :first AND :last")
_LINK = sa.text("UPDATE decisions SET previous = :previous, hash = :hash WHERE number = :number")
_END = sa.text("UPDATE state SET decision_last = :last, decision_head = :head")


def upgrade() -> None:
    op.add_column("workloads", sa.Column("called", sa.Text, nullable=False, server_default=""))
    op.execute("UPDATE workloads SET called = name")
    op.create_index("workloads_called", "workloads", ["owner", "called"], unique=True)
    op.add_column("tokens", sa.Column("expires", sa.BigInteger))
    op.add_column("state", sa.Column("decision_last", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("state", sa.Column("decision_head", sa.String(64), nullable=False, server_default=_BEGINNING))
    op.add_column("decisions", sa.Column("previous", sa.String(64), nullable=False, server_default=""))
    op.add_column("decisions", sa.Column("hash", sa.String(64), nullable=False, server_default=""))
    _chain(op.get_bind())
    for table in ("decisions", "victims"):
        for word in ("UPDATE", "DELETE"):
            name = f"{table}_no_{word.lower()}"
            op.execute(f"CREATE TRIGGER {name} BEFORE {word} ON {table} BEGIN SELECT RAISE(ABORT, '{_KEPT}'); END")


def _chain(connection: sa.Connection) -> None:
    """What was decided before is a chain from now on."""
    last, head = 0, _BEGINNING
    while page := connection.execute(_PAGE, {"after": last, "most": _AT_ONCE}).all():
        victims: dict[int, list[str]] = {}
        for name, number in connection.execute(_VICTIMS, {"first": page[0].number, "last": page[-1].number}):
            victims.setdefault(number, []).append(name)
        links: list[dict[str, Any]] = []
        for row in page:
            last, previous = row.number, head
            values = [*row, previous, sorted(victims.get(last, ()))]
            head = hashlib.sha256(json.dumps(values, separators=(",", ":")).encode()).hexdigest()
            links.append({"number": last, "previous": previous, "hash": head})
        connection.execute(_LINK, links)
    connection.execute(_END, {"last": last, "head": head})
