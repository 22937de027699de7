"""What happened: events, decisions, the audit trail and the recorded steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select

from cede.engine.drive.facts import Fact
from cede.live.store import codec, reading
from cede.live.store.reading import Viewer, visible
from cede.live.store.records import AuditEntry, DecisionRecord, Event, Story
from cede.live.store.tables import AUDIT, CLUSTERS, DECISIONS, EVENTS, STEPS, VICTIMS, WORKLOADS, bounded, column

_EVENT = select(EVENTS.c.sequence, EVENTS.c.version, EVENTS.c.body).order_by(EVENTS.c.sequence)
_DECISION = select(DECISIONS).order_by(DECISIONS.c.number)


def events(
    connection: Connection, *, after: int, limit: int | None, name: str | None, visible_to: Viewer | None
) -> tuple[Event, ...]:
    wanted = _EVENT.where(EVENTS.c.sequence > bounded(after)).limit(_most(limit))
    if name is not None:
        wanted = wanted.where(EVENTS.c.name == column(name))
    if visible_to is not None:
        wanted = wanted.join(WORKLOADS, WORKLOADS.c.name == EVENTS.c.name).where(visible(visible_to))
    rows = connection.execute(wanted)
    return tuple(Event(row.sequence, codec.parse_transition(row.body), row.version) for row in rows)


def events_of(connection: Connection, version: int) -> tuple[Event, ...]:
    """The events of the step that made this version."""
    rows = connection.execute(_EVENT.where(EVENTS.c.version == bounded(version)))
    return tuple(Event(row.sequence, codec.parse_transition(row.body), row.version) for row in rows)


def last_event(connection: Connection) -> int:
    """The place of the newest event, 0 if there is none."""
    return connection.execute(select(func.max(EVENTS.c.sequence))).scalar() or 0


def decisions(
    connection: Connection, *, after: int, limit: int | None, workload: str | None, since: int = 0
) -> tuple[DecisionRecord, ...]:
    """Those behind number `after`, and with a name those that have it as claimant or victim."""
    wanted = _DECISION.where(DECISIONS.c.number > bounded(after)).limit(_most(limit))
    if workload is not None:
        own = column(workload)
        suffered = select(VICTIMS.c.number).where(VICTIMS.c.name == own)
        wanted = wanted.where(or_(DECISIONS.c.claimant == own, DECISIONS.c.number.in_(suffered)))
    if since:
        wanted = wanted.where(DECISIONS.c.version >= since)
    return tuple(_decision(row) for row in connection.execute(wanted))


def decision(connection: Connection, number: int) -> DecisionRecord | None:
    row = connection.execute(_DECISION.where(DECISIONS.c.number == bounded(number))).first()
    return None if row is None else _decision(row)


def _decision(row: Row[*tuple[Any, ...]]) -> DecisionRecord:
    made = codec.parse_decision(row.body)
    return DecisionRecord(
        number=row.number,
        at=row.at,
        claimant=made.workload,
        action=made.action,
        victims=tuple(victim.workload for victim in made.victims),
        rule=made.rule,
        why=made.why,
        decision=made,
        doctrine=row.doctrine,
        edition=row.edition,
        settings_hash=row.settings_hash,
        cluster_hash=row.cluster_hash,
        version=row.version,
        kept={} if row.kept is None else codec.plain_of(row.kept),
    )


def cluster(connection: Connection, digest: str) -> bytes | None:
    body: bytes | None = connection.execute(select(CLUSTERS.c.body).where(CLUSTERS.c.hash == column(digest))).scalar()
    return body


def story(connection: Connection, name: str) -> Story:
    """Decisions about an older workload of the same name, deleted since, are not part of it."""
    submitted_in = select(WORKLOADS.c.submitted_in).where(WORKLOADS.c.name == column(name))
    since = connection.execute(submitted_in).scalar() or 0
    return Story(
        name=name,
        record=reading.workload(connection, name),
        events=events(connection, after=0, limit=None, name=name, visible_to=None),
        decisions=decisions(connection, after=0, limit=None, workload=name, since=since),
    )


def audit(
    connection: Connection, *, after: int, limit: int, by: str | None, about: str | None
) -> tuple[AuditEntry, ...]:
    wanted = select(AUDIT).where(AUDIT.c.sequence > bounded(after)).order_by(AUDIT.c.sequence).limit(_most(limit))
    if by is not None:
        wanted = wanted.where(AUDIT.c.by == column(by))
    if about is not None:
        wanted = wanted.where(AUDIT.c.about == column(about))
    return tuple(AuditEntry(**row) for row in connection.execute(wanted).mappings())


def steps(connection: Connection, after: int, limit: int) -> Sequence[tuple[int, int, list[Fact]]]:
    """Version, time and facts of the steps behind version `after`."""
    wanted = select(STEPS.c.version, STEPS.c.at, STEPS.c.facts).where(STEPS.c.version > after)
    rows = connection.execute(wanted.order_by(STEPS.c.version).limit(limit))
    return [(row.version, row.at, codec.parse_facts(row.facts)) for row in rows]


def _most(limit: int | None) -> int | None:
    return None if limit is None else bounded(limit)
