"""Whether there is plenty for everybody, and who is below its share then: by sums alone, without share curves.

As long as no pool is asked for more than it may have, nor for all there is of anything, every fair share is the demand.
At the root the suggestion is 1, which no point of its curve reaches: a point's suggestion is its largest share above a
guarantee, and all shares are lower. So the root's fit factor is that of its last point, 1. What it suggests to each
child is 1 as well, for no weight is below the lightest; and so on down to operations, whose last point is their demand.
A FIFO pool ends where all of its operations have theirs.

The curves would say the same but for rounding, so that whoever is nearer to a bound than rounding might carry it is
left to them.
"""

from __future__ import annotations

from collections.abc import Iterable

from cede.doctrines.ytsaurus.curves import EPSILON, Floats
from cede.doctrines.ytsaurus.running import RunningOperations
from cede.doctrines.ytsaurus.standing import HOLDS, WAITS, Standing

FULL = 1 - 1e-6
"""A pool that is asked for more of all there is may reach a suggestion of 1."""
NEAR = 1e-12
"""What rounding moves a share by at the most."""

Counts = list[int]
Below = tuple[set[int], set[int]]
"""Operations and pools below their share."""


class Plenty:
    """What operations use and ask for, summed up by pool in counts, kept as they change.

    `alone`: shares depend on nothing but what is used, asked for and limited.
    """

    def __init__(self, standing: Standing, who_runs: RunningOperations, limits: Floats, *, alone: bool) -> None:
        self.standing, self.who_runs, self.alone = standing, who_runs, alone
        pools = standing.pools
        count, resources = len(pools.settings), range(len(pools.columns))
        self.used: list[Counts] = [[0 for _ in resources] for _ in range(count)]
        """What pools use, all below them included."""
        self.asked: list[Counts] = [[0 for _ in resources] for _ in range(count)]
        self._own: dict[int, tuple[Counts, Counts]] = {}
        self._totals: list[Counts] = [pools.total[tree].tolist() for tree in pools.tree_of]
        self._most: list[list[float]] = [[min(most, FULL) for most in row] for row in limits.tolist()]
        self._is_tight: set[int] = set()
        self._changed: set[int] = set()
        """Pools of which somebody asked for something else since it was looked whether that is more than they may
        have."""
        self._odd: set[int] = set()
        """Operations whose shares follow from more than their demand."""
        self.asking: set[int] = set()
        """Operations that run and wait for more."""

    def follow(self, operations: Iterable[int]) -> None:
        """After something happened to these operations."""
        standing, running = self.standing, self.who_runs.running
        for number in operations:
            used, counts = standing.uses[number], standing.tally[number]
            waits = bool(counts[WAITS]) and bool(running[number])
            asked = [a + b for a, b in zip(used, standing.wants[number], strict=True)] if waits else used
            self.asking.add(number) if waits else self.asking.discard(number)
            before = self._own.get(number)
            if before is None or before[0] != used or before[1] != asked:
                self._changed.update(self._add(number, before, used, asked))
            odd = self._is_odd(number, asked)
            self._odd.add(number) if odd else self._odd.discard(number)

    def _add(self, number: int, before: tuple[Counts, Counts] | None, used: Counts, asked: Counts) -> list[int]:
        path = self.standing.pools.paths[self.standing.operations.pool[number]]
        was_used, was_asked = before or (None, None)
        for sums, now, was in ((self.used, used, was_used), (self.asked, asked, was_asked)):
            for at, count in enumerate(now):
                more = count if was is None else count - was[at]
                if more:
                    for pool in path:
                        sums[pool][at] += more
        if any(asked):
            self._own[number] = used, asked
        else:
            self._own.pop(number, None)
        return path

    def own(self, number: int) -> tuple[Counts, Counts] | None:
        """What an operation uses and asks for; none, if that is nothing."""
        return self._own.get(number)

    @property
    def serves_sums(self) -> bool:
        """Whether every share follows from sums of what is used and asked for, and from nothing else."""
        return self.alone and not self._odd

    @property
    def is_there(self) -> bool:
        """Whether there is plenty: no pool is asked for more than it may have."""
        if not self.serves_sums or not self._is_tight <= self._changed:
            return False
        while self._changed:
            if self._is_tight_now(self._changed.pop()):
                return False
        return not self._is_tight

    def _tight(self) -> set[int]:
        """Pools that are asked for more than they may have."""
        while self._changed:
            self._is_tight_now(self._changed.pop())
        return self._is_tight

    def _is_tight_now(self, pool: int) -> bool:
        shares = self._shares(pool, self.asked[pool])
        tight = any(share > most for share, most in zip(shares, self._most[pool], strict=True))
        self._is_tight.add(pool) if tight else self._is_tight.discard(pool)
        return tight

    def _is_odd(self, number: int, asked: Counts) -> bool:
        settings = self.standing.operations.settings[number]
        if settings.limits is not None or settings.limits_demand or settings.step or settings.graceful:
            return True
        if not self.standing.tally[number][HOLDS]:
            return False
        pool = self.standing.operations.pool[number]
        for count, total in zip(asked, self._totals[pool], strict=True):
            if total > 0 and count / total > EPSILON + NEAR:
                return False
        return True

    def _shares(self, pool: int, counts: Counts) -> list[float]:
        totals = self._totals[pool]
        return [count / total if total > 0 else 0.0 for count, total in zip(counts, totals, strict=True)]

    def below(self) -> Below | None:
        """Who is below its share; none where that does not follow from sums."""
        if not self.alone or self._odd or self._tight():
            return None
        pools, operations = self.standing.pools, self.standing.operations
        found: set[int] = set()
        asked: set[int] = set()
        for number in self.asking:
            pool = operations.pool[number]
            missing = max(self._shares(pool, self.standing.wants[number]), default=0.0)
            if abs(missing - EPSILON) <= NEAR:
                return None
            if missing > EPSILON:
                found.add(number)
            asked.update(pools.paths[pool])
        low: set[int] = set()
        for pool in asked if pools.tree.pool_starvation else ():
            if pool < pools.size:
                part = min(pools.settings[pool].tolerance, 1.0)
                demand, usage = self._shares(pool, self.asked[pool]), self._shares(pool, self.used[pool])
                missing = max((part * a - b for a, b in zip(demand, usage, strict=True)), default=0.0)
                if abs(missing - EPSILON) <= NEAR:
                    return None
                if missing > EPSILON:
                    low.add(pool)
        return found, low
