"""Means and percentiles of one quantity, by group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cede.sim.measures.columns import Floats
from cede.sim.measures.sweep import Amounts

HALF = 26
"""Bits of the lower half: 2**27 of such halves can be added in a float without rounding."""

Values = list[float | None]


def spread(
    values: NDArray[np.generic], code: NDArray[np.int64], groups: int, percentiles: Sequence[int]
) -> tuple[Values, dict[int, Values]]:
    """The mean of each group, and each percentile by nearest rank; none of a group without values."""
    counts = np.bincount(code, minlength=groups)
    order = np.lexsort((values, code))
    ordered = np.asarray(values, np.float64)[order]
    ends = np.cumsum(counts)
    begins = ends - counts
    means = over(sums(ordered, code[order], groups), counts.astype(np.float64))
    ranks: dict[int, Values] = {}
    for percentile in percentiles:
        # The rank is the count times the percentile, rounded up: in whole numbers, so that 95 % of 20 is 19.
        at = begins + np.maximum((counts * percentile + 99) // 100, 1) - 1
        ranks[percentile] = [
            float(ordered[place]) if count else None for place, count in zip(at.tolist(), counts.tolist(), strict=True)
        ]
    return means, ranks


def sums(values: NDArray[np.generic], code: NDArray[np.int64], groups: int) -> Floats:
    """The sum of each group."""
    return np.bincount(code, weights=np.asarray(values, np.float64), minlength=groups).astype(np.float64)


def exact_sums(values: Amounts, code: NDArray[np.int64], groups: int) -> list[int]:
    """The sum of each group of whole numbers, exact: halves are added apart, so that floats hold them."""
    if values.dtype == object:
        found = [0] * groups
        for group, value in zip(code.tolist(), values.tolist(), strict=True):
            found[group] += value
        return found
    high, low = (sums(half, code, groups) for half in (values >> HALF, values & (2**HALF - 1)))
    return [(int(above) << HALF) + int(below) for above, below in zip(high, low, strict=True)]


def over(above: Floats, below: Floats) -> Values:
    """Each quotient; none where there is nothing to divide by."""
    return [float(a / b) if b else None for a, b in zip(above, below, strict=True)]
