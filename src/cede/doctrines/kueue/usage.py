"""Usage: what each workload holds, as Kueue counts it, and what that comes to on every level of the quota tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cede.doctrines.kueue.quota import Asked, Quotas, Table
from cede.doctrines.parts.orders import Rows
from cede.state.columns import NONE, PREEMPTING, RESERVED, RUNNING, Int64s
from cede.state.state import State


class WorkloadUsage:
    """The columns of the state, but for those that count in parts of Kueue's unit: these are worked out when asked."""

    def __init__(self, state: State, quotas: Quotas) -> None:
        self.state = state
        self.quotas = quotas
        self._rounded: dict[int, Int64s] = {}

    def changed(self) -> None:
        """Workloads came, went or have other members now."""
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


Cells = list[tuple[list[int], int, int]]
"""Places in the tables of a usage, with what stood there."""


class QuotaUsage:
    """`used[pair][queue]`: of a queue what its work holds, of a cohort what its children take beyond their own part.

    What is preempting makes way for what is reserved. Where there is some of both, `moments` are two such tables:
    before, without what is reserved, and after, without what is preempting. `used` is then the larger of the two in
    every place, so that a queue or cohort that lends counts neither twice, and has room at both moments.
    """

    def __init__(self, quotas: Quotas, used: Table, moments: tuple[Table, Table] | None = None) -> None:
        self.quotas = quotas
        self.used = used
        self.moments = moments

    def copy(self) -> QuotaUsage:
        used = [row[:] for row in self.used]
        if self.moments is None:
            return QuotaUsage(self.quotas, used)
        before, after = self.moments
        return QuotaUsage(self.quotas, used, ([row[:] for row in before], [row[:] for row in after]))

    # -- changes -------------------------------------------------------------------------------------------------

    def add(self, pair: int, queue: int, amount: int, code: int = RUNNING) -> None:
        """A queue takes more, by work in this state: first of what it keeps to itself, the rest through its cohorts."""
        if self.moments is None:
            _add(self.quotas, pair, self.used[pair], queue, amount)
            return
        for moment in _there(self.moments, code):
            _add(self.quotas, pair, moment[pair], queue, amount)
        self._overlap(pair, queue)

    def remove(self, pair: int, queue: int, amount: int, code: int = RUNNING) -> None:
        """A queue gives back what work in this state took: first what it took through its cohorts."""
        if self.moments is None:
            _remove(self.quotas, pair, self.used[pair], queue, amount)
            return
        for moment in _there(self.moments, code):
            _remove(self.quotas, pair, moment[pair], queue, amount)
        self._overlap(pair, queue)

    def _overlap(self, pair: int, queue: int) -> None:
        assert self.moments is not None
        used, before, after = self.used[pair], self.moments[0][pair], self.moments[1][pair]
        for node in self.quotas.path[queue]:
            used[node] = max(before[node], after[node])

    def add_all(self, queue: int, asked: Asked, code: int = RUNNING) -> None:
        if self.moments is None:
            quotas, used = self.quotas, self.used
            for pair, amount in asked:
                _add(quotas, pair, used[pair], queue, amount)
            return
        for pair, amount in asked:
            self.add(pair, queue, amount, code)

    def remove_all(self, queue: int, asked: Asked, code: int = RUNNING) -> None:
        if self.moments is None:
            quotas, used = self.quotas, self.used
            for pair, amount in asked:
                _remove(quotas, pair, used[pair], queue, amount)
            return
        for pair, amount in asked:
            self.remove(pair, queue, amount, code)

    def cells(self, queue: int, asked: Asked) -> Cells:
        """All that a change of these pairs in this queue can touch, for `put_back`."""
        tables = (self.used,) if self.moments is None else (self.used, *self.moments)
        path = self.quotas.path[queue]
        return [(table[pair], node, table[pair][node]) for table in tables for pair, _ in asked for node in path]

    def overlap(self, before: Table, after: Table) -> None:
        """What is preempting and what is reserved are told apart from now on, by these tables."""
        self.moments = (before, after)
        self.used = [[max(pair) for pair in zip(*rows, strict=True)] for rows in zip(before, after, strict=True)]

    @staticmethod
    def put_back(cells: Cells) -> None:
        """What was there is there again."""
        for row, node, used in cells:
            row[node] = used

    # -- questions -----------------------------------------------------------------------------------------------

    def available(self, pair: int, queue: int) -> int:
        """What the queue can still take, never below zero."""
        quotas = self.quotas
        used, subtree, local = self.used[pair], quotas.subtree[pair], quotas.local[pair]
        borrowing = quotas.borrowing[pair]
        path = quotas.path[queue]
        root = path[-1]
        available = subtree[root] - used[root]
        for at in path[-2::-1]:
            limit = borrowing[at]
            if limit is not None:
                over = used[at] - local[at]
                left = subtree[at] - local[at] - max(0, over) + limit
                if left < available:
                    available = left
            own = local[at] - used[at]
            if own > 0:
                available += own
        return max(0, available)

    def borrows(self, pair: int, queue: int, amount: int = 0) -> bool:
        """Whether the queue is above its quota with so much more."""
        return self.used[pair][queue] + amount > self.quotas.subtree[pair][queue]

    def within(self, queue: int, pairs: Iterable[int]) -> bool:
        """Whether the queue is within its quota in every one of these."""
        subtree = self.quotas.subtree
        return all(self.used[pair][queue] <= subtree[pair][queue] for pair in pairs)

    def any_within(self, queues: Iterable[int], pairs: Sequence[int]) -> bool:
        """Whether any of these queues is within its quota in every one of these pairs."""
        used, subtree = self.used, self.quotas.subtree
        for queue in queues:
            for pair in pairs:
                if used[pair][queue] > subtree[pair][queue]:
                    break
            else:
                return True
        return False

    def fits(self, queue: int, asked: Asked, borrowing: bool = True) -> bool:
        """Whether the queue can take this, and, unless it may borrow, stays within its quota."""
        for pair, amount in asked:
            if amount > self.available(pair, queue) or (not borrowing and self.borrows(pair, queue, amount)):
                return False
        return True

    def local_available(self, pair: int, queue: int) -> int:
        return max(0, self.quotas.local[pair][queue] - self.used[pair][queue])

    def level(self, pair: int, queue: int, amount: int) -> tuple[int, bool]:
        """How high in the tree the queue would borrow, and whether there is a cohort above that."""
        quotas = self.quotas
        if quotas.parent[queue] == NONE or not self.borrows(pair, queue, amount):
            return 0, quotas.parent[queue] != NONE
        rest = amount - self.local_available(pair, queue)
        for cohort in quotas.path[queue][1:]:
            if self.used[pair][cohort] + rest <= quotas.subtree[pair][cohort]:
                return quotas.height[cohort], quotas.parent[cohort] != NONE
            rest -= self.local_available(pair, cohort)
        return quotas.height[quotas.root[queue]], False

    def held_back(self, queue: int, asked: Asked, level: int) -> Asked:
        """What a head that found no victims keeps others from borrowing.

        Below zero where the queue is beyond what it may borrow: the page, and the code it was read from, do not stop
        at zero there.
        """
        quotas = self.quotas
        kept: list[tuple[int, int]] = []
        for pair, amount in asked:
            room: int | None = quotas.subtree[pair][queue] - self.used[pair][queue]
            if level:
                limit = quotas.borrowing[pair][queue]
                room = None if limit is None or room is None else room + limit
                kept.append((pair, amount if room is None else min(amount, room)))
            else:
                kept.append((pair, max(0, min(amount, room or 0))))
        return tuple(kept)


