"""Limits and guarantees of queues that contradict each other, or the nodes there are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cede.doctrines.parts.limits import used_quota
from cede.engine.lint_rules import (
    CHILDREN_OVER_PARENT,
    EMPTY_PARTITION,
    GUARANTEE_OVER_MAX,
    MAX_OVER_PARENT,
    NO_PARENT,
    OVER_CLUSTER,
    OVER_MAX,
    finding,
)
from cede.model.lint import Finding
from cede.model.quantities import show_quantity
from cede.state.columns import NONE, UNSET, Int64s, limits_added
from cede.state.entry import DEFAULT_PARTITION
from cede.state.state import State


def queue_findings(state: State) -> Iterator[Finding]:
    """By queue name, then partitions by name."""
    promises = Promises(state)
    for name in sorted(state.tree.index):
        queue = state.tree.index[name]
        if state.tree.listed[queue]:
            yield from _limits(state, name, queue)
            yield from _family(state, name, queue)
            yield from _children(state, name, queue, promises)
    yield from _partitions(state, promises)


class Promises:
    """What each queue's children, and the queue with all below it, are guaranteed together."""

    def __init__(self, state: State) -> None:
        tree = state.tree
        self.adds = state.static.flavored_quota
        self.children: dict[int, list[int]] = {}
        for queue in range(tree.size):
            self.children.setdefault(int(tree.parent[queue]), []).append(queue)
        self.together = np.maximum(tree.guaranteed[:, : tree.size], 0)
        self.below = np.zeros_like(self.together)
        for queue in reversed(self._from_the_top()):
            below = self.below[:, queue]
            own = self.together[:, queue]
            own[:] = limits_added(own, below) if self.adds else np.maximum(own, below)
            above = int(tree.parent[queue])
            if above != NONE:
                self.below[:, above] = limits_added(self.below[:, above], own)

    def _from_the_top(self) -> list[int]:
        order = list(self.children.get(NONE, ()))
        for queue in order:
            order += self.children.get(queue, ())
        return order


def _limits(state: State, name: str, queue: int) -> Iterator[Finding]:
    tree = state.tree
    most, promised, used = tree.max[:, queue], tree.guaranteed[:, queue], used_quota(state, queue)
    for column in np.flatnonzero((most != UNSET) & (used > most)).tolist():
        yield finding(
            OVER_MAX,
            f"queues[{name}].max",
            "raise max, or expect rules about max to act; `over_limit_since` says since when",
            queue=name,
            what=state.units.names[column],
            used=_shown(state, column, used[column]),
            limit=_shown(state, column, most[column]),
        )
    for column in np.flatnonzero((most != UNSET) & (promised > most)).tolist():
        yield finding(
            GUARANTEE_OVER_MAX,
            f"queues[{name}].guaranteed",
            "lower guaranteed or raise max",
            queue=name,
            what=state.units.names[column],
            guaranteed=_shown(state, column, promised[column]),
            limit=_shown(state, column, most[column]),
        )


def _family(state: State, name: str, queue: int) -> Iterator[Finding]:
    tree = state.tree
    if tree.parent[queue] == NONE:
        for key in ("borrowing_limit", "lending_limit"):
            if (getattr(tree, key)[:, queue] != UNSET).any():
                hint = f"add a parent, or drop {key}"
                yield finding(NO_PARENT, f"queues[{name}].{key}", hint, queue=name, key=key)
    for column in np.flatnonzero(tree.max[:, queue] != UNSET).tolist():
        above = next((q for q in tree.path(queue)[1:] if tree.max[column, q] != UNSET), None)
        if above is not None and tree.max[column, queue] > tree.max[column, above]:
            yield finding(
                MAX_OVER_PARENT,
                f"queues[{name}].max",
                "lower it, or raise the parent's",
                queue=name,
                what=state.units.names[column],
                limit=_shown(state, column, tree.max[column, queue]),
                parent=tree.names[above],
                above=_shown(state, column, tree.max[column, above]),
            )


def _children(state: State, name: str, queue: int, promises: Promises) -> Iterator[Finding]:
    promised, total = state.tree.guaranteed[:, queue], promises.below[:, queue]
    if promises.adds:
        return
    for column in np.flatnonzero((promised != UNSET) & (total > promised)).tolist():
        yield finding(
            CHILDREN_OVER_PARENT,
            f"queues[{name}].guaranteed",
            "lower the children's guarantees or raise the parent's: not all can be kept at once",
            queue=name,
            what=state.units.names[column],
            total=_shown(state, column, total[column]),
            guaranteed=_shown(state, column, promised[column]),
        )


def _partitions(state: State, promises: Promises) -> Iterator[Finding]:
    tree, nodes = state.tree, state.nodes
    if not nodes.size:
        return
    with_nodes = set(nodes.partition[: nodes.size].tolist())
    for name in sorted(tree.index):
        queue = tree.index[name]
        partition = int(tree.partition[queue])
        if tree.listed[queue] and queue not in promises.children and partition not in with_nodes:
            yield finding(
                EMPTY_PARTITION,
                f"queues[{name}].partition",
                "correct the partition, here or on the nodes",
                queue=name,
                partition=state.partitions.names[partition],
            )
    for partition in sorted(with_nodes, key=state.partitions.names.__getitem__):
        tops = [q for q in range(tree.size) if tree.partition[q] == partition and not _inside(state, q, partition)]
        if tops:
            yield from _over_cluster(state, partition, promises.together[:, tops].sum(axis=1))


def _inside(state: State, queue: int, partition: int) -> bool:
    """Whether a queue above it is of the same partition."""
    return any(state.tree.partition[above] == partition for above in state.tree.path(queue)[1:])


def _over_cluster(state: State, partition: int, total: Int64s) -> Iterator[Finding]:
    named = state.partitions.names[partition]
    for column in np.flatnonzero(total).tolist():
        what = state.units.names[column]
        capacity = _capacity(state, partition, what)
        if int(total[column]) * state.units.nano[column] > capacity:
            yield finding(
                OVER_CLUSTER,
                "queues",
                "lower the guarantees: not all can be kept at once",
                partition="the cluster" if named == DEFAULT_PARTITION else f"partition {named}",
                what=what,
                total=_shown(state, column, total[column]),
                capacity=show_quantity(what, capacity),
            )


def _capacity(state: State, partition: int, what: str) -> int:
    """What the nodes of a partition have in all, in nano-units; of one flavor only if the resource names one."""
    nodes, size = state.nodes, state.nodes.size
    mask = nodes.partition[:size] == partition
    column = state.units.index[what]
    return int(nodes.capacity[column, :size][mask].sum()) * state.units.nano[column]


def _shown(state: State, column: int, count: int) -> str:
    return show_quantity(state.units.names[column], state.units.limit(column, int(count)))
