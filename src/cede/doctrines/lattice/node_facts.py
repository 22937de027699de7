"""What is worked out of the nodes alone, and kept until one of them changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from cede.doctrines.parts.claim import matching_nodes, pinned_by
from cede.doctrines.parts.cost import Floats, gpus_of
from cede.doctrines.parts.orders import Rows
from cede.state.columns import NONE, READY, Bools, Int64s
from cede.state.state import State

FINGERPRINT = "fingerprint"
"""The node label that says which nodes are identical: drivers, firmware, kernel."""
MOST = 4_096
"""Maximum number of answers that are kept."""

Made = TypeVar("Made")

_HELD: WeakKeyDictionary[State, tuple[int, dict[Hashable, object]]] = WeakKeyDictionary()
"""Not beside the queues of the state: who asks for those has all columns written."""


def kept(state: State, key: Hashable, make: Callable[[], Made]) -> Made:
    """What was made under this key since nodes, queues or units changed last; else made now."""
    held = _HELD.get(state)
    if held is None or held[0] != state.journal.reshaped or len(held[1]) > MOST:
        held = _HELD[state] = (state.journal.reshaped, {})
    if key not in held[1]:
        held[1][key] = make()
    return cast("Made", held[1][key])


def wheres(state: State, rows: Rows) -> list[Hashable]:
    """Of each of these, all that decides which nodes it matches."""
    plain = zip(state.work.partition[rows].tolist(), state.work.required_node[rows].tolist(), strict=True)
    if not state.constraints and not state.units.flavored:
        return list(plain)
    return [(*own, _asked(state, row)) for row, own in zip(rows.tolist(), plain, strict=True)]


def _asked(state: State, row: int) -> Hashable:
    constraints = state.constraints.get(row)
    pinned = frozenset(pinned_by(state, row)) if state.units.flavored else None
    if constraints is None:
        return pinned
    return tuple(sorted(constraints.labels.items())), tuple(sorted(constraints.nodes or ())), pinned


def any_home(state: State) -> bool:
    """Whether some node has a home."""
    return kept(state, "any home", lambda: bool((state.nodes.home[: state.nodes.size] != NONE).any()))


def fingerprints(state: State) -> Int64s:
    """Which nodes are identical, as a number for each; 0 for those of which it is not known."""

    def make() -> Int64s:
        labels = [by_node.get(FINGERPRINT, "") for by_node in state.labels.sets]
        codes = {label: code for code, label in enumerate(sorted({"", *labels}))}
        by_node: Int64s = np.array([codes[label] for label in labels], np.int64)[state.nodes.labels[: state.nodes.size]]
        return by_node

    return kept(state, "fingerprints", make)


def all_identical(state: State) -> bool:
    """Whether all nodes have one fingerprint, or all an unknown one."""
    return kept(state, "all identical", lambda: len(set(fingerprints(state).tolist())) == 1)


def in_groups(state: State) -> Bools:
    """Nodes of which the group is known."""

    def make() -> Bools:
        known = np.array([name != "" for name in state.groups.names], np.bool_)
        grouped: Bools = known[state.nodes.group[: state.nodes.size]]
        return grouped

    return kept(state, "in groups", make)


def group_sizes(state: State, row: int, where: Hashable) -> Int64s:
    """Of the nodes that are ready and match a workload, as `where` says: how many the largest group has, the largest
    two, and so on."""

    def make() -> Int64s:
        size = state.nodes.size
        mask = matching_nodes(state, row) & in_groups(state) & (state.nodes.state[:size] == READY)
        sizes = np.sort(np.bincount(state.nodes.group[:size][mask]))[::-1]
        sums: Int64s = np.cumsum(sizes[sizes > 0])
        return sums

    return kept(state, ("groups", where), make)


def least_gpus(state: State, rows: Rows) -> Floats:
    """The fewest GPUs of a node that could hold a member of each of these if it were empty; no number if none could."""
    needs = np.ascontiguousarray(state.work.need[:, rows].T)

    def make(row: int, need: Int64s) -> float:
        size = state.nodes.size
        empty = state.nodes.capacity[:, :size] - state.nodes.occupied[:, :size]
        could = matching_nodes(state, row) & (empty >= need[:, None])[need > 0].all(axis=0)
        return float(node_gpus(state)[could].min()) if could.any() else np.nan

    return np.array(
        [
            kept(state, ("gpus", where, need.tobytes()), partial(make, row, need))
            for row, where, need in zip(rows.tolist(), wheres(state, rows), needs, strict=True)
        ]
    )


def node_gpus(state: State) -> Floats:
    """How many GPUs each node has."""
    return kept(state, "gpus", lambda: gpus_of(state, state.nodes.capacity[:, : state.nodes.size]))
