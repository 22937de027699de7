"""Fair shares of a tree: the curves of operations, summed up to the root, and the shares that come down from there.

An operation gets first what it uses, evenly over resources, then the rest of its demand in proportion. All operations
of a tree are worked out at once, as blocks of equally many points; what has fewer repeats its last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from cede.doctrines.ytsaurus.curves import (
    EPSILON,
    OVER,
    ROUNDING,
    Curve,
    Floats,
    Indices,
    by_suggestion,
    jumps_of,
    nothing,
    one_after_another,
    shorter,
    side_by_side,
)
from cede.doctrines.ytsaurus.pool_tree import Operations, Pools
from cede.state.columns import NONE, Bools, Rows


def operation_curves(usage: Floats, demand: Floats, limits: Floats, step: Bools) -> tuple[Floats, Floats]:
    """Suggestions (n, points) and shares (n, points, R) of operations with these usage, demand and limit shares.

    `step`: all or nothing, for gangs. An operation is guaranteed nothing, so that a suggestion carries it to where its
    largest share is as large as the suggestion.
    """
    count, resources = usage.shape
    limits = np.minimum(limits, 1.0)
    levels = _levels(usage, limits)
    first = np.minimum(usage[:, None, :], levels[:, :, None])
    held = levels[:, -1] >= usage.max(axis=1, initial=0.0)
    parts = _kinks(usage, demand, limits)
    parts[~held] = 0.0
    more = first[:, -1:, :] + parts[:, :, None] * np.where(held[:, None], demand - usage, 0.0)[:, None, :]
    y = np.concatenate((np.zeros((count, 1, resources)), first, more), axis=1)
    if step.any():
        fits: Bools = np.all(demand[step] <= limits[step] + OVER, axis=1)
        y[step] = 0.0
        y[step, -1] = np.where(fits[:, None], demand[step], 0.0)
    s = np.maximum.accumulate(y.max(axis=2), axis=1)
    if step.any():
        s[step, 1:-1] = s[step, -1:]  # nothing, up to where all of it is due
    s[s < ROUNDING] = 0.0
    _end_at_one(s, y)
    return s, y


def _end_at_one(s: Floats, y: Floats) -> None:
    """No suggestion is above 1: what an operation would jump to there it never gets."""
    full = s >= 1 - ROUNDING
    rows = np.flatnonzero(full.sum(axis=1) > 1)
    if len(rows):
        first = np.argmax(full[rows], axis=1)
        last = np.minimum(np.arange(s.shape[1])[None, :], first[:, None])
        y[rows] = y[rows[:, None], last]
        s[rows] = s[rows[:, None], last]


def _levels(usage: Floats, limits: Floats) -> Floats:
    """The heights at which one resource after another has all that is used of it, as far as limits allow."""
    most = np.where(usage > limits + OVER, limits, np.inf).min(axis=1, initial=np.inf)
    levels: Floats = np.minimum(np.sort(usage, axis=1), most[:, None])
    return levels


def _kinks(usage: Floats, demand: Floats, limits: Floats) -> Floats:
    """Parts of the way from usage to demand at which another resource becomes the largest, and where limits end it."""
    count, resources = usage.shape
    rise = demand - usage
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where((rise > 0) & (demand > limits + OVER), (limits - usage) / rise, 1.0)
    last = np.clip(room, 0.0, 1.0).min(axis=1, initial=1.0)
    own = np.arange(count)
    top = usage.max(axis=1, keepdims=True, initial=0.0)
    line = np.argmax(np.where(usage >= top - ROUNDING, rise, -1.0), axis=1)
    part = np.zeros(count)
    kinks = np.empty((count, resources))
    for turn in range(resources - 1):
        slower = rise[own, line][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = (usage[own, line][:, None] - usage) / (rise - slower)
        meet = np.where(rise > slower, np.maximum(meet, part[:, None]), np.inf)
        part = meet.min(axis=1)
        line = np.where(
            np.isfinite(part), np.argmax(np.where(meet <= (part * (1 + ROUNDING))[:, None], rise, -1.0), axis=1), line
        )
        kinks[:, turn] = np.minimum(part, last)
        part = np.where(np.isfinite(part), part, 1.0)
    kinks[:, -1] = last
    return kinks


def shares_at(s: Floats, y: Floats, suggestion: Floats, *, beyond: Bools | None = None) -> Floats:
    """The share of each operation under its suggestion; `beyond`: just after it, where it jumps there."""
    count, points = s.shape
    own = np.arange(count) * points
    wanted = suggestion * (1 - ROUNDING)
    places, shares = s.reshape(-1), y.reshape(count * points, y.shape[2])
    first = np.zeros(count, np.intp)
    for place in s.T:
        first += place < wanted
    right = own + np.minimum(first, points - 1)
    left = np.maximum(right - 1, own)
    low, wide = places[left], places[right] - places[left]
    part = np.minimum(np.divide(suggestion - low, wide, out=np.ones(count), where=wide > 0), 1.0)
    before = shares.take(left, axis=0)
    share: Floats = before + part[:, None] * (shares.take(right, axis=0) - before)
    share[suggestion <= 0] = 0.0
    if beyond is not None and beyond.any():
        last = own + (s <= (suggestion * (1 + ROUNDING))[:, None]).sum(axis=1) - 1
        jumps = beyond & (places[last] >= wanted)
        share[jumps] = shares[last[jumps]]
    return share


SPARE = 8
LEAST = float(np.nextafter(0.0, 1.0))


class Curves:
    """Curves end to end, each with some room to grow in, so that one that changes is written in its place."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        lengths = np.array([len(curve.s) for curve in curves], np.intp)
        self._room = lengths + lengths // 8 + SPARE
        self.begin: Indices = np.cumsum(self._room) - self._room
        self.end: Indices = self.begin.copy()
        size = int(self._room.sum())
        self.f, self.s = np.zeros(size), np.zeros(size)
        self.y = np.zeros((size, curves[0].y.shape[1]))
        for which, curve in enumerate(curves):
            self.put(which, curve)

    def put(self, which: int, curve: Curve) -> bool:
        """Instead of the one that was there; false where it has no room."""
        size = len(curve.s)
        if size > self._room[which]:
            return False
        begin = int(self.begin[which])
        here = slice(begin, begin + size)
        self.f[here], self.s[here], self.y[here] = curve.f, curve.s, curve.y
        self.end[which] = begin + size
        return True

    def at(self, which: Indices, suggestion: Floats) -> tuple[Floats, Floats]:
        """Fit factors and shares of these curves, each under its suggestion: what `Curve.at` says of one."""
        begin, last = self.begin[which], self.end[which] - 1
        nothing = suggestion <= 0
        first = self._first(begin, last + 1, np.where(nothing, LEAST, suggestion * (1 - ROUNDING)))
        right = np.minimum(np.where(nothing, first - 1, first), last)
        back = nothing & (right < last) & (right > begin)
        while (back := back & (right > begin) & (self.f[right] == self.f[np.maximum(right - 1, 0)])).any():
            right = right - back  # as `Curve.given` says
        left = np.where(nothing | (first > last), right, np.maximum(right - 1, begin))
        low, wide = self.s[left], self.s[right] - self.s[left]
        part = np.divide(suggestion - low, wide, out=np.ones_like(low), where=wide > 0)
        part = np.minimum(part, 1.0)
        fit = self.f[left] + part * (self.f[right] - self.f[left])
        before = self.y.take(left, axis=0)
        return fit, before + part[:, None] * (self.y.take(right, axis=0) - before)

    def _first(self, low: Indices, high: Indices, wanted: Floats) -> Indices:
        """The first place from `low` on, before `high`, whose suggestion is not less than wanted; else `high`."""
        for _ in range(int((high - low).max(initial=1)).bit_length()):
            middle = (low + high) // 2
            less = (low < high) & (self.s[np.minimum(middle, len(self.s) - 1)] < wanted)
            low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
        return low


