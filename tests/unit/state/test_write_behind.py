"""Columns that nobody read for a while say the same as columns that were read after every event."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.model.cluster import Workload
from cede.state.build import build
from cede.state.columns import CHECKPOINTING, PENDING, PREEMPTING, RESERVED, RUNNING, SUSPENDED
from cede.state.snapshot import snapshot
from cede.state.state import State

KINDS: list[dict[str, Any]] = [
    {"requests": {"gpu": 1, "cpu": 2}, "queue": "a"},
    {"requests": {"gpu": 2}, "queue": "b", "members": 2},
    {"requests": {"cpu": 1}, "queue": "a", "checkpoint": {"mode": "auto"}},
    {"requests": {"gpu": 1}, "queue": "b", "constraints": {"nodes": ["n0", "n1"]}},
]

TWO: set[str] = set()
"""Workloads of two members."""


def empty() -> State:
    nodes = [{"name": f"n{number}", "capacity": {"gpu": 400, "cpu": 800}} for number in range(3)]
    queues = [{"name": "p"}, {"name": "a", "parent": "p"}, {"name": "b", "parent": "p"}]
    return build(parse_document({"cede": 1, "doctrine": "backendai", "nodes": nodes, "queues": queues}))


def happens(state: State, dice: Random, number: int) -> None:
    """One thing that may happen to the state, drawn from the dice: the same for equal dice and equal states."""
    waiting = sorted(state.pending)
    holding = sorted(set(state.work_index.values()) - state.pending)
    what = dice.choice(["submit", "submit", "start", "start", "mark", "requeue", "forget", "save", "protect"])
    if what == "submit":
        kind = dice.choice(KINDS)
        priority, user = dice.randint(0, 9), dice.choice(["ann", "bob"])
        entry = {"name": f"w{number}", "priority": priority, "user": user, "submitted": number, **kind}
        state.submit(Workload.model_validate(entry))
        if kind.get("members") == 2:
            TWO.add(f"w{number}")
    elif what == "start" and waiting:
        row = dice.choice(waiting)
        members = 2 if state.work_names[row] in TWO else 1
        nodes = [dice.randrange(2) for _ in range(members)]
        state.start(row, nodes, at=number, state=dice.choice([RUNNING, RUNNING, RESERVED]))
    elif what == "mark" and holding:
        state.mark(dice.choice(holding), dice.choice([RUNNING, CHECKPOINTING, PREEMPTING, RESERVED]))
    elif what == "requeue" and holding:
        state.requeue(dice.choice(holding), state=dice.choice([PENDING, SUSPENDED]), preempted=dice.random() < 0.5)
    elif what == "forget" and (waiting or holding):
        state.forget(dice.choice(waiting + holding))
    elif what == "save" and (waiting or holding):
        state.save(dice.choice(waiting + holding), number, dice.choice([None, 7]))
    elif what == "protect" and holding:
        state.protect(dice.choice(holding), preemptible=dice.random() < 0.5)


@pytest.mark.parametrize("seed", range(12))
def test_columns_that_are_read_late_say_the_same(seed: int) -> None:
    TWO.clear()
    often, late = empty(), empty()
    late.room()
    for number in range(120):
        for state in (often, late):
            happens(state, Random(seed * 1000 + number), number)
        assert often.work.size >= 0, "they are read"

    assert late.room().free == late.nodes.free[:, : late.nodes.size].T.tolist()
    assert late.between == often.between
    assert snapshot(late) == snapshot(often)
    assert (late.nodes.free == often.nodes.free).all()
    assert (late.tree.usage == often.tree.usage).all()
    for name, row in often.work_index.items():
        for column in often.work.scalars:
            if column != "resident":  # their numbers are handed out when they are written
                assert getattr(late.work, column)[row] == getattr(often.work, column)[row], (name, column)
        assert late.nodes_of(row) == often.nodes_of(row)
