"""The nearest miss: the cheapest running workloads that would have made room, whoever protects them.

Cheapest is the fewest workloads, then the smallest share of the cluster, then uids. For one member the set is
exact on the nodes that come closest (all of them up to LOOKED nodes, sets of up to SMALL residents); for a
gang, and where a limit is short, the largest are taken first and those not needed are spared.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.cover import FindsRoom, Order, take_until_fits
from cede.doctrines.parts.fit import fits, named_columns
from cede.doctrines.parts.limits import Limit
from cede.doctrines.parts.orders import Rows, nine_decimals, nodes_by, tie_break
from cede.state.columns import CHECKPOINTING, RUNNING, Int64s
from cede.state.state import State

LOOKED = 64
SMALL = 12


def nearest_miss(state: State, claim: Claim, limits: list[Limit], finds_room: FindsRoom | None = None) -> list[int]:
    """Workload rows; none if no set of running workloads makes room. `finds_room`: as `take_until_fits` has it."""
    free = state.nodes.free[:, : state.nodes.size]
    if not limits and (fits(state, claim) if finds_room is None else finds_room(free)):
        return []
    size = state.work.size
    running = (state.work.state[:size] == RUNNING) | (state.work.state[:size] == CHECKPOINTING)
    if claim.single and claim.need is not None and not limits and state.nodes.size:
        return _on_one_node(state, claim, claim.need)
    weight = -_share(state, np.arange(size))
    order = Order(weight, np.zeros(size, np.int64))
    found = take_until_fits(state, claim, running, order, limits, anywhere=bool(limits), finds_room=finds_room)
    return found or []


def _on_one_node(state: State, claim: Claim, need: Int64s) -> list[int]:
    best: tuple[object, ...] | None = None
    found: list[int] = []
    for node in _closest(state, claim, need).tolist():
        chosen = _cheapest(state, claim, need, node, _running_on(state, node))
        if chosen is not None:
            key = _cost(state, chosen)
            if best is None or key < best:
                best, found = key, chosen
    return found


def _closest(state: State, claim: Claim, need: Int64s) -> Rows:
    nodes = np.flatnonzero(claim.allowed)
    if len(nodes) <= LOOKED:
        return nodes
    missing = np.zeros(len(nodes))
    for column in claim.columns:
        missing += np.maximum(need[column] - state.nodes.free[column, nodes], 0) / max(int(need[column]), 1)
    return nodes_by(state, nodes, nine_decimals(missing))[:LOOKED]


def _running_on(state: State, node: int) -> list[int]:
    rows = {int(state.residents.work[resident]) for resident in state.node_residents[node]}
    return sorted((row for row in rows if state.work.state[row] in (RUNNING, CHECKPOINTING)), key=tie_break(state))


def _cheapest(state: State, claim: Claim, need: Int64s, node: int, rows: list[int]) -> list[int] | None:
    short = np.maximum(need - state.nodes.free[:, node], 0)[claim.columns]
    amounts = {row: _on(state, row, node)[claim.columns] for row in rows}
    if (sum(amounts.values(), start=np.zeros_like(short)) < short).any():
        return None
    if len(rows) > SMALL:
        return _greedy(short, amounts)
    for count in range(1, len(rows) + 1):
        sets = [
            list(chosen)
            for chosen in combinations(rows, count)
            if (np.sum([amounts[row] for row in chosen], axis=0) >= short).all()
        ]
        if sets:
            return min(sets, key=lambda chosen: _cost(state, chosen))
    return None


def _greedy(short: Int64s, amounts: dict[int, Int64s]) -> list[int]:
    taken: list[int] = []
    left = short.copy()
    rest = list(amounts)
    while (left > 0).any():
        row = max(rest, key=lambda row: float((np.minimum(amounts[row], left) / np.maximum(short, 1)).sum()))
        rest.remove(row)
        taken.append(row)
        left = np.maximum(left - amounts[row], 0)
    for row in list(taken):
        others = [amounts[other] for other in taken if other != row]
        if others and (np.sum(others, axis=0) >= short).all():
            taken.remove(row)
    return taken


def _on(state: State, row: int, node: int) -> Int64s:
    return next(
        state.residents.amount[:, resident]
        for resident in state.residents_of(row)
        if state.residents.node[resident] == node
    )


def _share(state: State, rows: Rows) -> Int64s:
    """How much of the whole cluster each workload holds, as a key."""
    score = np.zeros(len(rows))
    for column in named_columns(state):
        total = int(state.nodes.capacity[column, : state.nodes.size].sum())
        score += state.work.usage[column, rows] / max(total, 1)
    return nine_decimals(score)


def _cost(state: State, rows: list[int]) -> tuple[int, int, list[tuple[str, str]]]:
    share = int(_share(state, np.array(rows, np.intp)).sum())
    return len(rows), share, sorted(map(tie_break(state), rows))
