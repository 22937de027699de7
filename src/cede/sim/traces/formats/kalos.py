"""Acme's Kalos cluster of 2023, in the CSV that a third party made of the published trace."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cede.model.errors import shown
from cede.model.quantities import NANO
from cede.model.times import LONGEST
from cede.sim.traces.assembly import assemble, shapes_of
from cede.sim.traces.columns import seconds, text, whole
from cede.sim.traces.source import source_of
from cede.sim.traces.table import ROW, Layout, Rows, read_table
from cede.sim.traces.trace import Shape, Trace

COLUMNS = (
    "job_id", "arrival_time", "num_iteration", "iteration_computing_time", "gpu_workers", "gpu_per_worker",
    "profiled_network",
)  # fmt: skip
PRETRAINING = 1000
"""What `profiled_network` is for pretraining, and for nothing else."""

NOTES = (
    "Only jobs that completed, for pretraining, fine-tuning and some other purposes, are in this trace.",
    "A job's duration is its iterations times the time of one; processors are not taken from this trace.",
)


def recognises(_name: str, head: bytes) -> bool:
    """By its header."""
    return head.startswith(b"job_id,arrival_time,num_iteration,iteration_computing_time")


def read(path: Path) -> Trace:
    """Its jobs, each a gang of workers; `pretrain` and `other` are the queues."""
    jobs, places = read_table(source_of(path), Layout(), _converted, needs=COLUMNS, only=COLUMNS)
    shape, shapes = shapes_of(jobs, ["members", "gpus"], _shape)
    return assemble(jobs.with_columns(shape), shapes, "kalos", places, notes=NOTES)


def _shape(members: int, gpus: int) -> Shape:
    return Shape({"gpu": gpus * NANO}, members)


def _converted(rows: Rows) -> pl.DataFrame:
    pretraining = whole(rows, "profiled_network") == PRETRAINING
    iterations, each = whole(rows, "num_iteration", least=0), seconds(rows, "iteration_computing_time")
    # The product may be more than a number of 64 bits can hold.
    long = iterations.cast(pl.Float64) * each.cast(pl.Float64) > LONGEST
    rows.wrong("num_iteration", long, lambda value: f"{shown(value)} iterations take more than 100 years, the longest")
    return pl.DataFrame(
        {
            ROW: rows.frame[ROW],
            "name": text(rows, "job_id"),
            "submitted": seconds(rows, "arrival_time"),
            "duration": iterations * each,
            "members": whole(rows, "gpu_workers", least=1),
            "gpus": whole(rows, "gpu_per_worker", least=1),
        }
    ).with_columns(
        queue=pl.when(pretraining).then(pl.lit("pretrain")).otherwise(pl.lit("other")),
        outcome=pl.lit("completed"),
    )
