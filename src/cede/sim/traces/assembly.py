"""Jobs and shapes put together into a trace, with what every trace must hold checked and what it lacks noted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from cede.model.cluster import Node
from cede.model.errors import InputError, Problem, shown
from cede.model.quantities import NANO
from cede.model.times import LONGEST, show_duration
from cede.sim.traces.derived import DURATIONS
from cede.sim.traces.table import MOST_PROBLEMS, ROW, Faults, Places
from cede.sim.traces.trace import COLUMNS, Shape, Trace

LACKS = {
    "priority": "This trace has no priorities: all jobs have the same unless a mapping sets them.",
    "queue": "This trace has no queues: all jobs are in the same unless a mapping sets them.",
    "walltime": "This trace has no walltimes: nobody said how long a job may run.",
}
NO_CHECKPOINTS = "This trace does not say which jobs write checkpoints: none do unless a mapping sets it."

DEFAULTS: dict[str, Any] = {"preemptible": True, "preempts": True, "checkpoint": "none"}


def assemble(
    jobs: pl.DataFrame,
    shapes: Sequence[Shape],
    format_: str,
    places: Places,
    *,
    notes: Sequence[str] = (),
    origin: int | None = None,
    nodes: Sequence[Node] = (),
) -> Trace:
    """The trace of these jobs, of which `ROW` says where they stand; columns that are not there are null.

    An InputError names the first jobs that have the same name, or a time that is longer than the longest.
    """
    if not jobs.height:
        raise InputError([Problem(places.name, "holds no job that can be replayed", " ".join(notes) or None)])
    _check_durations(jobs, places)
    twice = jobs["name"].is_duplicated()
    if twice.any():
        raise _same_names(jobs.filter(twice), places)
    columns = []
    for name, dtype in COLUMNS.items():
        column = pl.col(name).cast(dtype) if name in jobs.columns else pl.lit(None, dtype=dtype)
        columns.append((column.fill_null(DEFAULTS[name]) if name in DEFAULTS else column).alias(name))
    ordered = jobs.sort("submitted", maintain_order=True).select(columns)
    ordered, used = _numbered(ordered, shapes)
    told = list(notes)
    told += [note for note in lacks(ordered) if note not in told]
    return Trace(ordered, used, format_, tuple(told), origin, tuple(nodes))


def _check_durations(jobs: pl.DataFrame, places: Places) -> None:
    """Whatever a format calls its columns, and however it reckons what is in them."""
    faults = Faults(places)
    for column in DURATIONS:
        if column in jobs.columns and (long := jobs[column].cast(pl.Int64) > LONGEST).any():
            for row, value in jobs.filter(long.fill_null(False)).select(ROW, column).head(MOST_PROBLEMS).iter_rows():
                faults.add(row, column, f"{show_duration(value)} is out of range; the longest is 100 years")
    faults.check()


def lacks(jobs: pl.DataFrame) -> list[str]:
    """What the jobs do not say, as sentences."""
    missing = [note for column, note in LACKS.items() if jobs[column].null_count() == jobs.height]
    return [*missing, NO_CHECKPOINTS] if (jobs["checkpoint"] == "none").all() else missing


def shapes_of(jobs: pl.DataFrame, columns: Sequence[str], shape: Callable[..., Shape]) -> tuple[pl.Series, list[Shape]]:
    """The shape of each job, and the shapes: `shape` is asked once for each distinct row of these columns."""
    distinct = jobs.select(columns).unique(maintain_order=True)
    shapes: list[Shape] = []
    numbers: dict[object, int] = {}
    of: list[int] = []
    for row in distinct.rows():
        row_shape = shape(*row)
        number = numbers.setdefault(_key(row_shape), len(shapes))
        if number == len(shapes):
            shapes.append(row_shape)
        of.append(number)
    distinct = distinct.with_columns(pl.Series("shape", of, dtype=pl.Int32))
    joined = jobs.select(columns).join(distinct, on=columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["shape"], shapes


def _key(shape: Shape) -> object:
    return (tuple(sorted(shape.requests.items())), shape.members, shape.divisible, tuple(sorted(shape.labels.items())))


def _numbered(jobs: pl.DataFrame, shapes: Sequence[Shape]) -> tuple[pl.DataFrame, tuple[Shape, ...]]:
    """Shapes in the order in which jobs first come in them, and none that no job has."""
    used = jobs["shape"].unique(maintain_order=True).to_list()
    again = {old: new for new, old in enumerate(used)}
    renumbered = jobs["shape"].replace_strict(again, return_dtype=pl.Int32)
    return jobs.with_columns(renumbered), tuple(shapes[number] for number in used)


def _same_names(jobs: pl.DataFrame, places: Places) -> InputError:
    first = jobs.sort(ROW).group_by("name", maintain_order=True).agg(pl.col(ROW).head(2)).head(10)
    problems = []
    for name, rows in first.iter_rows():
        one, other = places.of(rows)
        problems.append(Problem(other, f"name: {shown(name)} is the name of the job at {one} too"))
    return InputError(problems)


def in_gpus(jobs: pl.DataFrame, notes: list[str]) -> tuple[pl.DataFrame, list[Shape]]:
    """The jobs with a shape for each number in `gpus`, and the shapes; those with none are left out, and noted."""
    none = (jobs["gpus"] == 0).sum()
    if none:
        notes.append(f"{none:,} of {jobs.height:,} jobs are left out: they had no GPU.")
        jobs = jobs.filter(pl.col("gpus") > 0)
    notes.append("This trace tells only how many GPUs a job had in all: nothing of processors, memory or nodes.")
    shape, shapes = shapes_of(jobs, ["gpus"], lambda gpus: Shape({"gpu": gpus * NANO}, divisible=True))
    return jobs.with_columns(shape), shapes
