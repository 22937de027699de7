"""The preemption sequence: asked for a checkpoint, given time, told to go, killed."""

from __future__ import annotations

from collections.abc import Iterator

from cede.engine.drive import rules
from cede.engine.drive.checkpoint_times import saves
from cede.engine.drive.job import Job, Leaving
from cede.engine.drive.job_table import JobTable
from cede.engine.drive.orders import Hint, Kill, Launch, Order, Terminate
from cede.model.lifecycle import PRESENT, Phase, Signal
from cede.model.rules import Rule
from cede.model.times import SECOND, about, show_duration

KILL_AGAIN = 10 * SECOND
"""How long a killed workload may take to be gone before it is killed once more."""

CAUSES = {
    "preempt": "{claimant} takes its room",
    "suspend": "{by} suspends it",
    "cancel": "{by} cancels it",
    "walltime": "its walltime is over",
    "drain": "its node is drained",
    "node": "its node went down",
    "withdrawn": "it was asked to",
}


def send_away(roll: JobTable, job: Job, leaving: Leaving) -> None:
    """Begin the sequence for a workload that has its room and is not leaving yet.

    One that can write a checkpoint is asked for it first; the others are told to go at once.
    """
    job.leaving = leaving
    if job.phase is Phase.CHECKPOINTING:
        leaving.stage, leaving.hinted = "hinted", job.hinted
        # What it was given beyond its timeout for somebody before counts: nobody defers for ever.
        asked = (job.hinted or roll.now) + job.terms.checkpoint_timeout
        leaving.deferred = max(0, (job.deadline or 0) - asked)
        roll.tell(job, leaving.cause, leaving.rule, because(job), before=job.phase)
        roll.mark(job)
    elif job.phase is Phase.RUNNING and saves(job) and job.terms.answers:
        ask_for_checkpoint(roll, job)
    else:
        if job.phase is Phase.STARTING:
            rule: Rule | None = rules.NOT_BEGUN
        else:
            rule = rules.NOBODY_ANSWERS if saves(job) else None
        tell_to_go(roll, job, rule)


def ask_for_checkpoint(roll: JobTable, job: Job, rule: Rule = rules.HINTED, **facts: object) -> None:
    """Hint; the workload has its checkpoint timeout to answer."""
    job.hint += 1
    job.hinted = roll.now
    leaving = job.leaving
    job.asked_to_leave = leaving is not None
    if leaving is not None:
        leaving.stage, leaving.hinted = "hinted", roll.now
    roll.due_at(job, roll.now + job.terms.checkpoint_timeout)
    words = {"limit": show_duration(job.terms.checkpoint_timeout), **facts} if roll.reasons else {}
    roll.move(job, Signal.HINT, rule, **words)
    roll.mark(job)
    roll.order(hint_of(job))


def hint_of(job: Job) -> Hint:
    """What the application is asked for at present.

    One that is saving for later is not asked to leave by the same hint when its room is wanted: it may have answered
    already, and nobody could tell which of the two it answered. It is told to go when it has saved.
    """
    return Hint(job.name, job.attempt, job.hint, job.leaving is not None and job.asked_to_leave, job.deadline)


def in_force(job: Job) -> Iterator[Order]:
    """The orders that hold for this workload; of one that is set aside none do."""
    if job.phase not in PRESENT or job.aside:
        return
    leaving = job.leaving
    if job.began is None and leaving is None:
        yield Launch(job.name, job.attempt, job.nodes, job.resumes)
    if job.phase is Phase.CHECKPOINTING and not (leaving is not None and leaving.saved):
        yield hint_of(job)
    if leaving is not None and job.phase in (Phase.PREEMPTING, Phase.CANCELLING):
        yield Terminate(job.name, job.attempt, leaving.cause, job.grace)
    if leaving is not None and leaving.stage == "killed":
        yield Kill(job.name, job.attempt, leaving.cause)


def tell_to_go(roll: JobTable, job: Job, because_of: Rule | None = None, signal: Signal = Signal.EVICT) -> None:
    """SIGTERM now, SIGKILL after the grace period."""
    leaving = job.leaving
    assert leaving is not None, "somebody wants it gone"
    leaving.stage = "told"
    grace = grace_of(roll, job)
    until = roll.now + grace
    if job.phase is Phase.PREEMPTING and job.deadline is not None:
        until = min(until, job.deadline)
    roll.due_at(job, until)
    words = {}
    if roll.reasons:
        why = because(job) if because_of is None else f"{because(job)}; {because_of.because()}"
        words = {"why": why, "limit": show_duration(grace)}
    roll.move(job, signal, rules.TOLD, **words)
    roll.mark(job)
    roll.order(Terminate(job.name, job.attempt, leaving.cause, grace))


def grace_of(roll: JobTable, job: Job) -> int:
    """How long it may take from now on to be gone."""
    most, leaving = job.terms.gone_within, job.leaving
    if most is None or leaving is None or leaving.hinted is None:
        return job.grace
    return max(0, min(job.grace, leaving.hinted + most - roll.now))


def kill(roll: JobTable, job: Job) -> None:
    """SIGKILL, and once more if it is still there some time later."""
    assert job.leaving is not None, "somebody wants it gone"
    job.leaving.stage = "killed"
    roll.due_at(job, roll.now + KILL_AGAIN)
    roll.order(Kill(job.name, job.attempt, job.leaving.cause))


def kill_now(roll: JobTable, job: Job, signal: Signal | None = None) -> None:
    """SIGKILL without any grace, for somebody who says so; `signal` is how it moves, if it is not on its way yet."""
    if signal is None:
        roll.note(job, "kill", rules.KILLED_NOW, why=because(job))
    else:
        roll.move(job, signal, rules.KILLED_NOW, why=because(job))
    roll.mark(job)
    kill(roll, job)


