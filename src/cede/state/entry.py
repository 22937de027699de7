"""From an entry of the file to its row in the columns."""

from __future__ import annotations

from cede.model.cluster import Node, Workload
from cede.state.amounts import by_flavor, is_odd, usage_of
from cede.state.cluster_columns import ClusterColumns
from cede.state.columns import CHECKPOINTS, KINDS, NEVER, NONE, PLACEMENTS
from cede.state.static import DEFAULT_PARTITION, Static
from cede.state.units import FULL, WHOLE

TIMES = ("started", "walltime")
FLAGS = ("exclusive", "preemptible", "preempts", "originator", "sensitive")
CLOCKS = ("overcommitted_since", "last_preemptive_attempt")


def enter(state: ClusterColumns, row: int, workload: Workload) -> None:
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
    own = own_priority(state.static, workload.user, workload.project)
    work.priority[row] = own if workload.priority is None else workload.priority
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
    work.uid_first[row], work.uid_next[row] = uid_key(workload.uid or workload.name)
    if workload.checkpoint is not None:
        work.checkpoint[row] = CHECKPOINTS.index(workload.checkpoint.mode)
        last, takes = workload.checkpoint.last, workload.checkpoint.time
        work.checkpoint_last[row] = NEVER if last is None else last
        work.checkpoint_time[row] = NEVER if takes is None else takes
    work.need[:, row] = state.member_vector(workload.requests, workload.exclusive)
    work.usage[:, row] = state.units.vector(usage_of(workload))
    enter_sides(state, row, workload)


def uid_key(uid: str) -> tuple[int, int]:
    """Two numbers that sort like the first sixteen bytes of the text; code points and their bytes sort alike."""
    start = uid.encode("utf-8", "surrogatepass")[:16].ljust(16, b"\0")
    return int.from_bytes(start[:8], "big"), int.from_bytes(start[8:], "big")


def enter_sides(state: ClusterColumns, row: int, workload: Workload) -> None:
    """The rare keys, kept beside the columns."""
    if workload.pod_sets is not None:
        state.parts[row] = state.shared.parts(tuple(workload.pod_sets))
    if is_odd(workload.requests):
        state.odd_requests[row] = state.shared.amounts(workload.requests)
    if workload.usage is not None:
        state.work.usage_given[row] = True
        if 0 in workload.usage.values():
            state.odd_usages[row] = workload.usage
    if workload.constraints is not None:
        state.constraints[row] = workload.constraints


def own_priority(static: Static, user: str | None, project: str | None) -> int:
    """The priority of a workload that names none: its user's default, else its project's, else the doctrine's."""
    if not static.policies:
        return static.default_priority
    of_user = (policy.default_priority for policy in static.policies if policy.user is not None and policy.user == user)
    of_project = (p.default_priority for p in static.policies if p.project is not None and p.project == project)
    given = (priority for priority in (*of_user, *of_project) if priority is not None)
    return next(given, static.default_priority)


def enter_node(state: ClusterColumns, row: int, node: Node) -> None:
    """Fill or replace a node's row; what runs there stays. The amounts were learned before."""
    columns = state.nodes
    capacity, occupied = by_flavor(state.static, node)
    columns.capacity[:, row] = state.units.vector(capacity)
    columns.capacity[WHOLE, row] = FULL
    columns.occupied[:, row] = state.units.vector(occupied)
    columns.partition[row] = state.partitions.code(node.partition or DEFAULT_PARTITION)
    columns.flavor[row] = state.flavors.code(node.flavor)
    columns.home[row] = NONE if node.home is None else state.tree.row(node.home)
    columns.group[row] = state.groups.code(node.labels.get(state.static.topology, ""))
    columns.labels[row] = state.labels.code(node.labels)
    for clock in CLOCKS:
        value = getattr(node, clock)
        getattr(columns, clock)[row] = NEVER if value is None else value
    state.odd_nodes.pop(row, None)
    if is_odd(node.capacity) or is_odd(node.occupied):
        state.odd_nodes[row] = node


def partition_of(state: ClusterColumns, queue: int) -> int:
    """The partition of the queue; the default one for work without a queue and for a queue nobody lists."""
    return 0 if queue == NONE else max(int(state.tree.partition[queue]), 0)
