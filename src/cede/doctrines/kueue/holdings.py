"""What each workload holds, as Kueue counts it: each member's request rounded up, or all of a usage that is given."""

from __future__ import annotations

import numpy as np

from cede.doctrines.kueue.quota import Asked, Quotas
from cede.doctrines.parts.orders import Rows
from cede.state.columns import Int64s
from cede.state.state import State


class Holdings:
    """The columns of the state, but for those that count in parts of Kueue's unit: these are worked out when asked."""

    def __init__(self, state: State, quotas: Quotas) -> None:
        self.state = state
        self.quotas = quotas
        self._rounded: dict[int, Int64s] = {}

    def changed(self) -> None:
        """Somebody came, went or has other members now."""
        self._rounded.clear()

    def column(self, column: int) -> Int64s:
        """What every workload holds of one column."""
        parts = self.quotas.finer.get(column)
        if parts is None:
            usage: Int64s = self.state.work.usage[column]
            return usage
        rounded = self._rounded.get(column)
        if rounded is None:
            rounded = self._rounded[column] = _rounded(self.state, column, parts)
        return rounded

    def of(self, pair: int, rows: Rows) -> Int64s:
        """What each of these workloads holds of a pair."""
        columns = self.quotas.columns[pair]
        if len(columns) == 1 and columns[0][1] == 1:
            held: Int64s = self.column(columns[0][0])[rows]
            return held
        total = np.zeros(len(rows), np.int64)
        for column, factor in columns:
            total += self.column(column)[rows] * factor
        return total

    def amounts(self, row: int, pairs: tuple[int, ...]) -> Asked:
        """What one workload holds of these pairs, zeros left out."""
        counts: list[int] = self.state.work.usage[:, row].tolist()
        for column in self.quotas.finer:
            counts[column] = int(self.column(column)[row])
        amounts = []
        for pair in pairs:
            amount = 0
            for column, factor in self.quotas.columns[pair]:
                amount += counts[column] * factor
            if amount:
                amounts.append((pair, amount))
        return tuple(amounts)


def _rounded(state: State, column: int, parts: int) -> Int64s:
    work, name = state.work, state.units.names[column]
    members = np.where(work.usage_given, 1, np.maximum(work.members, 1))
    usage: Int64s = -(-(work.usage[column] // members) // parts) * members
    unit = parts * state.units.nano[column]
    for row, pod_sets in state.parts.items():
        if not work.usage_given[row]:
            usage[row] = sum(-(-part.requests.get(name, 0) // unit) * part.count for part in pod_sets)
    return usage
