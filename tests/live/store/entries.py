"""Steps in a line or two, so that a test of the store reads like its case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cede.doctrines.document import parse_document
from cede.engine.drive.facts import Fact, Submit
from cede.engine.drive.job import Job
from cede.engine.drive.step import Made, Refusal, Step, Transition
from cede.engine.drive.terms import Terms
from cede.live.store.store import AuditRequest, Entry, Store
from cede.live.task import Task
from cede.model.cluster import ClusterFile, Workload
from cede.model.lifecycle import Phase
from cede.model.plan import Decision, Victim
from cede.model.times import SECOND

START = 1_790_000_000 * SECOND


def cluster(*nodes: str, **keys: Any) -> ClusterFile:
    """A cluster file with these nodes and one queue."""
    entries = [{"name": name, "capacity": {"cpu": "1500m", "memory": "4Gi"}} for name in nodes]
    return parse_document({"cede": 1, "doctrine": "backendai", "nodes": entries, "queues": [{"name": "q"}], **keys})


def job(name: str, *, phase: Phase = Phase.PENDING, ended: int | None = None, **keys: Any) -> Job:
    """A job whose workload has these keys of an entry."""
    workload = Workload.model_validate({"name": name, "queue": "q", "requests": {"cpu": "500m"}, **keys})
    return Job(workload, Terms(), phase=phase, since=START, ended=ended, why="because")


def task(owner: str = "ann", **keys: Any) -> Task:
    return Task(command=("true",), cwd="/", owner=owner, **keys)


def submitted(
    store: Store, *jobs: Job, owner: str = "ann", at: int = START, audit: Sequence[AuditRequest] = (), **keys: Any
) -> int:
    """The version after these were submitted, with an event each."""
    step = Step(at)
    step.transitions = [Transition(at, one.name, 0, "submit", None, Phase.PENDING) for one in jobs]
    step.changed = {one.name: one for one in jobs}
    facts = [Submit(one.workload, one.terms) for one in jobs]
    tasks = {one.name: task(owner) for one in jobs}
    return store.commit(Entry(store.load().version, step, facts, tasks, audit, **keys))


def stepped(
    store: Store,
    *facts: Fact,
    at: int = START,
    changed: Sequence[Job] = (),
    transitions: Sequence[Transition] = (),
    decisions: Sequence[Made] = (),
    refusals: Sequence[Refusal] = (),
    audit: Sequence[AuditRequest] = (),
    **keys: Any,
) -> int:
    """The version after one step."""
    step = Step(at)
    step.transitions, step.decisions, step.refusals = list(transitions), list(decisions), list(refusals)
    step.changed = {one.name: one for one in changed}
    return store.commit(Entry(store.load().version, step, facts, audit=audit, **keys))


def made(number: int, claimant: str | None, *victims: str, at: int = START, moment: ClusterFile | None = None) -> Made:
    """A decision that lets the claimant preempt these."""
    going = tuple(Victim(name, "lower priority", rule="backendai.lower") for name in victims)
    decision = Decision(claimant, "preempt" if victims else "start", "backendai.lower", "it fits", going, ("n1",))
    return Made(number, at, "backendai", "bep-1014", decision, moment)
