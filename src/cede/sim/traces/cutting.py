"""Parts of a trace, and the same trace denser or a little different: each a new trace with a note of what was done."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl

from cede.model.errors import InputError, Problem, shown
from cede.model.times import LIMIT_S, SECOND, show_duration
from cede.sim.durations import parse_moment, show_span
from cede.sim.traces.trace import Trace

SHAKE_US = 60 * SECOND
"""How far an arrival moves at most, unless told."""
BETWEEN = ".."


def begin_of(trace: Trace) -> int:
    """When the first job is submitted; 0 in a trace without jobs."""
    return 0 if trace.jobs.is_empty() else int(trace.jobs["submitted"][0])


def noted(trace: Trace, *sentences: str) -> Trace:
    """The trace with these notes after its own."""
    return replace(trace, notes=(*trace.notes, *sentences))


def take(trace: Trace, n: int) -> Trace:
    """The first `n` jobs by submission."""
    if n < 1:
        raise InputError([Problem("take", f"{shown(n)} is too small; the least is 1")])
    if n >= trace.jobs.height:
        return trace
    kept = _of_jobs(trace, trace.jobs.head(n))
    return noted(kept, f"Only the first {n:,} of {trace.jobs.height:,} jobs are in it.")


def window(trace: Trace, begin: int | None, end: int | None) -> Trace:
    """The jobs submitted at `begin` or later and before `end`, in microseconds on the trace's clock.

    None leaves that side open. Times stay as they are. Jobs that were under way when the window begins are not in it.
    """
    first = begin_of(trace)
    if begin is not None and end is not None and begin >= end:
        raise InputError([Problem("window", "ends before it has begun")])
    submitted = pl.col("submitted")
    inside = pl.lit(value=True)
    if begin is not None:
        inside &= submitted >= begin
    if end is not None:
        inside &= submitted < end
    jobs = trace.jobs.filter(inside)
    if jobs.is_empty():
        last = first if trace.jobs.is_empty() else int(trace.jobs["submitted"][-1])
        message = "no job of the trace is submitted in it"
        raise InputError([Problem("window", message, f"the last one comes {show_span(last - first)} after the first")])
    if jobs.height == trace.jobs.height:
        return trace
    kept = _of_jobs(trace, jobs)
    when = _between(begin, end, first)
    return noted(kept, f"Only the {jobs.height:,} of {trace.jobs.height:,} jobs submitted {when} are in it.")


def _between(begin: int | None, end: int | None, first: int) -> str:
    since = None if begin is None or begin <= first else show_span(begin - first)
    until = None if end is None else show_span(end - first)
    if until is None:
        return f"{since or '0s'} or more after the first"
    return f"less than {until} after the first" if since is None else f"{since} to {until} after the first"


def window_of(trace: Trace, text: str) -> Trace:
    """The window that a text like `2d..9d` means; either side may be left out.

    A side is a length of time from the first submission, or RFC 3339 where the trace says when it began.
    """
    left, separator, right = text.partition(BETWEEN)
    if not separator:
        hint = "as 2d..9d, 36h.. or ..2026-01-31T12:00:00Z"
        raise InputError([Problem("window", f"{shown(text)} is no window; write BEGIN{BETWEEN}END", hint)])
    sides: list[int | None] = []
    problems = []
    for side in (left.strip(), right.strip()):
        try:
            sides.append(parse_moment(side, begin_of(trace), trace.origin) if side else None)
        except ValueError as error:
            problems.append(Problem("window", str(error)))
    if problems:
        raise InputError(problems)
    return window(trace, sides[0], sides[1])


def load_factor(trace: Trace, x: float) -> Trace:
    """The trace with every time since the first submission divided by `x`: 2 is twice as dense.

    How long jobs run is as it was, and so is how long each waited in reality.
    """
    if not (math.isfinite(x) and x > 0):
        raise InputError([Problem("load factor", f"{shown(x)} is no factor; write a number above 0")])
    if x == 1 or trace.jobs.is_empty():
        return trace
    first = begin_of(trace)
    submitted = trace.jobs["submitted"].to_numpy()
    if float(submitted[-1] - first) / SECOND >= LIMIT_S * x:
        message = f"{shown(x)} is too small: the last job would come 10**11 seconds after the first, or later"
        raise InputError([Problem("load factor", message)])
    moved = first + np.rint((submitted - first) / x).astype(np.int64)
    dense = _arriving(trace, moved)
    what = f"{x:g} times as dense as" if x > 1 else f"{1 / x:g} times as far apart as"
    return noted(dense, f"Jobs arrive {what} in the trace (load factor {x:g}).")


def shake(trace: Trace, seed: int, amount: int = SHAKE_US) -> Trace:
    """The trace with every arrival moved by up to `amount` microseconds, to either side, drawn evenly.

    No job comes before the first one did. The order is that of the new arrivals, equal ones as they were. How long
    jobs run is as it was. The same seed moves the same trace alike.
    """
    if amount < 0:
        raise InputError([Problem("shake", f"{shown(amount)} is negative; 0 is the least")])
    if amount == 0 or trace.jobs.is_empty():
        return trace
    draws = np.random.Generator(np.random.PCG64(seed))
    submitted = trace.jobs["submitted"].to_numpy()
    moved = submitted + draws.integers(-amount, amount, len(submitted), endpoint=True)
    shaken = _arriving(trace, np.maximum(moved, begin_of(trace)))
    ordered = replace(shaken, jobs=shaken.jobs.sort("submitted", maintain_order=True))
    return noted(ordered, f"Arrivals were moved by up to {show_duration(amount)}, drawn evenly with seed {seed}.")


def _arriving(trace: Trace, submitted: np.ndarray) -> Trace:
    """The trace with these submissions; what is known of real starts moves with them."""
    moved = pl.Series("submitted", submitted, pl.Int64())
    shift = moved - trace.jobs["submitted"]
    return replace(trace, jobs=trace.jobs.with_columns(moved, started=trace.jobs["started"] + shift))


def _of_jobs(trace: Trace, jobs: pl.DataFrame) -> Trace:
    """The trace with these jobs and only the shapes they have."""
    used = sorted(jobs["shape"].unique().to_list())
    if len(used) == len(trace.shapes):
        return replace(trace, jobs=jobs)
    place = np.zeros(len(trace.shapes), np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    shapes = pl.Series("shape", place[jobs["shape"].to_numpy()], pl.Int32())
    return replace(trace, jobs=jobs.with_columns(shapes), shapes=tuple(trace.shapes[index] for index in used))
