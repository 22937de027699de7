"""Means and percentiles of one quantity, by group."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cede.sim.measures.columns import Columns, Floats
from cede.sim.measures.step_functions import Amounts

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
        totals = [0] * groups
        for group, value in zip(code.tolist(), values.tolist(), strict=True):
            totals[group] += value
        return totals
    high, low = (sums(half, code, groups) for half in (values >> HALF, values & (2**HALF - 1)))
    return [(int(above) << HALF) + int(below) for above, below in zip(high, low, strict=True)]


def over(above: Floats, below: Floats) -> Values:
    """Each quotient; none where there is nothing to divide by."""
    return [float(a / b) if b else None for a, b in zip(above, below, strict=True)]


MOST_PRIORITIES = 12
"""Maximum number of priorities with a group of their own; of more, neighbours are put together."""
SIZES: Sequence[tuple[float, str]] = (
    (0, "0"),
    (1, "up to 1"),
    (4, "over 1 to 4"),
    (8, "over 4 to 8"),
    (32, "over 8 to 32"),
    (128, "over 32 to 128"),
    (float("inf"), "over 128"),
)
"""The most units of the main resource that a band has, and its name."""
NONE = "(none)"


@dataclass(frozen=True, slots=True)
class Groups:
    """`code[row]` is the place of the job's group in `labels`, which are in the order to show them in."""

    labels: tuple[str, ...]
    code: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


def grouped(table: Columns, by: str) -> Groups:
    """Every job's group; `by` is a grouping's name, or that of a column of jobs."""
    if by not in GROUPED and by not in table.jobs.columns:
        raise ValueError(f"{by} is no grouping; there are {', '.join(GROUPED)} and the columns of jobs")
    return GROUPED[by](table) if by in GROUPED else _by_column(table, by)


def _all(table: Columns) -> Groups:
    return Groups(("all",), np.zeros(len(table.submitted), np.int64))


def _by_column(table: Columns, name: str) -> Groups:
    """One group for each text of the column, by name."""
    values = table.jobs[name].cast(str).fill_null(NONE).to_list()
    labels = sorted(set(values))
    place = {label: at for at, label in enumerate(labels)}
    return Groups(tuple(labels), np.array([place[value] for value in values], np.int64))


def _by_priority(table: Columns) -> Groups:
    """Highest first; each its own group, or a band of neighbours with about as many jobs each."""
    values = table.jobs["priority"].fill_null(0).to_numpy().astype(np.int64)
    priorities, code, counts = np.unique(values, return_inverse=True, return_counts=True)
    band = np.arange(len(priorities))
    if len(priorities) > MOST_PRIORITIES:
        # A priority's band is the part of all jobs that its middle job is in.
        middle = np.cumsum(counts) - counts / 2
        band = np.unique((middle * MOST_PRIORITIES / counts.sum()).astype(np.int64), return_inverse=True)[1]
    last = int(band[-1]) if len(band) else 0
    members = [priorities[band == one] for one in range(last, -1, -1)] if len(priorities) else []
    labels = [str(own[0]) if len(own) == 1 else f"{own[0]} to {own[-1]}" for own in members]
    return Groups(tuple(labels), (last - band)[code].astype(np.int64))


def _by_size(table: Columns) -> Groups:
    """Smallest first; bands without jobs are left out."""
    units, code = np.unique(table.units, return_inverse=True)
    bands = np.array([bisect_left([most for most, _ in SIZES], unit) for unit in units.tolist()], np.int64)
    there, place = np.unique(bands, return_inverse=True)
    return Groups(tuple(SIZES[band][1] for band in there), place[code].astype(np.int64))


GROUPED: Mapping[str, Callable[[Columns], Groups]] = {
    "all": _all,
    "priority": _by_priority,
    "queue": lambda table: _by_column(table, "queue"),
    "size": _by_size,
}
