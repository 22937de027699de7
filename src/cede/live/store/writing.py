"""One step, or a new document, in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from cede.engine.drive.facts import Fact, PutNode, PutQueue, SetNode, Submit
from cede.engine.drive.job import Job
from cede.live.store import chain, codec
from cede.live.store.decisions import keep_decisions
from cede.live.store.errors import StaleError, StoreError, TakenError
from cede.live.store.records import AuditRequest, Entry
from cede.live.store.tables import (
    CLOCK_SHIFTS,
    CONFIGURATIONS,
    EVENTS,
    NODE_STATES,
    STATE,
    STEPS,
    WORKLOADS,
    column,
)
from cede.model.cluster import ClusterFile, Node, Queue
from cede.model.lifecycle import FINAL

_TAKE = update(STATE).where(STATE.c.id == 1, STATE.c.version == bindparam("was")).values(version=bindparam("now"))
_SET_CLOCK = update(STATE).where(STATE.c.id == 1)
_SET_CLOCK = _SET_CLOCK.values({f"clock_{key}": bindparam(key) for key in ("at", "wall", "elapsed", "boot")})
_ADD_SHIFT = insert(CLOCK_SHIFTS)
_NEXT = update(STATE).where(STATE.c.id == 1).values(version=STATE.c.version + 1).returning(STATE.c.version)
_VERSION = select(STATE.c.version)
_DOCUMENT = select(STATE.c.document)
_SET_DOCUMENT = update(STATE).where(STATE.c.id == 1).values(document=bindparam("body"))
_SET_KEPT = update(STATE).where(STATE.c.id == 1).values(kept=bindparam("body"))
_ADD_STEP = insert(STEPS)
_ADD_WORKLOAD = insert(WORKLOADS)
_SET_WORKLOAD = update(WORKLOADS).where(WORKLOADS.c.name == bindparam("which"))
_SET_WORKLOAD = _SET_WORKLOAD.values({key: bindparam(key) for key in ("project", "queue", "phase", "ended", "job")})
_ADD_EVENT = insert(EVENTS)
_FORGET_NODES = delete(NODE_STATES).where(NODE_STATES.c.node.in_(bindparam("nodes", expanding=True)))


def commit(connection: Connection, entry: Entry) -> int:
    """The version that the step made; its changes are all there when the transaction ends."""
    step, version = entry.step, entry.expected + 1
    if connection.execute(_TAKE, {"was": entry.expected, "now": version}).rowcount != 1:
        present = connection.execute(_VERSION).scalar_one()
        raise StaleError(f"the step was made from version {entry.expected} of the store, which is at {present}")
    refused = {refusal.fact: refusal for refusal in step.refusals}
    row = {"version": version, "at": step.at, "wall": entry.wall, "facts": codec.dump_facts(entry.facts)}
    connection.execute(_ADD_STEP, [row | {"refusals": codec.dump_refusals(step.refusals)}])
    done = [fact for at, fact in enumerate(entry.facts) if at not in refused]
    _keep_workloads(connection, entry, version, {fact.workload.name for fact in done if isinstance(fact, Submit)})
    if step.transitions:
        rows = [
            {"version": version, "at": one.at, "name": column(one.name), "body": codec.dump_transition(one)}
            for one in step.transitions
        ]
        connection.execute(_ADD_EVENT, rows)
    if step.decisions:
        keep_decisions(connection, entry, version)
    _keep_cluster_changes(connection, done)
    if entry.mark is not None:
        connection.execute(_SET_CLOCK, asdict(entry.mark))
    if entry.shifts:
        connection.execute(_ADD_SHIFT, [shift._asdict() for shift in entry.shifts])
    if step.kept is not None:
        connection.execute(_SET_KEPT, {"body": codec.text_of(step.kept) if step.kept else None})
    if entry.audit or entry.notes:
        rows = [_audit_row(audit, entry.wall, version) for audit in entry.audit]
        for row, audit in zip(rows, entry.audit, strict=True):
            if audit.fact in refused:
                row |= {"allowed": False, "rule": audit.rule or column(refused[audit.fact].rule)}
        chain.append(connection, rows + [_audit_row(note, entry.wall, version) for note in entry.notes])
    return version


def configure(connection: Connection, document: ClusterFile) -> int:
    """The version from which on the cluster is as this document has it; workloads in it are left out.

    The same document as now makes no new version.
    """
    unkept = {"reserved_for": None, "reserved_since": None}
    bare = [
        node if node.reserved_for is None and node.reserved_since is None else node.model_copy(update=unkept)
        for node in document.nodes
    ]
    body = codec.dump_cluster(document.model_copy(update={"workloads": [], "nodes": bare}))
    if connection.execute(_DOCUMENT).scalar_one() == body:
        version: int = connection.execute(_VERSION).scalar_one()
        return version
    version = connection.execute(_NEXT).scalar_one()
    connection.execute(_SET_DOCUMENT, {"body": body})
    connection.execute(insert(CONFIGURATIONS), [{"version": version, "document": body}])
    named = {column(node.name) for node in document.nodes}
    gone = [node for node in connection.execute(select(NODE_STATES.c.node)).scalars() if node not in named]
    connection.execute(_FORGET_NODES, {"nodes": gone})
    return version


def note_audit(connection: Connection, audit: AuditRequest, at: int) -> None:
    """One more line of the audit trail, for what never became part of a step."""
    chain.append(connection, [_audit_row(audit, at, None)])


def _audit_row(audit: AuditRequest, at: int, version: int | None) -> dict[str, Any]:
    texts = {key: column(getattr(audit, key)) for key in ("by", "role", "what", "about", "detail", "rule")}
    return {"version": version, "at": at, "allowed": audit.allowed, **texts}


def _keep_workloads(connection: Connection, entry: Entry, version: int, submitted: Collection[str]) -> None:
    fresh, known = [], []
    for name, job in entry.step.changed.items():
        row = _workload_row(job)
        if name not in submitted:
            known.append(row | {"which": column(name)})
        elif name not in entry.tasks:
            raise StoreError(f"nothing says what to run for workload '{name}'")
        else:
            task = entry.tasks[name]
            own = {"name": column(name), "submitted_in": version, "owner": column(task.owner)}
            own |= {"called": column(task.called or name)}
            fresh.append(row | own | {"task": codec.dump_task(task)})
    if fresh:
        try:
            connection.execute(_ADD_WORKLOAD, fresh)
        except IntegrityError as error:
            names = ", ".join(row["name"] for row in fresh)
            raise TakenError(f"a name is taken already; submitted were {names}") from error
    if known and connection.execute(_SET_WORKLOAD, known).rowcount != len(known):
        raise StoreError("the step changed a workload that is not in the store")


def _workload_row(job: Job) -> dict[str, Any]:
    workload = job.workload
    ended = None if job.phase not in FINAL else job.since if job.ended is None else job.ended
    return {
        "project": None if workload.project is None else column(workload.project),
        "queue": None if workload.queue is None else column(workload.queue),
        "phase": str(job.phase),
        "ended": ended,
        "job": codec.dump_job(job),
    }


def _keep_cluster_changes(connection: Connection, facts: Iterable[Fact]) -> None:
    """The states of nodes, and entries of nodes and queues that were put in."""
    for fact in facts:
        if isinstance(fact, SetNode):
            _forget_state(connection, fact.node)
            connection.execute(insert(NODE_STATES), [{"node": column(fact.node), "state": fact.state}])
        elif isinstance(fact, PutNode):
            # The entry has a state of its own.
            _forget_state(connection, fact.node.name)
            _put(connection, "nodes", fact.node)
        elif isinstance(fact, PutQueue):
            _put(connection, "queues", fact.queue)


def _forget_state(connection: Connection, node: str) -> None:
    connection.execute(_FORGET_NODES, {"nodes": [column(node)]})


def _put(connection: Connection, section: str, entry: Node | Queue) -> None:
    body = connection.execute(_DOCUMENT).scalar_one()
    if body is None:
        raise StoreError("a node or queue can be put into a cluster only after it was configured")
    document = codec.parse_cluster(body)
    entries = [one for one in getattr(document, section) if one.name != entry.name]
    changed = document.model_copy(update={section: [*entries, entry]})
    connection.execute(_SET_DOCUMENT, {"body": codec.dump_cluster(changed)})
