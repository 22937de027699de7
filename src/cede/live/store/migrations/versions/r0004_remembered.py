"""What a doctrine remembered when it made a decision, beside the cluster file of that moment."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("decisions", sa.Column("kept", sa.Text))
