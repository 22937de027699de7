"""The audit trail as a chain of hashes, which nobody changes or shortens."""

import sqlalchemy as sa
from alembic import op

from cede.live.store.chain import BEGINNING, linked

revision = "0003"
down_revision = "0002"

_KEPT = "records of the audit trail are never changed or deleted"


def upgrade() -> None:
    op.add_column("state", sa.Column("audit_last", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("state", sa.Column("audit_head", sa.String(64), nullable=False, server_default=BEGINNING))
    op.add_column("audit", sa.Column("previous", sa.String(64), nullable=False, server_default=""))
    op.add_column("audit", sa.Column("hash", sa.String(64), nullable=False, server_default=""))
    _chain(op.get_bind())
    for word in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER audit_no_{word.lower()} BEFORE {word} ON audit BEGIN SELECT RAISE(ABORT, '{_KEPT}'); END"
        )


def _chain(connection: sa.Connection) -> None:
    """What was written before is a chain from now on."""
    last, head = 0, BEGINNING
    for row in connection.execute(sa.text("SELECT * FROM audit ORDER BY sequence")).mappings().all():
        made = linked([dict(row)], row["sequence"] - 1, head)[0]
        last, head = made["sequence"], made["hash"]
        connection.execute(
            sa.text("UPDATE audit SET previous = :previous, hash = :hash WHERE sequence = :sequence"),
            {key: made[key] for key in ("previous", "hash", "sequence")},
        )
    connection.execute(sa.text("UPDATE state SET audit_last = :last, audit_head = :head"), {"last": last, "head": head})
