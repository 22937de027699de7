"""Measures of jobs: how they ended, how long they waited and took, how often they were sent away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cede.sim.measures.columns import HOUR, NEVER, SECOND, Columns, Spans
from cede.sim.measures.definitions import PERCENTILES
from cede.sim.measures.groups import Groups
from cede.sim.measures.spreads import Values, over, spread, sums

Mask = NDArray[np.bool_]
Found = dict[str, Values]
"""By key, a number for each group."""


@dataclass(frozen=True, slots=True)
class Window:
    """What is measured: the time, and the jobs that are counted."""

    begin: int
    end: int
    counted: Mask

    @property
    def hours(self) -> float:
        return (self.end - self.begin) / HOUR


def of_jobs(table: Columns, window: Window, groups: Groups, bound_s: float) -> Found:
    """Every measure that is about counted jobs."""
    return {
        **_counts(table, window, groups),
        **_durations(table, window, groups, bound_s),
        **_interruptions(table, window, groups),
    }


def _counts(table: Columns, window: Window, groups: Groups) -> Found:
    def count(chosen: Mask) -> Values:
        return [float(one) for one in np.bincount(groups.code[chosen & window.counted], minlength=len(groups))]

    finished = table.state_is("completed") & (table.ended >= window.begin) & (table.ended <= window.end)
    completed = np.bincount(groups.code[finished], minlength=len(groups))
    return {
        "jobs": count(window.counted),
        "completed": count(table.state_is("completed")),
        "never_started": count(table.state_is("waiting")),
        "unfinished": count(table.state_is("running", "requeued")),
        "refused": count(table.state_is("refused")),
        "failed": count(table.state_is("failed", "cancelled", "preempted")),
        "throughput": [float(one) / window.hours if window.hours else None for one in completed],
    }


def _durations(table: Columns, window: Window, groups: Groups, bound_s: float) -> Found:
    started = window.counted & (table.first_start != NEVER)
    completed = window.counted & table.state_is("completed")
    turnaround = (table.ended - table.submitted)[completed]
    run = ran_for(table.ran, len(table.submitted))[completed]
    ideal = np.maximum(table.duration[completed], bound_s * SECOND)
    # A bound of 0 and a job without any work leave nothing to divide by: such a job was not slowed down.
    slowdown = np.maximum(1.0, np.divide(turnaround, ideal, out=np.ones(len(ideal)), where=ideal > 0))
    return {
        **_spread("wait", (table.first_start - table.submitted)[started] / SECOND, started, groups),
        **_spread("total_wait", (turnaround - run) / SECOND, completed, groups),
        **_spread("turnaround", turnaround / SECOND, completed, groups),
        **_spread("slowdown", slowdown, completed, groups),
        "makespan": _makespans(table, window, groups),
    }


def _makespans(table: Columns, window: Window, groups: Groups) -> Values:
    """Of each group: none while one of its jobs is under way."""
    code = groups.code[window.counted]
    last = np.full(len(groups), NEVER, np.int64)
    first = np.full(len(groups), np.iinfo(np.int64).max, np.int64)
    np.maximum.at(last, code, table.ended[window.counted])
    np.minimum.at(first, code, table.submitted[window.counted])
    ended = table.ended != NEVER
    last[groups.code[window.counted & ~ended & ~table.state_is("refused")]] = NEVER
    spans = zip(last.tolist(), first.tolist(), strict=True)
    return [None if until == NEVER else (until - since) / SECOND for until, since in spans]


def _interruptions(table: Columns, window: Window, groups: Groups) -> Found:
    started = window.counted & (table.first_start != NEVER)
    preemptions = table.jobs["preemptions"].fill_null(0).to_numpy().astype(np.float64)
    evictions = table.jobs["evictions"].fill_null(0).to_numpy().astype(np.float64)
    code, size = groups.code[started], len(groups)
    mean, ranks = spread(preemptions[started], code, size, (99, 100))
    jobs = np.bincount(code, minlength=size).astype(np.float64)
    return {
        "preemptions": sums(preemptions[window.counted], groups.code[window.counted], size).tolist(),
        "preempted_share": over(sums(preemptions[started] > 0, code, size), jobs),
        "preemptions_mean": mean,
        "preemptions_p99": ranks[99],
        "preemptions_max": ranks[100],
        "evictions": sums(evictions[window.counted], groups.code[window.counted], size).tolist(),
    }


def ran_for(ran: Spans, jobs: int) -> NDArray[np.int64]:
    """How long each job ran in all its attempts."""
    found = np.zeros(jobs, np.int64)
    np.add.at(found, ran.row, ran.end - ran.start)
    return found


def _spread(key: str, values: NDArray[np.float64], chosen: Mask, groups: Groups) -> Found:
    means, ranks = spread(values, groups.code[chosen], len(groups), PERCENTILES)
    return {f"{key}_mean": means, **{f"{key}_p{percentile}": found for percentile, found in ranks.items()}}
