"""What slows a storm down: the backoff of one that fails, and the breaker between those who evict each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cede.engine.drive import rules
from cede.engine.drive.job import Job
from cede.engine.drive.job_table import JobTable, as_entered
from cede.model.cluster import ClusterFile
from cede.model.lifecycle import WAITING
from cede.model.times import about, show_duration


def back_off(roll: JobTable, job: Job, failures: int) -> None:
    """One that failed so often and queues again is tried later, and later each time."""
    wait = roll.ways.backoff.after(failures)
    if wait <= 0:
        return
    roll.step.slowed[job.name] = rules.BACKOFF.id
    if not roll.ways.slows:
        return
    job.retry_at = roll.now + wait
    roll.due_at(job, job.retry_at)
    roll.note(job, "back off", rules.BACKOFF, count=job.requeues, wait=show_duration(wait))


def held_back(roll: JobTable, claimant: Job, victims: Sequence[Job]) -> bool:
    """Whether the breaker keeps the claimant from evicting these now; then it waits, and starts only in free room."""
    circle = roll.breaker.circle(roll.now, claimant, victims)
    if circle is None:
        return False
    roll.step.slowed[claimant.name] = rules.BREAKER.id
    if not roll.ways.slows:
        return False
    again = claimant.evicts_after is not None
    claimant.evicts_after = circle.until
    if again:
        # Some asks of a doctrine preempt whatever `preempts` says: such a one leaves the line until then.
        claimant.retry_at = circle.until
    roll.due_at(claimant, circle.until)
    facts = {"circle": str(circle), "turns": circle.turns, "span": about(roll.now - circle.since)}
    roll.note(claimant, "hold back", rules.BREAKER, wait=about(circle.until - roll.now), **facts)
    if again:
        roll.leave(claimant, preempted=False)
    else:
        roll.enter_again(claimant)
    return True


def wait_is_over(roll: JobTable, job: Job) -> None:
    """A workload that was kept waiting stands in the line again, with all its rights."""
    absent = job.out_of_line
    job.retry_at = job.evicts_after = None
    roll.due_at(job, None)
    if job.out_of_line:
        return
    if absent:
        roll.enter(job)
    else:
        roll.enter_again(job)


def as_the_doctrine_sees(document: ClusterFile, jobs: Iterable[Job]) -> ClusterFile:
    """The cluster as if nobody were slowed down: a plan of it shows what the doctrine would do."""
    slowed = {
        job.name: as_entered(job, job.takes).like(preempts=job.workload.preempts)
        for job in jobs
        if job.phase in WAITING
        and not (job.parked or job.aside or job.capped)
        and (job.retry_at, job.evicts_after) != (None, None)
    }
    if not slowed:
        return document
    others = [entry for entry in document.workloads if entry.name not in slowed]
    return document.model_copy(update={"workloads": sorted([*others, *slowed.values()], key=lambda one: one.name)})
