"""Usages as they are within a cycle: what starts counts at once, what goes counts no more."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.curves import Floats
from cede.doctrines.ytsaurus.groups import Cut, cut, groups_of
from cede.doctrines.ytsaurus.guarantees import counts_of, shares_of
from cede.doctrines.ytsaurus.status import satisfaction
from cede.doctrines.ytsaurus.update import Update
from cede.state.columns import NONE, UNLIMITED, UNSET, Int8s, Int64s, Rows

DECIMALS = 9


class Numbers:
    """Live usages of operations and pools against the shares of the update."""

    def __init__(self, update: Update) -> None:
        self.update = update
        pools = update.pools
        self.usage: Int64s = update.standing.usage.copy()
        self.pool_usage: Int64s = np.zeros((len(pools.settings), len(pools.columns)), np.int64)
        np.add.at(self.pool_usage, update.operations.above, self.usage)
        for below, parents in reversed(pools.levels):
            np.add.at(self.pool_usage, parents, self.pool_usage[below])
        self.satisfaction = np.round(update.op_local, DECIMALS)
        self.limits, self.tolerated = _limits(update)
        self.op_limits = {
            number: _counted(counts_of(pools, one.limits, float(UNLIMITED)))
            for number, one in enumerate(update.operations.settings)
            if one.limits is not None
        }
        self.limited = bool((self.limits < UNLIMITED).any())
        self._room: dict[bool, Int64s] = {}
        self._paths: dict[int, list[int]] = {}
        self.lists: dict[int, tuple[Rows, Int64s]] = {}
        """The allocations of operations that changed in this cycle, in order, and what is used before each."""
        self.moves = 0
        """How often something changed in this cycle."""
        self._most = np.array(list(self.op_limits.values()), np.int64).reshape(-1, len(pools.columns))
        self._bound: Rows = np.array(list(self.op_limits), np.intp)

    # -- what changes ------------------------------------------------------------------------------------------------

    def add(self, row: int, operation: int) -> None:
        """This workload starts."""
        rows, before = self._list(operation)
        self.lists[operation] = np.append(rows, row), np.concatenate((before, self.usage[operation][None]))
        self._move(row, operation, 1)

    def drop(self, row: int, operation: int) -> None:
        """This allocation goes."""
        rows, before = self._list(operation)
        place = int(np.flatnonzero(rows == row)[0])
        after = before[place + 1 :] - self.update.standing.amount[row]
        self.lists[operation] = np.delete(rows, place), np.concatenate((before[:place], after))
        self._move(row, operation, -1)

    def _list(self, operation: int) -> tuple[Rows, Int64s]:
        found = self.lists.get(operation)
        if found is None:
            [rows] = self.update.standing.lists_of([operation])
            found = rows, self.update.standing.before[rows]
        return found

    def _move(self, row: int, operation: int, sign: int) -> None:
        update = self.update
        amount = sign * update.standing.amount[row]
        self.usage[operation] += amount
        for pool in update.pools.paths[update.operations.pool[operation]]:
            self.pool_usage[pool] += amount
        one = slice(operation, operation + 1)
        used = shares_of(self.usage[one].astype(np.float64), update.totals[one])
        found = satisfaction(used, update.op_fair[one], update.op_demand[one])
        self.satisfaction[operation] = round(float(found[0]), DECIMALS)
        self.moves += 1
        self._room.clear()

    # -- limits --------------------------------------------------------------------------------------------------------

    def room(self, *, preemptive: bool) -> Int64s | None:
        """What each pool may still take of each resource, all pools above it considered; none where nothing limits."""
        if not self.limited or (preemptive and self.update.pools.tree.infinite_overcommit):
            return None
        found = self._room.get(preemptive)
        if found is None:
            found = self.limits - self.pool_usage
            if preemptive:
                found = found + self.tolerated
            for pools, parents in self.update.pools.levels:
                found[pools] = np.minimum(found[pools], found[parents])
            self._room[preemptive] = found
        return found

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
        found = self._paths.get(pool)
        if found is None:
            path = self.update.pools.paths[pool]
            found = self._paths[pool] = [above for above in path if (self.limits[above] < UNLIMITED).any()]
        return found

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
        return bool((self.usage[self._bound] > self._most).any())

    # -- groups --------------------------------------------------------------------------------------------------------

    def groups(self, rows: Rows, operation: Rows) -> tuple[Int64s, Int8s]:
        """What the operation of each of these allocations uses before it, and its group."""
        if self.update.pools.tree.bound_is_preemptible:
            return self._whole_lists(rows, operation)
        standing = self.update.standing
        owners = operation.tolist()
        standing.lists_of(dict.fromkeys(owners))
        before = standing.before[rows]
        for at, own in enumerate(owners):
            if own in self.lists:
                among, sums = self.lists[own]
                before[at] = sums[np.flatnonzero(among == rows[at])[0]]
        return before, groups_of(self.update, operation, before, before + standing.amount[rows])

    def _whole_lists(self, rows: Rows, operation: Rows) -> tuple[Int64s, Int8s]:
        owners = sorted(set(operation.tolist()))
        found = cut(self.update, [self._list(own)[0] for own in owners], owners, self.update.standing.amount)
        by_row = np.argsort(found.rows)
        at = by_row[np.searchsorted(found.rows, rows, sorter=by_row)]
        return found.before[at], found.group[at]

    def all_groups(self) -> Cut:
        """The groups of everybody as things stand now."""
        standing = self.update.standing
        everybody = range(len(self.update.operations))
        lists = standing.lists_of(everybody)
        for own, (rows, _) in self.lists.items():
            lists[own] = rows
        return cut(self.update, lists, everybody, standing.amount)


def _limits(update: Update) -> tuple[Int64s, Int64s]:
    """Limits of pools in counts, and by how much a preemptive start may exceed them."""
    pools, tree = update.pools, update.state.tree
    limits = np.full((len(pools.settings), len(pools.columns)), UNLIMITED)
    given = tree.max[pools.columns, : pools.size].T
    limits[: pools.size] = np.where(given == UNSET, UNLIMITED, given)
    tolerated = np.zeros_like(limits)
    for pool in range(pools.size):
        if pools.settings[pool].overcommit:
            more = _counted(counts_of(pools, pools.settings[pool].overcommit))
            tolerated[pool] = np.minimum(more, UNLIMITED - limits[pool])
    return limits, tolerated


def _counted(limits: Floats) -> Int64s:
    """Limits as whole counts; what cannot be counted is unlimited."""
    return np.minimum(limits, float(UNLIMITED)).astype(np.int64)
