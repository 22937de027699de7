"""Total orders: every one ends in uid, then name, and it does so here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cede.state.columns import Int64s
from cede.state.state import State

Rows = npt.NDArray[np.integer[Any]]
Key = npt.NDArray[np.generic]

NINE_DECIMALS = 1e9
LARGEST = 2.0**62
FEW = 16
"""How many ties are broken by comparing texts one by one; more by the first bytes of all uids at once."""


def ordered(state: State, rows: npt.ArrayLike, *keys: Key) -> Rows:
    """Workload rows by the keys, first key first, ascending; equal ones by uid, then name.

    Each key is already taken at `rows`.
    """
    rows = np.asarray(rows, np.intp)
    return rows[order_of(state, rows, *keys)]


def order_of(state: State, rows: Rows, *keys: Key) -> Rows:
    """The turn in which `ordered` takes these rows: positions, so that what stands beside them can follow."""
    if len(rows) < 2:
        return np.arange(len(rows))
    turn = np.lexsort(keys[::-1]) if keys else np.arange(len(rows))
    same = _equal_neighbours(turn, keys)
    if np.count_nonzero(same) > FEW:
        keys = (*keys, state.work.uid_first[rows], state.work.uid_next[rows])
        turn = np.lexsort(keys[::-1])
        same = _equal_neighbours(turn, keys)
    if same.any():
        last = tie_break(state)
        edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8)))
        for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            run = turn[start : stop + 1]
            turn[start : stop + 1] = sorted(run.tolist(), key=lambda at: last(int(rows[at])))
    return turn


def _equal_neighbours(turn: Rows, keys: tuple[Key, ...]) -> npt.NDArray[np.bool_]:
    same = np.ones(len(turn) - 1, np.bool_)
    for key in keys:
        in_turn = key[turn]
        same &= in_turn[1:] == in_turn[:-1]
    return same


def tie_break(state: State) -> Callable[[int], tuple[str, str]]:
    """The last key of every order of workloads."""
    uids, names = state.uids, state.work_names
    return lambda row: (uids[row], names[row])


def nine_decimals(scores: npt.NDArray[np.float64]) -> Int64s:
    """Scores as integers, so that sums equal on paper are equal here; those beyond `LARGEST` are equal too."""
    return np.rint(np.maximum(np.minimum(scores * NINE_DECIMALS, LARGEST), -LARGEST)).astype(np.int64)


def first_node(state: State, nodes: Rows, *keys: Key) -> int:
    """The node row that comes first by the keys, ascending; equal ones by name. Keys are taken at `nodes`."""
    for at in range(len(keys)):
        best = keys[at] == keys[at].min()
        if not best.all():
            nodes = nodes[best]
            keys = tuple(other[best] for other in keys)
    return int(nodes[np.argmin(state.node_rank()[nodes])])


def nodes_by(state: State, nodes: Rows, *keys: Key) -> Rows:
    """Node rows by the keys, ascending; equal ones by name."""
    return nodes[np.lexsort((state.node_rank()[nodes], *keys[::-1]))]
