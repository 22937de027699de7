"""What a doctrine remembers beyond a restart: the clocks of whoever is below its share."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("state", sa.Column("kept", sa.Text))
