"""Measures of jobs: how they ended, how long they waited and took, how often they were sent away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cede.sim.measures.columns import HOUR, NEVER, SECOND, Columns, Floats, Spans
from cede.sim.measures.definitions import MANY, PERCENTILES, SOME_WAIT_S
from cede.sim.measures.groups import Groups, Values, over, spread, sums
from cede.sim.measures.step_functions import Amounts, Levels, Times, levels

Mask = NDArray[np.bool_]
Found = dict[str, Values]
"""By key, a number for each group."""


@dataclass(frozen=True, slots=True)
class Window:
    """What is measured: the time, and the jobs that are counted."""

    begin: int
    end: int
    counted: Mask
    common: Mask | None = None
    """Of the counted ones those that every compared run finished; none: all of them."""

    @property
    def like(self) -> Mask:
        """The jobs that measures of jobs are over."""
        return self.counted if self.common is None else self.counted & self.common

    @property
    def hours(self) -> float:
        return (self.end - self.begin) / HOUR


def of_jobs(
    table: Columns, window: Window, groups: Groups, bound_s: float, targets: Mapping[int, int] | None = None
) -> Found:
    """Every measure that is about counted jobs. `targets` are waits in microseconds by priority."""
    return {
        **_counts(table, window, groups),
        **_work(table, window, groups),
        **_durations(table, window, groups, bound_s),
        **_interruptions(table, window, groups),
        "target_misses": _misses(table, window, groups, targets or {}),
    }


def _counts(table: Columns, window: Window, groups: Groups) -> Found:
    def count(chosen: Mask) -> Values:
        return [float(one) for one in np.bincount(groups.code[chosen & window.counted], minlength=len(groups))]

    finished = table.state_is("completed") & (table.ended >= window.begin) & (table.ended <= window.end)
    completed = np.bincount(groups.code[finished], minlength=len(groups))
    return {
        "jobs": count(window.counted),
        # Of the jobs that the judged runs finished, one that is not judged may have finished fewer.
        "compared": count(window.like if window.common is None else window.like & table.state_is("completed")),
        "completed": count(table.state_is("completed")),
        "never_started": count(table.state_is("waiting")),
        "unfinished": count(table.state_is("running", "requeued")),
        "refused": count(table.state_is("refused")),
        "failed": count(table.state_is("failed", "cancelled", "preempted")),
        "throughput": [float(one) / window.hours if window.hours else None for one in completed],
    }


def _work(table: Columns, window: Window, groups: Groups) -> Found:
    """The resource-hours that jobs asked for which did not get them, and their share of all that was asked for."""
    asked = table.units * (table.duration / HOUR)

    def hours(chosen: Mask) -> Floats:
        own = chosen & window.counted
        return sums(asked[own], groups.code[own], len(groups))

    whole = hours(window.counted)
    refused, failed = hours(table.state_is("refused")), hours(table.state_is("failed", "cancelled", "preempted"))
    return {
        "refused_hours": refused.tolist(),
        "refused_share": over(refused, whole),
        "failed_hours": failed.tolist(),
        "failed_share": over(failed, whole),
        "never_started_hours": hours(table.state_is("waiting")).tolist(),
    }


def _misses(table: Columns, window: Window, groups: Groups, targets: Mapping[int, int]) -> Values:
    """Of each group with a target the share of jobs that missed it; one that never started misses it too."""
    priority = table.jobs["priority"].fill_null(0).to_numpy().astype(np.int64)
    due = np.full(len(priority), -1, np.int64)
    for one, most in targets.items():
        due[priority == one] = most
    waited = np.where(table.first_start == NEVER, table.result.end, table.first_start) - table.submitted
    judged = window.like & (due >= 0) & ~table.state_is("refused")
    judged &= (table.first_start != NEVER) | (waited > due)
    missed = judged & (waited > due)
    code, size = groups.code, len(groups)
    return over(
        np.bincount(code[missed], minlength=size).astype(np.float64),
        np.bincount(code[judged], minlength=size).astype(np.float64),
    )


def _durations(table: Columns, window: Window, groups: Groups, bound_s: float) -> Found:
    started = window.like & (table.first_start != NEVER)
    completed = window.like & table.state_is("completed")
    waited = (table.first_start - table.submitted)[started] / SECOND
    long = sums(waited >= SOME_WAIT_S, groups.code[started], len(groups))
    turnaround = (table.ended - table.submitted)[completed]
    run = (ran_for(table.ran, len(table.submitted)) // table.counts)[completed]
    ideal = np.maximum(table.duration[completed], bound_s * SECOND)
    # A bound of 0 and a job without any work leave nothing to divide by: such a job was not slowed down.
    slowdown = np.maximum(1.0, np.divide(turnaround, ideal, out=np.ones(len(ideal)), where=ideal > 0))
    return {
        **_spread("wait", waited, started, groups),
        "waited_share": over(long, np.bincount(groups.code[started], minlength=len(groups)).astype(np.float64)),
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
    started = window.like & (table.first_start != NEVER)
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
        "thrashing": sums(preemptions[window.counted] > MANY, groups.code[window.counted], size).tolist(),
        "evictions": sums(evictions[window.counted], groups.code[window.counted], size).tolist(),
    }


def ran_for(ran: Spans, jobs: int) -> NDArray[np.int64]:
    """How long each job ran in all its attempts."""
    lengths = np.zeros(jobs, np.int64)
    np.add.at(lengths, ran.row, ran.end - ran.start)
    return lengths


def _spread(key: str, values: NDArray[np.float64], chosen: Mask, groups: Groups) -> Found:
    means, ranks = spread(values, groups.code[chosen], len(groups), PERCENTILES)
    return {f"{key}_mean": means, **{f"{key}_p{percentile}": of_rank for percentile, of_rank in ranks.items()}}


MOST_KINDS = 400
"""Pairs of priority and size: each costs one pass over the time line."""


def inversion_hours(table: Columns, window: Window, waiting: Spans) -> Floats | None:
    """Of each job, the mean over its allocations; none where too many different
    priorities and sizes would make it slow."""
    priority = table.jobs["priority"].fill_null(0).to_numpy().astype(np.int64)
    asks = window.like[waiting.row] & (table.each[waiting.row] > 0)
    waits = Spans(waiting.row[asks], waiting.start[asks], waiting.end[asks])
    rank, size = priority[waits.row], table.each[waits.row]
    kinds = sorted(set(zip(rank.tolist(), size.tolist(), strict=True)))
    if len(kinds) > MOST_KINDS:
        return None
    hours = np.zeros(len(priority), np.float64)
    lower: dict[int, Levels] = {}
    for above, asked in kinds:
        if above not in lower:
            below = priority[table.ran.row] < above
            rows = table.ran.row[below]
            held = levels(table.ran.start[below], table.ran.end[below], table.each[rows])
            lower[above] = held.clipped(window.begin, window.end)
        alike = (rank == above) & (size == asked)
        lasted = _while_enough(lower[above], asked, waits.start[alike], waits.end[alike])
        np.add.at(hours, waits.row[alike], lasted / HOUR / table.counts[waits.row[alike]])
    return hours


def _while_enough(held: Levels, asked: int, start: Times, end: Times) -> Amounts:
    """How much of each [start, end) the level is at least what is asked for."""
    enough = held.level >= asked
    upto = np.concatenate(([0], np.cumsum(np.where(enough[:-1], np.diff(held.at), 0))))

    def until(at: Times) -> Amounts:
        place = np.maximum(np.searchsorted(held.at, at, "right") - 1, 0)
        return np.asarray(upto[place] + np.where(enough[place], np.maximum(at - held.at[place], 0), 0))

    return np.asarray(until(end) - until(start))
