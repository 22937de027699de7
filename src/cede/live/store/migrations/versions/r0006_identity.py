"""Which store this is: a name for all its life, and a generation for each time that it was set back."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("state", sa.Column("identity", sa.String(32), nullable=False, server_default=""))
    op.add_column("state", sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"))
    op.add_column("state", sa.Column("forks", sa.Text, nullable=False, server_default="[]"))
    op.add_column("state", sa.Column("loss", sa.Text, nullable=False, server_default=""))
    op.get_bind().execute(sa.text("UPDATE state SET identity = :identity"), {"identity": secrets.token_hex(16)})
