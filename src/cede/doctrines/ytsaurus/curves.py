"""Share curves: non-decreasing, piecewise linear, left-continuous functions from a number to a share vector.

A curve is a polyline. `x` never falls, `y` (one column a resource) neither; two points with the same `x` are a jump,
and at a jump the lower value counts.
Positions that differ by less than rounding are the same, so that children that jump together stay together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

Kind = TypeVar("Kind", bound=np.generic)

EPSILON = 1e-9
"""Shares that differ by less are the same."""
ROUNDING = 1e-12
"""Positions that differ by less than this part of themselves are the same."""
OVER = 1e-11
"""A limit that is exceeded by less is kept."""
COLLINEAR = 1e-15
EDGES = np.array([0.0, 1.0])
STEEP = 2.0**10
"""Slopes within such a factor are added up together: sums of very different slopes would lose the small ones."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Shares by fit factor `f`, and the suggestion `s` at which each point is reached."""

    f: Floats
    s: Floats
    y: Floats

    def at(self, suggestion: float) -> tuple[float, Floats]:
        """Fit factor and share under this suggestion."""
        s = self.s
        if suggestion <= 0:
            return float(self.f[self.given]), self.y[self.given]
        right = int(np.searchsorted(s, suggestion * (1 - ROUNDING), "left"))
        if right >= len(s):
            return float(self.f[-1]), self.y[-1]
        if right == 0:
            return float(self.f[0]), self.y[0]
        left = right - 1
        part = min(1.0, (suggestion - s[left]) / (s[right] - s[left])) if s[right] > s[left] else 1.0
        share: Floats = self.y[left] + part * (self.y[right] - self.y[left])
        return float(self.f[left] + part * (self.f[right] - self.f[left])), share

    @property
    def given(self) -> int:
        """The point that counts under no suggestion at all: the last one that asks for none, but before a jump from
        which it grows on at once.
        """
        last = int(np.searchsorted(self.s, 0.0, "right")) - 1
        if 0 < last < len(self.s) - 1 and self.f[last - 1] == self.f[last] < self.f[last + 1]:
            return _before_rise(self.f, self.y, last)
        return last

    def beyond(self, suggestion: float) -> tuple[float, Floats]:
        """The same just after this suggestion: at a jump the upper value."""
        last = int(np.searchsorted(self.s, suggestion * (1 + ROUNDING), "right")) - 1
        if self.s[last] < suggestion * (1 - ROUNDING):
            return self.at(suggestion)
        return float(self.f[last]), self.y[last]


