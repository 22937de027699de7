"""Deleting what is older than somebody wants it kept, with a line in the audit trail for all that goes."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, delete, func, select

from cede.live.store.records import AuditRequest
from cede.live.store.tables import CLUSTERS, DECISIONS, EVENTS, STEPS, WORKLOADS
from cede.live.store.writing import note_audit
from cede.model.lifecycle import FINAL
from cede.model.times import format_time

AT_ONCE = 200
"""How many workloads go in one transaction, so that a step never waits long for its turn."""

_ENDED = [str(phase) for phase in FINAL]


def prune_workloads(connection: Connection, before: int, now: int) -> tuple[list[str], int]:
    """Names of some workloads that ended before, deleted with their tasks and events, and how many events that were."""
    columns = WORKLOADS.c
    old = select(columns.name, columns.owner, columns.phase, columns.ended)
    old = old.where(columns.phase.in_(_ENDED), columns.ended < before).order_by(columns.sequence).limit(AT_ONCE)
    rows = connection.execute(old).all()
    total = 0
    for row in rows:
        events = connection.execute(delete(EVENTS).where(EVENTS.c.name == row.name)).rowcount
        connection.execute(delete(WORKLOADS).where(columns.name == row.name))
        ended = format_time(row.ended, instant=True)
        what = f"the record of a workload of {row.owner} that was {row.phase} at {ended}, and {events} events"
        _note(connection, row.name, what, now)
        total += events
    return [row.name for row in rows], total


def prune_events(connection: Connection, before: int, now: int) -> int:
    """How many events of workloads that ended are gone; those of others stay, for their story goes on."""
    ended = select(WORKLOADS.c.name).where(WORKLOADS.c.phase.in_(_ENDED))
    gone = connection.execute(delete(EVENTS).where(EVENTS.c.at < before, EVENTS.c.name.in_(ended))).rowcount
    if gone:
        until = format_time(before, instant=True)
        _note(connection, "events", f"{gone} events before {until} of workloads that ended", now)
    return gone


def prune_inputs(connection: Connection, before: int, now: int) -> tuple[int, int]:
    """How many recorded steps and kept cluster files are gone: what a replay from the beginning would need."""
    steps = connection.execute(delete(STEPS).where(STEPS.c.at < before)).rowcount
    newest = select(func.max(DECISIONS.c.at)).where(DECISIONS.c.cluster_hash == CLUSTERS.c.hash).scalar_subquery()
    old: ColumnElement[bool] = newest < before
    clusters = connection.execute(delete(CLUSTERS).where(old)).rowcount
    if steps or clusters:
        until = format_time(before, instant=True)
        _note(connection, "inputs", f"{steps} recorded steps and {clusters} cluster files before {until}", now)
    return steps, clusters


def _note(connection: Connection, about: str, deleted: str, now: int) -> None:
    audit = AuditRequest(0, by="cede", role="retention", what="delete", about=about, detail=f"deleted: {deleted}")
    note_audit(connection, audit, now)
