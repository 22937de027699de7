"""What is free on every node, kept from the changes of the workloads that stand there."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cede.state.columns import READY, Bools, Int64s
from cede.state.state import State
from cede.state.units import WHOLE


class FreeRoom:
    """What is free by node and column, and on which nodes that is less than nothing; as of the last update."""

    def __init__(self, state: State) -> None:
        size = state.nodes.size
        self.state = state
        free: Int64s = state.nodes.free[:, :size]
        self.free: list[list[int]] = free.T.tolist()
        """By node and column. Lists to look at: where it becomes another, another one takes its place."""
        self.short: set[int] = set(np.flatnonzero((free[WHOLE + 1 :] < 0).any(axis=0)).tolist())
        """Nodes that hold more than they have."""
        self.ready: Bools = state.nodes.state[:size] == READY
        self.nowhere: Bools = np.zeros(size, np.bool_)
        """No node. To look at, not to change."""
        self.rank: Int64s = state.node_rank()
        """The place of each node in the order of names."""
        self.changed: set[int] = set()
        """Nodes on which it is not the same as in the update before."""

    def follow(self, touched: Iterable[int]) -> None:
        """After something happened on these nodes."""
        self.changed = set()
        room = self.state.room().free
        for node in touched:
            free = room[node]
            if self.free[node] != free:
                self.free[node] = free.copy()
                self.changed.add(node)
                self.short.add(node) if min(free[WHOLE + 1 :], default=0) < 0 else self.short.discard(node)