def _add(quotas: Quotas, pair: int, used: list[int], queue: int, amount: int) -> None:
    local, parent = quotas.local[pair], quotas.parent
    while True:
        own = local[queue] - used[queue]
        used[queue] += amount
        queue = parent[queue]
        if queue == NONE or amount <= 0:
            return
        if own > 0:
            if amount <= own:
                return
            amount -= own


def _remove(quotas: Quotas, pair: int, used: list[int], queue: int, amount: int) -> None:
    local, parent = quotas.local[pair], quotas.parent
    while True:
        over = used[queue] - local[queue]
        used[queue] -= amount
        queue = parent[queue]
        if over <= 0 or queue == NONE:
            return
        if over < amount:
            amount = over


def _there(moments: tuple[Table, Table], code: int) -> tuple[Table, ...]:
    """The moments at which work in this state is there."""
    if code == PREEMPTING:
        return moments[:1]
    return moments[1:] if code == RESERVED else moments


def quota_usage_of(state: State, quotas: Quotas, workload_usage: WorkloadUsage | None = None) -> QuotaUsage:
    """The usage of the state as it stands; `workload_usage`, where that is at hand."""
    workload_usage = workload_usage or WorkloadUsage(state, quotas)
    work, size = state.work, state.work.size
    leaving, held = (
        np.flatnonzero((work.state[:size] == code) & (work.queue[:size] != NONE)) for code in (PREEMPTING, RESERVED)
    )
    if not len(leaving) or not len(held):
        return QuotaUsage(quotas, _usage(state, workload_usage, held[:0]))
    quota_usage = QuotaUsage(quotas, [])
    quota_usage.overlap(_usage(state, workload_usage, held), _usage(state, workload_usage, leaving))
    return quota_usage


def _usage(state: State, workload_usage: WorkloadUsage, without: Rows) -> Table:
    """What is used where, with these workloads left out."""
    quotas = workload_usage.quotas
    size = quotas.size
    parents = np.array(quotas.parent, np.intp)
    below = np.flatnonzero(parents != NONE)
    used: Table = []
    for columns, local in zip(quotas.columns, quotas.local, strict=True):
        own = [0] * size
        for column, factor in columns:
            sums = state.tree.usage[column, :size]
            if not sums.any():
                continue
            if column in quotas.finer:  # a sum of what is rounded up is not the sum rounded up
                alone = np.zeros(size, np.int64)
                work, last = state.work, state.work.size
                rows = np.flatnonzero((work.state[:last] >= RESERVED) & (work.queue[:last] != NONE))
                np.add.at(alone, work.queue[rows], workload_usage.column(column)[rows])
            else:
                alone = sums.copy()
                np.subtract.at(alone, parents[below], sums[below])
            np.subtract.at(alone, state.work.queue[without], workload_usage.column(column)[without])
            own = [have + more * factor for have, more in zip(own, alone.tolist(), strict=True)]
        for queue in quotas.upward if any(own) else ():
            above = quotas.parent[queue]
            if above != NONE and own[queue] > local[queue]:
                own[above] += own[queue] - local[queue]
        used.append(own)
    return used


def asked_of(amounts: dict[int, int]) -> Asked:
    """Amounts by pair in the order of the pairs."""
    return tuple(sorted(amounts.items()))


def pairs_of(asked: Asked) -> Sequence[int]:
    return [pair for pair, _ in asked]
