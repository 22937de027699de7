"""Which of the agents that would do is taken: concentrated, dispersed, legacy, roundrobin.

The release compares what remains in absolute amounts, one slot after the other: cpu, then mem, then whatever else is
asked for, by name. No ratios, no sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cede.doctrines.parts.fit import named_columns
from cede.doctrines.parts.orders import Rows, first_node, nodes_by
from cede.state.columns import Int64s
from cede.state.state import State

ROUNDROBIN = "roundrobin"
FIRST_SLOTS = ("cpu", "mem")


def likings(state: State, strategy: str, nodes: Rows, need: Int64s, remaining: Int64s) -> list[Int64s]:
    """Keys of these node rows, the least liked last; ties are by name. `remaining` is by column and row.

    `concentrated` takes the least that remains, all others the most. `roundrobin` likes none better.
    """
    if strategy == ROUNDROBIN:
        return []
    sign = 1 if strategy == "concentrated" else -1
    return [sign * remaining[column, nodes] for column in slots_in_turn(state, need)]


def slots_in_turn(state: State, need: Int64s) -> list[int]:
    """The columns that a member asks for, in the order in which agents are compared by them."""
    asked = {state.units.names[column]: column for column in named_columns(state) if need[column]}
    first = [name for name in FIRST_SLOTS if name in asked]
    return [asked[name] for name in (*first, *(name for name in asked if name not in first))]


def pick(
    state: State,
    strategy: str,
    nodes: Rows,
    need: Int64s,
    remaining: Int64s,
    memory: dict[str, Any],
    group: int,
) -> int:
    """The node row the strategy likes best; with `roundrobin` one more pick of this group's."""
    if strategy == ROUNDROBIN:
        turn = picks(memory, group)
        count_pick(memory, group)
        return int(nodes_by(state, nodes)[turn % len(nodes)])
    return first_node(state, nodes, *likings(state, strategy, nodes, need, remaining))


def picks(memory: dict[str, Any], group: int) -> int:
    """How often an agent of this group was picked, this pass and before; in a file it begins at 0."""
    count: int = memory.get(ROUNDROBIN, {}).get(group, 0)
    return count


def count_pick(memory: dict[str, Any], group: int) -> None:
    """Every pick counts, also that of a member whose session finds no room in the end."""
    memory.setdefault(ROUNDROBIN, {})[group] = picks(memory, group) + 1


def kept(state: State, memory: Mapping[str, Any], _at: int | None) -> dict[str, Any]:
    """The picks by the group's name, which outlive a restart: the turn goes on where it was."""
    turns = {state.partitions.names[group]: turn for group, turn in memory.get(ROUNDROBIN, {}).items()}
    return {ROUNDROBIN: dict(sorted(turns.items()))} if turns else {}


def recalled(state: State, told: Mapping[str, Any]) -> dict[str, Any]:
    """The memory of which this was kept; groups that are no more are left out."""
    known = state.partitions.index
    return {ROUNDROBIN: {known[name]: turn for name, turn in told.get(ROUNDROBIN, {}).items() if name in known}}


def copied(memory: Mapping[str, Any]) -> dict[str, Any]:
    """The picks once more."""
    return {ROUNDROBIN: dict(memory[ROUNDROBIN])} if ROUNDROBIN in memory else {}


def one_key(keys: list[Int64s], count: int) -> Int64s:
    """One number for each of so many that sorts like all these keys, the first key first."""
    place = np.zeros(count, np.int64)
    if not keys:
        return place
    turn = np.lexsort(keys[::-1])
    steps = np.zeros(count, np.bool_)
    for key in keys:
        steps[1:] |= key[turn][1:] != key[turn][:-1]
    place[turn] = np.cumsum(steps)
    return place