def allow_less(roll: JobTable, job: Job) -> None:
    """One that is on its way out has no more time left than its terms give it."""
    leaving = job.leaving
    if job.deadline is None or leaving is None or leaving.stage == "killed":
        return
    if job.phase in (Phase.PREEMPTING, Phase.CANCELLING):
        limit = grace_of(roll, job)
    elif job.phase is Phase.CHECKPOINTING:
        limit = job.terms.checkpoint_timeout
    else:
        return
    if roll.now + limit < job.deadline:
        roll.due_at(job, roll.now + limit)


def because(job: Job) -> str:
    """Why it must go, in words."""
    leaving = job.leaving
    if leaving is None:
        return ""
    if leaving.cause == "preempt" and leaving.claimant is None:
        return f"{leaving.rule} sends it away"
    return CAUSES[leaving.cause].format(claimant=leaving.claimant or "nobody", by=leaving.by or "somebody")


def checkpoint_overdue(roll: JobTable, job: Job) -> None:
    """The time to write a checkpoint is over: once more for who is merely slow, the end for who is silent."""
    leaving = job.leaving
    if leaving is None:
        roll.due_at(job, None)
        limit = show_duration(job.terms.checkpoint_timeout)
        roll.move(job, Signal.GIVE_UP, rules.NO_SAVE, why=f"nothing came within {limit}")
        roll.mark(job)
        return
    more = int(job.terms.checkpoint_timeout * job.terms.timeout_extension)
    if leaving.heard is not None and not leaving.extended and not leaving.deferred and more > 0:
        leaving.extended = True
        roll.due_at(job, roll.now + more)
        roll.note(job, "extend", rules.EXTENDED, limit=show_duration(more))
        roll.order(hint_of(job))
        return
    leaving.timed_out = True
    tell_to_go(roll, job)


def defer(roll: JobTable, job: Job, wanted: int) -> int:
    """The application asked for time before it checkpoints; how much of it was granted."""
    leaving = job.leaving
    if leaving is None or job.phase is not Phase.CHECKPOINTING or job.deadline is None:
        return 0
    most = job.terms.max_deferral
    granted = max(0, min(wanted, most - leaving.deferred))
    leaving.heard = roll.now
    words = {"wanted": show_duration(wanted), "most": show_duration(most)}
    if granted == 0:
        roll.note(job, "defer", rules.NOT_DEFERRED, **words)
        return 0
    leaving.deferred += granted
    roll.due_at(job, job.deadline + granted)
    roll.note(job, "defer", rules.DEFERRED, granted=show_duration(granted), **words)
    roll.order(hint_of(job))
    return granted


def checkpointed(roll: JobTable, job: Job, hint: int, leaves: bool, at: int | None = None) -> None:
    """A usable checkpoint is there; who was asked for it in order to leave is told to go."""
    written = roll.now if at is None else max(at, job.checkpoint or at)  # what is told late may be older than the last
    takes = None
    # What is told once more, when it has ended, was measured the first time.
    if hint == job.hint > 0 and job.hinted is not None and (at is None or (job.checkpoint or 0) < job.hinted):
        takes = max(0, written - job.hinted)
    roll.saved(job, written, takes)
    leaving = job.leaving
    if hint == 0 or hint != job.hint:
        return
    if job.phase in (Phase.CANCELLING, Phase.PREEMPTING) and leaving is not None:
        leaving.saved = True
        return
    if job.phase is not Phase.CHECKPOINTING:
        return
    if job.withdrawn == hint:
        job.leaves_until = roll.now + job.terms.grace_period
        if leaves and leaving is None:
            leaving = job.leaving = Leaving("withdrawn", "hinted", hinted=job.hinted)
    if leaving is None:
        roll.due_at(job, None)
        roll.move(job, Signal.CHECKPOINTED, rules.SAVES)
        roll.mark(job)
        return
    leaving.saved = True
    roll.note(job, "saved", rules.SAVED, took=about(roll.now - (job.hinted or roll.now)) if roll.reasons else "")
    if not leaves:
        tell_to_go(roll, job)
    else:
        roll.due_at(job, roll.now + grace_of(roll, job))
        roll.mark(job)


def checkpoint_failed(roll: JobTable, job: Job, hint: int, why: str) -> None:
    """The application answered that there will be no checkpoint."""
    if job.phase is not Phase.CHECKPOINTING or hint != job.hint:
        return
    if job.leaving is None:
        roll.due_at(job, None)
        roll.move(job, Signal.GIVE_UP, rules.NO_SAVE, why=why or "it could not write one")
        roll.mark(job)
        return
    job.leaving.failed = why or "it did not say why"
    tell_to_go(roll, job)


def withdraw(roll: JobTable, job: Job, claimant: str) -> None:
    """Its room is not needed any more: one that was only asked for a checkpoint goes on when that is written.

    Unless it must leave for another reason too: somebody suspended it, or its node is drained.
    """
    leaving = job.leaving
    if leaving is None or leaving.claimant != claimant:
        return
    if job.phase is Phase.CHECKPOINTING and not leaving.saved:
        leaving.claimant = None
        if leaving.cause != "preempt" or job.parked:  # it leaves all the same, and no longer because of a decision
            leaving.decision = None
        if leaving.cause == "preempt" and job.parked:
            leaving.cause, leaving.by = "suspend", job.parked
        elif leaving.cause == "preempt":
            job.leaving = None
            job.withdrawn = job.hint
            roll.note(job, "withdraw", rules.WITHDRAWN, claimant=claimant)
            roll.order(hint_of(job))
        roll.touch(job)
    roll.mark(job)
