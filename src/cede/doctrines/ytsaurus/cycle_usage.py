"""Usages as they are within a cycle: what starts counts at once, what goes counts no more."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.curves import Floats
from cede.doctrines.ytsaurus.guarantees import shares_of
from cede.doctrines.ytsaurus.preemption_status import GroupedAllocations, group_allocations, groups_of
from cede.doctrines.ytsaurus.satisfaction import INFINITE, satisfaction
from cede.doctrines.ytsaurus.update import Update
from cede.state.columns import NONE, UNLIMITED, Int8s, Int64s, Rows

DECIMALS = 9


class CycleUsage:
    """Live usages of operations and pools against the shares of the update."""

    def __init__(self, update: Update) -> None:
        self.update = update
        pools = update.pools
        self.usage: Int64s = update.operation_usage.usage.copy()
        self.pool_usage: Int64s = np.array(update.demand_sums.used, np.int64).reshape(-1, len(pools.columns))
        self.limits, self.tolerated = update.pool_limits
        self.op_limits = update.operation_limits()
        self.limited = update.limited
        self._satisfaction: Floats | None = None
        self._moved: set[int] = set()
        """Operations whose satisfaction is not what it was at first."""
        self._room: dict[bool, Int64s] = {}
        self._paths: dict[int, list[int]] = {}
        self._lists: dict[int, tuple[Rows, Int64s]] = {}
        """The allocations of operations that changed in this cycle, in order, and what is used before each."""
        self._changes: dict[int, list[tuple[int, int]]] = {}
        """What changed since: rows that came (1) or went (-1)."""
        self.moves = 0
        """How often something changed in this cycle."""

    # -- what changes ------------------------------------------------------------------------------------------------

    def add(self, row: int, operation: int) -> None:
        """This workload starts."""
        self._move(row, operation, 1)

    def drop(self, row: int, operation: int) -> None:
        """This allocation goes."""
        self._move(row, operation, -1)

    def _move(self, row: int, operation: int, sign: int) -> None:
        update = self.update
        amount = sign * update.operation_usage.amount[row]
        self.usage[operation] += amount
        for pool in update.pools.paths[update.operations.pool[operation]]:
            self.pool_usage[pool] += amount
        self._changes.setdefault(operation, []).append((row, sign))
        self._moved.add(operation)
        self.moves += 1
        self._room.clear()

    def _list(self, operation: int) -> tuple[Rows, Int64s]:
        listed = self._lists.get(operation)
        if listed is None:
            [rows] = self.update.operation_usage.lists_of([operation])
            listed = rows, self.update.operation_usage.before[rows]
        amount = self.update.operation_usage.amount
        for row, sign in self._changes.pop(operation, ()):
            rows, before = listed
            if sign > 0:
                used = before[-1] + amount[rows[-1]] if len(rows) else np.zeros_like(amount[row])
                listed = np.append(rows, row), np.concatenate((before, used[None]))
            else:
                place = int(np.flatnonzero(rows == row)[0])
                after = before[place + 1 :] - amount[row]
                listed = np.delete(rows, place), np.concatenate((before[:place], after))
            self._lists[operation] = listed
        return listed

    @property
    def lists(self) -> dict[int, tuple[Rows, Int64s]]:
        """The allocations of operations that changed in this cycle, in order, and what is used before each."""
        for operation in list(self._changes):
            self._list(operation)
        return self._lists

    def satisfied(self, operations: Rows) -> Floats:
        """How satisfied these operations are now, to nine decimals."""
        update = self.update
        if self._satisfaction is None:
            misses_all = update.short is not None and update.short.issuperset(operations.tolist())
            if misses_all and not self.usage[operations].any():  # what each asks for is its share, and it has nothing
                return np.zeros(len(operations))
            if update.by_fifo and not self.usage[operations].any():  # without a share satisfaction is infinite
                shared = [update.fifo.has_share(operation) for operation in operations.tolist()]
                if None not in shared:
                    return np.where(np.array(shared, np.bool_), 0.0, INFINITE)
            self._satisfaction = np.round(update.op_local, DECIMALS)
        for operation in self._moved:
            one = slice(operation, operation + 1)
            used = shares_of(self.usage[one].astype(np.float64), update.totals[one])
            ratio = satisfaction(used, update.op_fair[one], update.op_demand[one])
            self._satisfaction[operation] = round(float(ratio[0]), DECIMALS)
        self._moved.clear()
        return self._satisfaction[operations]

    # -- limits --------------------------------------------------------------------------------------------------------

    def room(self, *, preemptive: bool) -> Int64s | None:
        """What each pool may still take of each resource, all pools above it considered; none where nothing limits."""
        if not self.limited or (preemptive and self.update.pools.tree.infinite_overcommit):
            return None
        room = self._room.get(preemptive)
        if room is None:
            room = self.limits - self.pool_usage
            if preemptive:
                room = room + self.tolerated
            for pools, parents in self.update.pools.levels:
                room[pools] = np.minimum(room[pools], room[parents])
            self._room[preemptive] = room
        return room

    def allows(self, pool: int, amount: Int64s, *, preemptive: bool) -> bool:
        """Whether the limits of this pool and of those above it let so much more be used."""
        if not self.limited or (preemptive and self.update.pools.tree.infinite_overcommit):
            return True
        for above in self._limited_above(pool):
            most = self.limits[above] + self.tolerated[above] if preemptive else self.limits[above]
            if (self.pool_usage[above] + amount > most).any():
                return False
        return True

    def _limited_above(self, pool: int) -> list[int]:
        limited = self._paths.get(pool)
        if limited is None:
            path = self.update.pools.paths[pool]
            limited = self._paths[pool] = [above for above in path if (self.limits[above] < UNLIMITED).any()]
        return limited

    def over_limit(self, operation: int) -> tuple[int, int] | None:
        """The operation itself (-1) or the first pool above it that uses more than its limit, and of what."""
        own = self.op_limits.get(operation)
        if own is not None and (self.usage[operation] > own).any():
            return NONE, int(np.argmax(self.usage[operation] > own))
        if self.limited:
            for pool in self.update.pools.paths[self.update.operations.pool[operation]]:
                over = self.pool_usage[pool] > self.limits[pool]
                if over.any():
                    return pool, int(np.argmax(over))
        return None

    def any_over(self) -> bool:
        """Whether some limit is exceeded at all."""
        if self.limited and bool((self.pool_usage > self.limits).any()):
            return True
        if not self.op_limits:
            return False
        most = np.array(list(self.op_limits.values()), np.int64)
        return bool((self.usage[list(self.op_limits)] > most).any())

    # -- groups --------------------------------------------------------------------------------------------------------

    def groups(self, rows: Rows, operation: Rows) -> tuple[Int64s, Int8s]:
        """What the operation of each of these allocations uses before it, and its group."""
        if self.update.pools.tree.bound_is_preemptible:
            return self._whole_lists(rows, operation)
        operation_usage = self.update.operation_usage
        owners = operation.tolist()
        operation_usage.lists_of(dict.fromkeys(owners))
        before, lists = operation_usage.before[rows], self.lists
        for at, own in enumerate(owners):
            if own in lists:
                among, sums = lists[own]
                before[at] = sums[np.flatnonzero(among == rows[at])[0]]
        return before, groups_of(self.update, operation, before, before + operation_usage.amount[rows])

    def _whole_lists(self, rows: Rows, operation: Rows) -> tuple[Int64s, Int8s]:
        owners = sorted(set(operation.tolist()))
        cuts = group_allocations(
            self.update, [self._list(own)[0] for own in owners], owners, self.update.operation_usage.amount
        )
        by_row = np.argsort(cuts.rows)
        at = by_row[np.searchsorted(cuts.rows, rows, sorter=by_row)]
        return cuts.before[at], cuts.group[at]

    def all_groups(self) -> GroupedAllocations:
        """The groups of all allocations as things stand now."""
        operation_usage = self.update.operation_usage
        operations = range(len(self.update.operations))
        lists = operation_usage.lists_of(operations)
        for own, (rows, _) in self.lists.items():
            lists[own] = rows
        return group_allocations(self.update, lists, operations, operation_usage.amount)
