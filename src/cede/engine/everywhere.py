"""How many members of a claimant each node takes, with all sums made anew: for checking, not for choosing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from cede.state.columns import NODE_STATES, NONE, STATES, Int64s
from cede.state.state import State

OVERLAP = ("preempting", "reserved")
"""What is leaving and what is held overlap: of the two the larger counts."""


def free_everywhere(state: State) -> Int64s:
    """What is free of each column on each node, from what stands there."""
    nodes, size, residents = state.nodes, state.nodes.size, state.residents
    free: Int64s = nodes.capacity[:, :size] - nodes.occupied[:, :size]
    rows = np.flatnonzero(residents.count[: residents.size])
    words = state.work.state[residents.work[rows]]
    codes = [STATES.index(word) for word in OVERLAP]
    free -= np.maximum(*(_piled(state, rows[words == code]) for code in codes))
    free -= _piled(state, rows[(words != codes[0]) & (words != codes[1])])
    return free


def _piled(state: State, residents: npt.NDArray[np.intp]) -> Int64s:
    sums = np.zeros((len(state.units), state.nodes.size), np.int64)
    nodes = state.residents.node[residents]
    for column in range(len(sums)):
        np.add.at(sums[column], nodes, state.residents.amount[column, residents])
    return sums


def usable_by_plain(state: State, row: int) -> npt.NDArray[np.bool_]:
    """The nodes that a workload without wishes of its own may use."""
    nodes, size = state.nodes, state.nodes.size
    kept = nodes.reserved_for[:size]
    found: npt.NDArray[np.bool_] = (
        (nodes.state[:size] == NODE_STATES.index("ready"))
        & (nodes.partition[:size] == state.work.partition[row])
        & ((kept == NONE) | (kept == row))
    )
    return found


def members_of(free: Int64s, need: Mapping[int, int]) -> Int64s:
    """How many members of this need each node takes."""
    room = np.full(free.shape[1], 1 << 40, np.int64)
    for column, amount in need.items():
        np.minimum(room, free[column] // amount, out=room)
    return np.maximum(room, 0)
