"""What is plotted of one replay: use over time, distributions, and what each preemption lost."""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cede.model.quantities import NANO
from cede.sim.measures.columns import HOUR, NEVER, SECOND, Columns, columns
from cede.sim.measures.timeline import timeline
from cede.sim.report.content import Distribution, Timeline
from cede.sim.result import Result

BINS = 240
"""Steps of a timeline: what a screen has room for."""
EVENLY, IN_THE_TAIL, TAIL = 240, 80, 0.95
"""Points of a distribution: so many over all of it, and as many again where the longest are."""


def timeline_of(result: Result) -> Timeline:
    """Averages over equal parts of the replay, in seconds since its begin and units of the main resource."""
    queues, priorities, states = (_by_group(timeline(result, by, BINS)) for by in ("queue", "priority", "state"))
    edges = np.array([result.begin + (result.end - result.begin) * one // BINS for one in range(BINS + 1)], np.int64)
    at = result.victims.join(result.decisions.select("decision", "at"), "decision", "left")["at"].to_numpy()
    step = np.clip(np.searchsorted(edges, at, "right") - 1, 0, BINS - 1)
    whole = result.capacity.get(result.main, 0) / NANO
    return Timeline(
        times=((edges - result.begin) / SECOND).tolist(),
        capacity=(whole - np.array(states["down"]["used"])).tolist(),
        waiting=np.array(states["running"]["waiting"]).tolist(),
        by_queue={group: own["used"] for group, own in queues.items()},
        by_priority={group: own["used"] for group, own in priorities.items()},
        preemptions=np.bincount(step, minlength=BINS).tolist(),
    )


def distributions_of(
    result: Result, counted: int, bound_s: float, common: Set[str] | None = None
) -> dict[str, Distribution]:
    """Of the last `counted` jobs to be submitted, and of these the `common` ones: those are measured. Who has no value
    is left out."""
    table = columns(result)
    last = np.zeros(len(table.submitted), np.bool_)
    last[np.argsort(table.submitted, kind="stable")[len(last) - counted :]] = True
    if common is not None:
        last &= table.jobs["name"].is_in(sorted(common)).to_numpy()
    started = last & (table.first_start != NEVER)
    completed = last & table.state_is("completed")
    wait = (table.first_start - table.submitted)[started] / SECOND
    turnaround = (table.ended - table.submitted)[completed] / SECOND
    alone = np.maximum(table.duration[completed] / SECOND, bound_s)
    slowdown = np.maximum(np.divide(turnaround, alone, out=np.ones(len(alone)), where=alone > 0), 1.0)
    return {
        "wait": _distribution(np.maximum(wait, 1.0)),
        "slowdown": _distribution(slowdown),
        "turnaround": _distribution(np.maximum(turnaround, 1.0)),
    }


def lost_of(result: Result) -> list[float]:
    """The hours of the main resource that each preemption lost, of victims that have left."""
    table = columns(result)
    left = result.victims.filter(pl.col("lost").is_not_null())
    return [float(one) for one in left["lost"].to_numpy() / HOUR * _sizes(table, left["job"])]


def _sizes(table: Columns, jobs: pl.Series) -> NDArray[np.float64]:
    sizes: NDArray[np.float64] = table.each_units[table.rows_of(jobs)]
    return sizes


def _by_group(frame: pl.DataFrame) -> Mapping[str, Mapping[str, list[float]]]:
    parts = frame.partition_by("group", maintain_order=True, as_dict=True)
    return {
        str(group): {name: own[name].fill_null(0.0).to_list() for name in ("used", "waiting")}
        for (group,), own in parts.items()
    }


def _distribution(values: NDArray[np.float64]) -> Distribution:
    """Its steps, or so many of them that no more could be seen; always the first and the last."""
    ordered = np.sort(values)
    count = len(ordered)
    if not count:
        return Distribution([], [])
    ranks = np.unique(
        np.concatenate(
            [np.linspace(0, count - 1, EVENLY), np.linspace(TAIL * (count - 1), count - 1, IN_THE_TAIL)]
        ).astype(np.int64)
    )
    chosen = np.arange(count) if count <= EVENLY else ranks
    return Distribution(ordered[chosen].tolist(), ((chosen + 1) / count).tolist())
