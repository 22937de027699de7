"""From a workload's entry in the file to its row in the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cede.model.cluster import Workload
from cede.state.columns import CHECKPOINTS, KINDS, NEVER, NONE, PLACEMENTS

if TYPE_CHECKING:
    from cede.state.state import State

TIMES = ("started", "walltime")
FLAGS = ("exclusive", "preemptible", "preempts", "originator", "sensitive")


def enter(state: State, row: int, workload: Workload) -> None:
    """Fill a blank row; the amounts were learned before."""
    work = state.work
    work.queue[row] = NONE if workload.queue is None else state.tree.row(workload.queue)
    work.partition[row] = partition_of(state, int(work.queue[row]))
    work.user[row] = state.users.code(workload.user)
    work.project[row] = state.projects.code(workload.project)
    work.domain[row] = state.domains.code(workload.domain)
    work.tenant[row] = state.tenants.code(workload.tenant)
    work.app[row] = state.apps.code(workload.app)
    work.kind[row] = KINDS.index(workload.kind)
    work.placement[row] = PLACEMENTS.index(workload.placement)
    work.priority[row] = state.static.default_priority if workload.priority is None else workload.priority
    work.job_priority[row] = workload.job_priority or 0
    work.members[row] = workload.size
    work.preempted[row] = workload.preempted
    work.required_node[row] = NONE if workload.required_node is None else state.node_index[workload.required_node]
    work.submitted[row] = state.now if workload.submitted is None else workload.submitted
    for name in TIMES:
        value = getattr(workload, name)
        getattr(work, name)[row] = NEVER if value is None else value
    for name in FLAGS:
        getattr(work, name)[row] = getattr(workload, name)
    if workload.checkpoint is not None:
        work.checkpoint[row] = CHECKPOINTS.index(workload.checkpoint.mode)
        last, takes = workload.checkpoint.last, workload.checkpoint.time
        work.checkpoint_last[row] = NEVER if last is None else last
        work.checkpoint_time[row] = NEVER if takes is None else takes
    work.need[:, row] = state.member_vector(workload.requests, workload.exclusive)
    work.usage[:, row] = state.units.vector(usage_of(workload))
    enter_sides(state, row, workload)


def enter_sides(state: State, row: int, workload: Workload) -> None:
    """The rare keys, kept beside the columns."""
    pin = state.physical(workload.requests)[1]
    if workload.pod_sets is not None:
        state.parts[row] = tuple(workload.pod_sets)
        pin = max([pin, *(state.physical(part.requests)[1] for part in workload.pod_sets)])
    if pin != NONE:
        state.pins[row] = pin
    if workload.usage is not None:
        state.given_usage[row] = workload.usage
    if workload.constraints is not None:
        state.constraints[row] = workload.constraints


def usage_of(workload: Workload) -> dict[str, int]:
    """What the workload holds of its queues' quota in all."""
    if workload.usage is not None:
        return dict(workload.usage)
    total: dict[str, int] = {}
    for part in workload.pod_sets or ():
        for name, nano in part.requests.items():
            total[name] = total.get(name, 0) + nano * part.count
    for name, nano in workload.requests.items():
        total[name] = total.get(name, 0) + nano * workload.members
    return total


def partition_of(state: State, queue: int) -> int:
    """The partition of the queue; the default one for work without a queue and for a queue nobody lists."""
    return 0 if queue == NONE else max(int(state.tree.partition[queue]), 0)
