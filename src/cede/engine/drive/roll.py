"""The workloads under way, the columns that follow them, and the step that records what moved."""

from __future__ import annotations

import heapq
from typing import Any

from cede.doctrines.parts.doctrine import Doctrine
from cede.engine.catalog import check_selection, doctrine_of
from cede.engine.drive.job import Job
from cede.engine.drive.orders import Order
from cede.engine.drive.step import Made, Step, Transition
from cede.engine.events import Ended, Entered, Event, Marked, Requeued, Saved, Started, Submitted, apply
from cede.model.cluster import Checkpoint, ClusterFile, Workload
from cede.model.lifecycle import FINAL, WAITING, Phase, Signal, after
from cede.model.rules import Rule
from cede.model.times import Instant
from cede.state.build import build
from cede.state.columns import STATES
from cede.state.state import State


class Roll:
    """Jobs by name and the state they stand for. Every change goes through here, so that the two never differ."""

    def __init__(self, document: ClusterFile, now: int) -> None:
        self.doctrine: Doctrine = doctrine_of(document.doctrine)
        check_selection(document.selection)
        bare = document.model_copy(update={"workloads": [], "now": Instant(now)})
        self.state: State = build(bare)
        self.memory: dict[str, Any] = {}
        self.jobs: dict[str, Job] = {}
        self.held: dict[str, Job] = {}
        self.next_decision = 1
        self.dirty = True
        self.step = Step(now)
        self._agenda: list[tuple[int, str]] = []

    @property
    def now(self) -> int:
        return self.step.at

    # -- records -----------------------------------------------------------------------------------------------

    def move(self, job: Job, signal: Signal, rule: Rule | None = None, /, **facts: object) -> None:
        """The workload goes on to its next phase; the step says why."""
        before = job.phase
        job.phase = after(before, signal)
        job.since = self.now
        job.version += 1
        if job.phase is not Phase.HELD:
            self.held.pop(job.name, None)
        else:
            self.held[job.name] = job
        self._say(job, rule, facts)
        self.tell(job, signal, job.rule, job.why, before=before)

    def note(self, job: Job, signal: str, rule: Rule, /, **facts: object) -> None:
        """Something happened to the workload that is worth telling, though it stays in its phase."""
        self._say(job, rule, facts)
        self.tell(job, signal, job.rule, job.why, before=job.phase)

    def _say(self, job: Job, rule: Rule | None, facts: dict[str, object]) -> None:
        if rule is not None:
            job.rule, job.why = rule.id, rule.because(**facts)

    def tell(self, job: Job, signal: Signal | str, rule: str, why: str, *, before: Phase | None) -> None:
        """Record a transition with a reason already in words."""
        leaving = job.leaving
        self.step.transitions.append(
            Transition(
                at=self.now,
                name=job.name,
                attempt=job.attempt,
                signal=signal,
                before=before,
                after=job.phase,
                rule=rule,
                why=why,
                decision=job.decision if leaving is None else leaving.decision,
                claimant=None if leaving is None else leaving.claimant,
                by="" if leaving is None else leaving.by,
            )
        )
        self.touch(job)

    def touch(self, job: Job) -> None:
        """The workload's record changed and must be stored."""
        self.step.changed[job.name] = job

    def order(self, order: Order) -> None:
        self.step.orders.append(order)

    def made(self, number: int, made: Made) -> None:
        self.step.decisions.append(made)
        self.next_decision = number + 1

    # -- time --------------------------------------------------------------------------------------------------

    def due_at(self, job: Job, deadline: int | None) -> None:
        """When this workload must be looked at again; none: only when something happens to it."""
        job.deadline = deadline
        self.touch(job)
        self.watch(job)

    def watch(self, job: Job) -> None:
        """Put its next times on the agenda."""
        for at in (job.deadline, walltime_end(job)):
            if at is not None:
                heapq.heappush(self._agenda, (at, job.name))

    def due(self) -> list[Job]:
        """Workloads whose time has come, in order; some may have nothing to do any more."""
        found: dict[str, Job] = {}
        while self._agenda and self._agenda[0][0] <= self.now:
            name = heapq.heappop(self._agenda)[1]
            job = self.jobs.get(name)
            if job is not None:
                found[name] = job
        return list(found.values())

    def next_due(self) -> int | None:
        while self._agenda:
            at, name = self._agenda[0]
            job = self.jobs.get(name)
            if job is not None and at in (job.deadline, walltime_end(job)):
                return at
            heapq.heappop(self._agenda)
        return None

    # -- columns -----------------------------------------------------------------------------------------------

    def enter(self, job: Job) -> None:
        """A workload waits for room from now on."""
        self._apply(Submitted(as_entered(job)))

    def settle_in(self, job: Job, *, held: bool) -> None:
        """A waiting workload takes the room its record names, or has it held."""
        self._apply(Started(job.name, job.nodes, job.flavors, job.counts, held))
        self._guard(job)

    def take_hold(self, job: Job) -> None:
        """A workload enters the room that was held for it."""
        self._apply(Entered(job.name))
        self._guard(job)

    def mark(self, job: Job) -> None:
        """The columns show the phase of a workload that has its room."""
        word = word_of(self, job)
        if STATES[self.state.work.state[self.state.work_index[job.name]]] != word:
            self._apply(Marked(job.name, word))

    def saved(self, job: Job, at: int | None, takes: int | None = None) -> None:
        """The workload has a usable checkpoint of this time, or it is known how long one takes."""
        job.checkpoint = job.checkpoint if at is None else at
        job.takes = job.takes if takes is None else takes
        self.touch(job)
        if job.name in self.state.work_index:
            self._apply(Saved(job.name, at, takes))

    def leave(self, job: Job, *, preempted: bool) -> None:
        """The workload's room is free, and it waits again, unless it ended or somebody parked it."""
        if job.name not in self.state.work_index:
            return
        if job.phase in WAITING and not job.parked:
            self._apply(Requeued(job.name, preempted, job.phase is Phase.SUSPENDED))
            self._guard(job)
        else:
            self._apply(Ended(job.name))
        if job.phase in FINAL:
            self.jobs.pop(job.name, None)

    def _guard(self, job: Job) -> None:
        """Nobody takes room away that is held: no doctrine may choose a claimant whose victims leave as a victim."""
        row = self.state.work_index[job.name]
        self.state.work.preemptible[row] = job.workload.preemptible and job.phase is not Phase.HELD

    def forget(self, job: Job) -> None:
        """A workload of this step was not taken in after all: no word of it stays."""
        self._apply(Ended(job.name))
        self.step.changed.pop(job.name, None)
        self.step.transitions = [told for told in self.step.transitions if told.name != job.name]

    def _apply(self, event: Event) -> None:
        apply(self.state, event)
        self.dirty = True