@dataclass
class Suggestions:
    """What is suggested to pools and to operations, and which of them have their upper value where they jump."""

    pools: Floats
    operations: Floats
    upper: set[int] = field(default_factory=set)
    jumps: Bools = field(init=False)

    def __post_init__(self) -> None:
        self.jumps = np.zeros(len(self.operations), np.bool_)


class FairShare:
    """Curves and shares of one moment. What comes in is set by `operations`, `pools` and `orders`, then `update`."""

    def __init__(self, pools: Pools, operations: Operations, *, improved: bool = False) -> None:
        self.pools, self.operations = pools, operations
        count, resources = len(pools.settings), len(pools.columns)
        self.guarantee = np.zeros((count, resources))
        """What each pool is guaranteed as a share, integral guarantees included."""
        self.limits = np.ones((count, resources))
        self.weights = np.ones(count)
        self.curves: list[Curve] = [nothing(resources)] * count
        self.fit: Floats = np.zeros(count)
        self.suggestion: Floats = np.zeros(count)
        self.share = np.zeros((count, resources))
        self.s: Floats = np.zeros((0, 2 * resources + 1))
        self.y: Floats = np.zeros((0, 2 * resources + 1, resources))
        self.op_weights: Floats = np.ones(0)
        self.op_suggestion: Floats = np.zeros(0)
        self.op_share: Floats = np.zeros((0, resources))
        self.fifo: dict[int, Rows] = {}
        """The operations of FIFO pools, in their order."""
        self.improved = improved
        self.parted: set[int] = set()
        """Pools of which several children jump at one place, one by one."""
        self._stale: set[int] = set(range(count))
        self._table: Curves | None = None

    # -- what is known -----------------------------------------------------------------------------------------

    def enter(self, rows: Rows, usage: Floats, demand: Floats, limits: Floats, step: Bools) -> None:
        """The shares that these operations use, ask for and are limited to."""
        size = len(self.operations)
        if size > len(self.s):
            more = size - len(self.s)
            self.s = np.concatenate((self.s, np.zeros((more, self.s.shape[1]))))
            self.y = np.concatenate((self.y, np.zeros((more, *self.y.shape[1:]))))
        self.s[rows], self.y[rows] = operation_curves(usage, demand, limits, step)
        self.touch({self.operations.pool[row] for row in rows.tolist()})

    def touch(self, pools: Iterable[int]) -> None:
        """These pools, and all above them, are made anew."""
        for pool in pools:
            self._stale.update(self.pools.paths[pool])

    # -- from the bottom up --------------------------------------------------------------------------------------

    def update(self) -> None:
        """All shares by what is known now."""
        self.refresh()
        self._distribute()

    def refresh(self) -> None:
        """The curves of pools that something changed below."""
        for pool in reversed(self.pools.down):
            if pool in self._stale:
                curve = self.curves[pool] = self.curve_of(pool, self.guarantee[pool])
                if self._table is not None and not self._table.put(pool, curve):
                    self._table = None
        self._stale.clear()

    def curve_of(self, pool: int, guarantee: Floats) -> Curve:
        """The curve of a pool if it were guaranteed so much."""
        polyline = self.by_fit(pool)
        if polyline is None:
            return nothing(len(self.pools.columns))
        curve = by_suggestion(*polyline, guarantee, self.limits[pool])
        return shorter(curve) if pool in self.fifo else curve

    def by_fit(self, pool: int) -> tuple[Floats, Floats] | None:
        """The sum of the children's curves; none for a pool without children."""
        below, inner = self.operations.below[pool], self.pools.children[pool]
        if pool in self.fifo and len(self.fifo[pool]):
            order = self.fifo[pool]
            return one_after_another(self.s[order], self.y[order])
        if not len(below) and not inner:
            return None
        lightest = self._lightest(pool)
        curves = [self.curves[child] for child in inner]
        polyline = side_by_side(
            [self.s[below], *(curve.s[None, curve.given :] for curve in curves)],
            [self.y[below], *(curve.y[None, curve.given :] for curve in curves)],
            [lightest / self.op_weights[below], lightest / self.weights[inner]],
        )
        return self._one_by_one(pool, *polyline) if self.improved else polyline

    def _lightest(self, pool: int) -> float:
        below, inner = self.operations.below[pool], self.pools.children[pool]
        return float(min([*self.weights[inner].tolist(), *self.op_weights[below].tolist()]))

    # -- from the root down --------------------------------------------------------------------------------------

    def _distribute(self) -> None:
        self.suggestion[self.pools.size :] = 1.0
        jumps = None
        if self.parted:
            jumps = self._pool_by_pool()
        else:
            self._level_by_level()
        self.op_share = shares_at(self.s, self.y, self.op_suggestion, beyond=jumps)
        self.op_share[self.op_share < EPSILON] = 0.0
        self.share[self.share < EPSILON] = 0.0
        for root in range(self.pools.size, len(self.pools.settings)):
            inner = self.share[self.pools.children[root]].sum(axis=0)
            self.share[root] = inner + self.op_share[self.operations.below[root]].sum(axis=0)

    def _level_by_level(self) -> None:
        if self._table is None:
            self._table = Curves(self.curves)
        curves = self._table
        roots = np.arange(self.pools.size, len(self.pools.settings))
        self.fit[roots], self.share[roots] = curves.at(roots, self.suggestion[roots])
        above = self.operations.above
        lightest = np.full(len(self.weights), np.inf)
        np.minimum.at(lightest, above, self.op_weights)
        for pools, parents in self.pools.levels:
            np.minimum.at(lightest, parents, self.weights[pools])
        for pools, parents in self.pools.levels:
            suggested = np.minimum(1.0, self.fit[parents] * (self.weights[pools] / lightest[parents]))
            self.suggestion[pools] = suggested
            self.fit[pools], self.share[pools] = curves.at(pools, suggested)
        self.op_suggestion = np.minimum(1.0, self.fit[above] * (self.op_weights / lightest[above]))
        if self.fifo:
            orders = np.concatenate(list(self.fifo.values()))
            lengths = np.array([len(order) for order in self.fifo.values()])
            place = np.arange(len(orders)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            self.op_suggestion[orders] = np.clip(self.fit[above[orders]] - place, 0.0, 1.0)

    def _pool_by_pool(self) -> Bools:
        """The same for one pool after the other; the operations that have their upper value where they jump."""
        suggestions = Suggestions(self.suggestion, np.zeros(len(self.operations)))
        for pool in self.pools.down:
            self.fit[pool], self.share[pool] = self._hand_down(pool, suggestions)
        self.op_suggestion = suggestions.operations
        return suggestions.jumps

    def _hand_down(self, pool: int, suggestions: Suggestions) -> tuple[float, Floats]:
        """Fit factor and share of a pool under what is suggested to it; what follows for its children is noted."""
        curve, suggestion = self.curves[pool], float(suggestions.pools[pool])
        fit, share = curve.beyond(suggestion) if pool in suggestions.upper else curve.at(suggestion)
        self._suggest(pool, fit, suggestions)
        if pool in suggestions.upper or pool in self.parted:
            for is_pool, child in self._jumping(pool, share, suggestions):
                if is_pool:
                    suggestions.upper.add(child)
                else:
                    suggestions.jumps[child] = True
        return fit, share

    def _suggest(self, pool: int, fit: float, suggestions: Suggestions) -> None:
        """What a fit factor of this pool suggests to its children."""
        if pool in self.fifo:
            order = self.fifo[pool]
            suggestions.operations[order] = np.clip(fit - np.arange(len(order)), 0.0, 1.0)
            return
        below, inner = self.operations.below[pool], self.pools.children[pool]
        if not len(below) and not inner:
            return
        lightest = self._lightest(pool)
        suggestions.operations[below] = np.minimum(1.0, fit * (self.op_weights[below] / lightest))
        suggestions.pools[inner] = np.minimum(1.0, fit * (self.weights[inner] / lightest))

    # -- children that jump one by one -------------------------------------------------------------------------------

    def _one_by_one(self, pool: int, f: Floats, y: Floats) -> tuple[Floats, Floats]:
        """The sum of the children's curves with a point after each of those that jump at one place, in child order."""
        self.parted.discard(pool)
        if not (f[1:] == f[:-1]).any():
            return f, y
        rises: dict[int, dict[tuple[str, bool, int], Floats]] = {}
        for name, is_pool, child, where, rise in self._jumps(pool):
            here = rises.setdefault(int(np.searchsorted(f, where, "right")) - 1, {})
            here[name, not is_pool, child] = here.get((name, not is_pool, child), 0.0) + rise
        places: list[int] = []
        between: list[Floats] = []
        for place, here in sorted(rises.items()):
            steps = np.cumsum([here[key] for key in sorted(here)][:-1], axis=0)
            places += [place] * len(steps)
            between += [y[place - 1] + step for step in steps]
        if places:
            self.parted.add(pool)
            f, y = np.insert(f, places, f[places]), np.insert(y, places, between, axis=0)
        return f, y

    def _jumps(self, pool: int) -> Iterator[tuple[str, bool, int, float, Floats]]:
        """Jumps of the children of a pool: whose, at which fit factor, and how far."""
        below, inner, lightest = self.operations.below[pool], self.pools.children[pool], self._lightest(pool)
        owner, where, rises = jumps_of(self.s[below], self.y[below])
        where = where * (lightest / self.op_weights[below[owner]])
        for child, at, rise in zip(below[owner].tolist(), where.tolist(), rises, strict=True):
            yield self.operations.names[child], False, child, at, rise
        for child in inner:
            curve = self.curves[child]
            _, where, rises = jumps_of(curve.s[None, curve.given :], curve.y[None, curve.given :])
            for at, rise in zip((where * (lightest / self.weights[child])).tolist(), rises, strict=True):
                yield self.pools.name(child), True, child, at, rise

    def _jumping(self, pool: int, share: Floats, suggestions: Suggestions) -> Iterator[tuple[bool, int]]:
        """The children that have their upper value for the pool to have this share, in order."""
        low = self._before(pool, suggestions)
        for is_pool, child in self.in_order(pool):
            rise = self._jump_of(is_pool, child, suggestions)
            if not rise.any():
                continue
            low = low + rise
            if (low > share + OVER).any():
                break
            yield is_pool, child

    def _before(self, pool: int, suggestions: Suggestions) -> Floats:
        """What the children of a pool have under their suggestions if none jumps."""
        inner, below = self.pools.children[pool], self.operations.below[pool]
        share: Floats = shares_at(self.s[below], self.y[below], suggestions.operations[below]).sum(axis=0)
        for child in inner:
            share = share + self.curves[child].at(float(suggestions.pools[child]))[1]
        return share

    def _jump_of(self, is_pool: bool, child: int, suggestions: Suggestions) -> Floats:
        if is_pool:
            curve, suggestion = self.curves[child], float(suggestions.pools[child])
            return curve.beyond(suggestion)[1] - curve.at(suggestion)[1]
        s, y, at = self.s[child : child + 1], self.y[child : child + 1], suggestions.operations[child : child + 1]
        yes = np.ones(1, np.bool_)
        jump: Floats = (shares_at(s, y, at, beyond=yes) - shares_at(s, y, at))[0]
        jump[jump < ROUNDING] = 0.0
        return jump

    def in_order(self, pool: int) -> list[tuple[bool, int]]:
        """The children of a pool, whether each is a pool, as they come: by name, or as a FIFO pool serves them."""
        if pool in self.fifo:
            return [(False, child) for child in self.fifo[pool].tolist()]
        among = [(self.pools.name(child), 0, child) for child in self.pools.children[pool]]
        among += [(self.operations.names[child], 1, child) for child in self.operations.below[pool].tolist()]
        return [(kind == 0, child) for _, kind, child in sorted(among)]

    # -- within guarantees -----------------------------------------------------------------------------------------

    def promised(self) -> Floats:
        """What operations would get if the outermost pools that ask for it had their guarantees and nothing else."""
        suggestions = Suggestions(np.zeros(len(self.weights)), np.zeros(len(self.operations)))
        inside: set[int] = set()
        for pool in self.pools.down:
            above = self.pools.parent[pool]
            if above in inside or (self.pools.settings[pool].promised and above != NONE):
                inside.add(pool)
                self._hand_down(pool, suggestions)
        promised = shares_at(self.s, self.y, suggestions.operations, beyond=suggestions.jumps)
        promised[promised < EPSILON] = 0.0
        return promised
