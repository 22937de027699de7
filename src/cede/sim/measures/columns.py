"""A result's jobs and attempts as arrays, with sizes in whole numbers of the resource that is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cede.model.quantities import NANO
from cede.sim.measures.sweep import Amounts, Times, scaled
from cede.sim.result import Result

SECOND = 10**6
HOUR = 3600 * SECOND
NEVER = -(1 << 62)
"""Stands for a null time."""

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spans:
    """Intervals [start, end) of jobs; `row` is the job's place in the columns."""

    row: Rows
    start: Times
    end: Times


@dataclass(frozen=True, slots=True)
class Columns:
    """Jobs are in order of their number, attempts in order of job and start.

    `size` of each job, `room` of the cluster and `node_room` of each node count `unit` nano-units each, which is their
    greatest common divisor: whole numbers, small enough to add up fast.
    """

    result: Result
    resource: str
    jobs: pl.DataFrame
    submitted: Times
    duration: Times
    first_start: Times
    ended: Times
    size: Amounts
    unit: int
    room: int
    node_room: Mapping[str, int]
    attempts: pl.DataFrame
    ran: Spans

    @property
    def units(self) -> Floats:
        """What each job asks for, in whole units of the resource."""
        return np.asarray(self.size, np.float64) * self.per_unit

    @property
    def per_unit(self) -> float:
        """How much of the resource one count is."""
        return self.unit / NANO

    @property
    def capacity(self) -> float:
        """That of the cluster, in whole units."""
        return self.room * self.unit / NANO

    def state_is(self, *states: str) -> NDArray[np.bool_]:
        """Which jobs are in one of these states."""
        return self.jobs["state"].is_in(states).to_numpy()

    def rows_of(self, jobs: pl.Series) -> Rows:
        """The places of the jobs with these numbers."""
        return np.searchsorted(self.jobs["job"].to_numpy(), jobs.to_numpy()).astype(np.int64)


def columns(result: Result, resource: str | None = None) -> Columns:
    """The arrays of a result, with sizes of one resource: the main one if none is named."""
    resource = result.main if resource is None else resource
    jobs = result.jobs.sort("job")
    if result.classes:
        jobs = jobs.with_columns(pl.col("priority").replace(dict(result.classes)))
    attempts = result.attempts.sort("job", "start", "end")
    room = result.capacity.get(resource, 0)
    node_room = {name: own.get(resource, 0) for name, own in result.node_capacity.items()}
    sizes, unit = scaled([shape.get(resource, 0) for shape in result.sizes], (room, *node_room.values()))
    row = np.searchsorted(jobs["job"].to_numpy(), attempts["job"].to_numpy()).astype(np.int64)
    return Columns(
        result=result,
        resource=resource,
        jobs=jobs,
        submitted=times(jobs["submitted"]),
        duration=times(jobs["duration"]),
        first_start=times(jobs["first_start"]),
        ended=times(jobs["ended"]),
        size=sizes[jobs["shape"].to_numpy()],
        unit=unit,
        room=room // unit,
        node_room={name: own // unit for name, own in node_room.items()},
        attempts=attempts,
        ran=Spans(row, times(attempts["start"]), times(attempts["end"])),
    )


def times(column: pl.Series) -> Times:
    """Whole microseconds, null as NEVER."""
    return column.fill_null(NEVER).to_numpy().astype(np.int64)


def waits(table: Columns) -> Spans:
    """When jobs waited: from submission, and from the end of each attempt, to the next start or to the end of the job.

    Refused jobs never wait: there is nothing they could wait for.
    """
    count = len(table.submitted)
    final = np.where(table.ended == NEVER, table.result.end, table.ended)
    every = np.arange(count, dtype=np.int64)
    # Each time a job begins to wait has its time at which that wait ends: in order of job and time they are pairs.
    began_row, began = _ordered(
        np.concatenate((every, table.ran.row)), np.concatenate((table.submitted, table.ran.end))
    )
    _, over = _ordered(np.concatenate((every, table.ran.row)), np.concatenate((final, table.ran.start)))
    kept = (over > began) & ~table.state_is("refused")[began_row]
    return Spans(began_row[kept], began[kept], over[kept])


def _ordered(rows: Rows, at: Times) -> tuple[Rows, Times]:
    order = np.lexsort((at, rows))
    return rows[order], at[order]
