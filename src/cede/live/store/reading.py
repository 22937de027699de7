"""Workloads as they are stored: all that a driver goes on with, one, or a page of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, or_, select

from cede.engine.clock import Mark, Shift
from cede.live.store import codec
from cede.live.store.errors import UnknownError, UnreadableError
from cede.live.store.records import Named, Record, Saved, SavedClock
from cede.live.store.tables import (
    CLOCK_SHIFTS,
    CONFIGURATIONS,
    DECISIONS,
    NODE_STATES,
    STATE,
    STEPS,
    WORKLOADS,
    bounded,
    column,
)
from cede.model.cluster import ClusterFile
from cede.model.lifecycle import FINAL, Phase
from cede.model.times import clamping, show_duration

Viewer = tuple[str, tuple[str, ...]]
"""A user and the user's projects: they see what is theirs."""

_RECORD = select(WORKLOADS.c.job, WORKLOADS.c.task)
_AT_ONCE = 500
"""Names of one question to the database."""
_LIVE = [str(phase) for phase in Phase if phase not in FINAL]


def load(connection: Connection) -> Saved:
    state = connection.execute(select(STATE.c.version, STATE.c.document, STATE.c.kept)).one()
    live = select(WORKLOADS.c.name, WORKLOADS.c.job).where(WORKLOADS.c.phase.in_(_LIVE)).order_by(WORKLOADS.c.sequence)
    nodes = connection.execute(select(NODE_STATES.c.node, NODE_STATES.c.state).order_by(NODE_STATES.c.node))
    warnings: list[str] = []
    with clamping() as clamped:
        document = None if state.document is None else codec.parse_cluster(state.document)
        if clamped:
            warnings.append(_too_long("the cluster file", clamped))
        jobs = []
        unreadable = []
        for name, text in connection.execute(live):
            clamped.clear()
            try:
                jobs.append(codec.parse_job(text))
            except Exception as error:  # whatever was written there, the others must go on
                unreadable.append(f"the record of {name} cannot be read, and it is left out: {error}")
            if clamped:
                warnings.append(_too_long(name, clamped))
    return Saved(
        version=state.version,
        document=document,
        jobs=tuple(jobs),
        next_decision=(connection.execute(select(func.max(DECISIONS.c.number))).scalar() or 0) + 1,
        node_states={row.node: row.state for row in nodes},
        kept={} if state.kept is None else codec.plain_of(state.kept),
        warnings=tuple(warnings),
        unreadable=tuple(" ".join(one.split())[:500] for one in unreadable),
    )


def _too_long(what: str, durations: list[int]) -> str:
    return f"{what} has a duration of {show_duration(max(durations))}, which is taken for 100 years, the longest"


def load_clock(connection: Connection) -> SavedClock:
    clock = (STATE.c.clock_at, STATE.c.clock_wall, STATE.c.clock_elapsed, STATE.c.clock_boot)
    mark = connection.execute(select(*clock)).one()
    rows = connection.execute(select(CLOCK_SHIFTS.c.at, CLOCK_SHIFTS.c.ahead).order_by(CLOCK_SHIFTS.c.at))
    return SavedClock(
        mark=None if mark.clock_at is None else Mark(*mark),
        shifts=tuple(Shift(*row) for row in rows),
        last=connection.execute(select(func.max(STEPS.c.at))).scalar() or 0,
    )


def configurations(connection: Connection) -> tuple[tuple[int, ClusterFile], ...]:
    """Every document that was given, with the version it made, in order."""
    rows = connection.execute(select(CONFIGURATIONS).order_by(CONFIGURATIONS.c.version))
    return tuple((row.version, codec.parse_cluster(row.document)) for row in rows)


def workload(connection: Connection, name: str) -> Record | None:
    row = connection.execute(_RECORD.where(WORKLOADS.c.name == column(name))).first()
    if row is None:
        return None
    try:
        return _record(row)
    except (ValueError, TypeError, LookupError) as error:
        why = " ".join(str(error).split())[:300]
        raise UnreadableError(f"the record of {name} cannot be read, and nothing is decided about it: {why}") from error


def taken(connection: Connection, name: str) -> bool:
    return _sequence(connection, name) is not None


