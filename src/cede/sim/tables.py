"""The tables that a replay leaves behind, and what is known beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cede.model.resources import is_gpu

JOBS: Mapping[str, pl.DataType] = {
    "job": pl.UInt32(),
    "name": pl.String(),
    "queue": pl.String(),
    "user": pl.String(),
    "project": pl.String(),
    "kind": pl.String(),
    "priority": pl.Int32(),
    "shape": pl.Int32(),
    "members": pl.Int32(),
    "submitted": pl.Int64(),
    "duration": pl.Int64(),
    "walltime": pl.Int64(),
    "first_start": pl.Int64(),
    "ended": pl.Int64(),
    "state": pl.String(),
    "attempts": pl.Int32(),
    "preemptions": pl.Int32(),
    "evictions": pl.Int32(),
    "outcome": pl.String(),
    "rule": pl.String(),
    "why": pl.String(),
}
"""One row a job, those of the cluster file first, then those of the trace in its order; `job` is its number from 0. All
times in whole microseconds on the trace's clock; `ended` and `first_start` are null until then.

`state`: completed, failed, refused (can never run here), cancelled, preempted (for good: the doctrine or its policy
does not queue it again), and of those that were under way when the replay stopped: waiting (never started), requeued
(started, waits again), running. `preemptions` counts what the scheduler did, `evictions` what node loss and drains did.
`outcome` is the trace's. `rule` and `why`: of one that did not complete.

Where jobs ran as several allocations (`sim/allocations.py`) there is a column more, `allocations`: how many. Such a job
has started when all of them have, is running while one is, and waits again otherwise. In the tables below `allocation`
then says which of them a row is about, from 1, null: the whole job; what it holds is that part of the job's size. In
decisions that is the claimant's, and `workload` what that is called in the file of the moment.
"""

ATTEMPTS: Mapping[str, pl.DataType] = {
    "job": pl.UInt32(),
    "attempt": pl.Int32(),
    "start": pl.Int64(),
    "end": pl.Int64(),
    "how": pl.String(),
    "restored": pl.Int64(),
    "useful": pl.Int64(),
    "lost": pl.Int64(),
    "overhead": pl.Int64(),
    "decision": pl.UInt32(),
}
"""One row a run interval, in order of its end (those that still run last). `start`: it was given its room and began;
`end`: its room was free again. `how`: completed, preempted, node (lost with its node), drained, failed, cancelled, open
(runs when the replay stopped; `end` is then that time). The interval is divided exactly:
end - start = useful + lost + overhead. `useful` is work that was kept, `lost` work that must be done again,
`overhead` restoring (`restored` of it), writing the checkpoint that was asked for, and leaving. `decision` is the
number of the decision that sent it away, null otherwise.
"""

HOLDS: Mapping[str, pl.DataType] = {
    "job": pl.UInt32(),
    "decision": pl.UInt32(),
    "from": pl.Int64(),
    "until": pl.Int64(),
    "how": pl.String(),
}
"""One row for each time room was held for a claimant: `how` is started, lost (it went back into the queue) or open."""

DECISIONS: Mapping[str, pl.DataType] = {
    "decision": pl.UInt32(),
    "at": pl.Int64(),
    "job": pl.UInt32(),
    "action": pl.String(),
    "rule": pl.String(),
    "why": pl.String(),
    "victims": pl.List(pl.UInt32()),
    "freed": pl.Int64(),
    "started": pl.Int64(),
    "moment": pl.String(),
}
"""One row a decision that preempts, by number. `job` is the claimant (null: it serves none), `victims` numbers of jobs.
`freed`: when the last of its victims had left; `started`: when its claimant then started by this decision, null if it
never did. `moment`: the file with the cluster of that moment, beside the other output, where one was kept.
"""

VICTIMS: Mapping[str, pl.DataType] = {
    "decision": pl.UInt32(),
    "job": pl.UInt32(),
    "attempt": pl.Int32(),
    "rule": pl.String(),
    "why": pl.String(),
    "left": pl.Int64(),
    "lost": pl.Int64(),
    "overhead": pl.Int64(),
    "saved": pl.Boolean(),
}
"""One row a victim of a decision. `left`: when its room was free (null: it had not left when the replay stopped).
`lost` and `overhead` are those of its attempt; `saved`: it wrote the checkpoint it was asked for."""

OUTAGES: Mapping[str, pl.DataType] = {
    "node": pl.String(),
    "from": pl.Int64(),
    "until": pl.Int64(),
    "state": pl.String(),
}
"""One row for each time a node was cordoned or down; `until` is the end of the replay if it still was."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue as the cluster file has it; amounts in nano-units, none where it says nothing."""

    name: str
    parent: str | None
    guaranteed: Mapping[str, int] | None
    weight: float


@dataclass(frozen=True, slots=True)
class Tables:
    """One replay. `settings` say all that was asked for; `notes` are the trace's and the replay's own.

    `sizes[shape]` are the nano-units of each resource that all members of a job of that shape hold; `capacity` those of
    all nodes together less what is occupied, whatever their state, or of all queues where there are no nodes;
    `node_capacity` those of each node. [`begin`, `end`] is the time that was replayed: from the first submission to the
    last end (or where it was stopped). `complete` is false if it was stopped.
    """

    doctrine: str
    edition: str
    settings: Mapping[str, Any]
    begin: int
    end: int
    complete: bool
    capacity: Mapping[str, int]
    node_capacity: Mapping[str, Mapping[str, int]]
    sizes: tuple[Mapping[str, int], ...]
    queues: tuple[Queue, ...]
    jobs: pl.DataFrame
    attempts: pl.DataFrame
    holds: pl.DataFrame
    decisions: pl.DataFrame
    victims: pl.DataFrame
    outages: pl.DataFrame
    notes: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    """Workloads that preempted each other in turn, as sentences."""
    moments: Mapping[int, Any] = field(default_factory=dict)
    """Clusters of the moment of the costliest preempting decisions, by decision number, each a ClusterFile."""
    events: int = 0
    plans: int = 0
    slowed: Mapping[str, int] = field(default_factory=dict)
    """How often backoff and breaker acted, or would have, by rule."""
    classes: Mapping[int, int] = field(default_factory=dict)
    """The priority that the trace has for each one that the doctrine decided by, where those differ: measures are told
    by the trace's, so that doctrines can be compared."""
    found: int = 0
    """Number of jobs, the first ones, that ran when the replay began: their first attempts started before."""

    @property
    def main(self) -> str:
        """The resource that sizes and hours are told in."""
        return main_of(self.capacity)


def main_of(capacity: Mapping[str, int]) -> str:
    """gpu if the cluster has any, else cpu, else the first by name."""
    names = sorted(capacity)
    gpus = [name for name in names if is_gpu(name) and "@" not in name]
    if gpus:
        return gpus[0]
    return "cpu" if "cpu" in names or not names else names[0]
