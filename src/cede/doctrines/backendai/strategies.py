"""Which of the agents that would do is taken: concentrated, dispersed, legacy, roundrobin."""

from __future__ import annotations

from typing import Any

import numpy as np

from cede.doctrines.parts.fit import named_columns
from cede.doctrines.parts.orders import Rows, first_node, nine_decimals
from cede.state.columns import Int64s
from cede.state.state import State


def pick(state: State, strategy: str, nodes: Rows, remaining: Int64s, memory: dict[str, Any], group: int) -> int:
    """One of these node rows; ties by name. `remaining` is by column and node row."""
    if strategy == "roundrobin":
        return _next_after(state, nodes, memory.setdefault("roundrobin", {}), group)
    if strategy == "legacy":
        first = next(iter(named_columns(state)), None)
        return first_node(state, nodes, *(() if first is None else (-remaining[first, nodes],)))
    score = np.zeros(len(nodes))
    for column in named_columns(state):
        capacity = state.nodes.capacity[column, nodes]
        score += np.where(capacity > 0, remaining[column, nodes] / np.maximum(capacity, 1), 0.0)
    key = nine_decimals(score)
    return first_node(state, nodes, key if strategy == "concentrated" else -key)


def _next_after(state: State, nodes: Rows, last_used: dict[int, str], group: int) -> int:
    """The next in name order after the last one used, from the beginning again after the end."""
    ranked = sorted(nodes.tolist(), key=state.node_names.__getitem__)
    last = last_used.get(group)
    chosen = next((node for node in ranked if last is None or state.node_names[node] > last), ranked[0])
    last_used[group] = state.node_names[chosen]
    return int(chosen)