def known(connection: Connection, names: Collection[str]) -> frozenset[str]:
    """Those of these workloads, a few hundred at most, that there are."""
    some = [column(name) for name in names]
    return frozenset(connection.execute(select(WORKLOADS.c.name).where(WORKLOADS.c.name.in_(some))).scalars())


def called(connection: Connection, owner: str, name: str) -> str | None:
    """The name of the record of the workload that this owner calls so."""
    own = WORKLOADS.c.owner == column(owner), WORKLOADS.c.called == column(name)
    return connection.execute(select(WORKLOADS.c.name).where(*own)).scalar()


def named(connection: Connection, names: Collection[str] | None) -> tuple[Named, ...]:
    """Whose these workloads are, as far as there are such; without names, those that have not ended."""
    columns = WORKLOADS.c
    wanted = select(columns.name, columns.owner, columns.called, columns.project)
    if names is None:
        return tuple(Named(*row) for row in connection.execute(wanted.where(columns.phase.in_(_LIVE))))
    rest, rows = sorted({column(name) for name in names}), []
    while rest:
        chosen, rest = rest[:_AT_ONCE], rest[_AT_ONCE:]
        rows += [Named(*row) for row in connection.execute(wanted.where(columns.name.in_(chosen)))]
    return tuple(rows)


def accounts(connection: Connection, phases: Collection[Phase]) -> frozenset[str]:
    """Whose rights the workloads in these phases have, as far as they are not the server's own."""
    there = select(WORKLOADS.c.task).where(WORKLOADS.c.phase.in_([str(phase) for phase in phases]))
    accounts = (codec.parse_task(task).account for task in connection.execute(there).scalars())
    return frozenset(account for account in accounts if account is not None)


def workloads(
    connection: Connection,
    *,
    phases: Collection[Phase],
    queue: str | None,
    users: Collection[str] | None,
    projects: Collection[str] | None,
    visible_to: Viewer | None,
    after: str | None,
    limit: int,
    newest_first: bool,
) -> tuple[Record, ...]:
    """Those that match everything given, by submission; the page begins behind the workload named `after`."""
    columns = WORKLOADS.c
    conditions: list[ColumnElement[bool]] = []
    if phases:
        conditions.append(columns.phase.in_([str(phase) for phase in phases]))
    if queue is not None:
        conditions.append(columns.queue == column(queue))
    if users is not None:
        conditions.append(columns.owner.in_([column(user) for user in users]))
    if projects is not None:
        conditions.append(columns.project.in_([column(project) for project in projects]))
    if visible_to is not None:
        conditions.append(visible(visible_to))
    if after is not None:
        place = _sequence(connection, after)
        if place is None:
            raise UnknownError(f"there is no workload '{after}' to go on after")
        conditions.append(columns.sequence < place if newest_first else columns.sequence > place)
    order = columns.sequence.desc() if newest_first else columns.sequence
    rows = connection.execute(_RECORD.where(*conditions).order_by(order))
    return tuple(islice(_readable(rows), bounded(limit)))


def _readable(rows: Iterable[Row[*tuple[Any, ...]]]) -> Iterator[Record]:
    """The records that can be read: one that cannot must not hide the others. `load` tells of it."""
    for row in rows:
        with suppress(ValueError, TypeError, LookupError):
            yield _record(row)


def counts(connection: Connection) -> Mapping[str, Mapping[Phase, int]]:
    """How many workloads of each queue are in each phase; those without a queue are under the empty name."""
    phase, queue = WORKLOADS.c.phase, WORKLOADS.c.queue
    counts: dict[str, dict[Phase, int]] = {}
    for row in connection.execute(select(phase, queue, func.count().label("number")).group_by(phase, queue)):
        counts.setdefault(row.queue or "", {})[Phase(row.phase)] = row.number
    return counts


def visible(viewer: Viewer) -> ColumnElement[bool]:
    """Which workloads this viewer may see."""
    user, projects = viewer
    return or_(WORKLOADS.c.owner == column(user), WORKLOADS.c.project.in_([column(one) for one in projects]))


def _record(row: Row[*tuple[Any, ...]]) -> Record:
    return Record(codec.parse_job(row.job), codec.parse_task(row.task))


def _sequence(connection: Connection, name: str) -> int | None:
    return connection.execute(select(WORKLOADS.c.sequence).where(WORKLOADS.c.name == column(name))).scalar()
