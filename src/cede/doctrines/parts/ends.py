"""How many of those who end one after another must have ended until a claim fits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.fit import enough, fits, members_that_fit
from cede.doctrines.parts.orders import Rows
from cede.state.columns import ANY, TIGHT, Int64s
from cede.state.state import State

FIRST = 256
"""So many ends are looked at first, and four times as many each time they were too few."""

Freed = Callable[[State, Rows], Int64s]
"""What is free on all nodes when these workloads have ended."""


def ends_needed(state: State, claim: Claim, rows: Rows, freed: Freed) -> int | None:
    """The fewest of these workloads, from the first on, without which the claim fits; none if all are too few."""
    adds_up = claim.need is not None and claim.placement in (ANY, TIGHT) and not state.between and not state.booked_on
    looked = FIRST
    while True:
        part = rows[:looked]
        found = _by_sums(state, claim, part) if adds_up else _by_halves(state, claim, part, freed)
        if found is not None or looked >= len(rows):
            return found
        looked *= 4


def _by_halves(state: State, claim: Claim, rows: Rows, freed: Freed) -> int | None:
    if not fits(state, claim, freed(state, rows)):
        return None
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if fits(state, claim, freed(state, rows[:middle])):
            high = middle
        else:
            low = middle + 1
    return low


def _by_sums(state: State, claim: Claim, rows: Rows) -> int | None:
    """Where members are alike and each node's room simply grows: all ends at once."""
    assert claim.need is not None
    residents = state.residents
    before = members_that_fit(claim, state.nodes.free[:, : state.nodes.size])
    if enough(state, claim, before):
        return 0
    turn = np.zeros(state.work.size, np.intp)
    turn[rows] = np.arange(len(rows))
    found = residents_of_all(state, rows)
    found = found[claim.allowed[residents.node[found]]]
    found = found[np.lexsort((turn[residents.work[found]], residents.node[found]))]
    if not len(found):
        return None
    nodes, ended = residents.node[found], turn[residents.work[found]]
    after = np.full(len(found), claim.members)
    for column in claim.columns:
        freed = _sums_within(nodes, residents.amount[column, found])
        np.minimum(after, (state.nodes.free[column, nodes] + freed) // claim.need[column], out=after)
    np.maximum(after, 0, out=after)
    same = np.append(False, nodes[1:] == nodes[:-1])
    gain = after - np.where(same, np.roll(after, 1), before[nodes])
    if claim.placement == ANY:
        room = int(before.sum()) + np.cumsum(np.bincount(ended, gain, len(rows)))
        full = np.flatnonzero(room >= claim.members)
    else:
        groups = state.nodes.group[: state.nodes.size]
        by_group = np.lexsort((ended, groups[nodes]))
        own = groups[nodes][by_group]
        had = np.bincount(groups, before, len(state.groups.names)).astype(np.int64)
        room = had[own] + _sums_within(own, gain[by_group])
        full = ended[by_group][room >= claim.members]
    return int(full.min()) + 1 if len(full) else None


def _sums_within(keys: Rows, amounts: Int64s) -> Int64s:
    """Running sums that begin anew with every key; equal keys stand together."""
    sums = np.cumsum(amounts)
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    lengths = np.diff(np.append(begins, len(keys)))
    found: Int64s = sums - np.repeat(sums[begins] - amounts[begins], lengths)
    return found
