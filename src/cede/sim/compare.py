"""Several doctrines or settings on one trace: every one with every seed is a task, and tasks run side by side.

`run_task` needs nothing but its task, which can be pickled: it may run in this process, in another, or elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from cede.engine.whatif import WhatIf, cluster_if
from cede.model.errors import InputError, Problem
from cede.sim.choices import Choices
from cede.sim.comparing import MOST_UNDONE, Compared, Run, table, undone
from cede.sim.measures.measure import Yard, measure
from cede.sim.replay import Watch
from cede.sim.result import Result
from cede.sim.running import check_doctrine, ready, run
from cede.sim.traces.trace import Trace


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
    choices: Choices
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
    choices: Choices,
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
    result = run(task.trace, cluster, task.choices, task.settings, looks)
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
        label: [measure(result, warm_up=warm_up) for result in found.values()]
        for label, found in done.items()
    }  # fmt: skip
    judged = {label for label, found in alone.items() if undone(found) <= MOST_UNDONE}
    common = _common({label: found for label, found in done.items() if label in judged} or done)
    runs = []
    for label, found in done.items():
        first = next(iter(found.values()))
        told = {key: value for key, value in first.settings.items() if key != "seed"}
        measured = [
            measure(result, warm_up=warm_up, common=common.get(seed), yard=yard) for seed, result in found.items()
        ]
        runs.append(Run(label, first.doctrine, told, measured, tuple(found), first.edition, judged=label in judged))
    return table(runs), [next(iter(found.values())) for found in done.values()]


def _common(done: Mapping[str, Mapping[int, Result]]) -> dict[int, frozenset[str]]:
    """The names of the jobs that every one of these runs finished, by seed."""
    found: dict[int, frozenset[str]] = {}
    for results in done.values():
        for seed, result in results.items():
            finished = frozenset(result.jobs.filter(pl.col("state") == "completed")["name"])
            found[seed] = found[seed] & finished if seed in found else finished
    return found


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
