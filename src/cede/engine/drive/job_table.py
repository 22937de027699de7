"""The workloads under way, the columns that follow them, and the step that records what moved."""

from __future__ import annotations

import heapq
from typing import Any

from cede.doctrines.catalog import doctrine_of
from cede.doctrines.parts.cost import assumed_by
from cede.doctrines.parts.doctrine import Cycle, Doctrine
from cede.engine.cycle import choice_of, wordless
from cede.engine.drive import rules
from cede.engine.drive.breaker import Breaker
from cede.engine.drive.caps import Tally
from cede.engine.drive.checkpoint_times import CheckpointTimes, saves
from cede.engine.drive.facts import Occupied, Unrecorded
from cede.engine.drive.job import Job
from cede.engine.drive.options import LIVE, DriverOptions
from cede.engine.drive.orders import Order
from cede.engine.drive.step import Made, Step, Transition
from cede.engine.events import Ended, Entered, Event, Marked, Requeued, Saved, apply
from cede.model.cluster import Checkpoint, ClusterFile, Workload
from cede.model.lifecycle import BEGAN, FINAL, HELD, SUSPENDED, TABLE, Phase, Signal, after
from cede.model.rules import Rule
from cede.model.times import Instant
from cede.state.admission import admitted_parts
from cede.state.build import build
from cede.state.columns import RESERVED, RUNNING, STATES
from cede.state.entry_cache import EntryCache
from cede.state.state import State
from cede.state.trial import Trial

_NOT_ASIDE = ("priority", "job_priority", "walltime", "checkpoint", "constraints", "preempts", "sensitive", "placement")
"""Keys of an entry that say nothing of how much room it takes, nor whose room that is."""
TOLD = frozenset({Phase.FAILED, Phase.CANCELLED, Phase.PREEMPTED})
"""Ends that are told with their reason even where nobody asks why."""


