"""Several runs side by side: each measure of each group, which run is best there, and what chance could explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isclose
from statistics import fmean, stdev
from typing import Any

import polars as pl

from cede.engine.whatif import WhatIf, cluster_if
from cede.model.errors import InputError, Problem
from cede.sim.measures.definitions import MEASURES, Measure
from cede.sim.measures.measure import GROUPINGS, Measured, Yard, measure
from cede.sim.options import ReplayChoices
from cede.sim.paired_test import LEAST, LEVEL, chance, told_apart
from cede.sim.replay import Watch
from cede.sim.result import Result
from cede.sim.simulate import check_doctrine, checked_replay, ready
from cede.sim.traces.trace import Trace

SCHEMA = "cede-compare/2"
MOST_UNDONE = 0.005
"""A run that refuses, ends for good or leaves waiting for ever more than this share of the work is not judged."""

TOO_FEW = (
    "No run is marked best or like the best: that takes at least {least} repeats with seeds, and each run was replayed "
    "{times}. A difference may be chance; --shake --repeat {least} tells."
)
PAIRED = (
    "Repeats with the same seed see the same shaken trace, so runs are compared seed by seed. A run is like the best "
    f"(≈) if a two-sided paired t test of its differences from it does not rule chance out at {LEVEL:.0%}, with Holm's "
    "correction for the runs of the row. Rows are not corrected for each other: of twenty rows without any real "
    "difference one will look like one."
)
LIKE = (
    "Measures of jobs (waits, completion times, slowdowns, preemptions a job, inversion) are over the {common:,} of "
    "{jobs:,} jobs that every judged run finished{spread}; what a run did not finish is counted in jobs and hours. "
    "Measures of the cluster and of decisions are over all it did."
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
    judged: bool = True
    """Whether it did enough of the work to be compared: it has no marks otherwise, and narrows nobody's jobs."""

    @property
    def undone(self) -> float:
        """The share of the work that it refused, ended for good or left waiting for ever, on average."""
        return undone(self.results)


@dataclass(frozen=True, slots=True)
class Cell:
    """What one run has in one row: the mean over its repeats, the least and the most of them."""

    value: float | None
    low: float | None = None
    high: float | None = None
    best: bool = False
    """No other run is better, and not all are equal."""
    within_noise: bool = False
    """Not best, but chance is not ruled out as the cause of its difference from the best."""
    difference: float | None = None
    """The mean of its differences from the best run, seed by seed; none for the best itself or without one."""
    spread: float | None = None
    """The standard deviation of those differences; of the best run: of its own values. None with one repeat."""
    chance: float | None = None
    """The p of the paired t test against the best run; none for the best itself, or with too few repeats."""


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


def undone(results: Sequence[Measured]) -> float:
    """The share of the work that was refused, ended for good or left waiting for ever, on average over repeats."""
    shares = [
        (one.value("refused_share") or 0.0) + (one.value("failed_share") or 0.0) + one.stranded.share
        for one in results
    ]  # fmt: skip
    return fmean(shares) if shares else 0.0


def table(runs: Sequence[Run]) -> Compared:
    """Every measure of every group that any run has a number for."""
    runs = tuple(runs)
    for run in runs:
        if len(run.results) != len(run.seeds):
            raise ValueError(f"{run.label} has {len(run.results)} results for {len(run.seeds)} seeds")
    every_row = [
        Row(by, group, measure, _cells(runs, by, group, measure)) for by, group in _groups(runs) for measure in MEASURES
    ]
    rows = tuple(row for row in every_row if any(cell.value is not None for cell in row.cells))
    repeats = min((len(run.results) for run in runs), default=0)
    return Compared(runs, rows, repeats, _stated(runs, repeats))


