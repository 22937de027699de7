"""A result's jobs and attempts as arrays, with sizes in whole numbers of the resource that is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cede.model.quantities import NANO
from cede.sim.measures.step_functions import Amounts, Times, scaled
from cede.sim.tables import Tables

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

    `size` of each job, `each` of its allocations, `room` of the cluster and `node_room` of each node count `unit`
    nano-units each, which is their greatest common divisor: whole numbers, small enough to add up fast. What runs,
    waits or is held is one allocation: the whole job, unless it has several.
    """

    result: Tables
    resource: str
    jobs: pl.DataFrame
    submitted: Times
    duration: Times
    first_start: Times
    ended: Times
    size: Amounts
    each: Amounts
    counts: Rows
    """How many allocations each job is."""
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
    def each_units(self) -> Floats:
        """What each allocation of a job asks for, in whole units of the resource."""
        return np.asarray(self.each, np.float64) * self.per_unit

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


def columns(result: Tables, resource: str | None = None) -> Columns:
    """The arrays of a result, with sizes of one resource: the main one if none is named."""
    resource = result.main if resource is None else resource
    jobs = result.jobs.sort("job")
    if result.classes:
        jobs = jobs.with_columns(pl.col("priority").replace(dict(result.classes)))
    attempts = result.attempts.sort("job", "start", "end")
    room = result.capacity.get(resource, 0)
    node_room = {name: own.get(resource, 0) for name, own in result.node_capacity.items()}
    counts = counts_of(jobs)
    shapes = jobs["shape"].to_numpy()
    totals = [shape.get(resource, 0) for shape in result.sizes]
    sizes, unit = scaled(totals, (room, *node_room.values(), *_single(totals, shapes, counts)))
    size = sizes[shapes]
    row = np.searchsorted(jobs["job"].to_numpy(), attempts["job"].to_numpy()).astype(np.int64)
    return Columns(
        result=result,
        resource=resource,
        jobs=jobs,
        submitted=times(jobs["submitted"]),
        duration=times(jobs["duration"]),
        first_start=times(jobs["first_start"]),
        ended=times(jobs["ended"]),
        size=size,
        each=size // counts if (counts > 1).any() else size,
        counts=counts,
        unit=unit,
        room=room // unit,
        node_room={name: own // unit for name, own in node_room.items()},
        attempts=attempts,
        ran=Spans(row, times(attempts["start"]), times(attempts["end"])),
    )


def counts_of(jobs: pl.DataFrame) -> Rows:
    """How many allocations each job is."""
    if "allocations" not in jobs.columns:
        return np.ones(len(jobs), np.int64)
    return jobs["allocations"].to_numpy().astype(np.int64)


def each_of(table: Columns, totals: Sequence[int]) -> tuple[Amounts, int]:
    """What each allocation of every job holds, of totals by shape, in whole numbers of a unit; and that unit."""
    shapes = table.jobs["shape"].to_numpy()
    sizes, unit = scaled(totals, _single(totals, shapes, table.counts))
    each = sizes[shapes]
    return (each // table.counts if (table.counts > 1).any() else each), unit


def _single(totals: Sequence[int], shapes: NDArray[np.int32], counts: Rows) -> list[int]:
    """What one allocation of jobs of several holds: it must come out even as well."""
    several = counts > 1
    pairs = set(zip(shapes[several].tolist(), counts[several].tolist(), strict=True))
    return sorted(totals[shape] // count for shape, count in pairs)


def times(column: pl.Series) -> Times:
    """Whole microseconds, null as NEVER."""
    return column.fill_null(NEVER).to_numpy().astype(np.int64)


def waits(table: Columns) -> Spans:
    """When allocations waited: from submission, and from the end of each attempt, to the next start or to the end of
    the job. A job that is not several has one, and waits when that does.

    Refused jobs never wait: there is nothing they could wait for.
    """
    row = np.repeat(np.arange(len(table.submitted), dtype=np.int64), table.counts)
    final = np.where(table.ended == NEVER, table.result.end, table.ended)[row]
    ran = table.ran.row
    if len(row) > len(table.submitted):
        first = np.cumsum(table.counts) - table.counts
        ran = first[ran] + table.attempts["allocation"].fill_null(1).to_numpy().astype(np.int64) - 1
        # One that has done its work waits no longer, though others of its job go on.
        done = (table.attempts["how"] == "completed").to_numpy()
        final[ran[done]] = table.ran.end[done]
    every = np.arange(len(row), dtype=np.int64)
    # Each time one begins to wait has its time at which that wait ends: in order of allocation and time they are pairs.
    place, began = _ordered(np.concatenate((every, ran)), np.concatenate((table.submitted[row], table.ran.end)))
    _, over = _ordered(np.concatenate((every, ran)), np.concatenate((final, table.ran.start)))
    kept = (over > began) & ~table.state_is("refused")[row[place]]
    return Spans(row[place[kept]], began[kept], over[kept])


def _ordered(rows: Rows, at: Times) -> tuple[Rows, Times]:
    order = np.lexsort((at, rows))
    return rows[order], at[order]
