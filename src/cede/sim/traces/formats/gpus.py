"""Jobs of which a trace tells only how many GPUs they had."""

from __future__ import annotations

import polars as pl

from cede.model.quantities import NANO
from cede.sim.traces.assembly import shapes_of
from cede.sim.traces.trace import Shape


def in_gpus(jobs: pl.DataFrame, notes: list[str]) -> tuple[pl.DataFrame, list[Shape]]:
    """The jobs with a shape for each number in `gpus`, and the shapes; those with none are left out, and noted."""
    none = (jobs["gpus"] == 0).sum()
    if none:
        notes.append(f"{none:,} of {jobs.height:,} jobs are left out: they had no GPU.")
        jobs = jobs.filter(pl.col("gpus") > 0)
    notes.append("This trace tells only how many GPUs a job had in all: nothing of processors, memory or nodes.")
    shape, shapes = shapes_of(jobs, ["gpus"], lambda gpus: Shape({"gpu": gpus * NANO}, divisible=True))
    return jobs.with_columns(shape), shapes
