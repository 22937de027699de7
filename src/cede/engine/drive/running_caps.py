"""How many workloads of one owner may have room at once: no more of them stand in the line than could still start.

So no plan can start too many, whatever the doctrine; and none has to know. Of those that wait the most urgent stand in
the line, then the oldest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cede.engine.drive import rules
from cede.engine.drive.job import Job
from cede.engine.drive.job_table import JobTable
from cede.model.lifecycle import WAITING

Owner = tuple[str, str]
"""A user or a project, and its name."""


def settle(roll: JobTable) -> None:
    """Every workload whose owners changed stands in the line, or outside it, as their caps say now."""
    jobs = sorted(_concerned(roll), key=lambda job: _turn(roll, job))
    taken = Counter(owner for job in jobs if job.phase not in WAITING for owner in owners_of(job))
    for job in jobs:
        if job.phase not in WAITING or job.parked or job.aside:
            continue
        full = [cap for cap in job.terms.running if taken[cap.owner, _name(job, cap.owner)] >= cap.most]
        if not full:
            taken.update(owners_of(job))
            _let_in(roll, job)
        else:
            whose = f"the {full[0].owner} {_name(job, full[0].owner)}"
            _keep_out(roll, job, f"{full[0].most} workloads of {whose} may run at once ({full[0].key})")


def owners_of(job: Job) -> list[Owner]:
    """Whose running workloads are counted, of those that it belongs to."""
    return [(cap.owner, _name(job, cap.owner)) for cap in job.terms.running]


def _name(job: Job, owner: str) -> str:
    return (job.workload.user if owner == "user" else job.workload.project) or ""


def _turn(roll: JobTable, job: Job) -> tuple[int, int, str]:
    priority = job.workload.priority
    urgency = roll.state.static.default_priority if priority is None else priority
    return -urgency, job.workload.submitted or 0, job.name


def _concerned(roll: JobTable) -> Iterator[Job]:
    """All workloads of the owners that changed, and of the other owners of those: a project has several users."""
    left, seen, found = list(roll.recounted), set[Owner](), dict[str, Job]()
    roll.recounted.clear()
    while left:
        owner = left.pop()
        if owner in seen:
            continue
        seen.add(owner)
        names = roll.owned.get(owner, set())
        for name in sorted(names):
            job = roll.jobs.get(name)
            if job is None or owner not in owners_of(job):
                names.discard(name)
            elif name not in found:
                found[name] = job
                left += owners_of(job)
        if not names:
            roll.owned.pop(owner, None)
    return iter(found.values())


def _let_in(roll: JobTable, job: Job) -> None:
    if job.capped:
        job.capped = ""
        roll.touch(job)
        if not job.out_of_line:
            roll.enter(job)


def _keep_out(roll: JobTable, job: Job, why: str) -> None:
    if job.capped == why:
        return
    stood = not job.out_of_line
    job.capped = why
    roll.note(job, "cap", rules.RUNNING_CAP, why=why)
    if stood:
        roll.leave(job, preempted=False)
