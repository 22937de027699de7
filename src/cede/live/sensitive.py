"""Sensitive work: which workloads are, and what the audit trail says of every step that concerns one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cede.engine.drive.job import Job
from cede.engine.drive.step import Made, Step, Transition
from cede.live.store.records import AuditRequest
from cede.model.cluster import ClusterFile, Workload
from cede.model.lifecycle import FINAL, PRESENT, WAITING, Phase, Signal

SCHEDULER = "scheduler"
"""The role in records that nobody asked for: the scheduler wrote them for the workload's user."""


class Sensitive:
    """Which workloads of one cluster are sensitive: those that say so, and those of the doctrine's sensitive class."""

    def __init__(self, document: ClusterFile) -> None:
        known = document.dialect.sensitive
        self.priority = None if known is None else known.priority
        """The class of sensitive work, where the doctrine has one."""
        self._queues = frozenset(
            queue.name for queue in document.queues if known is not None and known.holds_queue(queue.settings)
        )

    def __call__(self, workload: Workload) -> bool:
        if workload.sensitive or workload.queue in self._queues:
            return True
        return self.priority is not None and workload.priority == self.priority

    def records(self, step: Step) -> list[AuditRequest]:
        """What the step does for sensitive work: nodes claimed, victims sent away, starts, nodes given back."""
        records: list[AuditRequest] = []
        concerned = {name for name, job in step.changed.items() if self(job.workload)}
        if not concerned:
            return records
        made = {one.number: one for one in step.decisions}
        for one in step.decisions:
            if one.decision.victims and one.decision.workload in concerned:
                records += _preemptions(step.changed[one.decision.workload], one)
        for moved in step.transitions:
            if moved.name in concerned:
                records += _moves(step, step.changed[moved.name], moved, made.get(moved.decision or 0))
        return records


def _preemptions(job: Job, made: Made) -> Iterator[AuditRequest]:
    for victim in made.decision.victims:
        detail = f"decision {made.number} takes its room for {job.name}: {victim.reason}"
        yield _record(job, "preempt", victim.workload, detail, victim.rule or made.decision.rule)


def _moves(step: Step, job: Job, moved: Transition, made: Made | None) -> Iterator[AuditRequest]:
    nodes = job.nodes if made is None else made.decision.nodes
    if moved.signal == Signal.HOLD:
        yield _record(job, "claim nodes", job.name, f"{_listed(nodes)}, once they are left", moved.rule)
    elif moved.after == Phase.STARTING and moved.before != Phase.STARTING:
        yield _record(job, "start", job.name, f"attempt {moved.attempt + 1} on {_listed(nodes)}", moved.rule)
    elif _gives_back(moved):
        given = step.released.get(job.name, job.nodes)
        yield _record(job, "release nodes", job.name, f"{_listed(given)}: {moved.why}", moved.rule)


def _gives_back(moved: Transition) -> bool:
    """It had nodes, or a claim on some, and has no more."""
    held = moved.before in PRESENT or moved.before == Phase.HELD
    return held and (moved.after in WAITING or moved.after in FINAL)


def _record(job: Job, what: str, about: str, detail: str, rule: str) -> AuditRequest:
    return AuditRequest(0, job.workload.user or "nobody", SCHEDULER, what, about, detail, rule=rule)


def _listed(nodes: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(nodes)) or "its queue"
