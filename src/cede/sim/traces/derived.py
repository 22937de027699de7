"""The columns of a trace that can be read by name: those of its table, and those that follow from a job's shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl

from cede.model.quantities import NANO
from cede.model.resources import is_gpu, split_flavor
from cede.sim.traces.trace import COLUMNS, Shape, Trace

Kind = Literal["text", "whole", "number", "duration", "time", "truth"]

DERIVED: Mapping[str, str] = {
    "gpus": "GPUs of all members together",
    "cpus": "CPUs of all members together",
    "memory": "bytes of memory of all members together",
    "size": "GPUs if the trace has any, else CPUs: what its sizes are told in",
    "members": "how many members it has; 1 where the trace knows only the total",
}

DURATIONS = ("duration", "walltime", "checkpoint_interval", "checkpoint_time", "restart_time")
TIMES = ("submitted", "started")


def kind_of(column: str) -> Kind:
    """What the values of a column are; `column` is one of the table's or a derived one."""
    if column in DERIVED:
        return "whole" if column == "members" else "number"
    if column in DURATIONS:
        return "duration"
    if column in TIMES:
        return "time"
    dtype = COLUMNS[column]
    if dtype == pl.String():
        return "text"
    return "truth" if dtype == pl.Boolean() else "whole"


def columns(trace: Trace) -> pl.DataFrame:
    """The jobs with the derived columns beside the table's; amounts in units, not in nano-units."""
    shape = trace.jobs["shape"].to_numpy()
    by_shape = {name: np.array([_amount(s, name) for s in trace.shapes], float) for name in ("gpus", "cpus", "memory")}
    main = main_resource(trace.shapes)
    by_shape["size"] = np.array([s.members * s.requests.get(main, 0) / NANO for s in trace.shapes], float)
    if is_gpu(main):
        by_shape["size"] = by_shape["gpus"]
    by_shape["members"] = np.array([s.members for s in trace.shapes], np.int32)
    return trace.jobs.with_columns(pl.Series(name, by_shape[name][shape]) for name in DERIVED)


def _amount(shape: Shape, what: str) -> float:
    each = sum(nano for name, nano in shape.requests.items() if _is(name, what))
    return shape.members * each / NANO


def _is(resource: str, what: str) -> bool:
    if what == "gpus":
        return is_gpu(resource)
    return split_flavor(resource)[0] == {"cpus": "cpu", "memory": "memory"}[what]


def main_resource(shapes: Sequence[Shape]) -> str:
    """What sizes are told in: a GPU if any job asks for one, else cpu, else the first resource by name."""
    names = sorted({name for shape in shapes for name, nano in shape.requests.items() if nano})
    gpus = [name for name in names if is_gpu(name)]
    if gpus:
        return gpus[0]
    return "cpu" if "cpu" in names or not names else names[0]
