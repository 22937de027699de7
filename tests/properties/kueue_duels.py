"""Kueue clusters of one resource in one flavor where nearly everybody may take from everybody, and much is equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.properties.kueue_clusters import BORROW, STRATEGIES, Dice, Document

SHAPES: Sequence[dict[str, str | None]] = (
    {"r": None},
    {"r": None, "a": "r"},
    {"r": None, "a": "r", "b": "r"},
    {"r": None, "a": "r", "b": "a"},
    {"r": None, "a": "r", "b": "a", "c": "b"},
)
WEIGHTS = (None,) * 6 + (0.5, 0)
LENT = (None, None, None, 0, 1, 2)
POLICIES = ("LowerPriority", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority", "Never")
RECLAIM = ("Any", "Any", "LowerPriority", "LowerPriority", "Never")


@st.composite
def kueue_duels(draw: DrawFn, *, preemption: str | None = None) -> Document:
    """Plain documents; in some all queues have the same quota, in some one workload holds most, in some none lends."""
    dice = Dice(draw)
    shape, mode, strategies, queues, even, big, many, more, locked, spread = dice.pick(
        SHAPES,
        (preemption,) if preemption else ("Classical", "FairSharing"),
        STRATEGIES,
        (2, 3, 4, 5),
        (None, None, 2, 3),
        (0, 0, 6, 9),
        (2, 3, 4, 5, 6, 7, 8),
        (1, 1, 2, 3, 4, 5, 6),
        (False,) * 9 + (True,),
        (1, 2, 3),
    )
    doctrine: Document = {"name": "kueue", "preemption": mode}
    if strategies is not None and mode == "FairSharing":
        doctrine["strategies"] = strategies
    nodes = [_cohort(dice, name, parent) for name, parent in shape.items()]
    names = [f"q{number}" for number in range(queues)]
    nodes += [_queue(dice, name, list(shape), even) for name in names]
    workloads = [_running(dice, number, names, even=even is not None) for number in range(many)]
    if even is not None:
        _level(nodes[len(shape) :], workloads, list(shape)[-spread:])
    if locked:
        for node in nodes[1:]:
            node["lending_limit"] = {"cpu": 0}
    if big:
        workloads[0] |= {"queue": names[0], "usage": {"cpu": big}, "state": "running"}
    workloads += [_pending(dice, number, names) for number in range(more)]
    return {"cede": 1, "doctrine": doctrine, "queues": nodes, "workloads": workloads}


def _level(queues: Sequence[Document], running: Sequence[Document], cohorts: Sequence[str]) -> None:
    """Queues in turn to the cohorts, workloads in turn to the queues: as equal as can be."""
    for at, queue in enumerate(queues):
        queue["parent"] = cohorts[at % len(cohorts)]
    for at, workload in enumerate(running):
        workload["queue"] = queues[at % len(queues)]["name"]


def _given(**values: Any) -> Document:
    return {key: value for key, value in values.items() if value is not None}


def _cohort(dice: Dice, name: str, parent: str | None) -> Document:
    quota, lent, weight = dice.pick((None, None, 0, 2, 4), LENT, WEIGHTS)
    entry = _given(name=name, parent=parent, weight=weight)
    if quota is not None:
        entry["guaranteed"] = {"cpu": quota}
    if parent is not None and lent is not None:
        entry["lending_limit"] = {"cpu": lent}
    return entry


def _queue(dice: Dice, name: str, cohorts: Sequence[str], even: int | None) -> Document:
    parent, quota, lent, limit, weight = dice.pick(cohorts, (0, 1, 2, 3, 4, 6), LENT, (None,) * 7 + (1, 2), WEIGHTS)
    within, reclaim, borrow, strict = dice.pick(POLICIES, RECLAIM, BORROW, (False, False, True))
    entry = _given(name=name, parent=parent, weight=weight)
    entry["guaranteed"] = {"cpu": quota if even is None else even}
    if even is None and lent is not None:
        entry["lending_limit"] = {"cpu": lent}
    if even is None and limit is not None:
        entry["borrowing_limit"] = {"cpu": limit}
    settings: Document = {"withinClusterQueue": within, "reclaimWithinCohort": reclaim}
    if borrow is not None and reclaim != "Never":
        settings["borrowWithinCohort"] = borrow
    if strict:
        settings["queueingStrategy"] = "StrictFIFO"
    return entry | {"settings": settings}


def _running(dice: Dice, number: int, names: Sequence[str], *, even: bool) -> Document:
    queue, amount, priority, started, state, uid, submitted = dice.pick(
        [*names, names[0], names[0]],
        (1, 1, 2, 2, 2, 3, 4),
        (0, 0, 0, 1, 2),
        (-10, -10, -20),
        ("running", "running", "running", "running", "preempting"),
        range(3),
        (0, 1),
    )
    return {
        "name": f"w{number}",
        "uid": f"{uid}-{number}",
        "queue": queue,
        "priority": priority,
        "state": state,
        "submitted": -submitted,
        "started": started,
        "usage": {"cpu": 2 if even else amount},
    }


def _pending(dice: Dice, number: int, names: Sequence[str]) -> Document:
    queue, amount, priority, uid, submitted = dice.pick(names, (1, 1, 2, 2, 3, 4, 6), (0, 1, 2, 2, 3), range(2), (0, 1))
    return {
        "name": f"p{number}",
        "uid": f"{uid}-{number}",
        "queue": queue,
        "priority": priority,
        "submitted": -submitted,
        "requests": {"cpu": amount},
    }
