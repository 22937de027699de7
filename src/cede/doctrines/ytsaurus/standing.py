"""Who uses and asks for how much: sums of every operation, kept as work comes and goes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cede.doctrines.parts.orders import order_of
from cede.doctrines.ytsaurus.elements import Operations, Pools, read_pools
from cede.state.columns import CHECKPOINTING, GONE, NEVER, NONE, PREEMPTING, RESERVED, SUSPENDED, Int64s, Rows
from cede.state.state import State

IDLE, HOLDS, WAITS, LEAVES = range(4)
SMALL = 1024
NO_TIME = 2**63 - 1
"""When an operation without workloads began."""
NOBODY: Rows = np.zeros(0, np.intp)


def progress_of(state: State, rows: Rows) -> Int64s:
    """When what would be lost began: at the start, or at the last checkpoint; NEVER where no start is known."""
    started, saved = state.work.started[rows], state.work.checkpoint_last[rows]
    found: Int64s = np.where((started == NEVER) | (saved == NEVER), started, np.maximum(started, saved))
    return found


class Standing:
    """Sums by operation, in counts: `usage` (n, R), `waiting` (n, R), how many wait and hold, first submission.

    What each workload counts for is kept beside, so that one that is gone can be taken off again.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.pools: Pools = read_pools(state)
        self.operations = Operations(self.pools)
        self.reshaped = state.journal.reshaped
        resources = len(self.pools.columns)
        size = state.work.size
        self.operation: Rows = np.full(size, NONE, np.intp)
        self.kind = np.zeros(size, np.int8)
        self.amount: Int64s = np.zeros((size, resources), np.int64)
        self.before: Int64s = np.zeros((size, resources), np.int64)
        """What its operation uses before each one that holds room, in the order of `lists_of`, once that is known."""
        self.usage: Int64s = np.zeros((0, resources), np.int64)
        self.waiting: Int64s = np.zeros((0, resources), np.int64)
        self.counts: Int64s = np.zeros((0, 4), np.int64)
        self._room: list[Int64s] = [self.usage, self.waiting, self.counts]
        self._folds = any(len(columns) > 1 for columns in self.pools.folded)
        self.submitted: dict[int, int] = {}
        self._came: Int64s = np.zeros(size, np.int64)
        """When each was submitted, as it counts in the start of its operation."""
        self.pending = 0
        self.waiters: dict[int, set[int]] = {}
        """Who waits, by operation."""
        self.alive = 0
        """How many operations have work that holds room or waits."""
        self.came: set[int] = set(state.pending)
        """Workloads that nobody was told about yet whether they can ever run."""
        self.moved: set[int] = set()
        """Workloads that something happened to since the update before."""
        self.several: set[int] = set()
        """Workloads of more than one member."""
        self._holders: dict[int, list[int]] = {}
        self._lists: dict[int, Rows] = {}
        self._saved = state.journal.saved
        self._take_all()

    # -- all at once -----------------------------------------------------------------------------------------------

    def _take_all(self) -> None:
        state = self.state
        work, size = state.work, state.work.size
        known: Rows = np.flatnonzero(work.state[:size] != GONE)
        pools, numbers, names = self.pools, self.operations, state.work_names
        apps = state.apps.names
        above = np.where(work.queue[known] == NONE, pools.size + work.partition[known], work.queue[known]).astype(
            np.int64
        )
        app = work.app[known].astype(np.int64)
        app = np.where(app == NONE, len(apps) + known, app)  # who names no app is one by itself
        span = len(apps) + size
        found, which = np.unique(above * span + app, return_inverse=True)
        own = [
            numbers.number(key // span, apps[key % span] if key % span < len(apps) else names[key % span - len(apps)])
            for key in found.tolist()
        ]
        self.operation[known] = np.array(own, np.intp)[which] if own else NONE
        numbers.enter_listed()
        self._grow()
        self.several = {*known[work.members[known] > 1].tolist(), *state.parts}
        self.kind[known] = self._kinds(known)
        self.amount[known] = self._amounts(known)
        self.pending = len(state.pending)
        for kind, table in ((HOLDS, self.usage), (WAITS, self.waiting)):
            rows = known[self.kind[known] == kind]
            np.add.at(table, self.operation[rows], self.amount[rows])
            by_operation = self._split(rows)
            if kind == HOLDS:
                self._holders = by_operation
            else:
                self.waiters = {operation: set(own) for operation, own in by_operation.items()}
        kinds = self.counts.shape[1]
        each = np.bincount(self.operation[known] * kinds + self.kind[known], minlength=len(numbers) * kinds)
        self.counts[:] = each.reshape(-1, kinds)
        self.alive = int(np.count_nonzero(self.counts[:, HOLDS] + self.counts[:, WAITS]))
        first = np.full(len(numbers), NO_TIME)
        self._came[known] = work.submitted[known]
        np.minimum.at(first, self.operation[known], work.submitted[known])
        self.submitted = dict(enumerate(first.tolist()))

    def _amounts(self, rows: Rows) -> Int64s:
        """What each counts for: what it uses, or, as long as it waits, what it asks for."""
        work = self.state.work
        found = self.pools.amounts(work.usage, rows)
        for at in np.flatnonzero(work.usage_given[rows] & (self.kind[rows] == WAITS)).tolist():
            asked = np.sum(self.state.members_of(int(rows[at])), axis=0)
            found[at] = asked[self.pools.columns]
        return found

    def _amount(self, row: int) -> Int64s:
        """The same of one."""
        found: Int64s
        if self._folds or self.state.work.usage_given[row]:
            found = self._amounts(np.array([row]))[0]
        else:
            found = self.state.work.usage[self.pools.columns, row]
        return found

    def _split(self, rows: Rows) -> dict[int, list[int]]:
        """These workloads by operation."""
        turn = np.argsort(self.operation[rows], kind="stable")
        own = self.operation[rows][turn]
        edges = np.flatnonzero(np.diff(own)) + 1
        return {int(self.operation[part[0]]): part.tolist() for part in np.split(rows[turn], edges) if len(part)}

    def holders(self, operation: int) -> list[int]:
        """Workloads of an operation that hold room, in no order."""
        return self._holders.get(operation, [])

    def lists_of(self, operations: Iterable[int]) -> list[Rows]:
        """The allocations of each of these operations, in the order of progress, unknown last, then uid."""
        if self._saved != self.state.journal.saved:
            self._saved = self.state.journal.saved
            self._lists.clear()
        new = [one for one in operations if one not in self._lists]
        if new:
            rows = np.array([row for one in new for row in self._holders.get(one, ())], np.intp)
            own = self.operation[rows]
            turn = order_of(self.state, rows, own, progress_of(self.state, rows))
            rows, own = rows[turn], own[turn]
            sums = np.cumsum(self.amount[rows], axis=0) - self.amount[rows]
            self.before[rows] = sums - sums[np.searchsorted(own, own)]
            begins = np.searchsorted(own, new), np.searchsorted(own, new, "right")
            for one, begin, end in zip(new, *begins, strict=True):
                self._lists[one] = rows[begin:end]
        return [self._lists[one] for one in operations]

    def _kinds(self, rows: Rows) -> Int64s:
        state = self.state
        code = state.work.state[rows]
        found = np.where((code >= RESERVED) & (code <= CHECKPOINTING), HOLDS, IDLE)
        found[code == PREEMPTING] = LEAVES
        waits = (code != GONE) & (code <= SUSPENDED)
        if waits.any():
            asked = np.fromiter(state.pending, np.intp, len(state.pending))
            found[waits & np.isin(rows, asked)] = WAITS
        return found

    def _kind(self, row: int) -> int:
        code = int(self.state.work.state[row])
        if RESERVED <= code <= CHECKPOINTING:
            return HOLDS
        if code == PREEMPTING:
            return LEAVES
        return WAITS if row in self.state.pending else IDLE

    def _grow(self) -> None:
        """Rows for operations and workloads that came; room for as many again, so that it is seldom done."""
        size, known = len(self.operations), len(self.usage)
        if size > known:
            if size > len(self._room[0]):
                self._room = [np.concatenate((one, np.zeros((size, one.shape[1]), np.int64))) for one in self._room]
            self.usage, self.waiting, self.counts = (one[:size] for one in self._room)

    def _grow_rows(self) -> None:
        more = self.state.work.size - len(self.kind)
        if more > 0:
            more += len(self.kind)
            self.operation = np.concatenate((self.operation, np.full(more, NONE, np.intp)))
            self.kind = np.concatenate((self.kind, np.zeros(more, np.int8)))
            self._came = np.concatenate((self._came, np.zeros(more, np.int64)))
            blank = np.zeros((more, self.amount.shape[1]), np.int64)
            self.amount, self.before = np.concatenate((self.amount, blank)), np.concatenate((self.before, blank))

    # -- one by one --------------------------------------------------------------------------------------------------

    def follow(self) -> set[int] | None:
        """Catch up with what happened: the operations it touched; none, if everything must be read anew."""
        state, journal = self.state, self.state.journal
        self.came |= self.newcomers()
        if journal.reshaped != self.reshaped or not journal.follows or read_pools(state) is not self.pools:
            return None
        rows = self.moved = {row if row >= 0 else ~row for row in journal.rows}
        journal.rows.clear()
        self._grow_rows()
        touched: set[int] = set()
        for row in rows:
            touched |= self._move(row)
        if len(self.operations) > SMALL + 2 * (self.alive + len(state.static.apps)):
            return None  # most of them ended
        return touched if self.pending == len(state.pending) else None

    def newcomers(self) -> set[int]:
        """Workloads that came since, also on a row that was another's."""
        found: set[int] = set()
        ended: set[int] = set()
        for row in self.state.journal.rows:
            if row < 0:
                ended.add(~row)
                found.discard(~row)
            elif row in ended or row >= len(self.operation) or self.operation[row] == NONE:
                found.add(row)
        self.came -= ended
        return found

    def _move(self, row: int) -> set[int]:
        """What this row counts for, as it stands now."""
        work = self.state.work
        before = int(self.operation[row])
        if before != NONE:
            self._count(row, before, int(self.kind[row]), -1)
        if work.state[row] == GONE:
            self.several.discard(row)
            self.operation[row], self.kind[row] = NONE, IDLE
            self._begin(before, int(self._came[row]))
            return {before} - {NONE}
        if work.members[row] > 1 or row in self.state.parts:
            self.several.add(row)
        else:
            self.several.discard(row)
        pool = self.pools.pool_of(int(work.queue[row]), int(work.partition[row]))
        app = self.state.apps.name(int(work.app[row])) or self.state.work_names[row]
        now = self.operations.number(pool, app)
        self._grow()
        self.operation[row], self.kind[row] = now, self._kind(row)
        self.amount[row] = self._amount(row)
        self._count(row, now, int(self.kind[row]), 1)
        was, self._came[row] = int(self._came[row]), work.submitted[row]
        if before != now or was != self._came[row]:
            self._begin(before, was)
        self.submitted[now] = min(self.submitted.get(now, NO_TIME), int(work.submitted[row]))
        return {before, now} - {NONE}

    def _begin(self, operation: int, gone: int) -> None:
        """An operation lost a workload that was submitted then: it starts with the first of those that are left."""
        if operation != NONE and gone <= self.submitted[operation]:
            if not self.counts[operation].any():
                self.submitted[operation] = NO_TIME
                return
            left = self._came[self.operation == operation]
            self.submitted[operation] = int(left.min(initial=NO_TIME))

    def _count(self, row: int, operation: int, kind: int, sign: int) -> None:
        counts = self.counts[operation]
        _, holds, waits, _ = counts.tolist()
        if kind == HOLDS:
            self.usage[operation] += sign * self.amount[row]
            others = self._holders.setdefault(operation, [])
            others.append(row) if sign > 0 else others.remove(row)
            self._lists.pop(operation, None)
        elif kind == WAITS:
            self.waiting[operation] += sign * self.amount[row]
            self.pending += sign
            others_wait = self.waiters.setdefault(operation, set())
            others_wait.add(row) if sign > 0 else others_wait.discard(row)
        counts[kind] += sign
        if kind in (HOLDS, WAITS):
            self.alive += (holds + waits + sign > 0) - (holds + waits > 0)
