"""Use and demand over time, exact: as steps, and as averages over equal parts of the time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from cede.sim.measures.columns import Columns, Floats, columns, waits
from cede.sim.measures.groups import grouped
from cede.sim.measures.queue_measures import by_group
from cede.sim.measures.step_functions import Levels, Times, averages, together
from cede.sim.measures.work_measures import held_by, states
from cede.sim.tables import Tables

Drawn = tuple[str, Levels, Levels | None]
"""A group, its use, and its demand where it has one."""

TIMELINE: Mapping[str, pl.DataType] = {
    "at": pl.Int64(),
    "until": pl.Int64(),
    "group": pl.String(),
    "used": pl.Float64(),
    "waiting": pl.Float64(),
}
"""`at` and `until` in microseconds on the trace's clock. `used`: units of the main resource that running jobs of the
group hold; `waiting`: those that its waiting jobs ask for. By `state` the groups are running, held, down and idle,
which add up to the capacity; there only running has `waiting`, that of all jobs."""


def timeline(result: Tables, by: str = "queue", bins: int = 400) -> pl.DataFrame:
    """Time-averages of each group over equal parts of the replayed time, to a microsecond."""
    if bins < 1:
        raise ValueError(f"a timeline has 1 bin or more, not {bins}")
    table = columns(result)
    edges = np.array([result.begin + (result.end - result.begin) * one // bins for one in range(bins + 1)], np.int64)
    parts = []
    for group, used, waiting in _steps(table, by):
        asked = None if waiting is None else averages(waiting, edges) * table.per_unit
        parts.append(_frame(edges, group, averages(used, edges) * table.per_unit, asked))
    return pl.concat([pl.DataFrame(schema=TIMELINE), *parts])


def steps(result: Tables, by: str = "queue") -> pl.DataFrame:
    """Each group's exact levels: one row from each time that a job of it comes or goes to the next such time."""
    table = columns(result)
    parts = []
    for group, used, waiting in _steps(table, by):
        at, levels = together(used, *([] if waiting is None else [waiting]))
        held, *asked = (level[:-1].astype(np.float64) * table.per_unit for level in levels)
        parts.append(_frame(at, group, held, asked[0] if asked else None))
    return pl.concat([pl.DataFrame(schema=TIMELINE), *parts])


def _steps(table: Columns, by: str) -> Iterator[Drawn]:
    """Each group within the replayed time, in counts."""
    span = (table.result.begin, table.result.end)
    waiting = waits(table)
    if by == "state":
        asked = held_by(table, waiting).clipped(*span)
        for group, step in states(table).items():
            yield group, step, asked if group == "running" else None
        return
    groups = grouped(table, by)
    used, wanted = by_group(table, groups, table.ran), by_group(table, groups, waiting)
    for label, own, theirs in zip(groups.labels, used, wanted, strict=True):
        yield label, own.clipped(*span), theirs.clipped(*span)


def _frame(edges: Times, group: str, used: Floats, waiting: Floats | None) -> pl.DataFrame:
    return pl.DataFrame({"at": edges[:-1], "until": edges[1:], "used": used, "waiting": waiting}).select(
        "at", "until", pl.lit(group).alias("group"), "used", pl.col("waiting").cast(pl.Float64)
    )
