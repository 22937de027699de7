"""What the plots are drawn from: every series that `report.js` takes, as plain data."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cede.sim.report.content import Content, Run

OTHER = "all others"
MOST_KINDS = 10
EDGES = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Between them lie the bins of hours that a preemption cost; the first bin holds exactly nothing."""
BINS = ("none", "< 0.01", "0.01–0.1", "0.1–1", "1–10", "10–100", "100–1000", "> 1000")
UNITS = ((4 * 86_400.0, 86_400.0, "days"), (4 * 3_600.0, 3_600.0, "hours"), (0.0, 60.0, "minutes"))
DISTRIBUTIONS: Mapping[str, tuple[str, str, bool]] = {
    "wait": ("Wait", "submission to first start; under 1 s is at 1 s", True),
    "slowdown": ("Bounded slowdown", "completion time over run time alone", False),
    "turnaround": ("Completion time", "submission to end", True),
}
"""Title, what it is, and whether it is a time."""


def plot_data(content: Content) -> dict[str, Any]:
    """All series, in few enough figures to be small and enough to be drawn."""
    span = max((run.timeline.times[-1] for run in content.runs if run.timeline.times), default=0.0)
    size, unit = next((size, unit) for least, size, unit in UNITS if span >= least)
    kinds = kinds_of(content.runs)
    used = [bin_ for bin_, counts in enumerate(_columns(content)) if any(counts)]
    last = max(used, default=0) + 1
    return {
        "resource": content.resource,
        "other": OTHER,
        "time": f"{unit} since the start",
        "span": [0, _short(span / size)],
        "most": _short(max((value for run in content.runs for value in _used(run)), default=1.0)),
        "mostWaiting": _short(max((value for run in content.runs for value in run.timeline.waiting), default=0.0)),
        "bins": list(BINS[:last]),
        "kinds": {"queue": {"names": kinds[0], "ordered": False}, "priority": {"names": kinds[1], "ordered": True}},
        "distributions": {
            key: {"time": time}
            for key, (_, _, time) in DISTRIBUTIONS.items()
            if all(key in run.distributions for run in content.runs)
        },
        "runs": [_run(run, size, kinds, last) for run in content.runs],
    }


def kinds_of(runs: Sequence[Run]) -> tuple[list[str], list[str]]:
    """Queues by how much they used, and priorities from the highest; the least used together as others."""
    queues: dict[str, float] = {}
    priorities: dict[str, float] = {}
    for run in runs:
        for name, series in run.timeline.by_queue.items():
            queues[name] = queues.get(name, 0.0) + sum(series)
        for name, series in run.timeline.by_priority.items():
            priorities[name] = priorities.get(name, 0.0) + sum(series)
    most_used = sorted(queues, key=lambda name: (-queues[name], name))
    return _limited(most_used, most_used), _limited(
        list(priorities), sorted(priorities, key=lambda name: -priorities[name])
    )


def _limited(names: list[str], most_used: list[str]) -> list[str]:
    if len(names) <= MOST_KINDS:
        return names
    kept = set(most_used[: MOST_KINDS - 1])
    return [*(name for name in names if name in kept), OTHER]


def _run(run: Run, size: float, kinds: tuple[list[str], list[str]], bins: int) -> dict[str, Any]:
    timeline = run.timeline
    counts, sums = _binned(run.spent)
    return {
        "label": run.label,
        "times": [_short(time / size) for time in timeline.times],
        "capacity": _steps(timeline.capacity),
        "waiting": _steps(timeline.waiting),
        "preemptions": [*timeline.preemptions, 0],
        "queue": _stacked(timeline.by_queue, kinds[0], len(timeline.times)),
        "priority": _stacked(timeline.by_priority, kinds[1], len(timeline.times)),
        "losses": {"counts": counts[:bins], "hours": [_short(value) for value in sums[:bins]]},
        "distributions": {
            key: {"values": [_short(value) for value in one.values], "share": [_short(value) for value in one.share]}
            for key, one in run.distributions.items()
        },
    }


def _stacked(series: Mapping[str, Sequence[float]], names: list[str], length: int) -> list[list[float]]:
    """A series for each name; what has no name of its own is in the others."""
    nothing = [0.0] * max(0, length - 1)
    rest = [values for name, values in series.items() if name not in names]
    by_name = {**series, OTHER: [sum(column) for column in zip(*rest, strict=True)] if rest else nothing}
    return [_steps(by_name.get(name, nothing)) for name in names]


def _steps(values: Iterable[float]) -> list[float]:
    """One more than the intervals: the last stays at its height up to the end."""
    steps = [_short(value) for value in values]
    return [*steps, *steps[-1:]]


def _used(run: Run) -> list[float]:
    used = [sum(column) for column in zip(*run.timeline.by_queue.values(), strict=True)]
    return [*used, *run.timeline.capacity]


def _columns(content: Content) -> list[tuple[int, ...]]:
    return list(zip(*(_binned(run.spent)[0] for run in content.runs), strict=True))


def _binned(spent: Sequence[float]) -> tuple[list[int], list[float]]:
    counts, sums = [0] * len(BINS), [0.0] * len(BINS)
    for hours in spent:
        place = bisect_right(EDGES, hours) if hours > 0 else 0
        counts[place] += 1
        sums[place] += hours
    return counts, sums


def _short(value: float) -> float:
    """Five figures: more than a screen can show."""
    if not math.isfinite(value):
        return 0.0
    rounded = float(f"{value:.5g}")
    return int(rounded) if rounded == int(rounded) else rounded
