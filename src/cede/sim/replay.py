"""A trace through the driver that runs live, in virtual time: the next moment, its facts, one step, its orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import Exited, Fact, SetNode, Submit
from cede.engine.drive.step import Step
from cede.engine.drive.terms import Terms
from cede.engine.drive.ways import Backfill, Ways
from cede.model.cluster import ClusterFile
from cede.model.lifecycle import Phase
from cede.model.plan import Decision
from cede.sim.entries import Entries
from cede.sim.faults import Fault
from cede.sim.machine import Habits, Machine
from cede.sim.records import Records

Watch = Callable[[int, int, int], bool]
"""Told the time, how many jobs were submitted and how many ended; whether to go on."""

BETWEEN = 256
"""Steps from one look at the watch to the next."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How to replay; times in microseconds on the trace's clock."""

    backfill: Backfill = "off"
    until: int | None = None
    habits: Habits = field(default_factory=Habits)
    terms: Terms = field(default_factory=Terms)
    """Of every job; those that save their work answer when they are asked for a checkpoint."""
    faults: Sequence[Fault] = ()
    reasons: bool = False
    """Every plan is made whole, with all its reasons: slow, and the same in every table."""


class Replay:
    """One run. `now` is the time it has come to; `complete` is false if it was stopped before everything ended."""

    def __init__(
        self, document: ClusterFile, entries: Entries, records: Records, asked: Asked, origin: int | None
    ) -> None:
        self.records = records
        self.asked = asked
        self.origin = origin or 0
        self.machine = Machine(records, asked.habits)
        self.begin = min([*records.submitted[:1], *(fault.at for fault in asked.faults[:1])], default=0)
        if asked.until is not None:
            self.begin = min(self.begin, asked.until)
        self.now = self.begin
        self.complete = False
        self.events = self.plans = 0
        self.problems: list[str] = []
        ways = Ways(
            reasons=asked.reasons,
            at_once=not asked.habits.start_delay,
            walltimes=False,
            instants=origin is not None,
            backfill=asked.backfill,
            moments=self._wants_moment,
        )
        self.driver = Driver(document, self.begin + self.origin, ways)
        self._entries = entries
        self._next = self._fault = 0
        self._total = len(records.names)
        self._wakes_at: int | None = None

    def run(self, watch: Watch | None = None) -> None:
        """To the end of everything, to the time asked for, or until the watch says stop."""
        steps = 0
        records, machine = self.records, self.machine
        until = self.asked.until
        while True:
            at = self._next_moment()
            if at is None:
                self.complete = True
                break
            if until is not None and at > until:
                self.now = until
                break
            self._step(at)
            steps += 1
            if watch is not None and steps % BETWEEN == 0 and not watch(self.now, self._next, records.finished):
                break
        records.close(machine.attempts, self.now)

    def _next_moment(self) -> int | None:
        """When something happens next; what the driver would only look at again does not keep a run going."""
        records, faults = self.records, self.asked.faults
        agenda = self.machine.agenda
        at = agenda[0][0] if agenda else None
        if self._next < self._total:
            arrives = records.submitted[self._next]
            at = arrives if at is None or arrives < at else at
        if not faults and self._wakes_at is None:
            return at
        if self._fault < len(faults) and (at is not None or len(self.driver.jobs)):
            at = faults[self._fault].at if at is None else min(at, faults[self._fault].at)
        wakes = self._wakes_at
        if wakes is not None and (at is None or wakes - self.origin < at) and (at is not None or self.driver.jobs):
            at = max(self.now, wakes - self.origin)
        return at

    def _step(self, at: int) -> None:
        self.now = at
        machine, records = self.machine, self.records
        facts: list[Fact] = machine.due(at) if machine.agenda and machine.agenda[0][0] <= at else []
        if self.asked.faults:
            self._faults_of(at, facts)
        first = len(facts)
        submitted = records.submitted
        begin = number = self._next
        total = self._total
        while number < total and submitted[number] <= at:
            facts.append(Submit(self._entries.entry(number), self._entries.terms(number)))
            number += 1
        self._next = number
        self.events += len(facts)
        step = self.driver.feed(at + self.origin, facts)
        self._wakes_at = step.wakes_at
        self.plans += step.plans
        if step.problems:
            self.problems.extend(step.problems)
        for refusal in step.refusals:
            if refusal.fact >= first:
                records.over(begin + refusal.fact - first, at, "refused", refusal.rule, refusal.why)
        if step.decisions:
            self._decided(step, at)
        if records.holding:
            self._holds_lost(step, at)
        if step.orders:
            machine.obey(step.orders, at)
        if first:
            machine.settle(at)
            self._ended(facts, first, step, at)

    def _decided(self, step: Step, at: int) -> None:
        for made in step.decisions:
            if made.decision.victims:
                self.records.decided(made, at)
                if made.cluster is not None:
                    self.records.moments[made.number] = self._entries.moment(made.cluster, self.machine.attempts, at)

    def _holds_lost(self, step: Step, at: int) -> None:
        records = self.records
        for name in step.changed.keys() & {records.names[job] for job in records.holding}:
            job = self.driver.jobs.get(name)
            if job is None or job.phase not in (Phase.HELD, Phase.STARTING, Phase.RUNNING):
                records.hold_lost(records.index[name], at)

    def _ended(self, facts: Sequence[Fact], first: int, step: Step, at: int) -> None:
        """Of those that left, some do not come back."""
        for fact in facts[:first]:
            if type(fact) is Exited and (fact.told or fact.lost) and fact.name not in self.driver.jobs:
                job = step.changed[fact.name]
                self.records.over(self.records.index[fact.name], at, str(job.phase), job.rule, job.why)

    def _faults_of(self, at: int, facts: list[Fact]) -> None:
        faults = self.asked.faults
        while self._fault < len(faults) and faults[self._fault].at <= at:
            fault = faults[self._fault]
            self._fault += 1
            facts.append(SetNode(fault.node, fault.state, "the fault file", fault.evict))
            self.records.node_is(fault.node, fault.state, at)
            if fault.state == "down":
                standing = (job for job in self.driver.jobs.values() if fault.node in job.nodes)
                self.machine.lose([self.records.index[job.name] for job in standing])

    def _wants_moment(self, decision: Decision) -> bool:
        return self.records.wants(decision, self.machine.attempts, self.now)
