"""The exact vector fair share of YTsaurus; each function is asked at one point for its value and what comes next.

No function is ever added or inverted as a whole: a pool asks its children at the point where it stands, learns how far
they stay straight from there, and goes on from that point. All of it in fractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from tests.referees.ytsaurus_guarantees import fifo_order
from tests.referees.ytsaurus_tree import ONE, ZERO, Element, Tree, Vector, add

TINY = Fraction(1, 10**9)


class Germ(NamedTuple):
    """A function at one point: its value, its limit from above, and how it goes straight from there up to `until`."""

    value: Vector
    after: Vector
    slope: Vector
    until: Fraction | None


class Fit(NamedTuple):
    """The fit factor at a suggestion, right after it, how fast it grows from there, and until which suggestion."""

    at: Fraction
    after: Fraction
    slope: Fraction
    until: Fraction | None


class Curve:
    """F and S of one element. `extra` is the integral share, which counts like a guarantee."""

    def __init__(self, tree: Tree, element: Element) -> None:
        self.tree, self.element = tree, element
        self.zero: Vector = tuple(ZERO for _ in tree.resources)
        self.extra = self.zero
        self.idle = not any(element.demand)
        self.jumps = bool(tree.option("enable_improved_fair_share_by_fit_factor_computation", False))
        self.step = element.kind == "operation" and _is_step(tree, element)
        ordered = element.children
        self.fifo = element.settings.get("mode") == "fifo"
        if self.fifo:
            ordered = fifo_order(tree, element)
        self.children = [Curve(tree, child) for child in ordered]
        lightest = min((child.element.weight for child in self.children), default=ONE)
        self.rates = [child.element.weight / lightest for child in self.children]
        self.forget()

    def forget(self) -> None:
        """What was learned no longer holds: a guarantee below changed."""
        self._shares: dict[Fraction, Germ] = {}
        self._walked: list[tuple[Fraction, Germ]] | None = None
        self._ends: tuple[Vector, Vector, list[Fraction]] | None = None
        self._steps: list[tuple[Fraction, Fraction, list[int]]] = []

    @property
    def below(self) -> Iterator[Curve]:
        yield self
        for child in self.children:
            yield from child.below

    # -- F ---------------------------------------------------------------------------------------------------------

    @property
    def top(self) -> Fraction:
        """The largest fit factor."""
        if self.element.kind == "operation":
            return Fraction(2)
        return Fraction(len(self.children)) if self.fifo else ONE

    def fit(self, f: Fraction) -> Germ:
        """F at a fit factor."""
        if self.element.kind == "operation":
            return self._step(f) if self.step else self._ramp(f)
        germs = [self._part(index, f) for index in range(len(self.children))]
        if not germs:
            return Germ(self.zero, self.zero, self.zero, None)
        untils = [germ.until for germ in germs if germ.until is not None]
        value, after = add(*(one.value for one in germs)), add(*(one.after for one in germs))
        return Germ(value, after, add(*(one.slope for one in germs)), min(untils, default=None))

    def suggestion(self, index: int, f: Fraction) -> Fraction:
        """What a child is suggested at a fit factor."""
        return max(ZERO, min(ONE, f - index if self.fifo else f * self.rates[index]))

    def _part(self, index: int, f: Fraction) -> Germ:
        child, start = self.children[index], Fraction(index) if self.fifo else ZERO
        rate = ONE if self.fifo else self.rates[index]
        s = self.suggestion(index, f)
        germ = child.share(s)
        if f < start:
            return Germ(germ.value, germ.value, self.zero, start)
        if s == 1:
            return Germ(germ.value, germ.value, self.zero, None)
        until = ONE if germ.until is None else min(germ.until, ONE)
        return Germ(germ.value, germ.after, tuple(one * rate for one in germ.slope), start + until / rate)

    def _ramp(self, f: Fraction) -> Germ:
        usage, demand = self.element.usage, self.element.demand
        most = max(usage, default=ZERO)
        if f < 1:
            value = tuple(min(one, f * most) for one in usage)
            bends = [one / most for one in usage if most and one / most > f]
            slope = tuple(most if one > f * most else ZERO for one in usage)
            return Germ(value, value, slope, min([ONE, *bends]))
        rise = tuple(more - one for one, more in zip(usage, demand, strict=True))
        value = tuple(one + (f - 1) * more for one, more in zip(usage, rise, strict=True))
        return Germ(value, value, rise, None)

    def _step(self, f: Fraction) -> Germ:
        demand = self.element.demand
        if f < 1:
            return Germ(self.zero, self.zero, self.zero, ONE)
        return Germ(demand if f > 1 else self.zero, demand, self.zero, None)

    def walk(self) -> list[tuple[Fraction, Germ]]:
        """F from 0 on, straight piece by straight piece, and the top."""
        if self._walked is None:
            self._walked, f = [], ZERO
            while f < self.top:
                germ = self.fit(f)
                last = self._walked[-1][1] if self._walked else None
                if last is None or germ.after != germ.value or germ.slope != last.slope:
                    self._walked.append((f, germ))
                f = self.top if germ.until is None else min(germ.until, self.top)
            self._walked.append((self.top, self.fit(self.top)))
            if self.jumps and not self.fifo:
                self._walked = self._stretched(self._walked)
        return self._walked

    def _stretched(self, walked: list[tuple[Fraction, Germ]]) -> list[tuple[Fraction, Germ]]:
        """The walk with room, where several children jump at one fit factor, for one jump after the other, in order."""
        found, shift = [], ZERO
        for f, germ in walked:
            movers = [index for index in range(len(self.children)) if f < self.top and self._jumps(index, f)]
            movers.sort(key=self._place)
            value = germ.value
            if len(movers) > 1:
                self._steps.append((f + shift, f, movers))
            for index in movers[:-1]:
                part = self._part(index, f)
                after = tuple(a - b + c for a, b, c in zip(value, part.value, part.after, strict=True))
                found.append((f + shift, Germ(value, after, self.zero, None)))
                value, shift = after, shift + 1
            found.append((f + shift, germ._replace(value=value)))
        return found

    def _jumps(self, index: int, f: Fraction) -> bool:
        part = self._part(index, f)
        return part.after != part.value

    def _unstretched(self, f: Fraction) -> tuple[Fraction, list[int]]:
        """A place on the walk as fit factor, and who has jumped there already."""
        shift = ZERO
        for begin, at, movers in self._steps:
            if begin < f <= begin + len(movers) - 1:
                return at, movers[: ceil(f - begin)]
            if f > begin:
                shift += len(movers) - 1
        return f - shift, []

    def _place(self, index: int) -> int:
        return self.element.children.index(self.children[index].element)

    def look(self, f: Fraction) -> Germ:
        """F at a fit factor, from the piece of the walk that it lies on."""
        pieces = self.walk()
        index = max(number for number, (x, _) in enumerate(pieces) if x <= f)
        x, germ = pieces[index]
        until = pieces[index + 1][0] if index + 1 < len(pieces) else None
        if x == f:
            return germ._replace(until=until)
        value = tuple(a + (f - x) * b for a, b in zip(germ.after, germ.slope, strict=True))
        return Germ(value, value, germ.slope, until)

    # -- S ---------------------------------------------------------------------------------------------------------

    def ends(self) -> tuple[Vector, Vector, list[Fraction]]:
        """Guarantee and limits between the least and the most that F gives, and the fit factors at the limits."""
        if self._ends is None:
            low, high = self.walk()[0][1].value, self.walk()[-1][1].value
            own = add(self.element.guarantee, self.extra)
            limits = tuple(max(a, min(x, b)) for a, x, b in zip(low, self.element.limits, high, strict=True))
            guarantee = tuple(max(a, min(x, b)) for a, x, b in zip(low, own, limits, strict=True))
            self._ends = guarantee, limits, [self.highest(r, bound) for r, bound in enumerate(limits)]
        return self._ends

    def highest(self, r: int, bound: Fraction) -> Fraction:
        """The largest f with F[r](f) <= bound."""
        pieces = self.walk()
        for (f, germ), (_, end) in pairwise(pieces):
            if germ.after[r] > bound:
                return f
            if end.value[r] > bound:
                return f + (bound - germ.after[r]) / germ.slope[r]
        return pieces[-1][0]

    def lowest(self, r: int, bound: Fraction) -> Fraction:
        """The smallest f with F[r](f) >= bound; at a jump over it, where the jump is."""
        pieces = self.walk()
        for (f, germ), (_, end) in pairwise(pieces):
            if germ.after[r] >= bound:
                return f
            if end.value[r] >= bound:
                return f + (bound - germ.after[r]) / germ.slope[r]
        return pieces[-1][0]

    def fitted(self, s: Fraction) -> Fit:
        """The fit factor at a suggestion: the least that any resource allows."""
        lines = [self._line(r, s) for r in range(len(self.zero))]
        if not lines:
            return Fit(self.top, self.top, ZERO, None)
        after = min(line.after for line in lines)
        slope = min(line.slope for line in lines if line.after == after)
        untils = [line.until for line in lines if line.until is not None]
        untils += [s + (line.after - after) / (slope - line.slope) for line in lines if line.slope < slope]
        return Fit(min(line.at for line in lines), after, slope, min(untils, default=None))

    def _line(self, r: int, s: Fraction) -> Fit:
        low, high, last = (column[r] for column in self.ends())
        if s > high - low or (s == high - low == 0):
            return Fit(last, last, ZERO, None)
        at = self.highest(r, low) if s == 0 else self.lowest(r, low + s)
        if s == high - low:
            return Fit(at, last, ZERO, None)
        after = self.highest(r, low + s)
        pieces = self.walk()
        index = max(number for number, (f, _) in enumerate(pieces) if f <= after)
        germ = pieces[index][1]
        if pieces[index][0] == after and germ.after[r] > low + s:
            return Fit(at, after, ZERO, min(germ.after[r], high) - low)
        return Fit(at, after, 1 / germ.slope[r], min(pieces[index + 1][1].value[r], high) - low)

    def share(self, s: Fraction) -> Germ:
        """S at a suggestion."""
        if self.idle:
            return Germ(self.zero, self.zero, self.zero, None)
        if s not in self._shares:
            at, after, slope, until = self.fitted(s)
            value, germ = self.look(at).value, self.look(after)
            if slope == 0:
                self._shares[s] = Germ(value, germ.value, self.zero, until)
            else:
                end = None if germ.until is None else s + (germ.until - after) / slope
                known = [one for one in (until, end) if one is not None]
                rise = tuple(one * slope for one in germ.slope)
                self._shares[s] = Germ(value, germ.after, rise, min(known, default=None))
        return self._shares[s]

    # -- distribution ------------------------------------------------------------------------------------------------

    def give(self, s: Fraction, found: dict[Element, Vector], *, beyond: bool = False) -> Vector:
        """Shares of the element and all below it at a suggestion, or right beyond it."""
        fit = self.fitted(s)
        f, moves = (fit.after, fit.slope > 0) if beyond else (fit.at, False)
        if self.element.kind == "operation":
            found[self.element] = self.fit(f).after if moves else self.fit(f).value
            return found[self.element]
        f, jumped = self._unstretched(f)
        after = [index in jumped or (moves and self._moves(index, f)) for index in range(len(self.children))]
        for index, child in enumerate(self.children):
            child.give(self.suggestion(index, f), found, beyond=after[index])
        found[self.element] = add(self.zero, *(found[child.element] for child in self.children))
        return found[self.element]

    def _moves(self, index: int, f: Fraction) -> bool:
        """Whether a child is suggested more as soon as the fit factor grows."""
        return (not self.fifo or f >= index) and self.suggestion(index, f) < 1


def _is_step(tree: Tree, operation: Element) -> bool:
    """A gang gets all or nothing where the tree says so and its own pool does not say otherwise."""
    name = "enable_step_function_for_gang_operations"
    agrees = all(one.settings.get(name) is not False for one in operation.pools[:1])
    return bool(operation.settings.get("is_gang") and tree.option(name, False) and agrees)


def distribute(tree: Tree, root: Curve) -> None:
    """Fair shares of all, and what their pools promise them."""
    found: dict[Element, Vector] = {}
    root.give(ONE, found)
    promised: dict[Element, Vector] = {}
    _promise(root, promised)
    for element in tree.elements:
        element.share = tuple(one if one >= TINY else ZERO for one in found[element])
        element.promised = promised.get(element, root.zero)


def _promise(curve: Curve, found: dict[Element, Vector]) -> None:
    if curve.element.settings.get("compute_promised_guarantee_fair_share"):
        curve.give(ZERO, found)
        return
    for child in curve.children:
        _promise(child, found)


def parts(element: Element) -> dict[str, Vector]:
    """What of a share is owed to the guarantee, to the integral guarantee, and to the weight."""
    strong = tuple(map(min, element.share, element.guarantee))
    integral = tuple(min(a - b, c) for a, b, c in zip(element.share, strong, element.integral, strict=True))
    rest = tuple(a - b - c for a, b, c in zip(element.share, strong, integral, strict=True))
    return {"strong": strong, "integral": integral, "weight": rest}
