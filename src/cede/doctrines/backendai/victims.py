"""Victims as release 26.8 collects them: agent by agent, in one of four orders, without sparing any."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cede.doctrines.backendai.settings import Settings
from cede.doctrines.parts.claim import standing_on
from cede.doctrines.parts.fit import named_columns
from cede.doctrines.parts.orders import Key, Rows, order_of
from cede.state.columns import NEVER, Bools, Int64s
from cede.state.state import State

WHOLE_UNIT = 10**9


@dataclass(frozen=True, slots=True)
class Collected:
    """What a walk over several agents took: one flag a resident row, one count and total an agent."""

    rows: Rows
    taken: Bools
    count: Int64s
    total: npt.NDArray[np.float64]

    def sessions(self, state: State) -> list[int]:
        """The sessions taken, in the order taken; of use when the walk was over one agent."""
        return [int(row) for row in state.residents.work[self.rows[self.taken]]]


def narrow(state: State, nodes: Rows, shorts: Int64s, open_: Bools, settings: Settings) -> Rows:
    """The agents that the order likes best; all of them under `oldest` and `newest`."""
    if settings.order not in ("fewest-sessions", "smallest-resources"):
        return nodes
    walked = collect(state, nodes, shorts, open_, settings)
    cost = walked.count.astype(np.float64) if settings.order == "fewest-sessions" else walked.total
    best: Rows = nodes[cost == cost.min()]
    return best


def collect(state: State, nodes: Rows, shorts: Int64s, open_: Bools, settings: Settings) -> Collected:
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
    total = np.zeros(len(nodes))
    sizes = mixed_totals(state, state.residents.amount[:, rows])
    for step in _steps(on):
        place, amount = on[step], state.residents.amount[:, rows[step]]
        useful = ((amount > 0) & (left[:, place] > 0)).any(axis=0)
        taken[step] = useful
        place = place[useful]
        left[:, place] = np.maximum(left[:, place] - amount[:, useful], 0)
        count[place] += 1
        total[place] += sizes[step][useful]
    return Collected(rows, taken, count, total)


def _in_turn(state: State, rows: Rows, on: Rows, shorts: Int64s, settings: Settings) -> tuple[Rows, Rows]:
    """Job priority ascending, then the order's own key; what never started comes before what did."""
    works = state.residents.work[rows]
    begun = state.work.started[works]
    later = begun != NEVER
    start = np.where(later, begun, 0)
    keys: list[Key] = [on, state.work.job_priority[works]]
    if settings.order == "fewest-sessions":
        keys.append(-mixed_totals(state, np.minimum(state.residents.amount[:, rows], shorts[:, on])))
    elif settings.order == "smallest-resources":
        keys.append(mixed_totals(state, state.residents.amount[:, rows]))
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
    return np.split(turn, np.flatnonzero(np.diff(depth[turn])) + 1)


def mixed_totals(state: State, amounts: Int64s) -> npt.NDArray[np.float64]:
    """The sum over all slots, cores and bytes alike, as shipped."""
    total = np.zeros(amounts.shape[1])
    for column in named_columns(state):
        total += amounts[column] * (state.units.nano[column] / WHOLE_UNIT)
    return total
