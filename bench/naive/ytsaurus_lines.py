"""Share functions as a competent person writes them first: lists of points, sums evaluated child by child.

Each is non-decreasing, piecewise linear and left-continuous; two points with one `x` are a jump, and there the lower
value counts. Numbers are floats, or fractions, so that nothing is rounded. Places that differ by less than a part
`same` of themselves are one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise

Number = float | Fraction
Vector = list[Number]
Line = list[tuple[Number, Vector]]
"""Shares by fit factor."""

SAME = 1e-12


@dataclass(slots=True)
class Offer:
    """Shares by suggestion, with the fit factor that leads to each."""

    s: Vector
    f: Vector
    y: list[Vector]
    same: Number

    def at(self, suggestion: Number) -> tuple[Number, Vector]:
        """Fit factor and share under a suggestion."""
        if suggestion <= 0:
            last = bisect_right(self.s, 0) - 1
            if 0 < last < len(self.s) - 1 and self.f[last] == self.f[last - 1]:
                last = bisect_left(self.f, self.f[last])  # before a jump from which it grows on at once
            return self.f[last], self.y[last]
        right = bisect_left(self.s, suggestion * (1 - self.same))
        if right >= len(self.s):
            return self.f[-1], self.y[-1]
        if right == 0:
            return self.f[0], self.y[0]
        left = right - 1
        part = min(1, (suggestion - self.s[left]) / (self.s[right] - self.s[left]))
        return self.f[left] + part * (self.f[right] - self.f[left]), between(self.y[left], self.y[right], part)

    def beyond(self, suggestion: Number) -> Vector:
        """The share just after this suggestion; after 1 there is none."""
        if suggestion >= 1 - self.same:
            return self.at(suggestion)[1]
        last = bisect_right(self.s, suggestion * (1 + self.same)) - 1
        return self.at(suggestion)[1] if self.s[last] < suggestion * (1 - self.same) else self.y[last]


def between(low: Vector, high: Vector, part: Number) -> Vector:
    return [a + part * (b - a) for a, b in zip(low, high, strict=True)]


def add(vectors: Iterable[Vector], size: int) -> Vector:
    total: Vector = [0] * size
    for vector in vectors:
        total = [a + b for a, b in zip(total, vector, strict=True)]
    return total


def operation_line(usage: Vector, demand: Vector, *, step: bool) -> Line:
    """First the usage, evenly over resources, up to 1, then the rest of the demand, up to 2; of a gang all at once."""
    nothing: Vector = [0] * len(usage)
    if step:
        return [(0, nothing), (1, nothing), (1, demand), (2, demand)]
    most = max(usage, default=0)
    levels = sorted({level for level in usage if level > 0})
    found: Line = [(0, nothing), *((level / most, [min(one, level) for one in usage]) for level in levels)]
    return [*found, (2, demand)] if levels else [(0, nothing), (1, nothing), (2, demand)]


def side_by_side(children: Sequence[tuple[Number, Offer]], size: int) -> Line:
    """The sum over children, by weight: at every point of any of them all are asked."""
    if not children:
        return [(0, [0] * size), (1, [0] * size)]
    lightest = min(weight for weight, _ in children)
    same = children[0][1].same
    places = sorted({s * lightest / weight for weight, offer in children for s in offer.s} | {0, 1})
    found: Line = []
    for place in places:
        if place > 1 or (found and place - found[-1][0] <= same * place):
            continue
        asked = [(offer, min(1, place * weight / lightest)) for weight, offer in children]
        low = add((offer.at(suggestion)[1] for offer, suggestion in asked), size)
        high = add((offer.beyond(suggestion) for offer, suggestion in asked), size)
        found.append((place, low))
        if any(b > a + same for a, b in zip(low, high, strict=True)):
            found.append((place, high))
    return found


def one_after_another(children: Sequence[Offer], size: int) -> Line:
    """Each child is fully served before the next one begins."""
    found: Line = [(0, [0] * size)]
    for number, offer in enumerate(children):
        base = found[-1][1]
        found += [(number + s, add((base, y), size)) for s, y in zip(offer.s, offer.y, strict=True) if s <= 1]
        found.append((number + 1, add((base, offer.at(1)[1]), size)))
    return found


def offer_of(line: Line, guarantee: Vector, limits: Vector, same: Number) -> Offer:
    """How far a suggestion carries: until some resource is that much above its guarantee, or at its limit."""
    start, end = line[0][1], line[-1][1]
    most = [min(max(a, low), high) for a, low, high in zip(limits, start, end, strict=True)]
    floor = [min(max(a, low), high) for a, low, high in zip(guarantee, start, most, strict=True)]
    line = _kinked(_up_to(line, most, same), floor)
    s: Vector = []
    f: Vector = []
    y: list[Vector] = []
    reached: Number = 0
    for place, share in line:
        before, reached = reached, max(reached, *(a - b for a, b in zip(share, floor, strict=True)))
        jump = [y[-1]] if f and place == f[-1] and reached > before else []
        for one in (*jump, share):
            s.append(reached if reached > same else 0)
            f.append(place)
            y.append(one)
    return Offer(s, f, y, same)


def _up_to(line: Line, most: Vector, same: Number) -> Line:
    """As far as every resource keeps its limit."""
    slack = 10 * same
    for at, (place, share) in enumerate(line):
        over = [r for r, (a, b) in enumerate(zip(share, most, strict=True)) if a > b + slack]
        if not over:
            continue
        before, low = line[at - 1]
        if place == before:
            return line[:at]
        part = max(0, min((most[r] - low[r]) / (share[r] - low[r]) for r in over))
        if part * (place - before) <= same * place:  # at a jump to the very limit the lower value counts
            first = next(number for number, (x, _) in enumerate(line) if x == before)
            return line[: first + 1]
        return [*line[:at], (before + part * (place - before), between(low, share, part))]
    return line


def _kinked(line: Line, floor: Vector) -> Line:
    """With points where another resource becomes the one that is furthest above its guarantee."""
    found = line[:1]
    for (x0, y0), (x1, y1) in pairwise(line):
        if x1 > x0:
            low = [*(a - b for a, b in zip(y0, floor, strict=True)), 0]
            rise = [*(b - a for a, b in zip(y0, y1, strict=True)), 0]
            parts = sorted(part for part in map(_crossing(low, rise), combinations(range(len(low)), 2)) if part)
            found += [(x0 + part * (x1 - x0), between(y0, y1, part)) for part in parts]
        found.append((x1, y1))
    return found


def _crossing(low: Vector, rise: Vector) -> Callable[[tuple[int, int]], Number]:
    """For two of these lines, where on the way from 0 to 1 they cross above all others; 0 where they do not."""

    def crossing(pair: tuple[int, int]) -> Number:
        one, other = pair
        if rise[one] == rise[other]:
            return 0
        part = (low[other] - low[one]) / (rise[one] - rise[other])
        if not 0 < part < 1:
            return 0
        height = low[one] + part * rise[one]
        return part if all(a + part * b <= height + 1e-15 for a, b in zip(low, rise, strict=True)) else 0

    return crossing
