"""The queue tree as this doctrine reads it: guarantees, limits and settings, worked out of the entries once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cede.doctrines.yunikorn.settings import Properties, properties_of
from cede.state.columns import NONE, UNSET, Int64s
from cede.state.state import State
from cede.state.units import WHOLE

Amounts = dict[int, int]
"""Counts by resource column; a column that is not there is not named."""


class Queues:
    """All queues by row. A guarantee or a limit is unset (None) unless some amount of it is above zero."""

    def __init__(self, state: State, edition: str) -> None:
        tree = state.tree
        self.size = tree.size
        self.names = tree.names
        self.path = [tree.path(queue) for queue in range(tree.size)]
        self.guaranteed = [_set(tree.guaranteed[:, queue]) for queue in range(tree.size)]
        self.max = [_set(tree.max[:, queue]) for queue in range(tree.size)]
        self.children: list[list[int]] = [[] for _ in range(tree.size)]
        for queue in sorted(range(tree.size), key=tree.names.__getitem__):
            if tree.parent[queue] != NONE:
                self.children[tree.parent[queue]].append(queue)
        raw = [tree.settings(queue) for queue in range(tree.size)]
        self.properties: list[Properties] = [
            properties_of([raw[above] for above in path], edition) for path in self.path
        ]
        self.rank = np.full(tree.size + 1, NONE, np.int64)
        """The place of each queue in the order of names; the last row is of work without a queue."""
        self.rank[sorted(range(tree.size), key=tree.names.__getitem__)] = np.arange(tree.size)
        self._inside: dict[int, frozenset[int]] = {}
        self._guaranteeing: list[list[int]] = [
            [above for above in reversed(path) if self.guaranteed[above] is not None] for path in self.path
        ]

    def guarantee(self, queue: int) -> Amounts:
        """What the queue itself is guaranteed; nothing where that is unset."""
        return self.guaranteed[queue] or {}

    def guaranteeing(self, queue: int) -> list[int]:
        """The queues on the path that guarantee something, the highest first."""
        return [] if queue == NONE else self._guaranteeing[queue]

    def guarantor(self, queue: int) -> int:
        """The nearest queue on the path that guarantees anything, NONE if there is none."""
        return next(reversed(self.guaranteeing(queue)), NONE)

    def promise(self, leaf: int, asked: Iterable[int]) -> tuple[int, list[tuple[int, int]]]:
        """The nearest queue on the path of the leaf that guarantees a requested type, NONE if there is none; and how
        much it guarantees of the requested types.
        """
        for queue in self.path_of(leaf):
            guaranteed = self.guarantee(queue)
            named = [(column, guaranteed[column]) for column in asked if column in guaranteed]
            if named:
                return queue, named
        return NONE, []

    def inside(self, queue: int) -> frozenset[int]:
        """The queue and all below it; of no queue, all there are."""
        queues = self._inside.get(queue)
        if queues is None:
            rows = range(self.size) if queue == NONE else [q for q in range(self.size) if queue in self.path[q]]
            queues = self._inside[queue] = frozenset(rows)
        return queues

    def below_common(self, queue: int, other: int) -> list[int]:
        """The queues on the path of the first one that are not on the path of the other, lowest first."""
        shared = set(self.path_of(other))
        return [above for above in self.path_of(queue) if above not in shared]

    def path_of(self, queue: int) -> list[int]:
        """The queue and all above it; nothing for work without a queue."""
        return [] if queue == NONE else self.path[queue]

    def name(self, queue: int) -> str:
        return "(no queue)" if queue == NONE else self.names[queue]

    def disabling(self, queue: int) -> int:
        """The queue whose policy protects this one: itself, or the nearest above it that says so."""
        return next((above for above in self.path_of(queue) if not self._only_inherits(above)), queue)

    def _only_inherits(self, queue: int) -> bool:
        above = self.path[queue][1:]
        return bool(above) and self.properties[above[0]].disabled

    def fence(self, queue: int) -> int:
        """The queue beyond which work of this one finds no victim by its policies; NONE: the whole tree is open."""
        path = self.path_of(queue)
        return next((above for above in path[:-1] if self.properties[above].fence), path[-1] if path else NONE)


def queues_of(state: State, edition: str) -> Queues:
    """Worked out once, as long as no entry of a queue changes."""
    key = f"yunikorn {edition}"
    queues = state.tree.derived.get(key)
    if not isinstance(queues, Queues):
        queues = state.tree.derived[key] = Queues(state, edition)
    return queues


def total_capacity(state: State, partition: int) -> Amounts:
    """The limit of the root: what the nodes of the partition have in all, of the types they have. Not to be changed."""
    key = f"yunikorn capacity {partition}"
    known = state.tree.derived.get(key)
    if known is not None and known[0] == state.journal.reshaped:
        kept: Amounts = known[1]
        return kept
    nodes, size = state.nodes, state.nodes.size
    here = nodes.partition[:size] == partition
    sums: Int64s = nodes.capacity[:, :size].sum(axis=1) if here.all() else nodes.capacity[:, :size][:, here].sum(axis=1)
    capacity = {column: total for column, total in enumerate(sums.tolist()) if column != WHOLE and total > 0}
    state.tree.derived[key] = (state.journal.reshaped, capacity)
    return capacity


def _set(column: Int64s) -> Amounts | None:
    """The amounts that are given, if one of them is above zero."""
    given = {int(c): int(column[c]) for c in np.flatnonzero(column != UNSET).tolist() if c != WHOLE}
    return given if any(amount > 0 for amount in given.values()) else None
