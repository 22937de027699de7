"""What cannot happen to a cluster, said before anything is changed."""

from __future__ import annotations

from collections.abc import Container, Sequence

from cede.model.cluster import Node, Queue, Workload
from cede.model.errors import CedeError, shown
from cede.model.workloads import PodSet
from cede.state.admission import asks_of
from cede.state.cluster_columns import ClusterColumns
from cede.state.columns import NONE


def refuse_workload(state: ClusterColumns, workload: Workload) -> None:
    """An error if the workload's name is taken, or if it names what is not there."""
    if workload.name in state.work_index:
        raise CedeError(f"a workload called {shown(workload.name)} is already there")
    _known("queue", workload.queue, state.tree.index)
    _known("node", workload.required_node, state.node_index)
    if workload.constraints is not None:
        for name in workload.constraints.nodes or ():
            _known("node", name, state.node_index)
    if workload.nodes is not None:
        for name in workload.nodes:
            _known("node", name, state.node_index)
        refuse_places(workload.name, workload.size, len(workload.nodes))


def refuse_places(name: str, members: int, places: int) -> None:
    """An error unless there is a node for each member, or none for any where only quota is decided."""
    if places not in (0, members):
        raise CedeError(f"{name} has {members} members and is placed on {places}; each member has one node")


def refuse_parts(state: ClusterColumns, row: int, parts: Sequence[PodSet]) -> None:
    """An error unless the workload waits, and these are its pod sets by name and order."""
    name = state.work_names[row]
    if row not in state.pending:
        raise CedeError(f"{name} is not waiting")
    asked, given = ([part.name for part in sets] for sets in (asks_of(state, row), parts))
    if asked != given:
        raise CedeError(f"{name} has the pod sets {', '.join(asked)}, and {', '.join(given) or 'none'} are admitted")
    for part in parts:
        if part.count < 1:
            raise CedeError(f"{name} is admitted with {part.count} members of {part.name}; the least is 1")


def refuse_unknown(state: ClusterColumns, parts: Sequence[PodSet]) -> None:
    """An error if these ask for something that no entry names: in a trial no column can be made."""
    names = {name for part in parts for name in part.requests} - state.units.index.keys()
    if names:
        raise CedeError(f"nobody offers or limits {', '.join(sorted(names))}")


def refuse_unless_admitted(state: ClusterColumns, row: int) -> None:
    """An error unless the workload is admitted and waits."""
    if row not in state.admitted or row not in state.pending:
        raise CedeError(f"{state.work_names[row]} is not admitted, or holds room")


def refuse_node(state: ClusterColumns, node: Node) -> None:
    """An error if the node belongs to a queue or is kept for a workload that is not there."""
    if node.count is not None:
        raise CedeError(f"{node.name} stands for {node.count} nodes; each joins under its own name")
    _known("queue", node.home, state.tree.index)
    _known("workload", node.reserved_for, state.work_index)


def refuse_queue(state: ClusterColumns, queue: Queue) -> None:
    """An error if the queue would stand below itself."""
    index, tree = state.tree.index, state.tree
    above = NONE if queue.parent is None else index.get(queue.parent, NONE)
    if queue.parent == queue.name or (queue.name in index and index[queue.name] in tree.path(above)):
        raise CedeError(f"the parents would go in a circle: {shown(queue.parent)} stands below {shown(queue.name)}")


def _known(kind: str, name: str | None, known: Container[str]) -> None:
    if name is not None and name not in known:
        raise CedeError(f"no {kind} is called {shown(name)}")
