"""What becomes of a workload when no process of its attempt is left."""

from __future__ import annotations

from dataclasses import replace

from cede.engine.drive import rules
from cede.engine.drive.backoff import back_off
from cede.engine.drive.facts import Exited
from cede.engine.drive.holds import someone_left
from cede.engine.drive.job import Job, Leaving
from cede.engine.drive.job_table import JobTable
from cede.engine.drive.leaving import CAUSES
from cede.engine.drive.losses import lost_gpu_hours
from cede.model.lifecycle import COMPLETE, WAITING, Phase, Signal
from cede.model.plan import ENDED
from cede.model.rules import Rule
from cede.model.times import about, show_duration, to_the_second

EVICTIONS = ("preempt", "drain", "withdrawn")


def exited(roll: JobTable, job: Job, fact: Exited) -> None:
    """Its room is free. By itself, or told to: the way it ended decides whether it ends, fails or queues again.

    It ended when it did, though that may be told later. Others have its room only from now on.
    """
    if fact.at is not None:
        roll.when = _end_of(roll, job, fact.at)
    evicted = _end(roll, job, fact)
    roll.when = roll.now
    roll.leave(job, preempted=evicted)
    if roll.held:
        someone_left(roll, job.name)


def _end_of(roll: JobTable, job: Job, at: int) -> int:
    """When it ended: not before what is already told of it, and not after now."""
    return min(roll.now, max(at, job.since, job.began or 0))


def _end(roll: JobTable, job: Job, fact: Exited) -> bool:
    """Whether it had to make way."""
    job.exit_code, job.exit_signal = fact.code, fact.signal
    if job.leaving is None and job.leaves_until is None and not (fact.told or fact.cause or fact.gave_way):
        leaving = None
    else:
        leaving = _leaving(roll, job, fact)
    told = len(roll.step.transitions)
    if job.deadline is not None or roll.reasons:
        roll.due_at(job, None)
    by_itself = not fact.told and not fact.lost
    if leaving is None and by_itself and fact.code == 0 and not fact.error:  # the plain end, of most
        roll.move(job, COMPLETE, rules.COMPLETED)
        job.ended = roll.when
        if roll.reasons:
            roll.released(job)
        return False
    cause = "" if leaving is None else leaving.cause
    saved = leaving is not None and leaving.saved
    # Who saved for later, and ended by itself before it was told to go, had no reason to end but its own.
    left = saved and (job.asked_to_leave or not by_itself)
    evicted = leaving is not None and cause in EVICTIONS and (saved or leaving.stage != "hinted")
    if by_itself and fact.code == 0 and not fact.error and not left:
        roll.move(job, COMPLETE, rules.COMPLETED)
        evicted = False
    elif fact.walltime and cause != "cancel" and not saved:
        _over_walltime(roll, job)
        evicted = False
    elif leaving is not None and (left or _obeyed(job, leaving, fact)):
        _left(roll, job, leaving)
        evicted = evicted or (cause == "walltime" and saved and leaving.claimant is not None)
    else:
        _failed(roll, job, *_failure(fact), forced=fact.lost)
        evicted = evicted and not by_itself
    if evicted and leaving is not None and roll.reasons:
        _tell_loss(roll, job, leaving, told)
    job.ended = roll.when
    job.preempted += evicted
    job.drained += evicted and cause == "drain"
    preemptions = job.preempted - job.drained
    if evicted and not job.thrashes and preemptions > roll.ways.thrashing:
        job.thrashes = True
        roll.note(job, "thrash", rules.THRASHING, count=preemptions)
    job.leaving = None
    if roll.reasons:
        roll.released(job)
    if job.phase in WAITING:
        job.nodes, job.decision = (), None
        if job.parked:
            roll.note(job, "park", rules.PARKED, by=job.parked)
    return evicted


def _tell_loss(roll: JobTable, job: Job, leaving: Leaving, first: int) -> None:
    """The first word of its end, once and for all, says what its going threw away."""
    hours = lost_gpu_hours(roll.state, job, leaving, roll.when)
    moves = roll.step.transitions
    if hours and first < len(moves):
        moves[first] = replace(moves[first], lost_gpu_hours=hours)


def _leaving(roll: JobTable, job: Job, fact: Exited) -> Leaving | None:
    """Why it left, if that is why it ended; also of one that was let off when it had already packed.

    A record that is older than what was done, as that of a restored store, may know nothing of it, or not that it was
    cancelled since: then the order that was found says why.
    """
    if job.leaves_until is None or roll.when > job.leaves_until:
        # Who was told before it began has no end of its own: whatever it was told for, it is as good as never started.
        never_began = fact.code is None and fact.signal is None and not fact.lost and not fact.error
        named = fact.cause in CAUSES and _unknown(job.leaving, fact.cause)
        if (named and (fact.told or fact.lost or fact.cause == "cancel")) or (
            fact.told and never_began and job.leaving is None
        ):
            _told_before(roll, job, fact.cause if fact.cause in CAUSES else "withdrawn")
        elif job.leaving is None and fact.gave_way > job.hint and job.resumes:
            # It ended by itself, but in the midst of its work: it had saved in order to leave.
            job.leaving = Leaving("withdrawn", "told", saved=True)
            job.asked_to_leave = True
            roll.move(job, Signal.EVICT, rules.TOLD_BEFORE, cause="it saved and left")
        return job.leaving
    if job.leaving is None:
        job.leaving = Leaving("withdrawn", "told")
        roll.move(job, Signal.EVICT, rules.LEFT_ANYWAY)
    job.leaving.saved = True
    return job.leaving


