"""What a preemption throws away of one workload under way: the face, for one job, of what a preemption costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median_low

import numpy as np

from cede.doctrines.parts.cost import assumed_by, gpus_held, unsaved, wasted
from cede.engine.costs import DIGITS, Price, prices
from cede.engine.drive.job import Job, Leaving
from cede.model.lifecycle import PRESENT
from cede.model.times import SECOND
from cede.state.columns import NEVER
from cede.state.state import State

HOUR = 3600 * SECOND


@dataclass(frozen=True, slots=True)
class Stake:
    """What the eviction of a workload would throw away now: work that is lost, for how much of it the workload is
    charged where the silent are charged by the others, both in microseconds; and what it costs."""

    lost: int
    charged: int
    price: Price
    saving: str = ""
    """How long it is expected to take to save its work and how that is known, in words; nothing if it saves none."""


def assumed_age(jobs: Iterable[Job], now: int) -> int | None:
    """The middle age of the checkpoints that workloads here published; none where nobody did."""
    ages = [now - job.checkpoint for job in jobs if job.phase in PRESENT and job.checkpoint is not None]
    return median_low(ages) if ages else None


def at_stake(state: State, job: Job, now: int, age: int | None) -> Stake:
    """Of a workload that has its room, with the time it took to start the last time counted once more."""
    before, state.now = state.now, max(now, state.now)
    try:
        assumed = replace(assumed_by(state.static.doctrine), restart=start_of(job))
        found = prices(state, (job.name,), assumed)
    finally:
        state.now = before
    return Stake(lost(job, now), charged(job, now, age), found.get(job.name, Price(0.0, 0.0)))


def charged(job: Job, now: int, assumed: int | None) -> int:
    """For how much work, in microseconds, its eviction is charged where the silent are charged by the others.

    Where nothing is assumed of the silent they are charged for all that they worked, and so is everybody.
    """
    return _unsaved(job, now, NEVER if assumed is None else assumed)


def lost(job: Job, now: int) -> int:
    """How much work, in microseconds, is gone if its attempt ends now: since its last checkpoint, or its beginning."""
    return _unsaved(job, now, None)


def _unsaved(job: Job, now: int, age: int | None) -> int:
    began, last = (np.asarray(NEVER if at is None else at, np.int64) for at in (job.began, job.checkpoint))
    return int(unsaved(began, last, now, age))


def start_of(job: Job) -> int:
    """How long its present or last attempt took to begin."""
    return 0 if job.began is None or job.started is None else max(0, job.began - job.started)


def lost_gpu_hours(state: State, job: Job, leaving: Leaving, now: int) -> float:
    """GPU-hours that one threw away that made way and leaves its room now: the time since it was asked to save its
    work, if it did, else its work since its last checkpoint, and the time it takes to begin once more."""
    row = state.work_index.get(job.name)
    if row is None or job.began is None:
        return 0.0
    saving = now - (now if leaving.hinted is None else leaving.hinted)
    held = wasted(leaving.saved, saving, lost(job, now), start_of(job))
    return round(float(gpus_held(state, np.array([row], np.intp))[0]) * held / HOUR, DIGITS)


def lost_hours(job: Job, now: int) -> Mapping[str, float]:
    """Work that is gone in hours of each resource that its members hold."""
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
