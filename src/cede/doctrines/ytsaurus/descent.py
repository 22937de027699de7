"""Shares read off many curves at once, for the way from the root down."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cede.doctrines.ytsaurus.curves import ROUNDING, Curve, Floats, Rows

SPARE = 8
LEAST = float(np.nextafter(0.0, 1.0))


class Curves:
    """Curves end to end, each with some room to grow in, so that one that changes is written in its place."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        lengths = np.array([len(curve.s) for curve in curves], np.intp)
        self._room = lengths + lengths // 8 + SPARE
        self.begin: Rows = np.cumsum(self._room) - self._room
        self.end: Rows = self.begin.copy()
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

    def at(self, which: Rows, suggestion: Floats) -> tuple[Floats, Floats]:
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

    def _first(self, low: Rows, high: Rows, wanted: Floats) -> Rows:
        """The first place from `low` on, before `high`, whose suggestion is not less than wanted; else `high`."""
        for _ in range(int((high - low).max(initial=1)).bit_length()):
            middle = (low + high) // 2
            less = (low < high) & (self.s[np.minimum(middle, len(self.s) - 1)] < wanted)
            low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
        return low