def _unknown(leaving: Leaving | None, cause: str) -> bool:
    """Whether the record cannot know of an order with this cause: orders are recorded before they are given."""
    return leaving is None or leaving.stage == "hinted" or (cause == "cancel" != leaving.cause)


def _told_before(roll: JobTable, job: Job, cause: str) -> None:
    """It was told to go for this cause, which its record did not know."""
    leaving = job.leaving
    if leaving is None or leaving.cause != cause:
        leaving = job.leaving = Leaving(cause, "told", saved=leaving is not None and leaving.saved)
    leaving.stage = "told"
    signal = Signal.CANCEL if cause in ("cancel", "walltime") else Signal.EVICT
    if job.phase is not Phase.CANCELLING:
        roll.move(job, signal, rules.TOLD_BEFORE, cause=cause)


def _obeyed(job: Job, leaving: Leaving, fact: Exited) -> bool:
    """Whether it ended because it was told to. Nobody saw the end of one that was lost; but what was cancelled, or
    was over its time, does not come back for that, and one that never began had nothing to lose."""
    if fact.lost:
        return leaving.cause in ("cancel", "walltime") or (fact.told and job.began is None)
    if fact.error:
        return leaving.cause == "cancel"
    return fact.told and leaving.stage != "hinted"


def _left(roll: JobTable, job: Job, leaving: Leaving) -> None:
    """It went because it had to."""
    if leaving.cause == "cancel":
        roll.move(job, Signal.END, rules.CANCELLED, by=leaving.by or "somebody")
    elif leaving.cause == "walltime":
        if leaving.saved and leaving.hinted is not None:
            _suspended(roll, job)
        else:
            _over_walltime(roll, job)
    elif leaving.cause == "start":
        limit = show_duration(job.terms.start_timeout)
        _failed(roll, job, rules.START_TIMEOUT, {"limit": limit}, forced=True)
    elif leaving.cause == "node":
        _failed(roll, job, rules.NODE_DOWN, {"node": ", ".join(sorted(set(job.nodes)))}, forced=True)
    elif leaving.timed_out and not leaving.saved:
        limit = about(roll.when - (leaving.hinted or roll.when))
        _failed(roll, job, rules.UNRESPONSIVE, {"limit": limit}, forced=True)
    elif leaving.failed and not job.resumes:
        _failed(roll, job, rules.CHECKPOINT_FAILED, {"why": leaving.failed}, forced=True)
    elif leaving.fate == ENDED or (job.terms.requeue == "never" and leaving.cause == "preempt"):
        why = "the doctrine ends what it preempts" if leaving.fate == ENDED else "its policy is never"
        roll.move(job, Signal.END, rules.PREEMPTED, claimant=leaving.claimant or "nobody", why=why)
    elif job.resumes:
        _suspended(roll, job)
    else:
        roll.move(job, Signal.REQUEUE, rules.REQUEUED)


def _over_walltime(roll: JobTable, job: Job) -> None:
    _failed(roll, job, rules.WALLTIME, {"limit": show_duration(job.workload.walltime or 0)}, forced=False)


def _suspended(roll: JobTable, job: Job) -> None:
    assert job.checkpoint is not None, "only with a usable checkpoint"
    roll.move(job, Signal.SUSPEND, rules.SUSPENDED, at=to_the_second(job.checkpoint))


def _failure(fact: Exited) -> tuple[Rule, dict[str, object]]:
    if fact.error:
        return rules.NOT_STARTED, {"why": fact.error}
    if fact.lost:
        return rules.LOST, {}
    if fact.signal is not None:
        return rules.SIGNALLED, {"signal": fact.signal}
    return rules.EXIT_CODE, {"code": fact.code}


def _failed(roll: JobTable, job: Job, rule: Rule, facts: dict[str, object], *, forced: bool) -> None:
    """A failure, and the way back into the queue if its policy has one.

    `forced`: its node went away, or it had to make way. Who makes way without a checkpoint comes back like one that
    never wrote any: declaring checkpoints is no reason to be ended.
    """
    roll.move(job, Signal.FAIL, rule, **facts)
    policy, leaving = job.terms.requeue, job.leaving
    for_good = leaving is not None and (leaving.cause == "cancel" or leaving.fate == ENDED)
    wanted = not for_good and (policy == "always" or (policy == "on_node_failure" and forced))
    if not wanted or job.requeues >= job.terms.max_requeues:
        return
    job.requeues += 1
    origin = "from the start" if job.checkpoint is None else f"from its checkpoint of {to_the_second(job.checkpoint)}"
    counted = {"count": job.requeues, "most": job.terms.max_requeues}
    roll.move(job, Signal.REQUEUE, rules.AGAIN, policy=policy, origin=origin, **counted)
    back_off(roll, job, job.requeues - forced)
