"""What is in a trace, in numbers: how much was asked for and when, by whom, and how large it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cede.model.quantities import NANO
from cede.model.times import SECOND, format_time
from cede.sim.traces.cutting import begin_of
from cede.sim.traces.derived import columns, main_resource
from cede.sim.traces.trace import Trace

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
BANDS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Upper ends of the bands that sizes are counted in."""
MOST_GROUPS = 12


@dataclass(frozen=True, slots=True)
class Demand:
    """What jobs would hold of a resource if nobody had to wait, in units: on average and at most while jobs come.
    `offered` is the work that came in that time, over it; `capacity` is that of the nodes the trace names."""

    mean: float
    offered: float
    peak: float
    hours: float
    capacity: float | None

    def to_dict(self) -> dict[str, Any]:
        load = None if not self.capacity else self.offered / self.capacity
        return {
            "mean": _rounded(self.mean),
            "offered": _rounded(self.offered),
            "peak": _rounded(self.peak),
            "hours": _rounded(self.hours),
            "capacity": self.capacity,
            "load": None if load is None else _rounded(load),
        }


def summary(trace: Trace) -> dict[str, Any]:
    """Plain data for people and programs. Times are in seconds, amounts in units.

    `span` is from the first submission to the last. What is held on average, `mean`, is of that time alone, and so
    never above the peak; what is `offered` is all the work that came in it, also what a job does in the weeks after.
    """
    jobs = columns(trace)
    submitted = jobs["submitted"]
    begin, last = begin_of(trace), int(submitted[-1]) if jobs.height else 0
    return {
        "format": trace.format,
        "jobs": jobs.height,
        "begin": None if trace.origin is None else format_time(trace.origin + begin, instant=True),
        "span": (last - begin) / SECOND,
        "resource": main_resource(trace.shapes),
        "demand": {name: figures.to_dict() for name, figures in demand(trace).items()},
        "nodes": len(trace.nodes),
        "durations": _quantiles(jobs["duration"]),
        "walltimes": _quantiles(jobs["walltime"]),
        "sizes": _sizes(jobs),
        "gangs": int((jobs["members"] > 1).sum()),
        "priorities": _groups(jobs, "priority", by_count=False),
        "queues": _groups(jobs, "queue"),
        "users": jobs["user"].n_unique() - (1 if jobs["user"].null_count() else 0),
        "kinds": _groups(jobs, "kind"),
        "checkpoints": _groups(jobs, "checkpoint"),
        "outcomes": _groups(jobs, "outcome"),
        "evictions": int(jobs["evictions"].fill_null(0).sum()),
        "not_preemptible": int((~jobs["preemptible"]).sum()),
        "notes": list(trace.notes),
    }


def demand(trace: Trace) -> dict[str, Demand]:
    """By resource, the one that sizes are told in first."""
    main = main_resource(trace.shapes)
    names = {name for shape in trace.shapes for name, nano in shape.requests.items() if nano}
    jobs = trace.jobs
    shape = jobs["shape"].to_numpy()
    begins, lasts = jobs["submitted"].to_numpy(), jobs["duration"].to_numpy()
    span = max(1, int(begins[-1]) - int(begins[0])) if jobs.height else 1
    demands: dict[str, Demand] = {}
    for name in sorted(names, key=lambda name: (name != main, name)):
        held = np.array([one.members * one.requests.get(name, 0) / NANO for one in trace.shapes])[shape]
        work = float((held * (lasts / SECOND)).sum())
        capacity = sum(node.capacity.get(name, 0) - node.occupied.get(name, 0) for node in trace.nodes) / NANO
        peak = _peak(begins, begins + lasts, held)
        within = np.minimum(begins + lasts, int(begins[-1]) if jobs.height else 0) - begins
        mean = float((held * (np.maximum(within, 0) / SECOND)).sum()) / (span / SECOND)
        demands[name] = Demand(min(mean, peak), work / (span / SECOND), peak, work / 3600, capacity or None)
    return demands


def _peak(begins: Any, ends: Any, held: Any) -> float:
    """The most that is held at once; what ends at a moment has gone when the next begins."""
    if not len(held):
        return 0.0
    times = np.concatenate((begins, ends))
    change = np.concatenate((held, -held))
    order = np.lexsort((change > 0, times))
    return float(np.cumsum(change[order]).max())


def _quantiles(column: pl.Series) -> dict[str, float] | None:
    """In seconds; None where the trace says nothing."""
    known = column.drop_nulls().to_numpy() / SECOND
    if not len(known):
        return None
    cuts = np.quantile(known, QUANTILES, method="inverted_cdf").tolist()
    named = {f"p{round(100 * q)}": value for q, value in zip(QUANTILES, cuts, strict=True)}
    return {"known": len(known), "mean": _rounded(float(known.mean())), **named, "max": float(known.max())}


def _sizes(jobs: pl.DataFrame) -> list[dict[str, Any]]:
    """Jobs and their share of the work in each band of sizes that has any."""
    size, lasts = jobs["size"].to_numpy(), jobs["duration"].to_numpy() / SECOND
    band = np.searchsorted(BANDS, size, side="left")
    work = size * lasts
    total = float(work.sum()) or 1.0
    return [
        {
            "above": 0 if number == 0 else BANDS[number - 1],
            "up_to": BANDS[number] if number < len(BANDS) else None,
            "jobs": int((band == number).sum()),
            "work": _rounded(float(work[band == number].sum()) / total),
        }
        for number in np.unique(band).tolist()
    ]


def _groups(jobs: pl.DataFrame, column: str, *, by_count: bool = True) -> list[dict[str, Any]]:
    """The values of a column with how many jobs have each; null where the trace does not say."""
    counts: Mapping[Any, int] = dict(jobs[column].value_counts().iter_rows())

    def place(item: tuple[Any, int]) -> tuple[Any, ...]:
        value, count = item
        return (-count, str(value)) if by_count else (value is None, -value if value is not None else 0)

    return [{"value": value, "jobs": count} for value, count in sorted(counts.items(), key=place)]


def _rounded(value: float) -> float:
    """To four significant decimals: sums of floats are not the same to the last bit on every machine."""
    return float(f"{value:.4g}")
