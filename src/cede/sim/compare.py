"""Several doctrines or settings on one trace: every one with every seed is a task, and tasks run side by side.

`run_task` needs nothing but its task, which can be pickled: it may run in this process, in another, or elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cede.engine.whatif import WhatIf, cluster_if
from cede.model.errors import InputError, Problem
from cede.sim.choices import Choices
from cede.sim.comparing import Compared, Run, table
from cede.sim.measures.measure import measure
from cede.sim.measures.measured import Measured
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
    """One replay. `whole`: its tables are wanted, not its numbers alone."""

    variant: Variant
    trace: Trace
    cluster: object
    """The cluster file as plain data."""
    choices: Choices
    settings: Mapping[str, Any]
    warm_up: float = 0.0
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a task made; `interrupted`: it was stopped before it was done."""

    measured: Measured
    result: Result | None
    settings: Mapping[str, Any]
    interrupted: bool = False


def tasks_of(
    variants: Sequence[Variant],
    trace: Trace,
    cluster: object,
    choices: Choices,
    settings: Mapping[str, Any],
    *,
    repeats: int = 1,
    warm_up: float = 0.0,
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
            warm_up,
            whole=number == 0,
        )
        for number in range(repeats)
        for variant, plain in zip(variants, clusters, strict=True)
    ]


def run_task(task: Task, watch: Watch | None = None) -> Outcome:
    """The replay of this task, measured."""
    stopped = False

    def looks(now: int, submitted: int, finished: int) -> bool:
        nonlocal stopped
        stopped = watch is not None and not watch(now, submitted, finished)
        return not stopped

    cluster = cluster_if(task.cluster, task.variant.what_if)
    result = run(task.trace, cluster, task.choices, task.settings, looks)
    measured = measure(result, warm_up=task.warm_up)
    return Outcome(measured, result if task.whole else None, result.settings, stopped)


def compared(tasks: Sequence[Task], outcomes: Sequence[Outcome | None]) -> tuple[Compared, list[Result]]:
    """The table of what was done to its end, and the result of each run's first seed.

    A run of which the first seed was not done is left out, and so is every later seed that was not.
    """
    done: dict[str, list[tuple[int, Outcome]]] = {}
    for task, outcome in zip(tasks, outcomes, strict=True):
        if outcome is not None and not outcome.interrupted and (task.whole or task.variant.label in done):
            done.setdefault(task.variant.label, []).append((task.choices.seed, outcome))
    runs, results = [], []
    for label, found in done.items():
        first = found[0][1]
        assert first.result is not None, "the first of a run is whole"
        told = {key: value for key, value in first.settings.items() if key != "seed"}
        measured = [outcome.measured for _, outcome in found]
        seeds = tuple(seed for seed, _ in found)
        runs.append(Run(label, first.measured.doctrine, told, measured, seeds, first.measured.edition))
        results.append(first.result)
    return table(runs), results


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
