"""Usages as they are within a cycle: what starts counts at once, what goes counts no more."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cede.doctrines.ytsaurus.groups import Cut, cut
from cede.doctrines.ytsaurus.guarantees import counts_of, shares_of
from cede.doctrines.ytsaurus.status import satisfaction
from cede.doctrines.ytsaurus.update import Update
from cede.state.columns import NONE, UNSET, Int64s, Rows

UNLIMITED = np.iinfo(np.int64).max // 4
DECIMALS = 9


class Numbers:
    """Live usages of operations and pools against the shares of the update."""

    def __init__(self, update: Update) -> None:
        self.update = update
        pools = update.pools
        self.usage: Int64s = update.standing.usage.copy()
        self.pool_usage: Int64s = np.zeros((len(pools.settings), len(pools.columns)), np.int64)
        np.add.at(self.pool_usage, np.array(update.operations.pool, np.intp), self.usage)
        for pool in reversed(pools.down):
            if pools.parent[pool] != NONE:
                self.pool_usage[pools.parent[pool]] += self.pool_usage[pool]
        self.satisfaction = np.round(update.op_local, DECIMALS)
        self.limits, self.tolerated = _limits(update)
        self.op_limits = {
            number: counts_of(pools, one.limits, float(UNLIMITED)).astype(np.int64)
            for number, one in enumerate(update.operations.settings)
            if one.limits is not None
        }
        self.limited = bool((self.limits < UNLIMITED).any())
        self._levels = _levels(update)
        self._room: dict[bool, Int64s] = {}
        self.lists: dict[int, Rows] = {}
        """The allocations of operations that changed in this cycle, in order."""
        self._cuts: dict[int, tuple[Rows, Int64s, Int64s]] = {}
        self.changed: set[int] = set()

    # -- what changes ------------------------------------------------------------------------------------------------

    def add(self, row: int, operation: int) -> None:
        """This workload starts."""
        self._list(operation)
        self.lists[operation] = np.append(self.lists[operation], row)
        self._move(row, operation, 1)

    def drop(self, row: int, operation: int) -> None:
        """This allocation goes."""
        self._list(operation)
        self.lists[operation] = self.lists[operation][self.lists[operation] != row]
        self._move(row, operation, -1)

    def _list(self, operation: int) -> None:
        if operation not in self.lists:
            self.lists[operation] = self.update.standing.lists_of([operation])[0]

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
        self._cuts.pop(operation, None)
        self.changed.add(operation)
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
            for pools, parents in self._levels:
                found[pools] = np.minimum(found[pools], found[parents])
            self._room[preemptive] = found
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
        return any(bool((self.usage[number] > most).any()) for number, most in self.op_limits.items())

    # -- groups --------------------------------------------------------------------------------------------------------

    def groups(self, operations: Iterable[int]) -> dict[int, tuple[Rows, Int64s, Int64s]]:
        """For each operation its allocations in order, the usage before each, and its group."""
        wanted = list(dict.fromkeys(operations))
        new = [one for one in wanted if one not in self._cuts]
        if new:
            plain = [one for one in new if one not in self.lists]
            known = dict(zip(plain, self.update.standing.lists_of(plain), strict=True))
            lists = [self.lists[one] if one in self.lists else known[one] for one in new]
            found = cut(self.update, lists, new, self.update.standing.amount)
            end = 0
            for one, rows in zip(new, lists, strict=True):
                begin, end = end, end + len(rows)
                self._cuts[one] = rows, found.before[begin:end], found.group[begin:end].astype(np.int64)
        return {one: self._cuts[one] for one in wanted}

    def all_groups(self) -> Cut:
        """The groups of everybody as the cycle began."""
        standing = self.update.standing
        everybody = range(len(self.update.operations))
        return cut(self.update, standing.lists_of(everybody), everybody, standing.amount)


def _limits(update: Update) -> tuple[Int64s, Int64s]:
    """Limits of pools in counts, and by how much a preemptive start may exceed them."""
    pools, tree = update.pools, update.state.tree
    limits = np.full((len(pools.settings), len(pools.columns)), UNLIMITED)
    given = tree.max[pools.columns, : pools.size].T
    limits[: pools.size] = np.where(given == UNSET, UNLIMITED, given)
    tolerated = np.zeros_like(limits)
    for pool in range(pools.size):
        if pools.settings[pool].overcommit:
            tolerated[pool] = counts_of(pools, pools.settings[pool].overcommit).astype(np.int64)
    return limits, tolerated


def _levels(update: Update) -> list[tuple[Rows, Rows]]:
    """Pools and their parents, level by level from the top, so that a whole level is worked out at once."""
    pools = update.pools
    levels: dict[int, list[int]] = {}
    for pool in pools.down:
        if pools.parent[pool] != NONE:
            levels.setdefault(len(pools.paths[pool]), []).append(pool)
    return [
        (np.array(levels[depth], np.intp), np.array([pools.parent[pool] for pool in levels[depth]], np.intp))
        for depth in sorted(levels)
    ]