def across(table: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
    """A table turned, each column in one piece: what is asked of every row is then asked of all rows at once."""
    return np.ascontiguousarray(table.T)


def nothing(resources: int) -> Curve:
    """The curve of a pool without children."""
    zeros = np.zeros((2, resources))
    return Curve(np.array([0.0, 1.0]), np.zeros(2), zeros)


# -- shares by fit factor: sums of children --------------------------------------------------------------------------


def side_by_side(xs: Sequence[Floats], ys: Sequence[Floats], scales: Sequence[Floats]) -> tuple[Floats, Floats]:
    """The sum of polylines whose `x` is stretched by its scale, on [0, 1]; each entry is a block of equally long ones,
    (n, points) and (n, points, R) with scales of (n,).
    """
    counts, sizes = [len(x) for x in xs], [x.shape[1] for x in xs]
    lengths = np.repeat(sizes, counts)
    scale = np.concatenate(scales)
    x = np.concatenate([one.ravel() for one in xs]) * np.repeat(scale, lengths)
    y = np.concatenate([one.reshape(-1, one.shape[-1]) for one in ys])
    last = np.cumsum(lengths) - 1
    base = y[last + 1 - lengths].sum(axis=0)
    rise, end = y[1:] - y[:-1], x[1:]
    wide = end - x[:-1]
    moves: Bools = np.any(across(rise), axis=0)
    moves[last[:-1]] = False
    step = moves & (wide <= ROUNDING * end)
    rises = np.zeros(len(x) + 1, np.int64)
    rises[1:-1] = moves & ~step
    slopes = np.zeros((len(x) + 1, y.shape[1]))
    np.divide(rise, np.where(rises[1:-1], wide, np.inf)[:, None], out=slopes[1:-1])
    where = np.flatnonzero(rises[1:] | rises[:-1])
    jumps = np.flatnonzero(step)
    return _add_up(SlopeChanges(x[where], where, slopes, rises), base, end[jumps], rise[jumps])


@dataclass(frozen=True, slots=True)
class SlopeChanges:
    """Places at which slopes change: each one's is `slopes[which]` before and the next one after; `rises` is 1 of those
    slopes that are not nothing.
    """

    x: Floats
    which: Indices
    slopes: Floats
    rises: npt.NDArray[np.int64]


def _add_up(changes: SlopeChanges, base: Floats, jumps_at: Floats, jumps: Floats) -> tuple[Floats, Floats]:
    """The polyline that begins at `base`, turns and jumps.

    A sum of piecewise linear functions is linear between the turns of all of them: its slope is the running sum of the
    changes, its value the running sum of slope times width, plus the jumps. So one sort of all turns replaces a look at
    every child in every place. Places that differ by rounding become one, so that what jumps together in the children
    jumps together in the sum.
    """
    count = len(changes.x)
    every = np.concatenate((changes.x, EDGES, jumps_at))
    order = np.argsort(every, kind="stable")
    sorted_x = every[order]
    new = np.empty(len(order), np.bool_)
    new[0] = True
    np.greater(sorted_x[1:] - sorted_x[:-1], ROUNDING * sorted_x[1:], out=new[1:])
    firsts = np.flatnonzero(new)
    x = sorted_x[firsts]
    ends = np.append(firsts[1:], len(order)) - 1
    growth = (x[1:] - x[:-1])[:, None] * _slopes(changes, order, ends)[:-1]
    jump: Floats | None = None
    if len(jumps_at):
        where = np.empty(len(order), np.intp)
        where[order] = np.cumsum(new) - 1
        jump = np.zeros((len(x), jumps.shape[1]))
        np.add.at(jump, where[count + len(EDGES) :], jumps)
        growth += jump[:-1]
    before = np.empty((len(x), len(base)))
    before[0] = base
    np.cumsum(growth, axis=0, out=before[1:])
    before[1:] += base
    return (x, before) if jump is None else _with_jumps(x, before, jump)


def _slopes(changes: SlopeChanges, order: Indices, ends: Indices) -> Floats:
    """The slope after each position. What has ended leaves nothing behind, not even what rounding would leave."""
    steepest = across(changes.slopes).max(axis=0)
    if steepest.max() < STEEP:
        return _slopes_of_one_size(changes, order, ends)
    kinds = np.floor(np.log2(np.maximum(steepest, 1.0)) / np.log2(STEEP))
    total = np.zeros((len(ends), changes.slopes.shape[1]))
    for kind in np.unique(kinds).tolist():
        mine = kinds == kind
        part = SlopeChanges(changes.x, changes.which, changes.slopes * mine[:, None], changes.rises * mine)
        total += _slopes_of_one_size(part, order, ends)
    return total


def _slopes_of_one_size(changes: SlopeChanges, order: Indices, ends: Indices) -> Floats:
    before, after, slopes = changes.which, changes.which + 1, changes.slopes
    others = len(order) - len(before)  # positions at which nothing turns
    change = np.concatenate(
        (slopes.take(after, axis=0) - slopes.take(before, axis=0), np.zeros((others, slopes.shape[1])))
    )
    begins = np.concatenate((changes.rises[after] - changes.rises[before], np.zeros(others, np.int64)))
    slopes_after: Floats = np.cumsum(change.take(order, axis=0), axis=0).take(ends, axis=0)
    np.maximum(slopes_after, 0.0, out=slopes_after)
    slopes_after[np.cumsum(begins[order])[ends] == 0] = 0.0
    return slopes_after


def _with_jumps(x: Floats, before: Floats, jump: Floats) -> tuple[Floats, Floats]:
    """Points in order, two where there is a jump."""
    twice = jump.any(axis=1)
    counts = 1 + twice
    at = np.cumsum(counts) - counts
    xs, ys = np.repeat(x, counts), np.repeat(before, counts, axis=0)
    ys[at[twice] + 1] += jump[twice]
    return xs, ys


def one_after_another(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Polylines put end to end, from blocks of (n, points) and (n, points, R): each has [i, i + 1] for itself, and
    begins when the one before has all it can get.
    """
    count, _, resources = y.shape
    done = np.cumsum(y[:, -1], axis=0)
    before = np.concatenate((np.zeros((1, resources)), done[:-1]))
    places = (x + np.arange(count)[:, None]).ravel()
    shares = (y + before[:, None, :]).reshape(-1, resources)
    return np.append(places, float(count)), np.vstack((shares, done[-1]))


def jumps_of(x: Floats, y: Floats) -> tuple[Indices, Floats, Floats]:
    """Of polylines in a block of (n, points) and (n, points, R): whose each jump is, where it is, how far it goes."""
    rise = y[:, 1:] - y[:, :-1]
    owner, at = np.nonzero((x[:, 1:] - x[:, :-1] <= ROUNDING * x[:, 1:]) & rise.any(axis=2))
    return owner, x[owner, at + 1], rise[owner, at]


# -- shares by suggestion ----------------------------------------------------------------------------------------------


def by_suggestion(f: Floats, y: Floats, guarantee: Floats, limits: Floats) -> Curve:
    """How far a suggestion carries: to where the first resource is that much above its guarantee, or at its limit."""
    most = np.minimum(np.maximum(limits, y[0]), y[-1])
    if (most < y[-1]).any():
        f, y = _up_to(f, y, most)
    floor = np.minimum(np.maximum(guarantee, y[0]), most)
    f, y, top = _with_kinks(f, y, floor)
    s = np.maximum.accumulate(top)
    s[s < ROUNDING] = 0.0
    corner = np.flatnonzero((f[1:] == f[:-1]) & (s[1:] > s[:-1]))
    if len(corner):
        s = np.insert(s, corner + 1, s[corner + 1])
        f, y = np.insert(f, corner + 1, f[corner]), np.insert(y, corner + 1, y[corner], axis=0)
    full = int(np.searchsorted(s, 1 - ROUNDING, "left")) + 1  # no suggestion is above 1
    return Curve(f[:full], s[:full], y[:full])


def _up_to(f: Floats, y: Floats, most: Floats) -> tuple[Floats, Floats]:
    """The polyline as far as every resource keeps its limit."""
    over: Bools = np.any(across(y > most + OVER), axis=0)
    first = int(np.argmax(over))
    if not over[first]:
        return f, y
    if first == 0 or f[first] == f[first - 1]:
        return f[: max(first, 1)], y[: max(first, 1)]
    low, high = y[first - 1], y[first]
    crossing = high > most + OVER
    part = float(np.clip((most[crossing] - low[crossing]) / (high[crossing] - low[crossing]), 0, 1).min())
    if part * (f[first] - f[first - 1]) <= ROUNDING * f[first] and first > 1 and f[first - 1] == f[first - 2]:
        first = _before_rise(f, y, first - 1) + 1  # a jump to the very limit is never over
        return f[:first], y[:first]
    end = low + part * (high - low)
    return np.append(f[:first], f[first - 1] + part * (f[first] - f[first - 1])), np.vstack((y[:first], end))


def _before_rise(f: Floats, y: Floats, last: int) -> int:
    """The point at the same place as this one that it rises from; the first there, if it does not rise."""
    first = int(np.searchsorted(f, f[last], "left"))
    lower = np.flatnonzero((y[first:last] != y[last]).any(axis=1))
    return first + int(lower[-1]) if len(lower) else first


def _with_kinks(f: Floats, y: Floats, floor: Floats) -> tuple[Floats, Floats, Floats]:
    """With points where another resource becomes the one that is furthest above its guarantee; and how far that is."""
    z, top = _above(y, floor)
    near = z >= top - ROUNDING
    bent = np.flatnonzero(~(near[:, 1:] & near[:, :-1]).any(axis=0) & (f[1:] > f[:-1]))
    if not len(bent):
        return f, y, top
    low, high = z[:, bent].T, z[:, bent + 1].T
    segments, parts = _envelope(low, high - low)
    at = bent[segments]
    new_f = f[at] + parts * (f[at + 1] - f[at])
    new_y = y[at] + parts[:, None] * (y[at + 1] - y[at])
    order = np.lexsort((parts, at))
    where = at[order] + 1
    f, y = np.insert(f, where, new_f[order]), np.insert(y, where, new_y[order], axis=0)
    return f, y, _above(y, floor)[1]


def _above(y: Floats, floor: Floats) -> tuple[Floats, Floats]:
    """How far each resource is above its floor, (resources, points), with nothing beside; and the furthest of them."""
    z = np.zeros((y.shape[1] + 1, len(y)))
    np.subtract(y.T, floor[:, None], out=z[:-1])
    return z, z.max(axis=0)


def _envelope(low: Floats, rise: Floats) -> tuple[Indices, Floats]:
    """Where the highest of several lines changes, for many bundles of lines on [0, 1]: bundle and position.

    The highest of several lines is convex, so it only ever changes to a steeper line: from each line on top the next
    change is the first place where a steeper one meets it, and of several that meet there the steepest goes on. No line
    comes on top twice, so this ends after as many steps as there are lines.
    """
    bundle = np.arange(len(low))
    line = np.argmax(np.where(low >= low.max(axis=1, keepdims=True) - ROUNDING, rise, -np.inf), axis=1)
    part = np.zeros(len(low))
    bundles, parts = [bundle[:0]], [part[:0]]
    while len(bundle):
        own = np.arange(len(bundle))
        slower = rise[own, line][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = (low[own, line][:, None] - low) / (rise - slower)
        meet = np.where(rise > slower, np.maximum(meet, part[:, None]), np.inf)
        first = meet.min(axis=1)
        line = np.argmax(np.where(meet <= (first * (1 + ROUNDING))[:, None], rise, -np.inf), axis=1)
        going = first < 1 - ROUNDING
        bundle, low, rise, line, part = bundle[going], low[going], rise[going], line[going], first[going]
        bundles.append(bundle)
        parts.append(part)
    return np.concatenate(bundles), np.concatenate(parts)


def shorter(curve: Curve) -> Curve:
    """Without points that lie on the line between their neighbours.

    Two passes look at every other point, so the neighbours that a point is compared with stay in that pass, and the
    curve moves by `COLLINEAR` in each at most. A point that both passes miss stays: the curve is the same, and longer.
    """
    f, s, y = curve.f, curve.s, curve.y
    if len(f) < 3:
        return curve
    table = np.column_stack((f, s, y))
    kept = np.ones(len(f), np.bool_)
    for start in (1, 2):
        here = np.flatnonzero(kept)
        middle = here[start:-1:2]
        if not len(middle):
            break
        left, right = table[here[start - 1 : -2 : 2][: len(middle)]], table[here[start + 1 :: 2][: len(middle)]]
        wide = right - left
        by = np.argmax(wide, axis=1)
        span = wide[np.arange(len(middle)), by]
        with np.errstate(divide="ignore", invalid="ignore"):
            part = (table[middle, by] - left[np.arange(len(middle)), by]) / span
        part = np.where(span > 0, part, 0.0)
        off = np.abs(table[middle] - left - part[:, None] * wide).max(axis=1)
        kept[middle[off <= COLLINEAR]] = False
    return Curve(f[kept], s[kept], y[kept])
