"""What a normal preemptive stage could take on each node, kept as operations change."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.curves import EPSILON
from cede.doctrines.ytsaurus.fifo import NEAR
from cede.doctrines.ytsaurus.update import Update
from cede.state.columns import CHECKPOINTING, RUNNING, Int64s


class Takeable:
    """What a normal preemptive stage could take on each node, where shares are those of FIFO pools.

    Whoever has all it asks for has nothing that is preemptible, and whoever has no share nothing that is not; only of
    the operation at the frontier it must be looked at what it uses before each of its allocations.
    """

    def __init__(self, update: Update) -> None:
        self.update = update
        state = update.state
        self._amounts: Int64s = np.zeros((len(state.units), state.nodes.size), np.int64)
        self._taken: dict[int, list[tuple[int, Int64s]]] = {}
        """Of each operation what it holds on which node, of what could be taken."""
        self._changed: set[int] = set()
        self._raised: set[int] = set()
        self._saved = state.journal.saved
        self._anew = True

    def follow(self) -> None:
        """After an update."""
        update = self.update
        if not update.by_fifo or update.fifo.anew:
            self._anew = True
        else:
            self._changed |= update.fifo.changed

    def amounts(self) -> Int64s:
        """By column and node."""
        update = self.update
        if self._anew:
            self._amounts[:] = 0
            self._taken.clear()
            self._changed = set(range(len(update.operations)))
            self._anew = False
        raised = set(update.op_clocks.raised)
        self._changed |= raised ^ self._raised
        self._raised = raised
        if self._saved != update.state.journal.saved:  # the order of allocations is another
            self._saved = update.state.journal.saved
            self._changed |= update.fifo.frontiers()
        for number in self._changed:
            self._look(number)
        self._changed = set()
        return self._amounts

    def _look(self, number: int) -> None:
        for node, amount in self._taken.pop(number, ()):
            self._amounts[:, node] -= amount
        update, state = self.update, self.update.state
        rows = update.standing.holders(number)
        if not rows or (number in self._raised and not update.pools.tree.from_starving):
            return
        stands = update.fifo.stands(number)
        if stands < 0:
            return
        found: list[tuple[int, Int64s]] = []
        for row in rows if stands > 0 else self._beyond(number):
            if state.work.state[row] in (RUNNING, CHECKPOINTING) and state.work.preemptible[row]:
                found += [
                    (int(state.residents.node[resident]), state.residents.amount[:, resident].copy())
                    for resident in state.residents_of(row)
                ]
        for node, amount in found:
            self._amounts[:, node] += amount
        if found:
            self._taken[number] = found

    def _beyond(self, number: int) -> list[int]:
        """The allocations of an operation that has a part of its demand, from where its share protects them no more;
        where that is too near to tell, one more."""
        update = self.update
        rows = update.standing.holders(number)
        before = [[0] * len(update.pools.columns)]
        if len(rows) > 1:
            [listed] = update.standing.lists_of([number])
            rows, before = listed.tolist(), update.standing.before[listed].tolist()
        fair, asked = update.fifo.fair(number), update.fifo.demand(number)
        totals = update.fifo.lines[update.operations.pool[number]].totals
        part, near = update.pools.tree.satisfaction, EPSILON + NEAR
        blocked = [a >= b - EPSILON + NEAR for a, b in zip(fair, asked, strict=True)]
        for at, sums in enumerate(before):
            used = [a / b if b else 0.0 for a, b in zip(sums, totals, strict=True)]
            if not all(shut or part * a > b + near for a, b, shut in zip(fair, used, blocked, strict=True)):
                return rows[at:]
        return []
