"""Whether queues have quota for a workload beside everything that is still there and everything that is held."""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from cede.doctrines.parts.limits import below
from cede.engine.drive.job import Job
from cede.engine.drive.job_table import JobTable
from cede.model.cluster import PodSet
from cede.state.admission import sizes_of
from cede.state.amounts import total_of
from cede.state.columns import NONE, PREEMPTING, RESERVED, UNSET, Int64s, limits_added
from cede.state.state import State

Rows = NDArray[np.intp]


def has_quota(roll: JobTable, job: Job, parts: tuple[PodSet, ...] | None = None) -> bool:
    """Whether its queue and all above it have quota for it while others leave.

    A plan counts, of all that is leaving and all that is held, the larger. Between two departures that is too little: a
    large victim of a small claimant does not make way for somebody else's hold. Where it makes a difference the quota
    itself must do, without anything borrowed.
    """
    state = roll.state
    row = state.work_index[job.name]
    record = state.records.get(row)
    if record is not None and not roll.doctrine.dialect.quota and state.room().unlimited.get(record.mould.queue):
        return True
    work = state.work
    leaving: Rows = np.flatnonzero(work.state[: work.size] == PREEMPTING)
    if not len(leaving) or work.queue[row] == NONE or not roll.doctrine.traits.leaving_counts:
        return True
    held: Rows = np.flatnonzero(work.state[: work.size] == RESERVED)
    asked = _asked(state, row, parts)
    more = np.zeros_like(asked) if row in held else asked
    for queue in state.tree.path(int(work.queue[row])):
        limit = _limit(state, queue, quota=roll.doctrine.dialect.quota)
        if bool((limit == UNSET).all()):
            continue
        ours, theirs = held[below(state, queue, held)], leaving[below(state, queue, leaving)]
        counted = np.minimum(_sum(state, theirs), _sum(state, ours))
        shared = _shared(roll, ours, theirs)
        tight = (counted > shared) & (asked > 0) & (limit != UNSET)
        used = state.tree.usage[:, queue] - shared + more
        if bool((used > limit)[tight].any()):
            return False
    return True


def leaving_its_queue(roll: JobTable, job: Job) -> list[str]:
    """Who is on the way out of the quota that it shares."""
    state, work = roll.state, roll.state.work
    path = state.tree.path(int(work.queue[state.work_index[job.name]]))
    if not path:
        return []
    rows: Rows = np.flatnonzero(work.state[: work.size] == PREEMPTING)
    return sorted(state.work_names[row] for row in rows[below(state, path[-1], rows)].tolist())


def _asked(state: State, row: int, parts: tuple[PodSet, ...] | None) -> Int64s:
    if parts is None:
        return state.work.usage[:, row].copy()
    found: Int64s = np.array(state.units.vector(total_of(sizes_of(parts))), np.int64)
    return found


def _sum(state: State, rows: Rows) -> Int64s:
    found: Int64s = state.work.usage[:, rows].sum(axis=1)
    return found


def _shared(roll: JobTable, held: Rows, leaving: Rows) -> Int64s:
    """What is held where its own victims still are: of each claimant, the smaller of the two."""
    state = roll.state
    victims: dict[str, list[int]] = {}
    for row in leaving.tolist():
        going = roll.jobs[state.work_names[row]].leaving
        if going is not None and going.claimant is not None:
            victims.setdefault(going.claimant, []).append(row)
    found = np.zeros(len(state.units), np.int64)
    for row in held.tolist():
        own = np.array(victims.get(state.work_names[row], []), np.intp)
        found += np.minimum(state.work.usage[:, row], _sum(state, own))
    return found


def _limit(state: State, queue: int, *, quota: bool) -> Int64s:
    """What a queue and those below it may hold, without borrowing where guarantees are quota; UNSET: nobody says."""
    tree = state.tree
    known: dict[int, Int64s] = tree.derived.setdefault("drive.limits", {})
    if queue in known:
        return known[queue]
    most = found = tree.max[:, queue]
    if quota:
        inside = [other for other in range(tree.size) if queue in tree.path(other)]
        given = tree.guaranteed[:, inside]
        total = reduce(limits_added, np.where(given == UNSET, 0, given).T)
        own = np.where((given != UNSET).any(axis=1), total, UNSET)
        found = np.where(own == UNSET, most, np.where(most == UNSET, own, np.minimum(own, most)))
    known[queue] = found
    return found
