"""Workloads that wait, by kind: those of one operation that ask for the same are one kind, served in order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.equivalence import Classes
from cede.doctrines.parts.orders import order_of
from cede.doctrines.ytsaurus.update import Update
from cede.state.columns import SPREAD, Bools, Int64s, Rows

NOT_READ = frozenset({"job_priority", "originator", "sensitive", "preemptible", "kind"})
OWNERS = frozenset({"priority", "user", "project", "domain"})
"""Read for policies only."""


class WaitingKinds:
    """Kinds by number. Arrays over kinds: operation, what one needs of a node (columns, kinds), what it adds to usage
    (resources, kinds), whether any of it still waits, and the place of its first one among all that wait.
    """

    def __init__(self, update: Update, waiting: Iterable[int]) -> None:
        self.update = update
        state, operation_usage = update.state, update.operation_usage
        self.rows: Rows = np.array(list(waiting), np.intp)
        classes: dict[int, Hashable] = dict.fromkeys(self.rows.tolist())
        if len(self.rows) > 1:
            turn = order_of(state, self.rows, operation_usage.operation[self.rows], state.work.submitted[self.rows])
            self.rows = self.rows[turn]
            classes = Classes(state, NOT_READ, OWNERS).of_all(state, self.rows)
        firsts: list[int] = []
        numbers: dict[tuple[int, Hashable], int] = {}
        owners = operation_usage.operation[self.rows].tolist()
        self.queues: list[list[int]] = []
        place: list[int] = []
        for at, (row, owner) in enumerate(zip(self.rows.tolist(), owners, strict=True)):
            number = numbers.setdefault((owner, classes[row]), len(firsts))
            if number == len(firsts):
                firsts.append(row)
                self.queues.append([row])
                place.append(at)
            else:
                self.queues[number].append(row)
        self.places = dict(zip(self.rows.tolist(), range(len(self.rows)), strict=True))
        self.first = np.array(place, np.int64)
        leading: Rows = np.array(firsts, np.intp)
        self.operation: Rows = operation_usage.operation[leading]
        self.pool: Rows = np.array([update.operations.pool[one] for one in self.operation.tolist()], np.intp)
        self.need: Int64s = state.work.need[:, leading] * state.work.members[leading]
        for kind, row in enumerate(firsts):
            if row in state.parts:
                self.need[:, kind] = np.sum(state.members_of(row), axis=0)
        self.amount: Int64s = np.ascontiguousarray(operation_usage.amount[leading].T)
        spread = (state.work.placement[leading] == SPREAD) & (state.work.members[leading] > 1)
        if update.pools.tree.fifo_schedulable is None:
            self.open: Bools = np.array([one in update.demand_sums.asking for one in self.operation.tolist()], np.bool_)
        else:
            self.open = update.schedulable[self.operation]
        self.open &= ~spread
        self.preempts: Bools = state.work.preempts[leading]
        self._served = [0] * len(firsts)
        self._claims: dict[int, Claim] = {}

    def __len__(self) -> int:
        return len(self.queues)

    def claim(self, kind: int) -> Claim:
        """The claim of the first one of a kind; where it may stand is the same for all."""
        claim = self._claims.get(kind)
        if claim is None:
            claim = self._claims[kind] = claim_of(self.update.state, self.queues[kind][0])
        return claim

    def front(self, kind: int) -> int:
        """The one of this kind whose turn it is."""
        return self.queues[kind][self._served[kind]]

    def serve(self, kind: int) -> int:
        """It has its room: the next one's turn."""
        row = self.front(kind)
        self._served[kind] += 1
        if self._served[kind] < len(self.queues[kind]):
            self.first[kind] = self.places[self.front(kind)]
        else:
            self.open[kind] = False
        return row

    def close(self, kind: int) -> None:
        """No more of this kind are started."""
        self.open[kind] = False

    def left(self, kind: int) -> list[int]:
        """Those of a kind that were not served."""
        return self.queues[kind][self._served[kind] :]
