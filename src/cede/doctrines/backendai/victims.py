"""Victims as release 26.8 collects them: agent by agent, in one of four orders, without sparing any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cede.doctrines.backendai.settings import Settings
from cede.doctrines.parts.claim import residents_of_all, standing_on
from cede.doctrines.parts.fit import named_columns
from cede.doctrines.parts.orders import Key, Rows, order_of
from cede.doctrines.parts.selection import total_cost
from cede.state.columns import NEVER, Bools, Int64s
from cede.state.state import State

LARGEST = 1 << 62
BATCH = 64


@dataclass(frozen=True, slots=True)
class CollectedVictims:
    """What a walk over several agents took: one flag a resident row, one count and total an agent."""

    rows: Rows
    taken: Bools
    count: Int64s
    total: Key

    def sessions(self, state: State) -> list[int]:
        """The sessions taken, in the order taken; of use when the walk was over one agent."""
        return [int(row) for row in state.residents.work[self.rows[self.taken]]]


def cheapest_agents(
    state: State, nodes: Rows, liking: Int64s | None, shorts: Int64s, open_: Bools, settings: Settings
) -> Rows:
    """The agents that cost least by the order's own measure: all of them, or those that are also liked best.

    Agents are walked in batches, those first that could at best cost least; the search ends when the best found
    is better than all that is left could be.
    """
    like = np.zeros(len(nodes), np.int64) if liking is None else liking
    rank = state.node_rank()[nodes]
    floor = _least_cost(state, nodes, shorts, open_, settings)
    turn = np.lexsort((rank, like, in_order(floor)))
    best: tuple[int, int] | None = None
    agents: list[int] = []
    earliest = 0
    begin, size = 0, BATCH
    while begin < len(turn):
        at = turn[begin : begin + size]
        nearest = int(floor[at[0]]), int(like[at[0]])
        if best is not None and best < nearest:
            break
        if best == nearest and liking is not None and earliest < rank[at[0]]:
            break  # of those that are liked alike the first by name is taken
        walked = collect(state, nodes[at], shorts[:, at], open_, settings)
        cost: Key = walked.count if settings.order == "fewest-sessions" else walked.total
        keys = list(zip(map(int, cost), like[at].tolist(), strict=True))
        least = min(keys)
        if best is None or least < best:
            best, agents, earliest = least, [], len(state.node_names)
        for one in (one for one, key in zip(at.tolist(), keys, strict=True) if key == best):
            agents.append(int(nodes[one]))
            earliest = min(earliest, int(rank[one]))
        begin, size = begin + size, 2 * size
    return np.array(agents, np.intp)


def _least_cost(state: State, nodes: Rows, shorts: Int64s, open_: Bools, settings: Settings) -> Any:
    """No agent can cost less than this: as many sessions as the largest one there is would make, or as much as that
    many of the smallest one open on the agent, and never less than what is short itself. Exact integers.
    """
    residents = state.residents
    largest = residents.amount[:, : residents.size].max(axis=1, initial=1)
    least = (-(-shorts // largest[:, None])).max(axis=0)
    if settings.order == "fewest-sessions":
        return least
    rows = residents_of_all(state, np.flatnonzero(open_))
    sizes = mixed_totals(state, residents.amount[:, rows], int(least.max(initial=1)))
    smallest = np.full(state.nodes.size, sizes.max(initial=0), sizes.dtype)
    np.minimum.at(smallest, residents.node[rows], sizes)
    return np.maximum(least * smallest[nodes], mixed_totals(state, shorts))


def collect(state: State, nodes: Rows, shorts: Int64s, open_: Bools, settings: Settings) -> CollectedVictims:
    """On each agent, sessions in order until what is short there is covered; who gives nothing to it is skipped.

    `shorts` has a row a column and a place a node. All agents are walked at once, one session a step.
    """
    rows = standing_on(state, nodes)
    rows = rows[open_[state.residents.work[rows]]]
    where = np.zeros(state.nodes.size, np.intp)
    where[nodes] = np.arange(len(nodes))
    on: Rows = where[state.residents.node[rows]]
    rows, on = _in_turn(state, rows, on, shorts, settings)
    left = shorts.copy()
    taken = np.zeros(len(rows), np.bool_)
    count = np.zeros(len(nodes), np.int64)
    sizes = mixed_totals(state, state.residents.amount[:, rows], int(np.bincount(on).max(initial=1)))
    total = np.zeros(len(nodes), sizes.dtype)
    for step in _steps(on):
        if not left.any():
            break
        place, amount = on[step], state.residents.amount[:, rows[step]]
        useful = ((amount > 0) & (left[:, place] > 0)).any(axis=0)
        taken[step] = useful
        place = place[useful]
        left[:, place] = np.maximum(left[:, place] - amount[:, useful], 0)
        count[place] += 1
        total[place] += sizes[step][useful]
    return CollectedVictims(rows, taken, count, total)


def _in_turn(state: State, rows: Rows, on: Rows, shorts: Int64s, settings: Settings) -> tuple[Rows, Rows]:
    """Job priority ascending, then the order's own key; what never started comes before what did."""
    works = state.residents.work[rows]
    begun = state.work.started[works]
    later = begun != NEVER
    start = np.where(later, begun, 0)
    keys: list[Key] = [on, state.work.job_priority[works]]
    if settings.order == "fewest-sessions":
        keys.append(in_order(-mixed_totals(state, np.minimum(state.residents.amount[:, rows], shorts[:, on]))))
    elif settings.order == "smallest-resources":
        keys.append(in_order(mixed_totals(state, state.residents.amount[:, rows])))
    turn = order_of(state, works, *keys, later, -start if settings.order == "newest" else start)
    return rows[turn], on[turn]