def to_json(compared: Compared, judgement: Mapping[str, Any]) -> dict[str, Any]:
    """The comparison as plain data: docs/reference/measures.md has the schema."""
    return {
        "schema": SCHEMA,
        "repeats": compared.repeats,
        "judgement": judgement,
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
                "judged": run.judged,
                "undone": run.undone,
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
            "chance": cell.chance,
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
    each = {run.label: _values(run, by, group, measure.key) for run in runs}
    plain = {label: _plain(values) for label, values in each.items()}
    judged = {run.label: plain[run.label].value for run in runs if run.judged}
    known = {label: value for label, value in judged.items() if value is not None}
    values = list(known.values())
    if measure.better is None or len(known) < 2 or _equal(min(values), max(values)):
        return tuple(plain.values())
    best = min(values) if measure.better == "low" else max(values)
    against = each[next(label for label, value in known.items() if value == best)]
    return tuple(_against(known, each, against, best, plain))


def _against(
    known: Mapping[str, float],
    each: Mapping[str, Mapping[int, float]],
    against: Mapping[int, float],
    best: float,
    plain: Mapping[str, Cell],
) -> list[Cell]:
    """The cells of a row with their distance from the best, and marks where there are repeats enough for them."""
    pairs = {label: [own[seed] - against[seed] for seed in own if seed in against] for label, own in each.items()}
    others = {label for label in known if not _equal(known[label], best) and len(pairs[label]) >= LEAST}
    chances = {label: probability for label in others if (probability := chance(pairs[label])) is not None}
    apart = told_apart(chances)
    marks = len(against) >= LEAST
    cells: list[Cell] = []
    for label, cell in plain.items():
        own = pairs[label]
        if label not in known:
            cells.append(cell)
        elif _equal(known[label], best):
            cells.append(replace(cell, best=marks))
        else:
            cells.append(
                replace(
                    cell,
                    within_noise=label in chances and label not in apart,
                    difference=fmean(own) if own else None,
                    spread=stdev(own) if len(own) > 1 else None,
                    chance=chances.get(label),
                )
            )
    return cells


def _values(run: Run, by: str, group: str, key: str) -> dict[int, float]:
    """The run's number for each seed that gave one."""
    values = {seed: one.value(key, by, group) for seed, one in zip(run.seeds, run.results, strict=True)}
    return {seed: value for seed, value in values.items() if value is not None}


def _plain(values: Mapping[int, float]) -> Cell:
    if not values:
        return Cell(None)
    every = list(values.values())
    return Cell(fmean(every), min(every), max(every), spread=stdev(every) if len(every) > 1 else None)


def _equal(one: float, other: float) -> bool:
    """Alike but for the last digits of a float, which say nothing."""
    return isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def _stated(runs: Sequence[Run], repeats: int) -> tuple[str, ...]:
    """What the first repeat of each run states, with whose it is unless all say it; and what is true of all of them."""
    own = said_by([(run.label, one.stated) for run in runs for one in run.results[:1]])
    if len(runs) < 2:
        return tuple(own)
    return (*_unlike(runs), *own, *_common_notes(runs), PAIRED if repeats >= LEAST else _too_few(repeats))


def said_by(said: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Each sentence once, with whose it is unless all say it."""
    lines = []
    for sentence in dict.fromkeys(sentence for _, sentences in said for sentence in sentences):
        labels = [label for label, sentences in said if sentence in sentences]
        lines.append(sentence if len(labels) == len(said) else f"{', '.join(labels)}: {sentence}")
    return lines


def _too_few(repeats: int) -> str:
    return TOO_FEW.format(least=LEAST, times="once" if repeats == 1 else f"{repeats} times")


def _common_notes(runs: Sequence[Run]) -> list[str]:
    """Over which jobs of the first seed; how much that differs with the others."""
    judged = [run for run in runs if run.judged] or list(runs)
    counts = [round(one.value("compared") or 0) for one in judged[0].results]
    jobs = [round(one.value("jobs") or 0) for one in judged[0].results]
    if not counts:
        return []
    spread = "" if min(counts) == max(counts) else f" (with other seeds {min(counts):,} to {max(counts):,})"
    return [LIKE.format(common=counts[0], jobs=jobs[0], spread=spread)]


def _unlike(runs: Sequence[Run]) -> list[str]:
    """What is not the same for all runs although nobody varied it."""
    ways = {run.label: str(run.settings.get("backfill", "off")) for run in runs}
    if len(set(ways.values())) < 2:
        return []
    told = "; ".join(f"{way}: {', '.join(label for label, own in ways.items() if own == way)}" for way in
                     dict.fromkeys(ways.values()))  # fmt: skip
    return [f"Runs do not backfill alike, and part of a difference in waits is that ({told})."]


@dataclass(frozen=True, slots=True)
class Variant:
    """One column of a comparison: the cluster file, or another one, with these changes."""

    label: str
    what_if: WhatIf
    cluster: object | None = None
    """The plain data of the other file."""
    file: str | None = None
    """What that is called."""


@dataclass(frozen=True, slots=True)
class Task:
    """One replay. `whole`: its moments are wanted, too."""

    variant: Variant
    trace: Trace
    cluster: object
    """The cluster file as plain data."""
    choices: ReplayChoices
    settings: Mapping[str, Any]
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a task made; `interrupted`: it was stopped before it was done."""

    result: Result
    interrupted: bool = False


def tasks_of(
    variants: Sequence[Variant],
    trace: Trace,
    cluster: object,
    choices: ReplayChoices,
    settings: Mapping[str, Any],
    *,
    repeats: int = 1,
) -> list[Task]:
    """A task for every variant with every seed, the first seed of all of them first; all is known to be ready to run.

    An InputError says which variant cannot be run, and why.
    """
    _check_labels(variants)
    clusters = [cluster if variant.cluster is None else variant.cluster for variant in variants]
    for variant, plain in zip(variants, clusters, strict=True):
        try:
            check_doctrine(variant.what_if.doctrine)
            ready(trace, cluster_if(plain, variant.what_if), choices)
        except InputError as error:
            told = (Problem(_place(variant, problem), problem.message, problem.hint) for problem in error.problems)
            raise InputError(told) from None
    return [
        Task(
            variant,
            trace,
            plain,
            replace(choices, seed=choices.seed + number),
            {**settings, **_told(variant)},
            whole=number == 0,
        )
        for number in range(repeats)
        for variant, plain in zip(variants, clusters, strict=True)
    ]


def run_task(task: Task, watch: Watch | None = None) -> Outcome:
    """The replay of this task."""
    stopped = False

    def looks(now: int, submitted: int, finished: int) -> bool:
        nonlocal stopped
        stopped = watch is not None and not watch(now, submitted, finished)
        return not stopped

    cluster = cluster_if(task.cluster, task.variant.what_if)
    result = checked_replay(task.trace, cluster, task.choices, task.settings, looks)
    return Outcome(result if task.whole else replace(result, moments={}), stopped)


def compared(
    tasks: Sequence[Task],
    outcomes: Sequence[Outcome | None],
    *,
    warm_up: float = 0.0,
    yard: Yard = Yard(),  # noqa: B008
) -> tuple[Compared, list[Result]]:
    """The table of what was done to its end, and the result of each run's first seed.

    A run of which the first seed was not done is left out, and so is every later seed that was not. Measures of jobs
    are over those that every judged run finished with that seed.
    """
    done: dict[str, dict[int, Result]] = {}
    for task, outcome in zip(tasks, outcomes, strict=True):
        if outcome is not None and not outcome.interrupted and (task.whole or task.variant.label in done):
            done.setdefault(task.variant.label, {})[task.choices.seed] = outcome.result
    alone = {
        label: [measure(result, warm_up=warm_up) for result in by_seed.values()]
        for label, by_seed in done.items()
    }  # fmt: skip
    judged = {label for label, by_seed in alone.items() if undone(by_seed) <= MOST_UNDONE}
    common = _common({label: by_seed for label, by_seed in done.items() if label in judged} or done)
    runs = []
    for label, by_seed in done.items():
        first = next(iter(by_seed.values()))
        told = {key: value for key, value in first.settings.items() if key != "seed"}
        measured = [
            measure(result, warm_up=warm_up, common=common.get(seed), yard=yard) for seed, result in by_seed.items()
        ]
        runs.append(Run(label, first.doctrine, told, measured, tuple(by_seed), first.edition, judged=label in judged))
    return table(runs), [next(iter(by_seed.values())) for by_seed in done.values()]


def _common(done: Mapping[str, Mapping[int, Result]]) -> dict[int, frozenset[str]]:
    """The names of the jobs that every one of these runs finished, by seed."""
    names: dict[int, frozenset[str]] = {}
    for results in done.values():
        for seed, result in results.items():
            finished = frozenset(result.jobs.filter(pl.col("state") == "completed")["name"])
            names[seed] = names[seed] & finished if seed in names else finished
    return names


def _check_labels(variants: Sequence[Variant]) -> None:
    labels = [variant.label for variant in variants]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise InputError([Problem("compare", f"{twice[0]!r} stands for two runs", "give each a name of its own")])


def _place(variant: Variant, problem: Problem) -> str:
    return f"{variant.label}: {problem.path}" if problem.path else variant.label


def _told(variant: Variant) -> dict[str, Any]:
    """What is chosen for this run: its file, the doctrine, and the values that are set."""
    chosen = {"cluster": variant.file, "doctrine": variant.what_if.doctrine, "set": list(variant.what_if.set)}
    return {name: value for name, value in chosen.items() if value}
