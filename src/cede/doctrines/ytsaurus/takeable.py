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
        self.amounts: dict[int, list[int]] = {}
        """By node, of those where it is anything, and column."""
        self._taken: dict[int, list[tuple[int, list[int]]]] = {}
        """Of each operation what it holds on which node, of what could be taken."""
        self.changed: set[int] = set()
        """Nodes on which it is another since somebody emptied this."""
        self._changed: set[int] = set()
        self._raised: set[int] = set()
        self._saved = update.state.journal.saved
        self._anew = True

    def follow(self) -> None:
        """After an update."""
        update = self.update
        if not update.by_fifo or update.fifo.anew:
            self._anew = True
        else:
            self._changed |= update.fifo.changed

    def look(self) -> None:
        """Bring the amounts up to date."""
        update = self.update
        if self._anew:
            self.changed.update(self.amounts)
            self.amounts.clear()
            self._taken.clear()
            self._changed = set(range(len(update.operations)))
            self._anew = False
        raised = update.op_clocks.raised
        if raised != self._raised:
            self._changed |= raised ^ self._raised
            self._raised = set(raised)
        if self._saved != update.state.journal.saved:  # the order of allocations is another
            self._saved = update.state.journal.saved
            self._changed |= update.fifo.frontiers()
        holders, taken = update.standing.holders, self._taken
        for number in self._changed:
            if number in taken or holders(number):
                self._look(number)
        self._changed = set()

    def table(self) -> Int64s:
        """By column and node."""
        state = self.update.state
        found: Int64s = np.zeros((len(state.units), len(state.node_names)), np.int64)
        for node, amount in self.amounts.items():
            found[:, node] = amount
        return found

    def _look(self, number: int) -> None:
        for node, amount in self._taken.pop(number, ()):
            self._add(node, amount, -1)
        update = self.update
        rows = update.standing.holders(number)
        if not rows or (number in self._raised and not update.pools.tree.from_starving):
            return
        stands = update.fifo.stands(number)
        if stands < 0:
            return
        found: list[tuple[int, list[int]]] = []
        for row in rows if stands > 0 else self._beyond(number):
            found += self._held(row)
        for node, amount in found:
            self._add(node, amount, 1)
        if found:
            self._taken[number] = found

    def _held(self, row: int) -> list[tuple[int, list[int]]]:
        """What somebody who runs and may be preempted holds, by node."""
        state = self.update.state
        record = state.records.get(row)
        if record is None:
            if state.work.state[row] not in (RUNNING, CHECKPOINTING) or not state.work.preemptible[row]:
                return []
            residents = state.residents
            return [
                (residents.node.item(resident), residents.amount[:, resident].tolist())
                for resident in state.residents_of(row)
            ]
        if record.code not in (RUNNING, CHECKPOINTING) or not record.preemptible:
            return []
        need = [0] * len(state.units)
        for column, count in record.mould.need:
            need[column] = count
        return [(node, need) for node in record.nodes]

    def _add(self, node: int, amount: list[int], sign: int) -> None:
        self.changed.add(node)
        before = self.amounts.get(node)
        if before is None:
            self.amounts[node] = [sign * one for one in amount]
            return
        after = [a + sign * b for a, b in zip(before, amount, strict=True)]
        if any(after):
            self.amounts[node] = after
        else:
            del self.amounts[node]

    def _beyond(self, number: int) -> list[int]:
        """The allocations of an operation that has a part of its demand, from where its share protects them no more;
        where that is too near to tell, one more."""
        update = self.update
        rows = update.standing.holders(number)
        columns, fair, asked, totals = update.fifo.in_part(number)
        before = [[0] * len(update.pools.columns)]
        if len(rows) > 1:
            [listed] = update.standing.lists_of([number])
            rows, before = listed.tolist(), update.standing.before[listed].tolist()
        part, near = update.pools.tree.satisfaction, EPSILON + NEAR
        blocked = [a >= b - EPSILON + NEAR for a, b in zip(fair, asked, strict=True)]
        for at, sums in enumerate(before):
            used = [sums[column] / b if b else 0.0 for column, b in zip(columns, totals, strict=True)]
            if not all(shut or part * a > b + near for a, b, shut in zip(fair, used, blocked, strict=True)):
                return rows[at:]
        return []