class JobTable:
    """Jobs by name and the state they stand for. Every change goes through here, so that the two never differ."""

    def __init__(self, document: ClusterFile, now: int, ways: DriverOptions = LIVE) -> None:
        self.ways = ways
        self.reasons = ways.reasons
        self.doctrine: Doctrine = doctrine_of(document.doctrine)
        bare = document.model_copy(update={"workloads": [], "now": Instant(now) if ways.instants else now})
        self.state: State = build(bare)
        self.now = self.when = now
        """The time of the step; and the time of what is being told: of what is told late, when it was."""
        self.edition = choice_of(self.state).edition
        self.for_claimants = self.edition in self.doctrine.traits.for_claimants
        self.transactional = self.edition in self.doctrine.traits.transactional
        """Whether a plan is one transaction."""
        self.awaits_start = self.edition in self.doctrine.traits.awaits_start
        self.nodes = {node.name: node for node in bare.nodes}
        self.occupied: dict[str, Occupied] = {}
        """By node, what work without a record fills of it."""
        self.found: dict[str, Unrecorded] = {}
        """By workload, the attempt of it that runs and that its record does not know."""
        self.memory: dict[str, Any] = {}
        self.cycle: Cycle | None = None
        """In which what acts is decided, wherever the edition does so without words."""
        if not ways.words:
            trial = Trial(self.state)
            self.cycle = wordless(trial, self.doctrine, self.memory, ways.backfill, reasons=ways.reasons)
        self.entries = EntryCache()
        self.checkpoint_times = CheckpointTimes(assumed_by(self.state.static.doctrine))
        self.breaker = Breaker(ways.breaker)
        self.jobs: dict[str, Job] = {}
        self.held: dict[str, Job] = {}
        self._tally: Tally | None = None
        self.owned: dict[tuple[str, str], set[str]] = {}
        """By owner, the workloads under a cap on how many may run; `recounted`: the owners whose workloads changed."""
        self.recounted: set[tuple[str, str]] = set()
        self.next_decision = 1
        self.verified = 0
        self.dirty = True
        self.untold = False
        """Something was decided since those that wait were told why."""
        self.decided_at = now
        self.step = Step(now)
        self.agenda: list[tuple[int, str]] = []

    @property
    def tally(self) -> Tally:
        """What each owner has under way; counted from the first time that somebody asks."""
        if self._tally is None:
            self._tally = Tally(self.jobs.values())
        return self._tally

    def count(self, job: Job, before: Phase | None, after: Phase | None) -> None:
        """The tally knows how this workload moved, where one is kept."""
        if self._tally is not None:
            self._tally.moved(job, before, after)

    # -- records -----------------------------------------------------------------------------------------------

    def move(self, job: Job, signal: Signal, rule: Rule | None = None, /, **facts: object) -> None:
        """The workload goes on to its next phase; the step says why."""
        before = job.phase
        phase = job.phase = TABLE.get((before, signal)) or after(before, signal)
        job.since = self.when
        job.version += 1
        if before is HELD:
            self.held.pop(job.name, None)
        elif phase is HELD:
            self.held[job.name] = job
        if self._tally is not None:
            self._tally.moved(job, before, phase)
        if self.reasons or phase in TOLD:
            self._say(job, rule, facts)
            self.tell(job, signal, job.rule, job.why, before=before)
        else:
            self.step.changed[job.name] = job

    def began(self, job: Job) -> None:
        """Its processes run."""
        if self.reasons:
            self.move(job, BEGAN, rules.BEGAN, nodes=", ".join(sorted(set(job.nodes))) or "this cluster")
        else:
            self.move(job, BEGAN)

    def note(self, job: Job, signal: str, rule: Rule, /, **facts: object) -> None:
        """Something happened to the workload that is worth telling, though it stays in its phase."""
        if self.reasons:
            self._say(job, rule, facts)
            self.tell(job, signal, job.rule, job.why, before=job.phase)
        else:
            self.step.changed[job.name] = job

    def _say(self, job: Job, rule: Rule | None, facts: dict[str, object]) -> None:
        if rule is not None:
            job.rule, job.why = rule.id, rule.because(**facts)

    def tell(self, job: Job, signal: Signal | str, rule: str, why: str, *, before: Phase | None) -> None:
        """Record a transition with a reason already in words."""
        leaving = job.leaving
        self.step.transitions.append(
            Transition(
                at=self.when,
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
        if job.terms.running:
            self.recount(job)

    def recount(self, job: Job) -> None:
        """It is to be seen whether its owners have more running, or fewer."""
        for cap in job.terms.running:
            owner = cap.owner, (job.workload.user if cap.owner == "user" else job.workload.project) or ""
            self.owned.setdefault(owner, set()).add(job.name)
            self.recounted.add(owner)

    def released(self, job: Job) -> None:
        """It gives its nodes back, or what was held for it there."""
        if self.reasons:
            self.step.released[job.name] = job.nodes

    def order(self, order: Order) -> None:
        self.step.orders.append(order)

    def made(self, made: Made) -> None:
        self.step.decisions.append(made)

    # -- time --------------------------------------------------------------------------------------------------

    def due_at(self, job: Job, deadline: int | None) -> None:
        """When this workload must be looked at again; none: only when something happens to it."""
        if deadline is None and job.deadline is None and not self.reasons:
            return
        job.deadline = deadline
        self.touch(job)
        self.watch(job)

    def watch(self, job: Job) -> None:
        """Put its next times on the agenda."""
        if job.aside:
            return
        if job.deadline is not None:
            heapq.heappush(self.agenda, (job.deadline, job.name))
        if self.ways.walltimes and (end := walltime_end(job)) is not None:
            heapq.heappush(self.agenda, (end, job.name))

    def due(self) -> list[Job]:
        """Workloads whose time has come, in order; some may have nothing to do any more."""
        found: dict[str, Job] = {}
        while self.agenda and self.agenda[0][0] <= self.now:
            name = heapq.heappop(self.agenda)[1]
            job = self.jobs.get(name)
            if job is not None:
                found[name] = job
        return list(found.values())

    def next_due(self) -> int | None:
        while self.agenda:
            at, name = self.agenda[0]
            job = self.jobs.get(name)
            if job is not None and at in (job.deadline, walltime_end(job)):
                return at
            heapq.heappop(self.agenda)
        return None

    # -- columns -----------------------------------------------------------------------------------------------

    def enter(self, job: Job) -> None:
        """A workload waits for room from now on."""
        state = self.state
        if state.away:
            state.away.discard(job.name)
        state.submit(self._as_entered(job))
        self.dirty = True

    def _as_entered(self, job: Job) -> Workload:
        if job.workload.checkpoint is None or not saves(job):
            return as_entered(job, None)
        self.checkpoint_times.follow(job)
        return as_entered(job, self.checkpoint_times.of(job).takes)

    def enter_again(self, job: Job) -> None:
        """A workload that waits is entered as it is now."""
        row = self.state.work_index.get(job.name)
        if row is not None:
            self.state.forget(row)
        self.enter(job)

    def settle_in(self, job: Job, *, held: bool) -> None:
        """A waiting workload takes the room its record names, or has it held."""
        state = self.state
        row = state.work_index[job.name]
        places = tuple([state.node_index[node] for node in job.nodes])
        self.dirty = True
        if held or state.static.flavored_quota:
            parts = admitted_parts(state, row, job.flavors, job.counts) if state.static.flavored_quota else None
            state.start(row, places, state=RESERVED if held else RUNNING, parts=parts)
        else:
            state.start(row, places)
        state.protect(row, preemptible=not held and job.workload.preemptible)
        if not held and self.awaits_start:
            state.begin(row, None)

    def seat_aside(self, job: Job) -> None:
        """Its room is full, and that is all the columns know of a workload that is set aside."""
        bare = {key: Workload.model_fields[key].default for key in _NOT_ASIDE}
        entry = job.workload.model_copy(update=bare | {"preemptible": False, "state": "pending"})
        self._seat(job, entry)

    def reseat(self, job: Job) -> None:
        """The columns know all of this workload again, which has its room."""
        self._seat(job, self._as_entered(job))
        self.mark(job)
        self.watch(job)

    def _seat(self, job: Job, entry: Workload) -> None:
        row = self.state.work_index.get(job.name)
        if row is not None:
            self.state.forget(row)
        self.state.submit(entry)
        self.settle_in(job, held=False)
        row = self.state.work_index[job.name]
        self.state.protect(row, preemptible=entry.preemptible)
        if job.started is not None:
            self.state.begin(row, job.started)

    def take_hold(self, job: Job) -> None:
        """A workload enters the room that was held for it."""
        self._apply(Entered(job.name))
        if self.awaits_start:
            self.state.begin(self.state.work_index[job.name], None)
        self._guard(job)

    def runs_since(self, job: Job, at: int | None) -> None:
        """Its processes are there since this time; none: not yet."""
        job.began = at
        if self.awaits_start:
            self.state.begin(self.state.work_index[job.name], at)
            self.dirty = True

    def mark(self, job: Job) -> None:
        """The columns show the phase of a workload that has its room."""
        if job.phase is Phase.RUNNING and job.leaving is None and self._runs(job):
            return
        word = word_of(self, job)
        if STATES[self.state.code_of(self.state.work_index[job.name])] != word:
            self._apply(Marked(job.name, word))

    def _runs(self, job: Job) -> bool:
        return self.state.code_of(self.state.work_index[job.name]) == RUNNING

    def saved(self, job: Job, at: int | None, takes: int | None = None) -> None:
        """The workload has a usable checkpoint of this time, or it is known how long one takes."""
        job.checkpoint = job.checkpoint if at is None else at
        others: list[Job] = []
        if takes is not None:
            job.takes = takes
            others = self.checkpoint_times.measure(job, takes)
        self.touch(job)
        self._expect(job, at)
        for other in others:
            self._expect(other)

    def _expect(self, job: Job, at: int | None = None) -> None:
        """The columns know how long it is expected to take to save its work, and when it last did."""
        if job.name in self.state.work_index:
            self._apply(Saved(job.name, at, self.checkpoint_times.of(job).takes))

    def leave(self, job: Job, *, preempted: bool) -> None:
        """The workload's room is free, and it waits again, unless it ended or is to stay out of the line for now."""
        state, name = self.state, job.name
        over = job.phase in FINAL
        row = state.work_index.get(name)
        if over:
            if job.workload.checkpoint is not None:
                self.checkpoint_times.forget(job)
            if state.away:
                state.away.discard(name)
            if row is not None:
                state.forget(row)
                self.dirty = True
                self.jobs.pop(name, None)
        elif row is None:
            return
        elif job.out_of_line:
            state.forget(row)
            state.away.add(name)
            self.dirty = True
        else:
            self._apply(Requeued(name, preempted, job.phase is SUSPENDED))
            self._guard(job)

    def _guard(self, job: Job) -> None:
        """Nobody takes room away that is held: no doctrine may choose a claimant whose victims leave as a victim."""
        row = self.state.work_index[job.name]
        self.state.protect(row, preemptible=job.workload.preemptible and job.phase is not Phase.HELD)

    def forget(self, job: Job) -> None:
        """A workload of this step was not taken in after all: no word of it stays."""
        self.count(job, job.phase, None)
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


def as_entered(job: Job, takes: int | None) -> Workload:
    """The entry of a workload that waits, as the columns take it, if it is expected to save its work in this time."""
    entry = job.workload
    if job.evicts_after is not None:
        entry = entry.like(preempts=False)
    values = entry.__dict__
    same = takes is None or (values["checkpoint"] is not None and values["checkpoint"].time == takes)
    suspended = job.phase is SUSPENDED
    if not suspended and job.checkpoint is None and same and values["state"] == "pending":
        return entry if values["preempted"] == job.preempted else entry.like(preempted=job.preempted)
    asked = entry.checkpoint or Checkpoint()
    known = {"last": job.checkpoint, "time": takes}
    checkpoint = asked.model_copy(update={key: value for key, value in known.items() if value is not None})
    word = "suspended" if suspended else "pending"
    return entry.model_copy(update={"state": word, "preempted": job.preempted, "checkpoint": checkpoint})


def word_of(roll: JobTable, job: Job) -> str:
    """The contract's word for a workload that has its room.

    `preempting` overlaps with what is reserved, so only those are called so that make way for a hold, or for nobody
    under a doctrine that waives what they use; whoever leaves for another reason fills its room until it has left.
    """
    if job.phase is Phase.HELD:
        return "reserved"
    if makes_way(roll, job) or is_waived(roll, job):
        return "preempting"
    if job.phase in (Phase.STARTING, Phase.RUNNING):
        return "running"
    # One that goes on afterwards: saving must not keep others from its room.
    return "running" if job.phase is Phase.CHECKPOINTING and job.leaving is None else "checkpointing"


def makes_way(roll: JobTable, job: Job) -> bool:
    """Whether somebody's hold waits for it; a claimant may have lost one hold and have another elsewhere."""
    claimant = None if job.leaving is None else job.leaving.claimant
    held = None if claimant is None else roll.held.get(claimant)
    return held is not None and job.name in held.waits_for


def is_waived(roll: JobTable, job: Job) -> bool:
    """Whether a decision that serves nobody sent it away, and the doctrine counts on it no more."""
    leaving = job.leaving
    return (
        roll.doctrine.traits.waived
        and leaving is not None
        and leaving.claimant is None
        and leaving.decision is not None
    )
