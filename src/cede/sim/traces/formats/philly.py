"""Microsoft's Philly trace of 2017, in the reduced CSV that several simulators carry."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cede.model.errors import shown
from cede.model.times import SECOND
from cede.sim.traces.assembly import assemble, in_gpus
from cede.sim.traces.columns import seconds, text, whole
from cede.sim.traces.source import source_of
from cede.sim.traces.table import ROW, Layout, Rows, read_table
from cede.sim.traces.trace import Trace

COLUMNS = ("timestamp", "duration", "num_gpus", "cluster")

NOTES = (
    "Submission times of this trace are of a wall clock whose zone is not known; they are read as UTC.",
    "This trace has no names, users, outcomes or starts: jobs are named by their place in the file.",
)


def recognises(_name: str, head: bytes) -> bool:
    """By its header."""
    return head.startswith(b"timestamp,duration,num_gpus,gpu_time,cluster")


def read(path: Path) -> Trace:
    """Its jobs; the virtual cluster is the queue."""
    jobs, places = read_table(source_of(path), Layout(quoted=False), _converted, needs=COLUMNS, only=COLUMNS)
    origin = int(jobs["submitted"].min())  # type: ignore[arg-type]
    jobs = jobs.with_columns(pl.col("submitted") - origin)
    notes = list(NOTES)
    jobs, shapes = in_gpus(jobs, notes)
    return assemble(jobs, shapes, "philly", places, notes=notes, origin=origin)


def _converted(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(
        {
            ROW: rows.frame[ROW],
            "name": (rows.frame[ROW] + 1).cast(pl.String),
            "submitted": _wall_clock(rows, "timestamp"),
            "duration": seconds(rows, "duration"),
            "gpus": whole(rows, "num_gpus", least=0),
            "queue": text(rows, "cluster"),
        }
    )


def _wall_clock(rows: Rows, column: str) -> pl.Series:
    raw = text(rows, column)
    times = raw.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
    bad = times.is_null() & raw.is_not_null()
    rows.wrong(column, bad, lambda value: f"{shown(value)} is no time like 2017-10-09 07:01:55")
    return times.to_physical() // SECOND * SECOND
