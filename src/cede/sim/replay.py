"""A trace through the driver that runs live, in virtual time: the next moment, its facts, one step, its orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from cede.doctrines.catalog import doctrine_of
from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import Fact, SetNode, Submit
from cede.engine.drive.options import Backfill, DriverOptions
from cede.engine.drive.step import Step
from cede.model.cluster import ClusterFile
from cede.model.garbage import collecting_garbage_seldom
from cede.model.lifecycle import Phase
from cede.model.plan import Decision
from cede.sim.entries import Entries
from cede.sim.initial_workloads import InitialWorkloads, on_clock
from cede.sim.machine import Machine
from cede.sim.options import ReplayOptions
from cede.sim.records import Records

Watch = Callable[[int, int, int], bool]
"""Told the time, how many jobs were submitted and how many ended; whether to go on."""

BETWEEN = 256
"""Steps from one look at the watch to the next."""


class Replay:
    """One run. `now` is the time it has come to; `complete` is false if it was stopped before everything ended."""

    def __init__(
        self,
        document: ClusterFile,
        entries: Entries,
        records: Records,
        options: ReplayOptions,
        backfill: Backfill,
        begin: int,
        there: Sequence[InitialWorkloads] = (),
    ) -> None:
        origin = records.trace.origin
        self.records = records
        self.options = options
        self.origin = origin or 0
        self.machine = Machine(records, options.habits)
        self.now = self.begin = begin
        self.complete = False
        self.events = self.plans = 0
        self.problems: list[str] = []
        self.slowed: Counter[str] = Counter()
        """How often backoff and breaker acted, or would have, by rule."""
        ways = DriverOptions(
            reasons=options.reasons,
            words=options.reasons,
            at_once=not options.habits.start_delay,
            walltimes=False,
            instants=origin is not None,
            backfill=backfill,
            moments=self._wants_moment,
            slows=options.breaker,
            keeps=False,
        )
        self._entries = entries
        self._saves = doctrine_of(document.doctrine).traits.reads_checkpoints and any(records.checkpoint_interval)
        self.machine.tells_saves = self._saves
        self._there = len(there)
        now = self.begin + self.origin
        running = [(job, one) for job, one in enumerate(there) if one.started is not None]
        self.driver = Driver.restore(
            on_clock(document, now - int(document.now), instants=origin is not None),
            now,
            [one.record(entries.entry(job), entries.terms(job), self.origin) for job, one in running],
            ways=ways,
        )
        for job, one in running:
            assert one.started is not None, "it runs"
            self.machine.find(job, one.started, one.kept)
        self._next = len(running)
        self._fault = 0
        self._total = len(records.names)
        self._wakes_at: int | None = None

    def run(self, watch: Watch | None = None) -> None:
        """To the end of everything, to the time asked for, or until the watch says stop."""
        steps = 0
        until = self.options.until
        with collecting_garbage_seldom():
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
                if watch is not None and steps % BETWEEN == 0 and not self._goes_on(watch):
                    break
        self.records.close(self.machine.attempts, self.now)

    def _goes_on(self, watch: Watch) -> bool:
        """Whether the watch says so. The watch counts the jobs of the trace, not those of the cluster file."""
        counts = self.records.submitted_before(self._next), self.records.finished
        submitted, finished = (max(0, count - self._there) for count in counts)
        return watch(self.now, submitted, finished)

    def _next_moment(self) -> int | None:
        """When something happens next; what the driver would only look at again does not keep a run going."""
        records, faults = self.records, self.options.faults
        agenda = self.machine.agenda
        at = agenda[0][0] if agenda else None
        if self._next < self._total:
            arrives = max(self.now, records.submitted[self._next])
            at = arrives if at is None or arrives < at else at
        if not faults and self._wakes_at is None:
            return at
        if self._fault < len(faults) and (at is not None or len(self.driver.jobs)):
            fails = max(self.now, faults[self._fault].at)
            at = fails if at is None else min(at, fails)
        wakes = self._wakes_at
        if wakes is not None and (at is None or wakes - self.origin < at) and (at is not None or self.driver.jobs):
            at = max(self.now, wakes - self.origin)
        return at

    def _step(self, at: int) -> None:
        self.now = at
        machine, records = self.machine, self.records
        agenda = machine.agenda
        facts: list[Fact] = machine.due(at) if agenda and agenda[0][0] <= at else []
        if self._saves:
            facts += machine.saves(at)
        if self.options.faults:
            self._faults_of(at, facts)
        first = len(facts)
        begin = self._next
        if begin < self._total and records.submitted[begin] <= at:
            self._submit(at, facts)
        self.events += len(facts)
        step = self.driver.feed(at + self.origin, facts)
        self._wakes_at = step.wakes_at
        self.plans += step.plans
        if step.slowed:
            self.slowed.update(step.slowed.values())
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
        if machine.written:
            machine.settle(at)
        if machine.departed:
            self._ended(step, at)

    def _submit(self, at: int, facts: list[Fact]) -> None:
        submitted, entries = self.records.submitted, self._entries
        number = self._next
        while number < self._total and submitted[number] <= at:
            facts.append(Submit(entries.entry(number), entries.terms(number)))
            number += 1
        self._next = number

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

    def _ended(self, step: Step, at: int) -> None:
        """Of those that left, some do not come back."""
        for name in self.machine.departed:
            if name not in self.driver.jobs:
                job = step.changed[name]
                self.records.over(self.records.index[name], at, str(job.phase), job.rule, job.why)
        self.machine.departed.clear()

    def _faults_of(self, at: int, facts: list[Fact]) -> None:
        faults = self.options.faults
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
