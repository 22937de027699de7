"""From an entry of the file to its row in the columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cede.model.cluster import Node, Queue, Workload
from cede.model.resources import split_flavor
from cede.state.columns import CHECKPOINTS, KINDS, NEVER, NONE, PLACEMENTS
from cede.state.tree import LIMITS
from cede.state.units import FULL, WHOLE

if TYPE_CHECKING:
    from cede.state.state import State, Static

TIMES = ("started", "walltime")
FLAGS = ("exclusive", "preemptible", "preempts", "originator", "sensitive")
CLOCKS = ("overcommitted_since", "last_preemptive_attempt")
DEFAULT_PARTITION = "default"


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


def enter_sides(state: State, row: int, workload: Workload) -> None:
    """The rare keys, kept beside the columns."""
    pins = {state.physical(requests)[1] for requests in all_requests(workload)} - {NONE}
    if pins:
        state.pins[row] = min(pins, key=state.flavors.names.__getitem__)
    if workload.pod_sets is not None:
        state.parts[row] = tuple(workload.pod_sets)
    if is_odd(workload.requests):
        state.odd_requests[row] = workload.requests
    if workload.usage is not None:
        state.work.usage_given[row] = True
        if 0 in workload.usage.values():
            state.odd_usages[row] = workload.usage
    if workload.constraints is not None:
        state.constraints[row] = workload.constraints


def own_priority(static: Static, user: str | None, project: str | None) -> int:
    """The priority of a workload that names none: its user's default, else its project's, else the doctrine's."""
    of_user = (policy.default_priority for policy in static.policies if policy.user is not None and policy.user == user)
    of_project = (p.default_priority for p in static.policies if p.project is not None and p.project == project)
    given = (priority for priority in (*of_user, *of_project) if priority is not None)
    return next(given, static.default_priority)


def enter_node(state: State, row: int, node: Node) -> None:
    """Fill or replace a node's row; what runs there stays. The amounts were learned before."""
    columns = state.nodes
    capacity, pinned = state.physical(node.capacity)
    columns.capacity[:, row] = state.units.vector(capacity)
    columns.capacity[WHOLE, row] = FULL
    columns.occupied[:, row] = state.units.vector(state.physical(node.occupied)[0])
    columns.partition[row] = state.partitions.code(node.partition or DEFAULT_PARTITION)
    columns.flavor[row] = state.flavors.code(node.flavor) if node.flavor else pinned
    columns.home[row] = NONE if node.home is None else state.tree.row(node.home)
    columns.group[row] = state.groups.code(node.labels.get(state.static.topology, ""))
    columns.labels[row] = state.label_code(node.labels)
    for clock in CLOCKS:
        value = getattr(node, clock)
        getattr(columns, clock)[row] = NEVER if value is None else value
    state.odd_nodes.pop(row, None)
    if is_odd(node.capacity) or is_odd(node.occupied):
        state.odd_nodes[row] = node


def plain(amounts: Mapping[str, int]) -> Mapping[str, int]:
    """The amounts by resource, whatever the flavor: what they come to on a node."""
    if not flavored(amounts):
        return amounts
    total: dict[str, int] = {}
    for name, nano in amounts.items():
        resource = split_flavor(name)[0]
        total[resource] = total.get(resource, 0) + nano
    return total


def is_odd(amounts: Mapping[str, int]) -> bool:
    """Whether the columns of a node or a member do not say all of this: flavors, or an amount of nothing."""
    return flavored(amounts) or 0 in amounts.values()


def flavored(amounts: Mapping[str, int]) -> bool:
    """Whether any of them is in a flavor."""
    for name in amounts:  # noqa: SIM110 - any() takes three times as long, and every node of a file comes by here
        if "@" in name:
            return True
    return False


def all_requests(workload: Workload) -> list[dict[str, int]]:
    """What one member asks for, of each kind of member."""
    return [workload.requests] if workload.pod_sets is None else [part.requests for part in workload.pod_sets]


def load_of_workload(workload: Workload) -> dict[str, int]:
    """As much of each resource as the workload can add to any sum: of quota by its name, of nodes by the plain one."""
    total = usage_of(workload)
    placed: dict[str, int] = {"": workload.size * (FULL if workload.exclusive else 1)}
    if workload.usage is None and not flavored(total):
        return total | placed
    counts = [workload.members] if workload.pod_sets is None else [part.count for part in workload.pod_sets]
    for requests, count in zip(all_requests(workload), counts, strict=True):
        for name, nano in plain(requests).items():
            placed[name] = placed.get(name, 0) + nano * count
    return {name: max(total.get(name, 0), placed.get(name, 0)) for name in total.keys() | placed.keys()}


def load_of_node(node: Node) -> dict[str, int]:
    """What the node adds to sums over nodes, by plain name."""
    total = {**plain(node.capacity), "": FULL}
    for name, nano in plain(node.occupied).items():
        total[name] = total.get(name, 0) + nano
    return total


def load_of_queue(queue: Queue | None) -> dict[str, int]:
    """What the queue's own limits add to sums over queues."""
    total: dict[str, int] = {}
    for key in LIMITS:
        for name, nano in (getattr(queue, key, None) or {}).items():
            total[name] = total.get(name, 0) + nano
    return total


def difference(more: Mapping[str, int], less: Mapping[str, int]) -> dict[str, int]:
    """What is left of some amounts, below zero too."""
    return {name: more.get(name, 0) - less.get(name, 0) for name in more.keys() | less.keys()}


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
