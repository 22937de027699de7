"""An event changes the rows it is about and no other, so its cost does not grow with the cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from cede.doctrines.document import parse_document
from cede.engine.events import (
    Ended,
    Entered,
    Event,
    Marked,
    NodeMarked,
    NodePut,
    QueuePut,
    Requeued,
    Saved,
    Started,
    Submitted,
    Ticked,
    apply,
)
from cede.model.cluster import Node, Queue, Workload
from cede.state.build import build
from cede.state.state import State

TABLES = ("work", "nodes", "residents", "tree")


def cluster() -> State:
    """Forty nodes, a hundred workloads in ten queues; `gang` stands on n07 and n08, `next` waits in the same queue.

    Room on n09 is held for one more, `held`.
    """
    running = [
        {
            "name": f"w{n:02}",
            "queue": f"q{n % 10}",
            "requests": {"cpu": 1},
            "state": "running",
            "nodes": [f"n{n % 40:02}"],
        }
        for n in range(90)
    ]
    gang = {"name": "gang", "queue": "q3", "requests": {"cpu": 2}, "members": 3, "state": "running"}
    waiting = [{"name": f"p{n}", "queue": "q5", "requests": {"cpu": 2}} for n in range(9)]
    return build(
        parse_document(
            {
                "cede": 1,
                "nodes": [{"name": f"n{n:02}", "capacity": {"cpu": 8}} for n in range(40)],
                "queues": [{"name": f"q{n}", "parent": f"above-{n % 2}"} for n in range(10)]
                + [{"name": f"above-{n}", "parent": "root"} for n in range(2)],
                "workloads": [
                    *running,
                    *waiting,
                    {**gang, "nodes": ["n07", "n07", "n08"]},
                    {"name": "next", "queue": "q3", "requests": {"cpu": 1}, "members": 2},
                    {"name": "held", "queue": "q4", "requests": {"cpu": 1}, "state": "reserved", "nodes": ["n09"]},
                ],
            }
        )
    )


def columns(state: State) -> dict[str, dict[str, Any]]:
    found = {}
    for table in TABLES:
        columns = getattr(state, table)
        names = (*columns.scalars, *columns.vectors)
        found[table] = {name: getattr(columns, name)[..., : columns.size].copy() for name in names}
    return found


def touched(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> dict[str, set[int]]:
    """Rows that differ in any column, and rows that are new."""
    found: dict[str, set[int]] = {}
    for table in TABLES:
        rows: set[int] = set()
        for name, old in before[table].items():
            new = after[table][name]
            size = old.shape[-1]
            differs = old != new[..., :size]
            rows |= set(np.flatnonzero(differs.any(axis=0) if differs.ndim == 2 else differs).tolist())
            rows |= set(range(size, new.shape[-1]))
        found[table] = rows
    return found


def sides(state: State) -> dict[str, Any]:
    """What stands beside the columns, by the key it is found under."""
    found: dict[str, dict[Any, Any]] = {}
    for name, thing in vars(state).items():
        if isinstance(thing, dict):
            found[name] = {key: set(value) if isinstance(value, set) else value for key, value in thing.items()}
        elif isinstance(thing, list):
            found[name] = {key: list(value) if isinstance(value, list) else value for key, value in enumerate(thing)}
        elif isinstance(thing, set):
            found[name] = dict.fromkeys(thing, True)
    return found


def changed(before: dict[str, dict[Any, Any]], after: dict[str, dict[Any, Any]]) -> dict[str, set[Any]]:
    found = {}
    for name, old in before.items():
        new = after[name]
        keys = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
        if keys:
            found[name] = keys
    return found


def queue(**keys: Any) -> QueuePut:
    return QueuePut(Queue.model_validate({"name": "q3", **keys}))


PATH = ["q3", "above-1", "root"]
GANG_NODES = ["n07", "n08"]

# What each event is about: workloads, nodes, whose residents, queues; and workloads it only names.
EVENTS: dict[str, tuple[Event, dict[str, list[str]]]] = {
    "a workload is submitted": (
        Submitted(Workload.model_validate({"name": "new", "queue": "q3", "requests": {"cpu": 1}})),
        {"work": ["new"]},
    ),
    "a workload comes that runs already": (
        Submitted(
            Workload.model_validate(
                {"name": "new", "queue": "q3", "requests": {"cpu": 1}, "state": "running", "nodes": ["n01"]}
            )
        ),
        {"work": ["new"], "nodes": ["n01"], "residents": ["new"], "tree": PATH},
    ),
    "a workload starts": (
        Started("next", ("n01", "n02")),
        {"work": ["next"], "nodes": ["n01", "n02"], "residents": ["next"], "tree": PATH},
    ),
    "a workload takes the room held for it": (Entered("held"), {"work": ["held"], "nodes": ["n09"]}),
    "a workload has written a checkpoint": (Saved("gang", 5, 2), {"work": ["gang"]}),
    "a workload writes a checkpoint": (Marked("gang", "checkpointing"), {"work": ["gang"]}),
    "a workload is preempted": (Marked("gang", "preempting"), {"work": ["gang"], "nodes": GANG_NODES}),
    "a workload is requeued": (
        Requeued("gang"),
        {"work": ["gang"], "nodes": GANG_NODES, "residents": ["gang"], "tree": PATH},
    ),
    "a running workload ends": (
        Ended("gang"),
        {"work": ["gang"], "nodes": GANG_NODES, "residents": ["gang"], "tree": PATH},
    ),
    "a waiting workload ends": (Ended("next"), {"work": ["next"]}),
    "a node joins": (NodePut(Node.model_validate({"name": "new", "capacity": {"cpu": 1}})), {"nodes": ["new"]}),
    "a node grows": (NodePut(Node.model_validate({"name": "n07", "capacity": {"cpu": 9}})), {"nodes": ["n07"]}),
    "a node is kept for a workload": (
        NodePut(Node.model_validate({"name": "n07", "capacity": {"cpu": 8}, "reserved_for": "next"})),
        {"nodes": ["n07"], "named": ["next"]},
    ),
    "a node is cordoned": (NodeMarked("n07", "cordoned"), {"nodes": ["n07"]}),
    "a queue joins": (QueuePut(Queue.model_validate({"name": "new", "parent": "root"})), {"tree": ["new"]}),
    "a queue gets a limit": (queue(parent="above-1", max={"cpu": 4}), {"tree": ["q3"]}),
    "a queue moves": (queue(parent="above-0"), {"tree": ["q3", "above-0", "above-1"]}),
    "a queue goes to another partition": (
        queue(parent="above-1", partition="blue"),
        {"tree": ["q3"], "work": ["gang", "next", *(f"w{n:02}" for n in range(3, 90, 10))]},
    ),
    "time goes on": (Ticked(5), {}),
}


def rows(state: State, about: dict[str, list[str]]) -> dict[str, set[int]]:
    def known(index: dict[str, int], names: Iterable[str]) -> set[int]:
        return {index[name] for name in names if name in index}

    works = known(state.work_index, about.get("residents", []))
    return {
        "work": known(state.work_index, about.get("work", [])),
        "nodes": known(state.node_index, about.get("nodes", [])),
        "residents": {at for row in works for at in state.residents_of(row)},
        "tree": known(state.tree.index, about.get("tree", [])),
    }


@pytest.mark.parametrize("what", EVENTS)
def test_no_other_row_changes_when(what: str) -> None:
    event, about = EVENTS[what]
    state = cluster()
    before, expected = columns(state), rows(state, about)

    apply(state, event)

    after = rows(state, about)
    assert touched(before, columns(state)) == {table: expected[table] | after[table] for table in TABLES}


@pytest.mark.parametrize("what", EVENTS)
def test_nothing_else_beside_the_columns_changes_when(what: str) -> None:
    event, about = EVENTS[what]
    state = cluster()
    before, expected = sides(state), rows(state, about)

    apply(state, event)

    after = rows(state, about)
    names: set[Any] = {name for group in about.values() for name in group}
    names |= {state.work_index[name] for name in about.get("named", [])}
    mine = names.union(*expected.values(), *after.values())
    assert {name: keys - mine for name, keys in changed(before, sides(state)).items() if keys - mine} == {}


def test_every_kind_of_event_is_in_the_table() -> None:
    assert {type(event) for event, _ in EVENTS.values()} == set(Event.__args__)
