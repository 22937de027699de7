"""A trace as every reader makes it and the replay takes it: one table of jobs, and the shapes they come in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from cede.model.cluster import Node

COLUMNS: Mapping[str, pl.DataType] = {
    "name": pl.String(),
    "shape": pl.Int32(),
    "submitted": pl.Int64(),
    "duration": pl.Int64(),
    "walltime": pl.Int64(),
    "queue": pl.String(),
    "user": pl.String(),
    "project": pl.String(),
    "kind": pl.String(),
    "priority": pl.Int32(),
    "job_priority": pl.Int32(),
    "preemptible": pl.Boolean(),
    "preempts": pl.Boolean(),
    "checkpoint": pl.String(),
    "checkpoint_interval": pl.Int64(),
    "checkpoint_time": pl.Int64(),
    "restart_time": pl.Int64(),
    "outcome": pl.String(),
    "started": pl.Int64(),
    "evictions": pl.Int32(),
}
"""Every column is there in every trace, in this order; what a trace does not say is null.

Times and durations are whole microseconds; `submitted` and `started` count from the trace's `origin`. Rows are in order
of submission, equal ones as the file has them: the place of a row is its last tie-break. Never null: name (unique),
shape, submitted, duration (how long the job runs without interruption; 0 or more), preemptible, preempts (true unless
said), checkpoint (`none`, `auto` or `manual`, as in a cluster file). `kind` is a cluster file's, null for batch.
`outcome` is what became of it in reality (completed, failed, cancelled, evicted, running), `started` and `evictions`
when it first started there and how often it was evicted: to compare with, never to decide from.
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """What some jobs ask for: a number of members, and the nano-units of each resource that each of them needs.

    `divisible`: the trace knows only the total. Then `members` is 1, and `traces/fitting.py` divides it over nodes.
    """

    requests: Mapping[str, int]
    members: int = 1
    divisible: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    """Node labels it must match."""


@dataclass(frozen=True, slots=True)
class Trace:
    """`format` names the reader. `notes` are sentences that must stand beside every result: what was left out, and what
    the trace does not say and was made up."""

    jobs: pl.DataFrame
    shapes: tuple[Shape, ...]
    format: str
    notes: tuple[str, ...] = ()
    origin: int | None = None
    """Microseconds since 1970 of time 0, where the trace says."""
    nodes: tuple[Node, ...] = ()
    """The machine of the trace, where it says."""
    classes: Mapping[int, int] = field(default_factory=dict)
    """The priority that the trace has for each one that a doctrine with a range of its own made of it."""