def _steps(on: Rows) -> list[Rows]:
    """The first of every agent, then the second of every agent, and so on; `on` is sorted."""
    if not len(on):
        return []
    begins = np.flatnonzero(np.concatenate(([True], on[1:] != on[:-1])))
    group = np.cumsum(np.concatenate(([False], on[1:] != on[:-1])))
    depth = np.arange(len(on)) - begins[group]
    turn = np.argsort(depth, kind="stable")
    ends = np.cumsum(np.bincount(depth)).tolist()
    return [turn[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def weigher_of(settings: Settings) -> Callable[[State, Rows], Any]:
    """What the best of all sets is judged by: sessions or resources where the order counts those, else cost."""
    if settings.order == "fewest-sessions":
        return lambda _, rows: np.ones(len(rows), np.int64)
    if settings.order == "smallest-resources":
        return _held
    return total_cost


def _held(state: State, rows: Rows) -> Any:
    """What each holds, cores and bytes alike, as shipped; on all its agents, since a set is not of one agent."""
    residents = residents_of_all(state, rows)
    sizes = mixed_totals(state, state.residents.amount[:, residents], len(residents))
    sums = np.zeros(state.work.size, sizes.dtype)
    np.add.at(sums, state.residents.work[residents], sizes)
    return sums[rows]


def mixed_totals(state: State, amounts: Int64s, terms: int = 1) -> Any:
    """The sum over all slots, cores and bytes alike, as shipped; exact, in the finest unit that any slot counts in.

    Integers of 64 bits, or Python's own where those are too small for the sum of so many `terms`.
    """
    columns = named_columns(state)
    unit = min((state.units.nano[column] for column in columns), default=1)
    factors = {column: state.units.nano[column] // unit for column in columns}
    most = sum(int(amounts[column].max(initial=0)) * factor for column, factor in factors.items())
    kind: Any = np.int64 if most * terms < LARGEST else object
    total = np.zeros(amounts.shape[1], kind)
    for column, factor in factors.items():
        total += amounts[column].astype(kind, copy=False) * factor
    return total


def in_order(totals: Any) -> Int64s:
    """Keys that sort like these totals."""
    return totals if totals.dtype == np.int64 else np.unique(totals, return_inverse=True)[1].astype(np.int64)
