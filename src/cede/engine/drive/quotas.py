"""Whether queues have quota for a workload beside everything that is still there and everything that is held."""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from cede.doctrines.parts.limits import below
from cede.engine.drive.job import Job
from cede.engine.drive.job_table import JobTable
from cede.model.cluster import PodSet
from cede.state.amounts import sizes_of, total_of
from cede.state.columns import NONE, PREEMPTING, RESERVED, UNSET, limits_added
from cede.state.state import State

Rows = NDArray[np.intp]
Usage = dict[int, list[int]]
"""By row, what a workload holds of every column."""


def has_quota(roll: JobTable, job: Job, parts: tuple[PodSet, ...] | None = None) -> bool:
    """Whether its queue and all above it have quota for it while others leave.

    A plan counts, of all that is leaving and all that is held, the larger. Between two departures that is too little: a
    large victim of a small claimant does not make way for somebody else's hold. Where it makes a difference the quota
    itself must do, without anything borrowed.
    """
    state = roll.state
    row = state.work_index[job.name]
    record = state.records.get(row)
    if record is not None and not roll.doctrine.dialect.quota and state.room().unlimited.get(record.template.queue):
        return True
    work, row_queue = state.work, int(state.work.queue[row])
    if not state.between or row_queue == NONE or not roll.doctrine.traits.leaving_counts:
        return True
    codes = work.state[: work.size]
    leaving = np.flatnonzero(codes == PREEMPTING).tolist()
    if not leaving:
        return True
    held = np.flatnonzero(codes == RESERVED).tolist()
    usage: Usage = {other: work.usage[:, other].tolist() for other in (*leaving, *held)}
    paths = {other: state.tree.path(int(work.queue[other])) for other in usage}
    asked = _asked(state, row, parts)
    for queue in state.tree.path(row_queue):
        limit = _limit(state, queue, quota=roll.doctrine.dialect.quota)
        if limit is None:
            continue
        ours = [other for other in held if queue in paths[other]]
        theirs = [other for other in leaving if queue in paths[other]]
        shared = _shared(roll, usage, ours, theirs)
        used = state.tree.usage[:, queue].tolist()
        for column, most in limit:
            counted = min(sum([usage[other][column] for other in rows]) for rows in (ours, theirs))
            if counted > shared[column] and asked[column] > 0:
                more = 0 if row in ours else asked[column]
                if used[column] - shared[column] + more > most:
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


def _asked(state: State, row: int, parts: tuple[PodSet, ...] | None) -> list[int]:
    asked = state.work.usage[:, row] if parts is None else state.units.vector(total_of(sizes_of(parts)))
    found: list[int] = asked.tolist()
    return found


def _shared(roll: JobTable, usage: Usage, held: list[int], leaving: list[int]) -> list[int]:
    """What is held where its own victims still are: of each claimant, the smaller of the two."""
    state = roll.state
    victims: dict[str, list[int]] = {}
    for row in leaving:
        going = roll.jobs[state.work_names[row]].leaving
        if going is not None and going.claimant is not None:
            victims.setdefault(going.claimant, []).append(row)
    found = [0] * len(state.units)
    for row in held:
        own = victims.get(state.work_names[row])
        if own is not None:
            for column, amount in enumerate(usage[row]):
                found[column] += min(amount, sum([usage[other][column] for other in own]))
    return found


def _limit(state: State, queue: int, *, quota: bool) -> list[tuple[int, int]] | None:
    """What a queue and those below it may hold, by column, without borrowing where guarantees are quota; none if nobody
    says.
    """
    tree = state.tree
    known: dict[int, list[tuple[int, int]] | None] = tree.derived.setdefault("drive.limits", {})
    if queue in known:
        return known[queue]
    most = found = tree.max[:, queue]
    if quota:
        inside = [other for other in range(tree.size) if queue in tree.path(other)]
        given = tree.guaranteed[:, inside]
        total = reduce(limits_added, np.where(given == UNSET, 0, given).T)
        own = np.where((given != UNSET).any(axis=1), total, UNSET)
        found = np.where(own == UNSET, most, np.where(most == UNSET, own, np.minimum(own, most)))
    known[queue] = [(column, limit) for column, limit in enumerate(found.tolist()) if limit != UNSET] or None
    return known[queue]
