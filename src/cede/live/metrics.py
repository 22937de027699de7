"""What a server counts and measures, for Prometheus."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass, replace

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from cede.engine.drive.job import Job
from cede.engine.drive.losses import lost_hours
from cede.engine.drive.rules import THRASHING
from cede.engine.drive.step import Step, Transition
from cede.model.lifecycle import FINAL, WAITING, Phase, Signal
from cede.model.times import SECOND

_QUICK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SLOW = (0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600)
_WAITS = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600)
_STATES = tuple(phase for phase in Phase if phase not in FINAL)


@dataclass(slots=True)
class _Known:
    """What was last seen of a workload under way."""

    phase: Phase
    queue: str
    waits: int | None
    began: int | None
    preempted: bool = False
    hinted: int | None = None
    reason: str = ""
    """The rule by which it was preempted."""


class Metrics:
    """Every series of one server; the controller calls `restore` once, then `observe` after every commit."""

    def __init__(self, version: str) -> None:
        self.registry = CollectorRegistry()
        self._known: dict[str, _Known] = {}
        self._preemptions = self._counter(
            "cede_preemptions_total", "Workloads sent away for another, by their queue and the rule", "queue", "reason"
        )
        self._checkpoints = self._histogram(
            "cede_preemption_checkpoint_duration_seconds", "From the hint to the finished checkpoint", _SLOW
        )
        self._requeued = self._counter("cede_preemption_victim_requeue_total", "Preempted workloads that queue again")
        self._no_checkpoint = self._counter(
            "cede_preemption_failed_checkpoint_total",
            "Preempted workloads that wrote no checkpoint though asked for one",
        )
        self._decisions = self._counter("cede_decisions_total", "Decisions carried out", "action")
        self._deciding = self._histogram("cede_decision_seconds", "How long one step of the scheduler took", _QUICK)
        self._committing = self._histogram("cede_store_commit_seconds", "How long one commit took", _QUICK)
        self._depth = Gauge("cede_queue_depth", "Workloads that wait", ["queue"], registry=self.registry)
        self._waits = self._histogram("cede_wait_seconds", "From waiting to the start", _WAITS, "queue")
        self._holds = Gauge("cede_holds", "Workloads whose room is held", registry=self.registry)
        self._workloads = Gauge("cede_workloads", "Workloads that have not ended", ["state"], registry=self.registry)
        self._held_back = Gauge(
            "cede_breaker_held_back", "Workloads whose evictions the breaker holds back", registry=self.registry
        )
        self._slowed = self._counter(
            "cede_slowed_total", "Times that backoff or breaker made a workload wait", "reason"
        )
        self._thrashing = self._counter("cede_thrashing_total", "Workloads preempted so often that they thrash")
        self._aside = Gauge("cede_set_aside", "Workloads set aside because a step failed", registry=self.registry)
        self._restarts = self._counter("cede_controller_restarts_total", "How often the scheduler's loop began anew")
        self._ended = self._counter("cede_ended_total", "Workloads that ended", "state")
        self._lost = self._counter("cede_lost_resource_hours_total", "Work thrown away by preemption", "resource")
        self._lost_gpus = self._counter(
            "cede_lost_gpu_hours_total",
            "GPU-hours thrown away by preemption, by the queue of the victim and the rule",
            "queue",
            "reason",
        )
        self._impaired = Gauge("cede_impaired", "Problems that health tells of", registry=self.registry)
        self._orphans = Gauge("cede_orphans", "Attempts that no record accounts for", registry=self.registry)
        self._repairs = Gauge(
            "cede_repaired_records", "Records that differed from what was found since the start", registry=self.registry
        )
        self._submissions = self._counter("cede_submissions_total", "Workloads submitted")
        self._starts = self._counter("cede_starts_total", "Attempts that began to run")
        build = Gauge("cede_build_info", "Always 1", ["version", "python"], registry=self.registry)
        build.labels(version, platform.python_version()).set(1)
        for state in _STATES:
            self._workloads.labels(state).set(0)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, text, labels, buckets=buckets, registry=self.registry)

    def compared(self, orphans: int, repaired: int) -> None:
        """What came of comparing the records with what runs."""
        self._orphans.set(orphans)
        self._repairs.set(repaired)

    def exposition(self, problems: int = 0) -> bytes:
        """All series in Prometheus' text format, with how many problems there are now."""
        self._impaired.set(problems)
        return generate_latest(self.registry)

    def set_aside(self, count: int) -> None:
        """How many workloads are set aside now."""
        self._aside.set(count)

    def held_back(self, count: int) -> None:
        """Of how many workloads the breaker holds evictions back now."""
        self._held_back.set(count)

    def restarted(self) -> None:
        """The scheduler's loop ended and was begun anew."""
        self._restarts.inc()

    def restore(self, jobs: Iterable[Job]) -> None:
        """Begin with these workloads, as after a restart; whatever was followed before is forgotten."""
        for name in list(self._known):
            self._forget(name)
        for job in jobs:
            if job.phase not in FINAL:
                self._enter(job)

    def observe(self, step: Step, seconds_deciding: float, seconds_committing: float) -> None:
        """Count what one committed step did."""
        self._deciding.observe(seconds_deciding)
        self._committing.observe(seconds_committing)
        for name, job in step.changed.items():
            if name not in self._known and self._is_new(job, step):
                self._submissions.inc()
                self._enter(job)
        self._count_decisions(step)
        for rule in step.slowed.values():
            self._slowed.labels(rule).inc()
        self._thrashing.inc(sum(transition.rule == THRASHING.id for transition in step.transitions))
        for transition in step.transitions:
            if (known := self._known.get(transition.name)) is not None:
                self._count(transition, known, step.changed[transition.name])
        for name, job in step.changed.items():
            self._update(name, job)

    @staticmethod
    def _is_new(job: Job, step: Step) -> bool:
        """A workload may be submitted and end within one step; one that ended before is never new."""
        return job.phase not in FINAL or job.workload.submitted == step.at

    def _count_decisions(self, step: Step) -> None:
        for made in step.decisions:
            self._decisions.labels(made.decision.action).inc()
            for victim in made.decision.victims:
                if victim.leaving:
                    continue
                known = self._known.get(victim.workload)
                reason = victim.rule or made.decision.rule
                if known is not None:
                    known.preempted, known.reason = True, reason
                queue = "" if known is None else known.queue
                self._preemptions.labels(queue, reason).inc()

    def _count(self, moved: Transition, known: _Known, job: Job) -> None:
        signal = moved.signal
        if signal == Signal.HINT:
            known.hinted = moved.at
        elif signal == "saved" and known.preempted and known.hinted is not None:
            self._checkpoints.observe((moved.at - known.hinted) / SECOND)
        elif signal == "withdraw":
            known.preempted = False
        elif signal == Signal.BEGAN:
            self._starts.inc()
            known.began, known.hinted = moved.at, None
        elif signal == Signal.CHECKPOINTED:
            known.hinted = None
        elif signal == Signal.EVICT and known.preempted and known.hinted is not None and not _saved(job):
            self._no_checkpoint.inc()
        if moved.after == moved.before:
            return
        if moved.after in WAITING:
            known.waits = moved.at
        elif moved.after == Phase.STARTING and known.waits is not None:
            self._waits.labels(known.queue).observe((moved.at - known.waits) / SECOND)
            known.waits = None
        if known.preempted and (moved.after in WAITING or moved.after in FINAL):
            self._count_departure(moved, known, job)

    def _count_departure(self, moved: Transition, known: _Known, job: Job) -> None:
        if moved.after in WAITING:
            self._requeued.inc()
        if moved.after != Phase.COMPLETED:
            for resource, hours in lost_hours(replace(job, began=known.began), moved.at).items():
                self._lost.labels(resource).inc(hours)
            if moved.lost_gpu_hours:
                self._lost_gpus.labels(known.queue, known.reason).inc(moved.lost_gpu_hours)
        known.preempted, known.hinted, known.began, known.reason = False, None, None, ""

    def _enter(self, job: Job) -> None:
        queue = job.workload.queue or ""
        waits = job.workload.submitted if job.attempt == 0 else job.since
        preempted = job.leaving is not None and job.leaving.cause == "preempt"
        hinted = None if job.leaving is None else job.leaving.hinted
        reason = job.leaving.rule if preempted and job.leaving is not None else ""
        known = _Known(job.phase, queue, waits if _waits(job.phase) else None, job.began, preempted, hinted, reason)
        self._known[job.name] = known
        self._tally(known, 1)

    def _update(self, name: str, job: Job) -> None:
        known = self._known.get(name)
        if known is None or known.phase == job.phase:
            return
        if job.phase in FINAL:
            self._forget(name)
            self._ended.labels(job.phase).inc()
            return
        self._tally(known, -1)
        known.phase = job.phase
        self._tally(known, 1)

    def _forget(self, name: str) -> None:
        self._tally(self._known.pop(name), -1)

    def _tally(self, known: _Known, by: int) -> None:
        if known.phase in FINAL:
            return
        self._workloads.labels(known.phase).inc(by)
        if known.phase == Phase.HELD:
            self._holds.inc(by)
        if _waits(known.phase):
            self._depth.labels(known.queue).inc(by)


def _saved(job: Job) -> bool:
    return job.leaving is not None and job.leaving.saved


def _waits(phase: Phase) -> bool:
    return phase in WAITING or phase == Phase.HELD
