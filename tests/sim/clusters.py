"""Small clusters and traces for tests of the replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

import cede
from cede.engine.cluster import Cluster
from cede.model.times import SECOND
from cede.sim.traces.trace import COLUMNS, Shape, Trace


def trace_of(*jobs: dict[str, Any], origin: int | None = None) -> Trace:
    """A trace of these jobs; times in seconds, `cpu` or `gpu` for one member, the rest as the columns have it."""
    shapes: list[Shape] = []
    rows = []
    for number, job in enumerate(sorted(jobs, key=lambda job: job["submitted"])):
        given = dict(job)
        requests: dict[str, int] = {name: int(given.pop(name) * 10**9) for name in RESOURCES if name in given}
        shape = Shape(requests, given.pop("members", 1))
        if shape not in shapes:
            shapes.append(shape)
        times = {key: int(value * SECOND) for key, value in given.items() if key in TIMES and value is not None}
        row = {"name": f"j{number}", "preemptible": True, "preempts": True, "checkpoint": "none", **given, **times}
        rows.append({**row, "shape": shapes.index(shape)})
    table = pl.DataFrame([[row.get(name) for name in COLUMNS] for row in rows], dict(COLUMNS), orient="row")
    return Trace(table, tuple(shapes), "test", origin=origin)


RESOURCES: tuple[str, ...] = ("cpu", "gpu")
TIMES = ("submitted", "duration", "walltime", "checkpoint_interval", "checkpoint_time", "restart_time")


def cluster_of(
    nodes: Sequence[dict[str, int]] = ({"cpu": 4},), doctrine: Any = "backendai", **settings: Any
) -> Cluster:
    """Nodes n0, n1, ... of these capacities and one queue `q`; Backend.AI's queues with work again."""
    known = {"preemption_mode": "suspend", **settings} if str(doctrine) == "backendai" else settings
    name, _, edition = str(doctrine).partition(":")
    return cede.load(
        {
            "cede": 1,
            "doctrine": {"name": name, **({"edition": edition} if edition else {})},
            "nodes": [{"name": f"n{at}", "capacity": capacity} for at, capacity in enumerate(nodes)],
            "queues": [{"name": "q", **({"settings": known} if known else {})}],
        }
    )
