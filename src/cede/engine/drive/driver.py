"""The driver: facts in, one step out. The same for virtual and for real time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cede.engine.drive import requests, rules, unrecorded
from cede.engine.drive.backoff import as_the_doctrine_sees, wait_is_over
from cede.engine.drive.deciding import decide, tell_why
from cede.engine.drive.exits import exited
from cede.engine.drive.facts import (
    AskCheckpoint,
    AskWhy,
    Began,
    Cancel,
    Checkpointed,
    CheckpointFailed,
    Deferral,
    Estimated,
    Exited,
    Fact,
    Heard,
    Occupied,
    PutNode,
    PutQueue,
    Restarted,
    Resume,
    SetAside,
    SetNode,
    SetTerms,
    Stuck,
    Submit,
    Suspend,
    Unrecorded,
)
from cede.engine.drive.holds import expired, look_again
from cede.engine.drive.job import Job, Leaving
from cede.engine.drive.job_table import JobTable, walltime_end
from cede.engine.drive.leaving import (
    checkpoint_failed,
    checkpoint_overdue,
    checkpointed,
    defer,
    in_force,
    kill,
    tell_to_go,
)
from cede.engine.drive.losses import Stake, assumed_age, at_stake
from cede.engine.drive.options import LIVE, DriverOptions
from cede.engine.drive.orders import Order
from cede.engine.drive.periodic_checkpoints import ask_for_what_is_worth
from cede.engine.drive.requests import RefusedError
from cede.engine.drive.restart_memory import Moment, kept_of, moment_of, recall, recall_driver
from cede.engine.drive.running_caps import settle
from cede.engine.drive.step import Refusal, Step
from cede.engine.events import NodeMarked, apply
from cede.model.cluster import ClusterFile
from cede.model.lifecycle import FINAL, PRESENT, WAITING, Phase, Signal
from cede.model.times import show_duration
from cede.state.state import State

Seen = Began | Heard | Checkpointed | CheckpointFailed | Deferral | Estimated | Stuck
"""What an executor or a broker may see of an attempt."""


def _first(one: int | None, other: int | None) -> int | None:
    """The earlier of the two."""
    return other if one is None or (other is not None and other < one) else one


Reasons = Mapping[str, tuple[int, str, str]]
"""Of workloads that wait, by name: the version of the record, the rule, and the sentence."""


class Driver:
    """A cluster under way. It asks no clock and does nothing itself; whoever calls `feed` carries out the orders."""

    def __init__(self, document: ClusterFile, now: int, ways: DriverOptions = LIVE) -> None:
        self._roll = JobTable(document, now, ways)
        self._wakes_at: int | None = now
        self._kept: Mapping[str, Any] = {}
        """What must outlive a restart, as it was told last."""

    @classmethod
    def restore(
        cls,
        document: ClusterFile,
        now: int,
        jobs: Iterable[Job],
        *,
        next_decision: int = 1,
        node_states: dict[str, str] | None = None,
        kept: Mapping[str, Any] | None = None,
        ways: DriverOptions = LIVE,
    ) -> Driver:
        """The driver that had these jobs under way when it was last heard of, and `kept` this in memory."""
        driver = cls(document, now, ways)
        roll = driver._roll
        recall_driver(roll, kept or {})
        for node, word in sorted((node_states or {}).items()):
            if node in roll.state.node_index:
                apply(roll.state, NodeMarked(node, word))
        under_way = sorted((job for job in jobs if job.phase not in FINAL), key=lambda job: job.name)
        for job in under_way:
            roll.jobs[job.name] = job
            roll.recount(job)
            if job.phase is Phase.HELD and not job.aside:
                roll.held[job.name] = job
        for job in under_way:
            driver._seat(job)
        roll.next_decision = next_decision
        driver._kept = kept or {}
        recall(roll, driver._kept)
        return driver

    def _seat(self, job: Job) -> None:
        """Put a job of the record back where it was in the columns."""
        roll = self._roll
        if (job.out_of_line and job.phase in WAITING) or (job.aside and job.phase not in PRESENT):
            roll.state.away.add(job.name)
            roll.watch(job)
            return
        if job.aside:
            roll.seat_aside(job)
            return
        roll.enter(job)
        if job.phase not in WAITING:
            roll.settle_in(job, held=job.phase is Phase.HELD)
            if job.started is not None:
                roll.state.begin(roll.state.work_index[job.name], job.started)
            if job.phase is not Phase.HELD:
                roll.runs_since(job, job.began)
                roll.mark(job)
        roll.watch(job)

    # -- questions ---------------------------------------------------------------------------------------------

    @property
    def jobs(self) -> dict[str, Job]:
        """Workloads under way, by name. To look at, not to change."""
        return self._roll.jobs

    @property
    def state(self) -> State:
        """The columns. To look at, not to change."""
        return self._roll.state

    @property
    def untold(self) -> bool:
        """Whether somebody waits of whom nobody said why since the last decision (`AskWhy`)."""
        return self._roll.untold and bool(self._roll.state.pending)

    def reasons(self) -> Reasons:
        """Why those wait that do, as they were told last."""
        waits = (job for job in self.jobs.values() if job.phase in WAITING)
        return {job.name: (job.version, job.rule, job.why) for job in waits}

    def snapshot(self, at: int | None = None) -> ClusterFile:
        """This moment as a cluster file; with a later time, nothing else having happened."""
        return self.moment(at)[0]

    def moment(self, at: int | None = None) -> Moment:
        """The same, and what the doctrine remembers that a file has no words for. Nobody is slowed down in it."""
        before = self._roll.state.now
        self._roll.state.now = before if at is None else max(at, before)
        try:
            document, kept = moment_of(self._roll)
        finally:
            self._roll.state.now = before
        return as_the_doctrine_sees(document, self.jobs.values()), kept

    def at_stake(self, name: str, now: int, age: int | None) -> Stake | None:
        """What the eviction of this workload would throw away now; the silent are charged as if they had saved what is
        the middle age of checkpoints here, or `age` where nobody published any. None if it is over."""
        job = self.jobs.get(name)
        if job is None:
            return None
        middle = assumed_age(self.jobs.values(), now)
        stake = at_stake(self.state, job, now, age if middle is None else middle)
        return replace(stake, saving=self._roll.checkpoint_times.of(job).words)

    def outstanding(self) -> list[Order]:
        """The orders in force, for an executor that may not have got them."""
        return [order for name in sorted(self.jobs) for order in in_force(self.jobs[name])]

    # -- what happens ------------------------------------------------------------------------------------------

    def feed(self, at: int, facts: Sequence[Fact]) -> Step:
        """Take in these facts, see whose time has come, decide; everything that follows, in one step.

        Time that stands still or goes back counts as the time of the last step.
        """
        roll = self._roll
        state, jobs, keeps = roll.state, roll.jobs, roll.ways.keeps
        before = roll.now
        if at < state.now:
            at = state.now
        roll.now = roll.when = state.now = at
        step = roll.step = Step(at)
        asks_why = False
        for number, fact in enumerate(facts):
            try:
                if type(fact) is Submit:
                    requests.submit(roll, fact)
                elif type(fact) is Exited:
                    job = jobs.get(fact.name)
                    if job is not None and job.attempt == fact.attempt and job.phase in PRESENT:
                        exited(roll, job, fact)
                elif type(fact) is AskWhy:
                    asks_why = True  # they are told when all is decided
                else:
                    self._take(fact)
            except RefusedError as error:
                step.refusals.append(Refusal(number, error.rule, str(error), error.unknown))
        if roll.agenda and roll.agenda[0][0] <= roll.now:
            for job in roll.due():
                self._look(job)
        if roll.found and roll.dirty:
            unrecorded.take_over(roll)
        if roll.recounted:
            settle(roll)
        if roll.found:
            unrecorded.keep_out(roll)
        wakes_at = self._wakes_at
        if roll.dirty or (wakes_at is not None and wakes_at <= roll.now):
            wakes_at = self._wakes_at = decide(roll)
            if step.refused:
                self._turn_away(facts)
            if keeps:
                self._keep()
        if asks_why and roll.untold:
            tell_why(roll)
        if keeps:
            state.write()  # whoever looks at the columns of a live server may do so from elsewhere
        if roll.agenda:
            wakes_at = _first(wakes_at, roll.next_due())
        if roll.ways.worth:
            wakes_at = _first(wakes_at, ask_for_what_is_worth(roll, before))
        step.wakes_at = wakes_at
        return step

    def _keep(self) -> None:
        """The step says what must outlive a restart, if that is not what was said before."""
        kept = kept_of(self._roll)
        if kept != self._kept:
            self._kept = self._roll.step.kept = kept

    def _turn_away(self, facts: Sequence[Fact]) -> None:
        """Workloads of this step that can never run are not taken in; those that are refused only for now wait.

        What work without a record fills may be why one of them finds no room, and that does not stay: then all wait.
        """
        roll = self._roll
        if roll.occupied or roll.found:
            return
        not_taken = {refusal.fact for refusal in roll.step.refusals}
        for number, fact in enumerate(facts):
            if not isinstance(fact, Submit) or number in not_taken:
                continue
            decision = roll.step.refused.get(fact.workload.name)
            if decision is None or decision.workload not in roll.jobs or roll.jobs[decision.workload].version:
                continue
            if decision.rule in roll.doctrine.traits.retries:
                continue
            job = roll.jobs.pop(decision.workload)
            roll.forget(job)
            roll.step.refusals.append(Refusal(number, decision.rule, decision.why))

    def _take(self, fact: Fact) -> None:
        roll = self._roll
        match fact:
            case Cancel():
                requests.cancel(roll, fact)
            case Suspend():
                requests.suspend(roll, fact)
            case Resume():
                requests.resume(roll, fact)
            case SetTerms():
                requests.set_terms(roll, fact)
            case AskCheckpoint():
                requests.checkpoint(roll, fact)
            case SetNode():
                requests.set_node(roll, fact)
            case PutNode():
                requests.put_node(roll, fact)
            case Occupied():
                requests.occupy(roll, fact)
            case Unrecorded():
                unrecorded.find(roll, fact)
            case PutQueue():
                requests.put_queue(roll, fact)
            case SetAside():
                requests.set_aside(roll, fact)
            case Restarted():
                unrecorded.vacate(roll)
                recall(roll, kept_of(roll))
                roll.dirty = True
                look_again(roll)
            case Began() | Heard() | Checkpointed() | CheckpointFailed() | Deferral() | Estimated() | Stuck():
                job = self.jobs.get(fact.name)
                if job is not None and job.attempt == fact.attempt and job.phase in PRESENT and not job.aside:
                    self._seen(job, fact)

    def _seen(self, job: Job, fact: Seen) -> None:
        """What an executor or a broker saw of the present attempt."""
        roll = self._roll
        match fact:
            case Began():
                if job.began is None:
                    at = roll.now if fact.at is None else min(roll.now, max(fact.at, job.workload.submitted or 0))
                    roll.when = at
                    roll.runs_since(job, at)
                    if job.started is not None:  # a record of a restored store may be younger than the attempt
                        job.started = min(job.started, at)
                    if job.phase is Phase.STARTING and job.leaving is None:
                        job.deadline = None
                        roll.began(job)
                    roll.when = roll.now
                    roll.touch(job)
                    roll.watch(job)
            case Heard():
                job.progress = fact.progress if fact.progress is not None else job.progress
                if job.leaving is not None and fact.hint == job.hint:
                    job.leaving.heard = roll.now
                roll.touch(job)
            case Stuck():
                why = rules.CANNOT_END.because(why=fact.why)
                if job.why != why:
                    roll.note(job, "stuck", rules.CANNOT_END, why=fact.why)
            case Estimated():
                roll.saved(job, None, fact.takes)
            case Checkpointed():
                checkpointed(roll, job, fact.hint, fact.leaves, fact.at)
            case CheckpointFailed():
                checkpoint_failed(roll, job, fact.hint, fact.why)
            case Deferral():
                if fact.hint == job.hint:
                    roll.step.granted[job.name] = defer(roll, job, fact.wanted)
                    roll.touch(job)

    def _look(self, job: Job) -> None:
        """The time of this workload has come."""
        roll = self._roll
        if job.aside:
            return
        end = walltime_end(job) if roll.ways.walltimes else None
        if end is not None and end <= roll.now:
            leaving = job.leaving or Leaving("walltime", "told")
            leaving.cause = "walltime"
            job.leaving = leaving
            tell_to_go(roll, job, signal=Signal.EXPIRE)
            return
        if job.deadline is None or job.deadline > roll.now:
            return
        if job.phase in WAITING:
            wait_is_over(roll, job)
        elif job.phase is Phase.HELD:
            expired(roll, job)
        elif job.phase is Phase.STARTING:
            if job.leaving is None:
                job.leaving = Leaving("start", "told", rule=rules.START_TIMEOUT.id)
                roll.note(job, "late", rules.START_TIMEOUT, limit=show_duration(job.terms.start_timeout))
            kill(roll, job)
        elif job.phase is Phase.CHECKPOINTING and (job.leaving is None or not job.leaving.saved):
            checkpoint_overdue(roll, job)
        elif job.phase is Phase.CHECKPOINTING:
            tell_to_go(roll, job)
        else:
            kill(roll, job)
