"""Step functions over time, exact: what some intervals hold together at every moment, and sums over time of that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
Amounts = NDArray[Any]
"""Whole numbers: int64, or Python's own (dtype object) where those could overflow."""

SAFE = 2**62


@dataclass(frozen=True, slots=True)
class Levels:
    """`level[i]` holds from `at[i]` until `at[i + 1]`; `at` rises strictly, and after the last the level is 0."""

    at: Times
    level: Amounts

    def clipped(self, begin: int, end: int) -> Levels:
        """The same within [begin, end), where it is told from `begin` on even if nothing changes there."""
        if begin >= end:
            return Levels(np.array([begin], np.int64), np.zeros(1, self.level.dtype))
        first = int(np.searchsorted(self.at, begin, "right"))
        last = int(np.searchsorted(self.at, end, "left"))
        before = self.level[first - 1 : first] if first else np.zeros(1, self.level.dtype)
        at = np.concatenate(([begin], self.at[first:last], [end])).astype(np.int64)
        return Levels(at, np.concatenate((before, self.level[first:last], np.zeros(1, self.level.dtype))))

    def read(self, at: Times) -> Amounts:
        """The level at each of these times."""
        index = np.searchsorted(self.at, at, "right") - 1
        level = self.level[np.maximum(index, 0)] if len(self.level) else np.zeros(len(at), self.level.dtype)
        return np.where(index >= 0, level, 0)

    def areas(self) -> Amounts:
        """Level x time up to each `at`: exact."""
        steps = exact_product(self.level[:-1], np.diff(self.at))
        return np.concatenate((np.zeros(1, steps.dtype), exact_cumulative(steps)))

    def area(self) -> int:
        """Level x time over all of it: exact."""
        return exact_sum(exact_product(self.level[:-1], np.diff(self.at)))


def levels(starts: Times, ends: Times, amounts: Amounts) -> Levels:
    """What the intervals [start, end) hold together; the last level is 0."""
    if not len(starts):
        return Levels(np.zeros(1, np.int64), np.zeros(1, np.int64))
    times = np.concatenate((starts, ends))
    changes = np.concatenate((amounts, -amounts))
    order = np.argsort(times, kind="stable")
    times = times[order]
    running = exact_cumulative(changes[order])
    last = np.append(times[1:] != times[:-1], True)
    return Levels(times[last], running[last])


def together(*parts: Levels) -> tuple[Times, list[Amounts]]:
    """The levels of several step functions at every time that any of them changes."""
    at = np.unique(np.concatenate([part.at for part in parts]))
    return at, [part.read(at) for part in parts]


def averages(step: Levels, edges: Times) -> NDArray[np.float64]:
    """The time-average of the level between each two edges, which rise; 0 between equal ones."""
    areas = step.areas()
    index = np.searchsorted(step.at, edges, "right") - 1
    place = np.maximum(index, 0)
    within = exact_product(step.level[place], np.maximum(edges - step.at[place], 0))
    upto = np.where(index >= 0, areas[place] + within, 0)
    lengths = np.diff(edges)
    return np.asarray(np.diff(upto) / np.maximum(lengths, 1), np.float64)


def longest(at: Times, holds: NDArray[np.bool_]) -> int:
    """The longest unbroken time in which it holds; `holds[i]` is true from `at[i]` until `at[i + 1]`."""
    if len(at) < 2:
        return 0
    change = np.diff(np.concatenate(([False], holds[:-1], [False])).astype(np.int8))
    begins, ends = np.flatnonzero(change == 1), np.flatnonzero(change == -1)
    return int((at[ends] - at[begins]).max(initial=0))


def total(at: Times, holds: NDArray[np.bool_]) -> int:
    """All the time in which it holds."""
    return int(np.diff(at)[holds[:-1]].sum()) if len(at) > 1 else 0


def scaled(sizes: Sequence[int], also: Sequence[int] = ()) -> tuple[Amounts, int]:
    """The sizes in whole numbers of a unit, and the unit: what divides them and all else that will be counted in it."""
    unit = math.gcd(*sizes, *also) or 1
    most = max((*sizes, *also), default=0) // unit
    return np.array([size // unit for size in sizes], np.int64 if most < SAFE else object), unit


def exact_sum(values: Amounts) -> int:
    """The sum, whatever its size."""
    if values.dtype == object or not len(values):
        return int(sum(values.tolist()))
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def exact_cumulative(values: Amounts) -> Amounts:
    """The sum of each value and all before it."""
    if values.dtype != object and float(np.abs(values).sum(dtype=np.float64)) >= SAFE:
        values = values.astype(object)
    return np.cumsum(values)


def exact_product(left: Amounts, right: Amounts) -> Amounts:
    """Each times each."""
    if left.dtype != object and right.dtype != object:
        most = float(np.abs(left).max(initial=0)) * float(np.abs(right).max(initial=0))
        if most < SAFE:
            return left * right
    product: Amounts = left.astype(object) * right.astype(object)
    return product
