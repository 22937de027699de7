"""The cluster as it stands, for people: nodes with what fills them, queues with what they use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from cede.engine.drive.driver import Driver
from cede.model.lifecycle import PRESENT, WAITING
from cede.state.columns import NODE_STATES, UNSET, Int64s
from cede.state.state import State
from cede.state.units import WHOLE

Amounts = Mapping[str, int]
"""In billionths, as everywhere in the model."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """`used` by workloads that run there, `leaving` by those being evicted, `held` for those to come; the last two
    overlap."""

    name: str
    state: str
    partition: str
    capacity: Amounts
    occupied: Amounts
    used: Amounts
    held: Amounts
    leaving: Amounts
    workloads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueueView:
    """`usage` with all that is below it; `pending` and `running` of its own workloads."""

    name: str
    parent: str | None
    guaranteed: Amounts
    max: Amounts
    usage: Amounts
    pending: int
    held: int
    running: int


@dataclass(frozen=True, slots=True)
class ClusterState:
    """One moment."""

    doctrine: str
    edition: str
    now: int
    version: int
    nodes: tuple[NodeView, ...]
    queues: tuple[QueueView, ...]


def describe(driver: Driver, version: int) -> ClusterState:
    """The columns of the driver in words and amounts."""
    state = driver.state
    choice = state.static.doctrine
    assert choice is not None, "a cluster that is driven has a doctrine"
    return ClusterState(
        choice.name,
        choice.edition,
        state.now,
        version,
        tuple(_node(state, name) for name in sorted(state.node_index)),
        _queues(driver),
    )


def _node(state: State, name: str) -> NodeView:
    row, nodes = state.node_index[name], state.nodes
    here = {state.work_names[int(state.residents.work[resident])] for resident in state.node_residents[row]}
    return NodeView(
        name,
        NODE_STATES[nodes.state[row]],
        state.partitions.name(int(nodes.partition[row])) or "",
        _amounts(state, nodes.capacity[:, row]),
        _amounts(state, nodes.occupied[:, row]),
        _amounts(state, nodes.used[:, row]),
        _amounts(state, nodes.held[:, row]),
        _amounts(state, nodes.leaving[:, row]),
        tuple(sorted(here)),
    )


def _queues(driver: Driver) -> tuple[QueueView, ...]:
    state, tree = driver.state, driver.state.tree
    pending, held, running = Counter[str](), Counter[str](), Counter[str]()
    for job in driver.jobs.values():
        count = pending if job.phase in WAITING else running if job.phase in PRESENT else held
        count[job.workload.queue or ""] += 1
    return tuple(
        QueueView(
            name,
            None if (above := int(tree.parent[row])) < 0 else tree.names[above],
            _limits(state, tree.guaranteed[:, row]),
            _limits(state, tree.max[:, row]),
            _amounts(state, tree.usage[:, row]),
            pending[name],
            held[name],
            running[name],
        )
        for name, row in sorted(tree.index.items())
    )


def _amounts(state: State, counts: Int64s) -> Amounts:
    amounts = state.units.amounts(counts.tolist())
    return {name: nano for name, nano in amounts.items() if name and nano}


def _limits(state: State, counts: Int64s) -> Amounts:
    """Limits that are set; zero is one."""
    units = state.units
    return {
        name: int(counts[column]) * units.nano[column]
        for column, name in enumerate(units.names)
        if column != WHOLE and counts[column] != UNSET
    }
