"""What is missing, in words: the node that comes closest, or how many members of a gang find room."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.fit import feasible, members_that_fit
from cede.doctrines.parts.orders import Rows, first_node, nine_decimals
from cede.model.quantities import show_quantity
from cede.state.columns import Int64s
from cede.state.state import State
from cede.state.units import FULL, WHOLE


def shortage(state: State, claim: Claim, free: Int64s | None = None, *, everywhere: bool = False) -> str:
    """One phrase with the numbers; `everywhere` looks at all matching nodes, ready or not."""
    if everywhere:
        claim = replace(claim, allowed=claim.matching)
    free = state.nodes.free[:, : state.nodes.size] if free is None else free
    nodes = np.flatnonzero(claim.allowed)
    if not len(nodes):
        return "no node that it may use is ready"
    if claim.need is not None and claim.members > 1:
        room = int(members_that_fit(claim, free).sum())
        phrase = f"room for {min(room, claim.members)} of {claim.members} members"
        if room >= claim.members:
            return f"{phrase}, but not with placement {('any', 'tight', 'spread')[claim.placement]}"
        if room:
            return phrase
    need = claim.need if claim.need is not None else _largest_unplaced(claim, free)
    node = first_node(state, nodes, shares_missing(state, claim, need, nodes, free))
    parts = _missing(state, need, free[:, node])
    if not parts:
        return f"no way was found to fit {claim.members} members of different size together"
    return f"closest is {state.node_names[node]}: {parts}"


def shares_missing(state: State, claim: Claim, need: Int64s, nodes: Rows, free: Int64s) -> Int64s:
    """How much of what a member asks for each node lacks, summed over resources, as a key."""
    missing = np.zeros(len(nodes))
    free = free if len(nodes) == free.shape[1] else free[:, nodes]
    for column in claim.columns:
        name = state.units.names[column]
        if "@" in name:
            continue
        short = need[column] - free[column]
        for pinned in state.units.flavored.get(name, ()):
            if need[pinned]:
                short = np.maximum(short, need[pinned] - free[pinned])
        missing += np.maximum(short, 0) / max(int(need[column]), 1)
    return nine_decimals(missing)


def free_before(state: State, victims: Iterable[int]) -> dict[int, Int64s]:
    """What is free on the nodes of these before they leave."""
    return {
        int(node): state.nodes.free[:, node].copy()
        for row in victims
        for node in state.residents.node[state.residents_of(row)].tolist()
    }


def lacking(state: State, claim: Claim, nodes: list[int], before: Mapping[int, Int64s]) -> str:
    """What the first of these nodes lacked before its victims left; `before` has the free amounts of that time.

    Nothing, if no node lacked anything and it was a limit that stood in the way.
    """
    asked: dict[int, Int64s] = {}
    for node, need in zip(nodes, claim.vectors, strict=False):
        asked[node] = asked[node] + need if node in asked else need
    for node, need in asked.items():
        parts = _missing(state, need, before[node]) if node in before else ""
        if parts:
            return f"on {state.node_names[node]}: {parts}"
    return ""


def _missing(state: State, need: Int64s, free: Int64s) -> str:
    """What is short; of a flavor only where the resource as such is not."""
    asked, left, names = need.tolist(), free.tolist(), state.units.names
    short = {
        names[column]: column
        for column, amount in enumerate(asked)
        if amount > 0 and amount > left[column] and column != WHOLE
    }
    parts = [
        f"{name} {_shown(state, column, asked[column])} asked, {_shown(state, column, max(0, left[column]))} free"
        for name, column in short.items()
        if "@" not in name or name.partition("@")[0] not in short
    ]
    if left[WHOLE] < asked[WHOLE]:
        parts.append("a whole node asked, others are on it" if asked[WHOLE] >= FULL else "another has the whole node")
    return "; ".join(parts)


def _largest_unplaced(claim: Claim, free: Int64s) -> Int64s:
    return next((need for need in claim.vectors if not feasible(claim, need, free).any()), claim.vectors[0])


def _shown(state: State, column: int, count: int) -> str:
    return show_quantity(state.units.names[column], count * state.units.nano[column])
