"""Which of the agents that would do is taken: concentrated, dispersed, legacy, roundrobin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cede.doctrines.parts.fit import named_columns
from cede.doctrines.parts.orders import Rows, first_node, nine_decimals
from cede.state.columns import Int64s
from cede.state.state import State
from cede.state.units import WHOLE


def preference(
    state: State, strategy: str, nodes: Rows, remaining: Int64s, memory: Mapping[str, Any], group: int
) -> Int64s:
    """A key for each of these node rows, the least liked last; ties are by name. `remaining` is by column and row."""
    columns = named_columns(state)
    size = state.nodes.size
    if strategy == "roundrobin":
        last = memory.get("roundrobin", {}).get(group)
        passed = [last is not None and state.node_names[node] <= last for node in nodes.tolist()]
        return np.array(passed, np.int64)
    if strategy == "legacy":
        here = state.nodes.partition[:size] == group
        slots = (column for column in columns if state.nodes.capacity[column, :size][here].any())
        least: Int64s = -remaining[next(slots, WHOLE), nodes]
        return least
    score = np.zeros(size)
    for column in columns:
        score += remaining[column] / np.maximum(state.nodes.capacity[column, :size], 1)
    key = nine_decimals(score[nodes])
    return key if strategy == "concentrated" else -key


def pick(state: State, strategy: str, nodes: Rows, remaining: Int64s, memory: dict[str, Any], group: int) -> int:
    """The node row the strategy likes best."""
    node = first_node(state, nodes, preference(state, strategy, nodes, remaining, memory, group))
    remember(state, node, memory, group)
    return node


def remember(state: State, node: int, memory: dict[str, Any], group: int) -> None:
    """The last agent used in this group, for `roundrobin`."""
    memory.setdefault("roundrobin", {})[group] = state.node_names[node]
