"""The scheduler's clock: where it stood at the last step, the wall time of every step, and how that was set since."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    for name in ("clock_at", "clock_wall", "clock_elapsed"):
        op.add_column("state", sa.Column(name, sa.BigInteger))
    op.add_column("state", sa.Column("clock_boot", sa.String(64)))
    # Until now the scheduler's time was the wall clock's.
    op.add_column("steps", sa.Column("wall", sa.BigInteger))
    op.create_table(
        "clock_shifts",
        sa.Column("at", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("ahead", sa.BigInteger, nullable=False),
    )
