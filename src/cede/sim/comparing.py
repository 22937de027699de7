"""Several runs side by side: each measure of each group, which run is best there, and what is within noise of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose
from statistics import fmean, stdev
from typing import Any

from cede.sim.measures.definitions import MEASURES, Measure
from cede.sim.measures.measured import GROUPINGS, Measured

SCHEMA = "cede-compare/1"
T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12,
        2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042)  # fmt: skip
"""Student's t for a two-sided 95 % interval with 1, 2, ... 30 degrees of freedom."""
T_MANY = 2.042
"""For more than 30: that of 30, a little too wide."""

ONE_REPEAT = (
    "Each run was replayed once, so nothing is known about noise: a small difference may be chance. --repeat with "
    "--shake tells."
)
PAIRED = (
    "Repeats with the same seed see the same shaken trace, so runs are compared seed by seed. A run is within noise of "
    "the best if the 95 % interval of its differences from it (Student's t) includes 0; each row is judged by itself."
)
SURVIVORS = (
    "Waits are of jobs that started, completion times and slowdowns of jobs that completed: a run that leaves more "
    "jobs waiting can look better there. See never started and unfinished."
)


@dataclass(frozen=True, slots=True)
class Run:
    """One doctrine with its settings, replayed once for each seed; `results[i]` is that of `seeds[i]`."""

    label: str
    doctrine: str
    settings: Mapping[str, Any]
    results: Sequence[Measured]
    seeds: Sequence[int] = (0,)
    edition: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one run has in one row: the mean over its repeats, the least and the most of them."""

    value: float | None
    low: float | None = None
    high: float | None = None
    best: bool = False
    """No other run is better, and not all are equal."""
    within_noise: bool = False
    """Not best, but its difference from the best is no larger than chance would make it."""
    difference: float | None = None
    """The mean of its differences from the best run, seed by seed; none for the best itself or without one."""
    spread: float | None = None
    """The standard deviation of those differences; of the best run: of its own values. None with one repeat."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measure of one group; a cell for each run, in their order."""

    by: str
    group: str
    measure: Measure
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """`rows` are in the order of groups, then of measures; those that no run has a number for are left out."""

    runs: tuple[Run, ...]
    rows: tuple[Row, ...]
    repeats: int
    stated: tuple[str, ...] = field(default=())

    def row(self, key: str, by: str = "all", group: str = "all") -> Row:
        """One row by its names."""
        return next(row for row in self.rows if (row.measure.key, row.by, row.group) == (key, by, group))


def table(runs: Sequence[Run]) -> Compared:
    """Every measure of every group that any run has a number for."""
    runs = tuple(runs)
    for run in runs:
        if len(run.results) != len(run.seeds):
            raise ValueError(f"{run.label} has {len(run.results)} results for {len(run.seeds)} seeds")
    found = [
        Row(by, group, measure, _cells(runs, by, group, measure)) for by, group in _groups(runs) for measure in MEASURES
    ]
    rows = tuple(row for row in found if any(cell.value is not None for cell in row.cells))
    repeats = min((len(run.results) for run in runs), default=0)
    return Compared(runs, rows, repeats, _stated(runs, repeats))


def to_json(compared: Compared) -> dict[str, Any]:
    """The comparison as plain data: docs/reference/measures.md has the schema."""
    return {
        "schema": SCHEMA,
        "repeats": compared.repeats,
        "stated": list(compared.stated),
        "measures": [
            {"key": one.key, "title": one.title, "unit": one.unit, "better": one.better, "says": one.says}
            for one in MEASURES
        ],
        "runs": [
            {
                "label": run.label,
                "doctrine": run.doctrine,
                "edition": run.edition,
                "settings": dict(run.settings),
                "seeds": list(run.seeds),
                "resource": run.results[0].resource if run.results else None,
                "windows_us": [list(one.window) for one in run.results],
            }
            for run in compared.runs
        ],
        "rows": [_row_json(row, compared.runs) for row in compared.rows],
    }


def _row_json(row: Row, runs: Sequence[Run]) -> dict[str, Any]:
    cells = [
        {
            "run": run.label,
            "value": cell.value,
            "low": cell.low,
            "high": cell.high,
            "best": cell.best,
            "within_noise": cell.within_noise,
            "difference": cell.difference,
            "spread": cell.spread,
            "repeats": [one.value(row.measure.key, row.by, row.group) for one in run.results],
        }
        for run, cell in zip(runs, row.cells, strict=True)
    ]
    return {"by": row.by, "group": row.group, "measure": row.measure.key, "cells": cells}


def _groups(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Every group of any repeat, each kind together, in the order in which they first come."""
    seen = dict.fromkeys(at for run in runs for result in run.results for at in result.values)
    return sorted(seen, key=lambda at: GROUPINGS.index(at[0]))


def _cells(runs: Sequence[Run], by: str, group: str, measure: Measure) -> tuple[Cell, ...]:
    each = [_values(run, by, group, measure.key) for run in runs]
    plain = [_plain(values) for values in each]
    means = [cell.value for cell in plain]
    known = [mean for mean in means if mean is not None]
    if measure.better is None or len(known) < 2 or _equal(min(known), max(known)):
        return tuple(plain)
    best = min(known) if measure.better == "low" else max(known)
    against = each[means.index(best)]
    return tuple(_against(cell, values, against, best) for cell, values in zip(plain, each, strict=True))


def _values(run: Run, by: str, group: str, key: str) -> dict[int, float]:
    """The run's number for each seed that gave one."""
    found = {seed: one.value(key, by, group) for seed, one in zip(run.seeds, run.results, strict=True)}
    return {seed: value for seed, value in found.items() if value is not None}


def _plain(values: Mapping[int, float]) -> Cell:
    if not values:
        return Cell(None)
    every = list(values.values())
    return Cell(fmean(every), min(every), max(every), spread=stdev(every) if len(every) > 1 else None)


def _against(cell: Cell, values: Mapping[int, float], against: Mapping[int, float], best: float) -> Cell:
    if cell.value is None:
        return cell
    if _equal(cell.value, best):
        return Cell(cell.value, cell.low, cell.high, best=True, spread=cell.spread)
    pairs = [values[seed] - against[seed] for seed in values if seed in against]
    difference = fmean(pairs) if pairs else None
    spread = stdev(pairs) if len(pairs) > 1 else None
    within = difference is not None and spread is not None and abs(difference) <= _reach(spread, len(pairs))
    return Cell(cell.value, cell.low, cell.high, within_noise=within, difference=difference, spread=spread)


def _equal(one: float, other: float) -> bool:
    """Alike but for the last digits of a float, which say nothing."""
    return isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def _reach(spread: float, count: int) -> float:
    """Half of the 95 % interval of a mean of so many values."""
    freedom = count - 1
    return float((T_95[freedom - 1] if freedom <= len(T_95) else T_MANY) * spread / count**0.5)


def _stated(runs: Sequence[Run], repeats: int) -> tuple[str, ...]:
    """What the first repeat of each run states, with whose it is unless all say it; and what is true of all of them."""
    said = [(run.label, one.stated) for run in runs for one in run.results[:1]]
    every = dict.fromkeys(sentence for _, sentences in said for sentence in sentences)
    own = []
    for sentence in every:
        labels = [label for label, sentences in said if sentence in sentences]
        own += [sentence] if len(labels) == len(said) else [f"{label}: {sentence}" for label in labels]
    return (*own, SURVIVORS, PAIRED if repeats > 1 else ONE_REPEAT)
