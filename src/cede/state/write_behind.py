"""Rows whose columns are written when somebody reads them: what happens to plain workloads is kept in plain values.

Setting single elements of arrays is most of what an event costs. A decision that follows the journal needs none of
them; and a workload that comes, runs and ends between two looks at the columns is never written there at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from cede.state.cluster_columns import ClusterColumns
from cede.state.columns import NEVER, NONE, PREEMPTING, READY, RESERVED, WorkloadColumns
from cede.state.entry import uid_key
from cede.state.residents import OVERLAPPING, move_out, settle_in
from cede.state.row_templates import RowTemplate


class Record:
    """A workload as it is now, whatever the columns say of it. `nodes` has the row of a node for each member.

    `checkpoint_last` and `checkpoint_time` are those of its kind unless it was told otherwise (`saved`).
    """

    __slots__ = (
        "checkpoint_last",
        "checkpoint_time",
        "code",
        "job_priority",
        "nodes",
        "preempted",
        "preemptible",
        "priority",
        "project",
        "saved",
        "started",
        "submitted",
        "template",
        "user",
        "walltime",
        "written",
    )

    def __init__(
        self,
        template: RowTemplate,
        code: int,
        priority: int,
        job_priority: int,
        submitted: int,
        walltime: int,
        user: int,
        project: int,
        preempted: int,
    ) -> None:
        self.template = template
        self.code = code
        self.priority = priority
        self.job_priority = job_priority
        self.submitted = submitted
        self.walltime = walltime
        self.user = user
        self.project = project
        self.preempted = preempted
        self.preemptible = template.preemptible
        self.started: int = NEVER
        self.nodes: tuple[int, ...] = ()
        self.written = False
        """Whether its row was filled; what changes later is written too."""
        self.saved = False
        self.checkpoint_last: int = NEVER
        self.checkpoint_time: int = NEVER

    def save(self, at: int | None, takes: int | None) -> int:
        """It wrote a checkpoint, or is known to take so long for one; how long that was known to take before."""
        if not self.saved:
            self.saved = True
            self.checkpoint_last, self.checkpoint_time = self.template.checkpoint_last, self.template.checkpoint_time
        known = self.checkpoint_time
        if at is not None:
            self.checkpoint_last = at
        if takes is not None:
            self.checkpoint_time = takes
        return known


class Entry(NamedTuple):
    """What decides about a workload as one that takes room, or that gives its room up."""

    code: int
    queue: int
    partition: int
    kind: int
    priority: int
    job_priority: int
    preemptible: bool
    preempts: bool
    started: int


def entry_of(record: Record) -> Entry:
    template = record.template
    return Entry(
        *(record.code, template.queue, template.partition, template.kind, record.priority, record.job_priority),
        *(record.preemptible, template.preempts, record.started),
    )


def entry_in_columns(work: WorkloadColumns, row: int) -> Entry:
    return Entry(
        code=int(work.state[row]),
        queue=int(work.queue[row]),
        partition=int(work.partition[row]),
        kind=int(work.kind[row]),
        priority=int(work.priority[row]),
        job_priority=int(work.job_priority[row]),
        preemptible=bool(work.preemptible[row]),
        preempts=bool(work.preempts[row]),
        started=int(work.started[row]),
    )


def write(state: ClusterColumns, records: Mapping[int, Record], rows: dict[int, None]) -> None:
    """The columns of these rows are as their records say; a row without one is blank."""
    work = state.work
    for row in rows:
        if work.state[row] >= RESERVED:
            move_out(state, row)
        record = records.get(row)
        if record is None:
            work.blank(row)
            continue
        if not record.written:
            _fill(state, row, record)
        work.started[row] = record.started
        work.preempted[row] = record.preempted
        work.preemptible[row] = record.preemptible
        if record.saved:
            work.checkpoint_last[row] = record.checkpoint_last
            work.checkpoint_time[row] = record.checkpoint_time
        if record.code >= RESERVED:
            settle_in(state, row, record.nodes, record.code)
        else:
            work.state[row] = record.code


def _fill(state: ClusterColumns, row: int, record: Record) -> None:
    work = state.work
    work.lay(row, record.template.image)
    work.priority[row] = record.priority
    work.job_priority[row] = record.job_priority
    work.submitted[row] = record.submitted
    work.walltime[row] = record.walltime
    work.user[row] = record.user
    work.project[row] = record.project
    work.uid_first[row], work.uid_next[row] = uid_key(state.uids[row])
    record.written = True


class NodeRoom:
    """What is free on each node in plain numbers, one list a node, with what happened to records counted in.

    What is held and what is leaving overlap: of a node where there is such a thing, `apart` has what is free beside
    both, what is leaving, and what is held. It is made anew when nodes or queues change.
    """

    def __init__(self, state: ClusterColumns, records: Mapping[int, Record]) -> None:
        nodes, size = state.nodes, state.nodes.size
        self.free: list[list[int]] = nodes.free[:, :size].T.tolist()
        self.stale: set[int] = set()
        """Nodes of which the columns know better."""
        self.changed: dict[int, None] = {}
        """Nodes on which it is not the same as when this was last emptied, by whoever follows it."""
        self.apart: dict[int, tuple[list[int], list[int], list[int]]] = {}
        self.standing: list[dict[int, int]] = [{} for _ in range(size)]
        """Rows of the records that stand on each node, and how many members of each do."""
        for row, record in records.items():
            for node in record.nodes:
                self.standing[node][row] = self.standing[node].get(row, 0) + 1
        ready = nodes.state[:size] == READY
        self.partition: list[int] = np.where(ready, nodes.partition[:size], NONE).tolist()
        """The partition of each node that is ready."""
        self.capacity: list[list[int]] = (nodes.capacity[:, :size] - nodes.occupied[:, :size]).T.tolist()
        """What each node has beside what others occupy."""
        self.unlimited: dict[int, bool] = {}
        """Whether a queue, and every queue above it, has no limit; as far as somebody asked."""
        for node in np.flatnonzero((nodes.leaving[:, :size] + nodes.held[:, :size]).any(axis=0)).tolist():
            self._part(state, node)

    def refresh(self, state: ClusterColumns) -> None:
        """Nodes that are stale are read from the columns."""
        for node in self.stale:
            self.free[node] = state.nodes.free[:, node].tolist()
            self.apart.pop(node, None)
            if (state.nodes.leaving[:, node] + state.nodes.held[:, node]).any():
                self._part(state, node)
            self.changed[node] = None
        self.stale.clear()

    def _part(self, state: ClusterColumns, node: int) -> None:
        leaving, held = state.nodes.leaving[:, node].tolist(), state.nodes.held[:, node].tolist()
        rest = [f + max(a, b) for f, a, b in zip(self.free[node], leaving, held, strict=True)]
        self.apart[node] = rest, leaving, held

    def move(self, row: int, record: Record, after: int) -> None:
        """Members that stand on some nodes go on to another state."""
        before, need = record.code, record.template.need
        changed, standing = self.changed, self.standing
        overlaps = before in OVERLAPPING or after in OVERLAPPING
        for node in record.nodes:
            free = self.free[node]
            changed[node] = None
            if before < RESERVED:
                there = standing[node]
                there[row] = there.get(row, 0) + 1
            elif after < RESERVED:
                standing[node].pop(row, None)
            if not overlaps and node not in self.apart:
                if before < RESERVED:
                    for column, count in need:
                        free[column] -= count
                elif after < RESERVED:
                    for column, count in need:
                        free[column] += count
                continue
            apart = self.apart.get(node)
            if apart is None:
                apart = self.apart[node] = (list(free), [0] * len(free), [0] * len(free))
            rest, leaving, held = apart
            for code, sign in ((before, -1), (after, 1)):
                bucket = leaving if code == PREEMPTING else held if code == RESERVED else None
                for column, count in need if code >= RESERVED else ():
                    if bucket is None:
                        rest[column] -= sign * count
                    else:
                        bucket[column] += sign * count
            if any(leaving) or any(held):
                for column, left in enumerate(rest):
                    free[column] = left - max(leaving[column], held[column])
            else:
                free[:] = rest
                del self.apart[node]
