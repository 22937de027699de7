"""The MIX2 trace of the Chronus artifact: jobs drawn from Philly, with classes and deadlines added."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cede.sim.traces.assembly import assemble, in_gpus
from cede.sim.traces.columns import seconds, text, whole, words
from cede.sim.traces.source import source_of
from cede.sim.traces.table import ROW, Layout, Rows, read_table
from cede.sim.traces.trace import Trace

COLUMNS = ("job_id", "user", "num_gpu", "submit_time", "duration", "job_type")
MINUTE_S = 60
"""The file does not say what its unit is; by the size of its numbers it is a minute."""

PRIORITIES = {"strict": 9, "soft": 5, "best": 1}

NOTES = (
    "Classes and deadlines of this trace were made up by its authors, and its jobs were drawn anew from Philly's.",
    "The unit of its times is taken to be a minute.",
    "Priorities stand for its classes: strict 9, soft 5, best effort 1. Its deadlines are not used.",
)


def recognises(_name: str, head: bytes) -> bool:
    """By its header."""
    line = head.partition(b"\n")[0]
    return line.startswith(b"job_id,user,num_gpu,submit_time") and b"job_type" in line


def read(path: Path) -> Trace:
    """Its jobs; the virtual cluster (its `user`) is the queue, and the class gives the priority."""
    jobs, places = read_table(source_of(path), Layout(), _converted, needs=COLUMNS, only=COLUMNS)
    notes = list(NOTES)
    jobs, shapes = in_gpus(jobs, notes)
    return assemble(jobs, shapes, "chronus", places, notes=notes)


def _converted(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(
        {
            ROW: rows.frame[ROW],
            "name": text(rows, "job_id"),
            "submitted": seconds(rows, "submit_time", unit_s=MINUTE_S),
            "duration": seconds(rows, "duration", unit_s=MINUTE_S),
            "gpus": whole(rows, "num_gpu", least=0),
            "queue": text(rows, "user"),
            "priority": words(rows, "job_type", PRIORITIES).replace_strict(
                PRIORITIES, default=None, return_dtype=pl.Int32
            ),
        }
    )
