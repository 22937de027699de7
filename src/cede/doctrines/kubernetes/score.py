"""Where kube-scheduler puts a pod that has room: the points of LeastAllocated and of BalancedAllocation, added up.

The other plugins of the default profile give every node the same here: a cluster file has no taints that only prefer,
no preferred affinity, no spread constraints and no images. Points are whole numbers, as there; kube-scheduler draws
lots between nodes of equal points, and here the name decides.
"""

from __future__ import annotations

import numpy as np

from cede.doctrines.parts.orders import Rows, first_node
from cede.state.columns import Int64s
from cede.state.state import State

MOST = 100
UNITS = {"cpu": 10**6, "memory": 10**9}
"""By resource: how many nano-units make one of those that kube-scheduler counts in, millicores and bytes."""
UNSAID = {"cpu": 100, "memory": 200 * 2**20}
"""What LeastAllocated takes a pod to use that does not say."""


def best_node(state: State, need: Int64s, nodes: Rows) -> int:
    """Of these nodes the one with the most points."""
    if len(nodes) == 1:
        return int(nodes[0])
    return first_node(state, nodes, -points(state, need, nodes))


def points(state: State, need: Int64s, nodes: Rows) -> Int64s:
    """What each of these nodes gets for one pod of this need."""
    known = [(name, state.units.index[name]) for name in UNITS if name in state.units.index]
    least, weights = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
    shares: list[tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]] = []
    asked_any = False
    for name, column in known:
        capacity = _counted(state, name, column, state.nodes.capacity[column, nodes])
        there = capacity > 0
        safe = np.where(there, capacity, 1)
        asked = int(_counted(state, name, column, need[column : column + 1])[0])
        used = _counted(state, name, column, _used(state, column, nodes))
        guessed = used + _silent(state, column, nodes) * UNSAID[name] + (asked or UNSAID[name])
        gets = np.where(guessed > capacity, 0, (capacity - guessed) * MOST // safe)
        least += np.where(there, gets, 0)
        weights += there
        asked_any |= asked > 0
        before = np.where(there, np.minimum(used / safe, 1.0), np.nan)
        after = np.where(there, np.minimum((used + asked) / safe, 1.0), np.nan)
        shares.append((before, after))
    total: Int64s = least // np.maximum(weights, 1)
    if asked_any:  # one that asks for neither is not balanced
        total = total + MOST // 2 + (MOST // 2 + _balance(shares, 1) - _balance(shares, 0)) // 2
    return total


def _balance(shares: list[tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]], which: int) -> Int64s:
    """How alike the shares of the resources in use are, in points; a node without one of them has nothing unlike."""
    points = np.full(len(shares[0][which]), float(MOST))
    if len(shares) == 2:
        apart = np.abs((shares[0][which] - shares[1][which]) / 2)
        points = np.where(np.isnan(apart), float(MOST), (1 - apart) * MOST)
    return points.astype(np.int64)


def _counted(state: State, name: str, column: int, counts: Int64s) -> Int64s:
    """Amounts in the unit that kube-scheduler counts in, rounded up as it does."""
    nano, unit = state.units.nano[column], UNITS[name]
    if nano % unit == 0:
        return counts * (nano // unit)
    return -(-(counts * nano) // unit)


def _used(state: State, column: int, nodes: Rows) -> Int64s:
    """What the pods on a node ask for: of all that stand there, and of what was there before."""
    table = state.nodes
    stays: Int64s = table.occupied[column, nodes] + table.used[column, nodes] + table.leaving[column, nodes]
    return stays


def _silent(state: State, column: int, nodes: Rows) -> Int64s:
    """How many pods on each node do not say how much of this they want."""
    residents = state.residents
    size = residents.size
    quiet = (residents.count[:size] > 0) & (residents.amount[column, :size] == 0)
    counts = np.bincount(residents.node[:size][quiet], residents.count[:size][quiet], state.nodes.size)
    return counts[nodes].astype(np.int64)
