"""What a preemption would throw away: the time a workload worked since it can go back to something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median_low

from cede.engine.drive.job import Job
from cede.model.lifecycle import PRESENT
from cede.model.times import SECOND

HOUR = 3600 * SECOND


def assumed_age(jobs: Iterable[Job], now: int) -> int | None:
    """The middle age of the checkpoints that workloads here published; none where nobody did."""
    ages = [now - job.checkpoint for job in jobs if job.phase in PRESENT and job.checkpoint is not None]
    return median_low(ages) if ages else None


def charged(job: Job, now: int, assumed: int | None) -> int:
    """For how much work, in microseconds, its eviction is charged when victims are chosen.

    A workload that says nothing is charged as if it had saved its work when the others did: silence protects nobody.
    One that publishes checkpoints is charged at least as much: publishing never makes a workload the likelier victim.
    """
    if job.began is None:
        return 0
    worked = max(0, now - job.began)
    silent = worked if assumed is None else min(worked, assumed)
    if job.checkpoint is None:
        return silent
    return max(silent, min(worked, max(0, now - job.checkpoint)))


def lost(job: Job, now: int) -> int:
    """How much work, in microseconds, is gone if its attempt ends now: since its last checkpoint, or its beginning."""
    if job.began is None:
        return 0
    since = job.began if job.checkpoint is None else max(job.began, job.checkpoint)
    return max(0, now - since)


def lost_hours(job: Job, now: int) -> Mapping[str, float]:
    """The same in hours of each resource that its members hold."""
    hours = lost(job, now) / HOUR
    sizes = (
        [(job.workload.requests, job.workload.members)]
        if job.workload.pod_sets is None
        else [(part.requests, part.count) for part in job.workload.pod_sets]
    )
    found: dict[str, float] = {}
    for requests, count in sizes:
        for name, nano in requests.items():
            found[name] = found.get(name, 0.0) + hours * count * nano / 10**9
    return found
