"""Small traces for tests, and drawn ones for Hypothesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from hypothesis import strategies as st

from cede.model.cluster import Node
from cede.model.quantities import NANO
from cede.model.times import SECOND
from cede.sim.traces.assembly import DEFAULTS
from cede.sim.traces.trace import COLUMNS, Shape, Trace

HOUR = 3600 * SECOND
DAY = 24 * HOUR


def gpus(count: float, *, members: int = 1, divisible: bool = False, **labels: str) -> Shape:
    return Shape({"gpu": int(count * NANO)}, members, divisible, labels)


def trace_of(
    *jobs: Mapping[str, Any],
    shapes: Sequence[Shape] = (gpus(1),),
    origin: int | None = None,
    nodes: Sequence[Node] = (),
    notes: Sequence[str] = (),
) -> Trace:
    """A trace of these jobs: a name, a run time of an hour and the first shape, unless they say otherwise."""
    rows = [
        {"name": f"j{number}", "shape": 0, "submitted": 0, "duration": HOUR, **DEFAULTS, **job}
        for number, job in enumerate(jobs)
    ]
    columns = {name: [row.get(name) for row in rows] for name in COLUMNS}
    frame = pl.DataFrame(columns, schema=dict(COLUMNS)).sort("submitted", maintain_order=True)
    return Trace(frame, tuple(shapes), "test", tuple(notes), origin, tuple(nodes))


def column(trace: Trace, name: str) -> list[Any]:
    return trace.jobs[name].to_list()


def check(trace: Trace) -> None:
    """What every trace promises."""
    jobs = trace.jobs
    assert dict(jobs.schema) == dict(COLUMNS)
    assert jobs["name"].n_unique() == jobs.height
    assert jobs["submitted"].is_sorted()
    assert (jobs["duration"] >= 0).all()
    for name in ("name", "shape", "submitted", "duration", *DEFAULTS):
        assert jobs[name].null_count() == 0, name
    assert jobs["shape"].is_between(0, len(trace.shapes) - 1).all()


JOBS = st.lists(
    st.fixed_dictionaries(
        {
            "submitted": st.integers(0, 400 * DAY),
            "duration": st.integers(0, 30 * DAY),
            "shape": st.integers(0, 2),
            "walltime": st.none() | st.integers(0, 30 * DAY),
            "user": st.none() | st.sampled_from(["ann", "bob", "eve"]),
            "priority": st.none() | st.integers(0, 9),
            "started": st.none() | st.integers(0, 400 * DAY),
        }
    ),
    min_size=1,
    max_size=12,
)
TRACES = JOBS.map(lambda jobs: trace_of(*jobs, shapes=[gpus(1), gpus(4), gpus(37, divisible=True)]))
