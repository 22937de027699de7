"""Which operations run at all, and in which order a FIFO pool serves them."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.curves import Floats
from cede.doctrines.ytsaurus.elements import Pools
from cede.doctrines.ytsaurus.settings import Pool
from cede.doctrines.ytsaurus.standing import HOLDS, LEAVES, WAITS, Standing
from cede.state.columns import DOWN, Bools, Rows

Sizes = dict[int, tuple[Floats, Floats]]


def running_operations(standing: Standing) -> tuple[Bools, Bools]:
    """Who runs, and who is refused, because a pool or the tree has as many operations as it may have.

    Those that hold room come first, then the earlier ones, then by name.
    """
    pools, operations = standing.pools, standing.operations
    size = len(operations)
    running, refused = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    there = standing.existing()
    running[there] = True
    if not _too_many(standing, there):
        return running, refused
    run, known = [0] * len(pools.settings), [0] * len(pools.settings)
    holds: Bools = np.any(standing.counts[:, [HOLDS, LEAVES]], axis=1)
    first = standing.submitted
    for number in sorted(there.tolist(), key=lambda one: (not holds[one], first[one], operations.names[one])):
        path = pools.paths[operations.pool[number]]
        if any(known[pool] >= pools.settings[pool].max_operations for pool in path):
            running[number], refused[number] = False, True
            continue
        for pool in path:
            known[pool] += 1
        if any(run[pool] >= pools.settings[pool].max_running for pool in path):
            running[number] = False
            continue
        for pool in path:
            run[pool] += 1
    return running, refused


def _too_many(standing: Standing, operations: Rows) -> bool:
    """Whether some pool has more of these operations, with all below it, than it may have."""
    pools = standing.pools
    counts = np.bincount(standing.operations.above[operations], minlength=len(pools.settings))
    for below, parents in reversed(pools.levels):
        np.add.at(counts, parents, counts[below])
    return bool((counts > standing.most).any())


def fifo_order(standing: Standing, below: Rows, settings: Pool, weights: Floats) -> Rows:
    """The operations of a FIFO pool, the one that is served first first."""
    operations = standing.operations

    def key(number: int) -> tuple[float | str, ...]:
        values: dict[str, float] = {
            "weight": -float(weights[number]),
            "start_time": float(standing.submitted[number]),
            "pending_job_count": float(standing.counts[number, WAITS]),
        }
        return (*(values[name] for name in settings.fifo_sort), operations.names[number])

    return np.array(sorted(below.tolist(), key=key), np.intp)


def slots_in_fifo(standing: Standing, orders: dict[int, Rows], running: Bools) -> Bools:
    """Who is far enough ahead in its FIFO pool to be scheduled; everybody, where no such limit is set."""
    found = np.ones(len(running), np.bool_)
    most = standing.pools.tree.fifo_schedulable
    if most is not None:
        for order in orders.values():
            found[order[running[order]][most:]] = False
    return found


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
    found: Sizes = {}
    for partition in range(len(pools.total)):
        here = (nodes.partition[:count] == partition) & (nodes.state[:count] != DOWN)
        size, times = np.unique(free[here], return_counts=True)
        found[partition] = size.astype(np.float64), times.astype(np.float64)
    return memory, slots, found