def walltime_end(job: Job) -> int | None:
    """When the attempt's walltime is over, of one that was not told to go before."""
    if job.began is None or job.workload.walltime is None or job.phase not in (Phase.RUNNING, Phase.CHECKPOINTING):
        return None
    return job.began + job.workload.walltime


def as_entered(job: Job) -> Workload:
    """The entry of a workload that waits, as the columns take it."""
    entry = job.workload
    asked = entry.checkpoint or Checkpoint()
    known = {"last": job.checkpoint, "time": job.takes}
    checkpoint = asked.model_copy(update={key: value for key, value in known.items() if value is not None})
    word = "suspended" if job.phase is Phase.SUSPENDED else "pending"
    return entry.model_copy(update={"state": word, "preempted": job.preempted, "checkpoint": checkpoint})


def word_of(roll: Roll, job: Job) -> str:
    """The contract's word for a workload that has its room.

    `preempting` overlaps with what is reserved, so only those are called so that make way for a hold; whoever leaves
    for another reason fills its room until it has left.
    """
    if job.phase is Phase.HELD:
        return "reserved"
    if job.phase in (Phase.STARTING, Phase.RUNNING):
        return "running"
    if job.phase is Phase.CHECKPOINTING and job.leaving is None:
        return "running"  # it goes on afterwards: saving must not keep others from its room
    return "preempting" if makes_way(roll, job) else "checkpointing"


def makes_way(roll: Roll, job: Job) -> bool:
    """Whether somebody's hold waits for it; a claimant may have lost one hold and have another elsewhere."""
    claimant = None if job.leaving is None else job.leaving.claimant
    held = None if claimant is None else roll.held.get(claimant)
    return held is not None and job.name in held.waits_for
