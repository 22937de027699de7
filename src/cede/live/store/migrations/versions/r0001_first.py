"""The first tables: workloads, steps, events, decisions, audit trail and tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Sequence = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    state = op.create_table(
        "state",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text),
    )
    op.bulk_insert(state, [{"id": 1, "version": 0, "document": None}])
    op.create_table(
        "configurations",
        sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("document", sa.Text, nullable=False),
    )
    op.create_table(
        "node_states",
        sa.Column("node", sa.Text, primary_key=True),
        sa.Column("state", sa.String(20), nullable=False),
    )
    _workloads()
    _history()
    _decisions()
    _people()


def _workloads() -> None:
    op.create_table(
        "workloads",
        sa.Column("sequence", Sequence, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("submitted_in", sa.BigInteger, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("project", sa.Text),
        sa.Column("queue", sa.Text),
        sa.Column("phase", sa.String(20), nullable=False),
        sa.Column("ended", sa.BigInteger),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("task", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("workloads_by_phase", "workloads", ["phase", "queue"])
    op.create_index("workloads_by_owner", "workloads", ["owner", "sequence"])


def _history() -> None:
    op.create_table(
        "steps",
        sa.Column("version", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("refusals", sa.Text, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("sequence", Sequence, primary_key=True),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("name", sa.Text, sa.ForeignKey("workloads.name", name="events_workload"), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("events_by_name", "events", ["name", "sequence"])
    op.create_index("events_by_version", "events", ["version"])


def _decisions() -> None:
    op.create_table(
        "decisions",
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("claimant", sa.Text),
        sa.Column("doctrine", sa.Text, nullable=False),
        sa.Column("edition", sa.Text, nullable=False),
        sa.Column("settings_hash", sa.String(64), nullable=False),
        sa.Column("cluster_hash", sa.String(64), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("decisions_by_claimant", "decisions", ["claimant", "number"])
    op.create_index("decisions_by_cluster", "decisions", ["cluster_hash"])
    op.create_table(
        "victims",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column(
            "number", sa.BigInteger, sa.ForeignKey("decisions.number", name="victims_decision"), primary_key=True
        ),
    )
    op.create_table(
        "clusters",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def _people() -> None:
    op.create_table(
        "audit",
        sa.Column("sequence", Sequence, primary_key=True),
        sa.Column("version", sa.BigInteger),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("allowed", sa.Boolean, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_by_whom", "audit", ["by", "sequence"])
    op.create_index("audit_about", "audit", ["about", "sequence"])
    op.create_table(
        "tokens",
        sa.Column("id", Sequence, primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("projects", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("revoked", sa.Boolean, nullable=False),
        sqlite_autoincrement=True,
    )
