"""Fair shares without curves: where demand is covered everywhere, and of FIFO pools, sums alone tell what is below.

**Demand covered.** As long as no pool is asked for more than it may have, nor for all there is of anything, every fair
share is the demand. At the root the suggestion is 1, which no point of its curve reaches: a point's suggestion is its
largest share above a guarantee, and all shares are lower. So the root's fit factor is that of its last point, 1. What
it suggests to each child is 1 as well, for no weight is below the lightest; and so on down to operations, whose last
point is their demand. A FIFO pool ends where all of its operations have theirs.

**FIFO pools.** The curve of a FIFO pool is the curves of its operations end to end. Under a suggestion each resource
may go up to its bound, the guarantee plus the suggestion or the limit if that is less, and the pool ends where the
first resource reaches its bound. So all operations before a *frontier* have all they ask for, the one there has a part,
and those behind it nothing: prefix sums and a bisection find the frontier. Sums up to it do not change with what stands
behind, so a change there changes no share. What pools get in all grows with the fit factor of the root, linearly
between frontiers: the largest fit factor with which everything fits is a zero that Newton's method finds, kept between
a factor that fits and one that does not. At a jump the curves decide by which side counts: such cases are left to them.

The curves would say the same but for rounding, so that what is nearer to a bound than rounding might carry it is left
to them as well.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from cede.doctrines.ytsaurus.curves import EPSILON, OVER, Floats
from cede.doctrines.ytsaurus.operation_usage import HOLDS, WAITS, OperationUsage
from cede.doctrines.ytsaurus.pool_tree import Pools
from cede.doctrines.ytsaurus.running_operations import RunningOperations
from cede.doctrines.ytsaurus.satisfaction import LARGE
from cede.state.columns import NONE

FULL = 1 - 1e-6
"""A pool that is asked for more of all there is may reach a suggestion of 1."""
NEAR = 1e-12
"""What rounding moves a share by at the most."""

Counts = list[int]
Below = tuple[set[int], set[int]]
"""Operations and pools below their share."""


class DemandSums:
    """What operations use and ask for, summed up by pool in counts, kept as they change.

    `alone`: shares depend on nothing but what is used, asked for and limited.
    """

    def __init__(
        self, operation_usage: OperationUsage, running_operations: RunningOperations, limits: Floats, *, alone: bool
    ) -> None:
        self.operation_usage, self.running_operations, self.alone = operation_usage, running_operations, alone
        pools = operation_usage.pools
        count, resources = len(pools.settings), range(len(pools.columns))
        self.used: list[Counts] = [[0 for _ in resources] for _ in range(count)]
        """What pools use, all below them included."""
        self.asked: list[Counts] = [[0 for _ in resources] for _ in range(count)]
        self._own: dict[int, tuple[Counts, Counts]] = {}
        self._totals: list[Counts] = [pools.total[tree].tolist() for tree in pools.tree_of]
        self._most: list[list[float]] = [[min(most, FULL) for most in row] for row in limits.tolist()]
        self._is_tight: set[int] = set()
        self._changed: set[int] = set()
        """Pools whose demand changed since it was last checked whether that is more than they may have."""
        self._odd: set[int] = set()
        """Operations whose shares follow from more than their demand."""
        self.asking: set[int] = set()
        """Operations that run and wait for more."""

    def follow(self, operations: Iterable[int]) -> None:
        """After something happened to these operations."""
        operation_usage, running = self.operation_usage, self.running_operations.running
        for number in operations:
            used, counts = operation_usage.uses[number], operation_usage.tally[number]
            waits = bool(counts[WAITS]) and bool(running[number])
            asked = [a + b for a, b in zip(used, operation_usage.wants[number], strict=True)] if waits else used
            self.asking.add(number) if waits else self.asking.discard(number)
            before = self._own.get(number)
            if before is None or before[0] != used or before[1] != asked:
                self._changed.update(self._add(number, before, used, asked))
            odd = self._is_odd(number, asked)
            self._odd.add(number) if odd else self._odd.discard(number)

    def _add(self, number: int, before: tuple[Counts, Counts] | None, used: Counts, asked: Counts) -> list[int]:
        path = self.operation_usage.pools.paths[self.operation_usage.operations.pool[number]]
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
        settings = self.operation_usage.operations.settings[number]
        if settings.limits is not None or settings.limits_demand or settings.step or settings.graceful:
            return True
        if not self.operation_usage.tally[number][HOLDS]:
            return False
        pool = self.operation_usage.operations.pool[number]
        for count, total in zip(asked, self._totals[pool], strict=True):
            if total > 0 and count / total > EPSILON + NEAR:
                return False
        return True

    def _shares(self, pool: int, counts: Counts) -> list[float]:
        totals = self._totals[pool]
        return [count / total if total > 0 else 0.0 for count, total in zip(counts, totals, strict=True)]

    def below(self) -> Below | None:
        """Operations and pools below their share; none where that does not follow from sums."""
        if not self.alone or self._odd or self._tight():
            return None
        pools, operations = self.operation_usage.pools, self.operation_usage.operations
        short: set[int] = set()
        asked: set[int] = set()
        for number in self.asking:
            pool = operations.pool[number]
            missing = max(self._shares(pool, self.operation_usage.wants[number]), default=0.0)
            if abs(missing - EPSILON) <= NEAR:
                return None
            if missing > EPSILON:
                short.add(number)
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
        return short, low


NEAR_BOUND = 1e-10
"""What is nearer than this to a bound is left to the curves."""
EXACT = 1e-13
"""A fit factor is found where the cluster is full but for this part."""
STEPS = 24

LinePosition = tuple[Any, ...]
"""An operation in the order of its pool: what it is sorted by, its name, its number."""
Shares = list[float]
T = TypeVar("T")


class FifoProgress(NamedTuple):
    """How far a pool gets: the first that does not get all it asks for, what it gets, what all get, how that grows."""

    frontier: LinePosition | None
    part: Shares
    share: Shares
    slope: Shares


class FifoLine:
    """One FIFO pool: its operations in order, sums of what they ask for, and how far it gets."""

    __slots__ = (
        *("asked", "nothing", "order", "reached", "scale", "smooth", "smooth_from", "sums", "totals", "used"),
        *("whole", "whole_from", "_all", "_at", "_bounds", "_flat", "_idle"),
    )

    def __init__(self, guarantee: Shares, limits: Shares, totals: Counts, scale: float, idle: float) -> None:
        """Of the resources that are asked for; `idle`: the least bound of the others without a suggestion."""
        self.totals, self.scale, self._idle = totals, scale, idle
        self._bounds = list(zip(guarantee, limits, totals, strict=True))
        self._flat = [0.0] * len(totals)
        self.order: list[LinePosition] = []
        self.used: dict[int, Counts] = {}
        self.asked: dict[int, Counts] = {}
        self._all = [0] * len(totals)
        """What they ask for in all."""
        self._at: tuple[float, FifoProgress] | None = None
        """How far it gets under the suggestion that was asked for last,"""
        self.smooth: float | None = None
        """and one at which it does not jump, as long as nothing changes."""
        self.whole: FifoProgress | None = None
        self.whole_from = self.smooth_from = 3.0
        """From which suggestions on all operations get all, as far as is known, and nothing jumps."""
        self.sums: list[list[int]] = [[] for _ in totals]
        """By resource what the first ones ask for together, as far as that was needed."""
        self.nothing = FifoProgress(None, [], self._flat, self._flat)
        """How far it gets without operations."""
        self.reached = self.nothing
        """How far it got in the end."""

    def put(
        self, number: int, before: LinePosition | None, place: LinePosition | None, used: Counts, asked: Counts
    ) -> bool:
        """This operation is there, or not any more; whether that may change a share."""
        frontier, same = self.reached.frontier, before == place and self.asked.get(number) == asked
        if same and self.used.get(number) == used:
            return False
        # How far it gets does not follow from what is behind the frontier, nor from what those before it use by now.
        known = None if self._at is None else self._at[1].frontier
        if same:
            self.used[number] = used
            if known is None or before == known:
                self._at = self.smooth = None
            return before == frontier
        matters = frontier is None or any(one is not None and one <= frontier for one in (before, place))
        if known is None or any(one is not None and one <= known for one in (before, place)):
            self._at = self.smooth = None
        self.whole_from = self.smooth_from = 3.0
        if before is not None:
            at, gone = bisect_left(self.order, before), self.asked.pop(number)
            del self.order[at]
            self._shift(at, gone, -1)
            self._all = [a - b for a, b in zip(self._all, gone, strict=True)]
            del self.used[number]
        if place is not None:
            at = bisect_left(self.order, place)
            self.order.insert(at, place)
            self._shift(at, asked, 1)
            self._all = [a + b for a, b in zip(self._all, asked, strict=True)]
            self.used[number], self.asked[number] = used, asked
        return matters

    def _shift(self, at: int, asked: Counts, sign: int) -> None:
        for sums, amount in zip(self.sums, asked, strict=True):
            if at > len(sums) or (at == len(sums) and sign < 0):
                continue
            if sign > 0:
                first = (sums[at - 1] if at else 0) + amount
                sums[at:] = [first, *([one + amount for one in sums[at:]] if amount else sums[at:])]
            else:
                sums[at:] = [one - amount for one in sums[at + 1 :]] if amount else sums[at + 1 :]

    def _extend(self, counts: list[float]) -> None:
        """Sums up to the first that is above one of these."""
        sums, order = self.sums, self.order
        at = len(sums[0])
        last = [one[-1] if at else 0 for one in sums]
        while at < len(order) and all(one <= count for one, count in zip(last, counts, strict=True)):
            asked = self.asked[order[at][-1]]
            last = [a + b for a, b in zip(last, asked, strict=True)]
            for one, value in zip(sums, last, strict=True):
                one.append(value)
            at += 1

    def at(self, suggestion: float) -> FifoProgress:
        """How far the pool gets under a suggestion."""
        if suggestion >= self.whole_from and self.whole is not None:
            return self.whole
        if self._at is None or self._at[0] != suggestion:
            self._at = suggestion, self._reach(suggestion)
        return self._at[1]

    def _reach(self, suggestion: float) -> FifoProgress:
        bounds: Shares = []
        counts: list[float] = []
        whole = True
        for (own, most, total), asked in zip(self._bounds, self._all, strict=True):
            bound = own + suggestion
            if bound > most:
                bound = most
            count = (bound + OVER) * total
            whole = whole and asked <= count
            bounds.append(bound)
            counts.append(count)
        if whole:
            self.whole_from = suggestion
            self.whole = FifoProgress(None, [], _shares(self._all, self.totals), self._flat)
            return self.whole
        order, end = self.order, len(self.order)
        if len(self.sums[0]) < end:
            self._extend(counts)
        for sums, count in zip(self.sums, counts, strict=True):
            served = bisect_right(sums, count)
            if served < end:
                end = served
        share: Shares = []
        for sums, total in zip(self.sums, self.totals, strict=True):
            share.append(sums[end - 1] / total if end and total else 0.0)
        rest = [max(bound - own, 0.0) for bound, own in zip(bounds, share, strict=True)]
        free = [own + suggestion < most for own, most, _ in self._bounds]
        part, slope = self._part(order[end][-1], rest, free)
        return FifoProgress(order[end], part, [a + b for a, b in zip(share, part, strict=True)], slope)

    def jumps(self, suggestion: float, reach: FifoProgress) -> bool:
        """Whether the pool gets more at this very suggestion than just below it: a bound that rises with the suggestion
        was reached, and those served after that ask for nothing more of it."""
        if self.smooth == suggestion or suggestion >= self.smooth_from:
            return False
        whole = reach.frontier is None
        end = len(self.order) if reach.frontier is None else bisect_left(self.order, reach.frontier)
        last = self.asked[self.order[-1][-1]] if whole else []
        clear = whole
        if end and suggestion + self._idle < NEAR_BOUND:
            return True
        for at, (own, most, total) in enumerate(self._bounds):
            bound = own + suggestion
            if bound < most:
                before = 0.0
                if end > 1 and total:
                    before = (self._all[at] - last[at] if whole else self.sums[at][end - 2]) / total
                if end and abs(before - bound) < NEAR_BOUND:
                    return True
                if (
                    abs(reach.share[at] - bound) < NEAR_BOUND
                    and reach.slope[at] <= 0
                    and max(reach.part, default=0.0) > 0
                ):
                    return True
                clear = clear and bound - reach.share[at] > NEAR_BOUND
        self.smooth = suggestion
        if clear:  # and so it is above that: no bound comes nearer to what is asked for
            self.smooth_from = suggestion
        return False

    def _part(self, number: int, rest: Shares, free: list[bool]) -> tuple[Shares, Shares]:
        """What an operation gets of what is left: what it uses, evenly, then more towards its demand. And how that
        grows with a bound that is `free` to."""
        used, asked = _shares(self.used[number], self.totals), _shares(self.asked[number], self.totals)
        level, by = 0.0, NONE
        for at, own in enumerate(used):
            if own > rest[at] + OVER and (by == NONE or rest[at] < level):
                level, by = rest[at], at
        if by != NONE:
            grows = 1.0 if free[by] else 0.0
            return [min(own, level) for own in used], [grows if own > level else 0.0 for own in used]
        part = 1.0
        for at, (own, most) in enumerate(zip(used, asked, strict=True)):
            if most > rest[at] + OVER and most > own:
                here = max(rest[at] - own, 0.0) / (most - own)
                if by == NONE or here < part:
                    part, by = here, at
        if by == NONE:
            return asked, [0.0] * len(asked)
        wide = asked[by] - used[by]
        grows = 1.0 / wide if free[by] else 0.0
        shares = [own + part * (most - own) for own, most in zip(used, asked, strict=True)]
        return shares, [grows * (most - own) for own, most in zip(used, asked, strict=True)]


class FifoShares:
    """The FIFO pools of every tree, kept as operations change; `short` and `low` are operations and pools below their
    share.

    `usable`: whether all that counts is of this kind, with nothing that shares depend on beside.
    """

    def __init__(
        self,
        operation_usage: OperationUsage,
        demand_sums: DemandSums,
        guarantee: Floats,
        limits: Floats,
        weights: Floats,
    ) -> None:
        self.operation_usage, self.demand_sums = operation_usage, demand_sums
        pools = operation_usage.pools
        self.lines: dict[int, FifoLine] = {}
        self._places: dict[int, LinePosition] = {}
        self._columns: list[int] = []
        """Resources that are asked for; shares and counts in here are of these."""
        self._unasked = list(range(len(pools.columns)))
        self._scales: dict[int, float] = {}
        self._roots: dict[int, list[int]] = {}
        self._passing: dict[int, list[int]] = {}
        """Pools between a root and its FIFO pools."""
        self._most: dict[int, Shares] = {}
        self._fit: dict[int, float] = {}
        for root in range(pools.size, len(pools.settings)):
            inner = pools.children[root]
            while (only := _passes_on(pools, inner, limits, root)) is not None:
                self._passing.setdefault(root, []).append(only)
                inner = pools.children[only]
            lightest = min((float(weights[pool]) for pool in inner), default=1.0)
            self._roots[root] = [pool for pool in inner if pools.settings[pool].fifo]
            self._scales.update({pool: float(weights[pool]) / lightest for pool in self._roots[root]})
        self._bounds = guarantee.tolist(), limits.tolist()
        self._draw()
        self._others: set[int] = set()
        """Operations that ask for something elsewhere, or for more than there is."""
        self._stale: set[int] = set(self._roots)
        """Trees whose shares are not known."""
        self._unsure: set[int] = set()
        """Operations and pools (as negative numbers) that are too near to a bound."""
        self.short: set[int] = set()
        self.low: set[int] = set()
        self.changed: set[int] = set()
        """Operations whose share, or what they use or ask for, changed in the last update."""
        self._lost = True
        """Whether it is not known of all what is below."""
        self.anew = True
        """Whether all were looked at in the last update."""

    def follow(self, touched: Iterable[int]) -> bool:
        """After something happened to these operations; whether all shares follow from sums."""
        changed = set(touched)
        if self._unasked and self._widens(changed):
            changed.update(self._places)
            self._draw()
        pools: set[int] = set()
        operation_usage, places, columns = self.operation_usage, self._places, self._columns
        for number in changed:
            pool = operation_usage.operations.pool[number]
            pools.add(pool)
            line = self.lines.get(pool)
            own = self.demand_sums.own(number)
            if own is not None and (line is None or self._asks_too_much(own[1], line)):
                self._others.add(number)
            else:
                self._others.discard(number)
            if line is None:
                continue
            before, place = places.get(number), None
            used: Counts = []
            asked: Counts = []
            if own is not None:
                used = [own[0][at] for at in columns]
                asked = [own[1][at] for at in columns] if own[1] is not own[0] else used
                place = places[number] = self._place(number, pool)
            elif before is not None:
                del places[number]
            else:
                continue
            if line.put(number, before, place, used, asked):
                self._stale.add(operation_usage.pools.paths[pool][-1])
        if self._others or not self.lines:
            self._lost = True
            return False
        for root in list(self._stale):
            moved = self._solve(root)
            if moved is None:
                self._lost = True
                return False
            changed |= moved[0]
            pools |= moved[1]
        self.anew, self._lost = self._lost, False
        if self.anew:
            changed.update(self._places)
            pools.update(self.lines)
            self.short.clear()
            self.low.clear()
            self._unsure.clear()
        for number in changed:
            self._judge(number)
        for pool in pools:
            self._judge_pool(pool)
        for root, between in self._passing.items():
            if not pools.isdisjoint(self._roots[root]):
                for pool in between:
                    self._judge_between(pool, root)
        self.changed = changed
        return not self._unsure

    def _draw(self) -> None:
        """The lines, empty, of the resources that are asked for."""
        pools, columns = self.operation_usage.pools, self._columns
        guarantee, limits = self._bounds
        self._places.clear()
        for root, among in self._roots.items():
            totals = pools.total[pools.tree_of[root]].tolist()
            self._most[root] = self._picked(limits[root])
            for pool in among:
                idle = [own for at, own in enumerate(guarantee[pool]) if at not in columns and own < limits[pool][at]]
                bounds = self._picked(guarantee[pool]), self._picked(limits[pool])
                self.lines[pool] = FifoLine(*bounds, self._picked(totals), self._scales[pool], min(idle, default=1.0))
        self._stale = set(self._roots)
        self._lost = True

    def _widens(self, numbers: Iterable[int]) -> bool:
        """Whether some of these operations ask for a resource that was not asked for before."""
        wider = False
        for number in numbers:
            own = self.demand_sums.own(number)
            for at in list(self._unasked) if own is not None else ():
                if own is not None and own[1][at]:
                    self._unasked.remove(at)
                    wider = True
        if wider:
            self._columns = [at for at in range(len(self.operation_usage.pools.columns)) if at not in self._unasked]
        return wider

    def _picked(self, values: list[T]) -> list[T]:
        return [values[at] for at in self._columns]

    def _asks_too_much(self, asked: Counts, line: FifoLine) -> bool:
        for at, total in zip(self._columns, line.totals, strict=True):  # noqa: SIM110 - any() takes three times as long
            if asked[at] > total > 0:
                return True
        return False

    def _wide(self, shares: Shares) -> Shares:
        """Of all resources."""
        wide = [0.0] * len(self.operation_usage.pools.columns)
        for at, share in zip(self._columns, shares, strict=True):
            wide[at] = share
        return wide

    def _place(self, number: int, pool: int) -> LinePosition:
        operations, operation_usage = self.operation_usage.operations, self.operation_usage
        key: list[float | str] = []
        for name in operation_usage.pools.settings[pool].fifo_sort:
            if name == "weight":
                weight = operations.settings[number].weight
                key.append(-(1.0 if weight is None else weight))
            elif name == "start_time":
                key.append(float(operation_usage.submitted[number]))
            else:
                key.append(float(operation_usage.tally[number][WAITS]))
        return (*key, operations.names[number], number)

    # -- what each gets -----------------------------------------------------------------------------------------------

    def _solve(self, root: int) -> tuple[set[int], set[int]] | None:
        """The shares of a tree; the operations and pools of which they changed, none where sums do not tell."""
        among = self._with_work(root)
        reached = self._crossing(root, among)
        if reached is None:
            return None
        fit = self._fit[root]
        for (_, line), reach in zip(among, reached, strict=True):
            suggested = fit * line.scale
            may_jump = suggested < 1.0 and suggested < line.smooth_from and suggested != line.smooth
            if may_jump and line.jumps(suggested, reach):
                return None
        self._stale.discard(root)
        moved: set[int] = set()
        pools: set[int] = set()
        for pool in self._roots[root]:
            if not self.lines[pool].order:
                self.lines[pool].reached = self.lines[pool].nothing
        for (pool, line), reach in zip(among, reached, strict=True):
            was = line.reached
            if reach is was:
                continue
            before, after, order = was.frontier, reach.frontier, line.order
            if reach.share != was.share:
                pools.add(pool)
            if before != after or reach.part != was.part:
                low = len(order) if before is None else bisect_left(order, before)
                end = len(order) if after is None else bisect_left(order, after)
                moved.update([one[-1] for one in order[min(low, end) : max(low, end) + 1]])
            line.reached = reach
        return moved, pools

    def _with_work(self, root: int) -> list[tuple[int, FifoLine]]:
        """The pools of a tree that anything is asked of."""
        return [(pool, line) for pool in self._roots[root] if (line := self.lines[pool]).order]

    def _crossing(self, root: int, among: list[tuple[int, FifoLine]]) -> list[FifoProgress] | None:
        """How far pools get with the largest fit factor with which all that they get fits; noted for the next time."""
        most = self._most[root]
        columns = range(len(most))
        if not among:
            self._fit[root] = 1.0
            return []
        low, high, fit = 0.0, 2.0, self._fit.get(root, 1.0)
        for _ in range(STEPS):
            over = [-one for one in most]
            slopes = [0.0] * len(most)
            reached: list[FifoProgress] = []
            for _, line in among:
                suggested = fit * line.scale
                if suggested > 1.0:
                    suggested = 1.0
                reach = line.whole if suggested >= line.whole_from and line.whole is not None else line.at(suggested)
                reached.append(reach)
                frontier, _, share, slope = reach
                for at in columns:
                    over[at] += share[at]
                if frontier is not None and suggested < 1.0:
                    for at in columns:
                        slopes[at] += slope[at] * line.scale
            if max(over) > EXACT:
                high = fit
                step = max([a / b if b > 0 else 0.0 for a, b in zip(over, slopes, strict=True) if a > EXACT])
                fit = fit - step
                if step <= 0 or fit <= low:
                    fit = (low + high) / 2
                continue
            if fit >= 1.0 or any(a >= -EXACT for a, b in zip(over, slopes, strict=True) if b > 0):
                self._fit[root] = min(fit, 1.0)
                return reached
            low = fit
            fit = min([1.0, *[fit - a / b for a, b in zip(over, slopes, strict=True) if b > 0]])
            if fit >= high:
                fit = (low + high) / 2
        return None

    def fair(self, number: int) -> Shares:
        """The fair share of an operation."""
        return self._wide(self._fair(number, self.stands(number)))

    def _fair(self, number: int, stands: int) -> Shares:
        if stands > 0:
            return [0.0] * len(self._columns)
        line = self.lines[self.operation_usage.operations.pool[number]]
        share = line.reached.part if stands == 0 else _shares(line.asked[number], line.totals)
        return [one if one >= EPSILON else 0.0 for one in share]

    def in_part(self, number: int) -> tuple[list[int], Shares, Shares, Counts]:
        """Of an operation with a part of what it asks for, by the resources asked for: columns, fair share, demand, and
        how much there is in all."""
        line = self.lines[self.operation_usage.operations.pool[number]]
        return self._columns, self._fair(number, 0), _shares(line.asked[number], line.totals), line.totals

    def frontiers(self) -> set[int]:
        """The operations that have a part of what they ask for."""
        return {line.reached.frontier[-1] for line in self.lines.values() if line.reached.frontier is not None}

    def has_share(self, number: int) -> bool | None:
        """Whether an operation has any share to speak of; none where that is too near to tell."""
        most = max(self._fair(number, self.stands(number)), default=0.0)
        return None if abs(most - EPSILON) < NEAR_BOUND else most > EPSILON

    def stands(self, number: int) -> int:
        """Whether an operation has all it asks for (-1), a part of it (0), or nothing (1)."""
        place = self._places.get(number)
        if place is None:
            return 1
        frontier = self.lines[self.operation_usage.operations.pool[number]].reached.frontier
        return -1 if frontier is None or place < frontier else int(place > frontier)

    def demand(self, number: int) -> Shares:
        """The demand share of an operation."""
        line = self.lines.get(self.operation_usage.operations.pool[number])
        if line is None or number not in line.asked:
            return [0.0] * len(self.operation_usage.pools.columns)
        return self._wide(_shares(line.asked[number], line.totals))

    # -- what is below -------------------------------------------------------------------------------------------------

    def _judge(self, number: int) -> None:
        """Whether an operation is below its share."""
        self.short.discard(number)
        self._unsure.discard(number)
        place = self._places.get(number)
        if place is None or number not in self.demand_sums.asking:
            return
        line = self.lines[self.operation_usage.operations.pool[number]]
        frontier = line.reached.frontier
        if frontier is not None and place > frontier:
            return
        used, fair = _shares(line.used[number], line.totals), _shares(line.asked[number], line.totals)
        asked = fair
        if place == frontier:
            fair = [one if one >= EPSILON else 0.0 for one in line.reached.part]
        tolerance = float(self.operation_usage.operations.settings[number].tolerance)
        gap = LARGE if fair is asked else min([a + LARGE - b for a, b in zip(fair, asked, strict=True)])
        if abs(gap) < NEAR_BOUND:
            self._unsure.add(number)
            return
        below = _below(used, fair, asked, 1.0 if gap > 0 else tolerance)
        if below is None:
            self._unsure.add(number)
        elif below:
            self.short.add(number)

    def _judge_pool(self, pool: int) -> None:
        self.low.discard(pool)
        self._unsure.discard(-1 - pool)
        line = self.lines.get(pool)
        if line is None or not line.order:
            return
        if line.reached.frontier is None and self.demand_sums.used[pool] == self.demand_sums.asked[pool]:
            return  # it has what it asks for, and a share of that
        used, asked = self._shares_of(pool, line.totals)
        fair = asked
        if line.reached.frontier is not None:
            fair = [one if one >= EPSILON else 0.0 for one in line.reached.share]
        self._find_low(pool, used, fair, asked)

    def _judge_between(self, pool: int, root: int) -> None:
        """A pool that passes on all it gets has the share of all below it."""
        self.low.discard(pool)
        self._unsure.discard(-1 - pool)
        lines = [line for one in self._roots[root] if (line := self.lines[one]).order]
        if not lines:
            return
        used, asked = self._shares_of(pool, lines[0].totals)
        fair = asked
        if any(line.reached.frontier is not None for line in lines):
            sums = map(sum, zip(*[line.reached.share for line in lines], strict=True))
            fair = [one if one >= EPSILON else 0.0 for one in sums]
        self._find_low(pool, used, fair, asked)

    def _shares_of(self, pool: int, totals: Counts) -> tuple[Shares, Shares]:
        """What a pool uses and asks for."""
        used, asked = self.demand_sums.used[pool], self.demand_sums.asked[pool]
        shares: tuple[Shares, Shares] = [], []
        for at, total in zip(self._columns, totals, strict=True):
            shares[0].append(used[at] / total if total else 0.0)
            shares[1].append(asked[at] / total if total else 0.0)
        return shares

    def _find_low(self, pool: int, used: Shares, fair: Shares, asked: Shares) -> None:
        below = _below(used, fair, asked, float(self.operation_usage.pools.settings[pool].tolerance))
        if below is None:
            self._unsure.add(-1 - pool)
        elif below:
            self.low.add(pool)


def _passes_on(pools: Pools, inner: list[int], limits: Floats, root: int) -> int | None:
    """The only one of these pools, if those below it share the whole tree as they would right below its root: it is not
    limited, and with no pool beside it its guarantee and its weight decide nothing."""
    if len(inner) != 1:
        return None
    [only] = inner
    if pools.settings[only].fifo or not pools.children[only] or (limits[only] < limits[root]).any():
        return None
    return only


def _shares(counts: Counts, totals: Counts) -> Shares:
    return [count / total if total else 0.0 for count, total in zip(counts, totals, strict=True)]


def _below(used: Shares, fair: Shares, asked: Shares, tolerance: float) -> bool | None:
    """What `satisfaction.below_share` says of one element; none where that is too near to tell."""
    some, every, open_ = False, True, False
    for own, share, most in zip(used, fair, asked, strict=True):
        shut, above = share - most + EPSILON, min(share * tolerance, most) - own - EPSILON
        if -NEAR_BOUND < shut < NEAR_BOUND or -NEAR_BOUND < above < NEAR_BOUND:
            return None
        some, every, open_ = some or above > 0, every and (above > 0 or shut >= 0), open_ or shut < 0
    return every if open_ else some
