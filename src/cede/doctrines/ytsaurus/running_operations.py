"""Which operations run at all, and in which order a FIFO pool serves them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

import numpy as np

from cede.doctrines.ytsaurus.curves import Floats
from cede.doctrines.ytsaurus.operation_usage import HOLDS, LEAVES, WAITS, OperationUsage
from cede.doctrines.ytsaurus.pool_tree import Pools
from cede.doctrines.ytsaurus.settings import Pool
from cede.state.columns import DOWN, Bools, Rows

Sizes = dict[int, tuple[Floats, Floats]]


LinePosition = tuple[bool, int, str, str, int]
"""An operation among those of its pool: those that hold room first, then the earlier ones, then by name and pool."""


class RunningOperations:
    """Which operations run, and which are refused since a pool or the tree has as many as it may have.

    As long as no pool ever had more than may all run, all that are there run, and it is enough to count. From then
    on every pool has a line of the operations in it and below it. Where on no path two pools have too many, the first
    ones of a line run, whatever the other pools hold: only those whose place changed across a limit change, and one
    that comes or goes moves no other by more than one place.
    """

    def __init__(self, operation_usage: OperationUsage) -> None:
        self.operation_usage = operation_usage
        settings = operation_usage.pools.settings
        self._counts = [0] * len(settings)
        """How many operations are in each pool and below it."""
        self._lines: list[list[LinePosition]] | None = None
        self._places: dict[int, LinePosition | None] = {}
        """Of all that are there; without a place as long as there are no lines."""
        self._full: set[int] = set()
        """Pools that have more than they may have."""
        self._most = [min(one.max_running, one.max_operations) for one in settings]
        """How many operations each pool may have that all run."""
        self._known = [one.max_operations for one in settings]
        self._walked = False
        self._answers: dict[int, tuple[bool, bool]] = {}
        """Whether each runs, and is refused; neither, where nothing is said."""
        self._room = np.zeros((2, 0), np.bool_)
        self.running: Bools = self._room[0]
        self.refused: Bools = self._room[1]

    def follow(self, touched: Iterable[int]) -> set[int]:
        """After something happened to these operations: whose answer is another now."""
        self._grow()
        asked = set(touched)
        if self._lines is None:
            self._count(asked)
            if not self._full:
                return {number for number in asked if self._answer(number)}
            self._lines = [[] for _ in self._counts]
            asked.update(self._places)
            self._places.clear()
        lines = self._lines
        moved: dict[int, int] = {}
        for number in asked:
            self._put(lines, number, moved)
        for pool in moved:
            self._full.add(pool) if len(lines[pool]) > self._most[pool] else self._full.discard(pool)
        if self._nested() or self._walked:
            self._walked = self._nested()
            return self._walk()
        for pool, times in moved.items():
            for limit in {self._most[pool], self._known[pool]}:
                near = lines[pool][max(0, limit - times) : limit + times]
                asked.update(place[-1] for place in near)
        return {number for number in asked if self._answer(number)}

    def _count(self, asked: Iterable[int]) -> None:
        """The same without lines, up to the first pool that has too many."""
        operation_usage, places, counts = self.operation_usage, self._places, self._counts
        for number in asked:
            there = self.is_there(number)
            if there == (number in places):
                continue
            if there:
                places[number] = None
            else:
                del places[number]
            for pool in operation_usage.pools.paths[operation_usage.operations.pool[number]]:
                counts[pool] += 1 if there else -1
                if counts[pool] > self._most[pool]:
                    self._full.add(pool)

    def is_there(self, number: int) -> bool:
        """Whether it has workloads, or the file lists it."""
        return any(self.operation_usage.tally[number]) or self.operation_usage.operations.is_listed(number)

    def _grow(self) -> None:
        size = len(self.operation_usage.operations)
        if size > len(self.running):
            if size > self._room.shape[1]:
                self._room = np.concatenate((self._room, np.zeros((2, size), np.bool_)), axis=1)
            self.running, self.refused = self._room[:, :size]

    def _put(self, lines: list[list[LinePosition]], number: int, moved: dict[int, int]) -> None:
        operation_usage = self.operation_usage
        before, place = self._places.get(number), None
        if self.is_there(number):
            counts = operation_usage.tally[number]
            holds = bool(counts[HOLDS] or counts[LEAVES])
            pool = operation_usage.pools.name(operation_usage.operations.pool[number])
            place = (
                not holds,
                operation_usage.submitted[number],
                operation_usage.operations.names[number],
                pool,
                number,
            )
        if place == before:
            return
        for one in operation_usage.pools.paths[operation_usage.operations.pool[number]]:
            line = lines[one]
            if before is not None:
                del line[bisect_left(line, before)]
            if place is not None:
                insort(line, place)
            moved[one] = moved.get(one, 0) + 1
        if place is None:
            del self._places[number]
        else:
            self._places[number] = place

    def _nested(self) -> bool:
        paths = self.operation_usage.pools.paths
        return len(self._full) > 1 and any(above in self._full for pool in self._full for above in paths[pool][1:])

    def _answer(self, number: int) -> bool:
        """Whether this one runs or is refused; whether that is new."""
        runs, refused = number in self._places, False
        if runs and self._full:
            lines, place = self._lines, self._places[number]
            assert lines is not None
            assert place is not None
            for pool in self.operation_usage.pools.paths[self.operation_usage.operations.pool[number]]:
                if pool in self._full:
                    at = bisect_left(lines[pool], place)
                    runs, refused = at < self._most[pool], at >= self._known[pool]
        if self._answers.get(number, (False, False)) == (runs, refused):
            return False
        self._answers[number] = self.running[number], self.refused[number] = runs, refused
        return True

    def _walk(self) -> set[int]:
        """All of them, in the order of places."""
        pools, operations = self.operation_usage.pools, self.operation_usage.operations
        before = self._room[:, : len(operations)].copy()
        self.running[:], self.refused[:] = False, False
        run, known = [0] * len(pools.settings), [0] * len(pools.settings)
        for *_, number in sorted(place for place in self._places.values() if place is not None):
            path = pools.paths[operations.pool[number]]
            if any(known[pool] >= pools.settings[pool].max_operations for pool in path):
                self.refused[number] = True
                continue
            for pool in path:
                known[pool] += 1
            if any(run[pool] >= pools.settings[pool].max_running for pool in path):
                continue
            for pool in path:
                run[pool] += 1
            self.running[number] = True
        self._answers = dict(enumerate(zip(self.running.tolist(), self.refused.tolist(), strict=True)))
        return set(np.flatnonzero((self._room[:, : len(operations)] != before).any(axis=0)).tolist())


def fifo_order(operation_usage: OperationUsage, below: Rows, settings: Pool, weights: Floats) -> Rows:
    """The operations of a FIFO pool, the one that is served first first."""
    operations = operation_usage.operations

    def key(number: int) -> tuple[float | str, ...]:
        values: dict[str, float] = {
            "weight": -float(weights[number]),
            "start_time": float(operation_usage.submitted[number]),
            "pending_job_count": float(operation_usage.counts[number, WAITS]),
        }
        return (*(values[name] for name in settings.fifo_sort), operations.names[number])

    return np.array(sorted(below.tolist(), key=key), np.intp)


def slots_in_fifo(operation_usage: OperationUsage, orders: dict[int, Rows], running: Bools) -> Bools:
    """Which operations are far enough ahead in their FIFO pool to be scheduled; all, where no such limit is set."""
    allowed = np.ones(len(running), np.bool_)
    most = operation_usage.pools.tree.fifo_schedulable
    if most is not None:
        for order in orders.values():
            allowed[order[running[order]][most:]] = False
    return allowed


def memory_sizes(pools: Pools) -> tuple[int, int, Sizes] | None:
    """Where memory and slots stand among the resources, and how many nodes of each tree have how much memory; none
    where one of the two is not counted.
    """
    state = pools.state
    names = [state.units.names[column] for column in pools.columns]
    if "memory" not in names or "user_slots" not in names:
        return None
    memory, slots = names.index("memory"), names.index("user_slots")
    nodes, count = state.nodes, state.nodes.size
    free = np.maximum(nodes.capacity[:, :count] - nodes.occupied[:, :count], 0)[pools.columns[memory]]
    sizes: Sizes = {}
    for partition in range(len(pools.total)):
        here = (nodes.partition[:count] == partition) & (nodes.state[:count] != DOWN)
        size, times = np.unique(free[here], return_counts=True)
        sizes[partition] = size.astype(np.float64), times.astype(np.float64)
    return memory, slots, sizes
