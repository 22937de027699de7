"""What is assumed of checkpoints where a trace does not say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

import polars as pl

from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.model.workloads import CheckpointMode
from cede.sim.durations import show_span
from cede.sim.traces.assembly import NO_CHECKPOINTS
from cede.sim.traces.cutting import noted
from cede.sim.traces.trace import Trace

MODES: tuple[str, ...] = get_args(CheckpointMode)
TIMES = ("checkpoint_interval", "checkpoint_time", "restart_time")


@dataclass(frozen=True, slots=True)
class Assumed:
    """`checkpoint` is a mode, the others are microseconds; None assumes nothing."""

    checkpoint: str | None = None
    checkpoint_interval: int | None = None
    checkpoint_time: int | None = None
    restart_time: int | None = None


def assume(trace: Trace, assumed: Assumed) -> Trace:
    """The trace with what is assumed where it says nothing, and a note of each thing.

    A mode goes to all jobs that do not answer when they are asked to save; with `none` nobody does, nor saves by
    itself. Times go to all jobs that have none of their own: with an interval a job saves by itself, whatever its mode.
    """
    jobs, notes = trace.jobs, []
    before = trace.notes
    if assumed.checkpoint is not None:
        _check(assumed)
        if assumed.checkpoint == "none":
            nothing = pl.lit(None, pl.Int64()).alias("checkpoint_interval")
            jobs = jobs.with_columns(pl.lit("none").alias("checkpoint"), nothing)
            notes.append("It was asked for that no job saves its work.")
        else:
            silent = jobs["checkpoint"] == "none"
            mode = pl.when(silent).then(pl.lit(assumed.checkpoint)).otherwise("checkpoint").alias("checkpoint")
            jobs = jobs.with_columns(mode)
            before = tuple(note for note in before if note != NO_CHECKPOINTS)
            notes.append(f"Checkpoint is assumed to be {assumed.checkpoint} for {_jobs(silent)}.")
    for name in TIMES:
        us = getattr(assumed, name)
        if us is not None:
            missing = jobs[name].is_null()
            jobs = jobs.with_columns(pl.when(missing).then(us).otherwise(name).cast(pl.Int64()).alias(name))
            before = tuple(note for note in before if note != NO_CHECKPOINTS or name != "checkpoint_interval")
            notes.append(
                f"{name.capitalize().replace('_', ' ')} is assumed to be {show_span(us)} for {_jobs(missing)}."
            )
    return noted(replace(trace, jobs=jobs, notes=before), *notes)


def _check(assumed: Assumed) -> None:
    mode = assumed.checkpoint
    if mode not in MODES:
        message = f"{shown(mode)} is none of {', '.join(MODES)}"
        raise InputError([Problem("checkpoint", message, did_you_mean(mode, MODES))])
    if mode == "none" and assumed.checkpoint_interval is not None:
        message = "an interval is one at which jobs save their work, and none shall"
        raise InputError([Problem("checkpoint_interval", message, "leave one of the two out")])


def _jobs(chosen: pl.Series) -> str:
    return f"{int(chosen.sum()):,} of {len(chosen):,} jobs"
