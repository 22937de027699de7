"""The tables. Bodies are JSON text; what is looked for by its value stands in a column beside them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

METADATA = MetaData()

# Only an INTEGER primary key counts up by itself in SQLite.
Sequence = BigInteger().with_variant(Integer(), "sqlite")

STATE = Table(
    "state",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("document", Text),
    Column("kept", Text),
    Column("audit_last", BigInteger, nullable=False, server_default="0"),
    Column("audit_head", String(64), nullable=False, server_default="0" * 64),
    Column("clock_at", BigInteger),
    Column("clock_wall", BigInteger),
    Column("clock_elapsed", BigInteger),
    Column("clock_boot", String(64)),
    Column("identity", String(32), nullable=False, server_default=""),
    Column("generation", BigInteger, nullable=False, server_default="1"),
    Column("forks", Text, nullable=False, server_default="[]"),
    Column("loss", Text, nullable=False, server_default=""),
    Column("decision_last", BigInteger, nullable=False, server_default="0"),
    Column("decision_head", String(64), nullable=False, server_default="0" * 64),
)
"""One row: the version, the cluster without its workloads as it is now, what its doctrine remembers, the number and
the hash of the last record of the audit trail and of the last decision, what all clocks showed at the last step; which
store this is, where it was set back to an older copy of itself, and what an admin has not acknowledged of that."""

CLOCK_SHIFTS = Table(
    "clock_shifts",
    METADATA,
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    Column("ahead", BigInteger, nullable=False),
)
"""From when on, by the scheduler's clock, the wall clock was ahead of it by how much."""

CONFIGURATIONS = Table(
    "configurations",
    METADATA,
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("document", Text, nullable=False),
)
"""The documents that were given, by the version they made."""

NODE_STATES = Table(
    "node_states",
    METADATA,
    Column("node", Text, primary_key=True),
    Column("state", String(20), nullable=False),
)

WORKLOADS = Table(
    "workloads",
    METADATA,
    Column("sequence", Sequence, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("submitted_in", BigInteger, nullable=False),
    Column("owner", Text, nullable=False),
    Column("called", Text, nullable=False, server_default=""),
    Column("project", Text),
    Column("queue", Text),
    Column("phase", String(20), nullable=False),
    Column("ended", BigInteger),
    Column("job", Text, nullable=False),
    Column("task", Text, nullable=False),
    Index("workloads_by_phase", "phase", "queue"),
    Index("workloads_by_owner", "owner", "sequence"),
    Index("workloads_called", "owner", "called", unique=True),
    sqlite_autoincrement=True,
)
"""`name` is the only one of its kind; `called` is what its owner calls it, whatever others have."""

STEPS = Table(
    "steps",
    METADATA,
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("facts", Text, nullable=False),
    Column("refusals", Text, nullable=False),
    Column("wall", BigInteger),
)
"""`at` is the scheduler's time, as everywhere but in the audit trail and of tokens, which are for people; `wall` is
what the wall clock showed, the same if it is not said."""

EVENTS = Table(
    "events",
    METADATA,
    Column("sequence", Sequence, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("name", Text, ForeignKey("workloads.name", name="events_workload"), nullable=False),
    Column("body", Text, nullable=False),
    Index("events_by_name", "name", "sequence"),
    Index("events_by_version", "version"),
    sqlite_autoincrement=True,
)

DECISIONS = Table(
    "decisions",
    METADATA,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("claimant", Text),
    Column("doctrine", Text, nullable=False),
    Column("edition", Text, nullable=False),
    Column("settings_hash", String(64), nullable=False),
    Column("cluster_hash", String(64), nullable=False),
    Column("body", Text, nullable=False),
    Column("kept", Text),
    Column("previous", String(64), nullable=False, server_default=""),
    Column("hash", String(64), nullable=False, server_default=""),
    Index("decisions_by_claimant", "claimant", "number"),
    Index("decisions_by_cluster", "cluster_hash"),
)

VICTIMS = Table(
    "victims",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("number", BigInteger, ForeignKey("decisions.number", name="victims_decision"), primary_key=True),
)

CLUSTERS = Table(
    "clusters",
    METADATA,
    Column("hash", String(64), primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("sequence", Sequence, primary_key=True),
    Column("version", BigInteger),
    Column("at", BigInteger, nullable=False),
    Column("by", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("about", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("allowed", Boolean, nullable=False),
    Column("rule", Text, nullable=False),
    Column("previous", String(64), nullable=False, server_default=""),
    Column("hash", String(64), nullable=False, server_default=""),
    Index("audit_by_whom", "by", "sequence"),
    Index("audit_about", "about", "sequence"),
    sqlite_autoincrement=True,
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", Sequence, primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("role", String(20), nullable=False),
    Column("projects", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("revoked", Boolean, nullable=False),
    Column("expires", BigInteger),
    sqlite_autoincrement=True,
)


def column(text: str) -> str:
    """The text as every database can hold it; only what no Unicode file could hold, and NUL, is written out."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def bounded(number: int) -> int:
    """The number as every database can compare it; beyond that no row has one."""
    return max(-(2**63), min(number, 2**63 - 1))
