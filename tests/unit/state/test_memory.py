"""What a running workload costs in memory: names included, the document it came from gone."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.engine.events import Started, Submitted, apply
from cede.model.cluster import Workload
from cede.state.build import build
from cede.state.state import State

MOST_BYTES = 1_000
"""What is promised for each running workload."""

Entry = dict[str, Any]


def plain(number: int, nodes: int) -> Entry:
    """Every tenth a gang of four on as many nodes, the others alone; few kinds of requests, as in life."""
    members = 4 if number % 10 == 0 else 1
    return {
        "name": f"workload-{number:06}",
        "queue": f"team-{number % 50}",
        "user": f"user-{number % 500}",
        "app": f"app-{number // 10}",
        "priority": number % 10,
        "requests": {"cpu": 1 + number % 4, "memory": "4Gi", "nvidia.com/gpu": 1},
        "members": members,
        "state": "running",
        "nodes": [f"node-{(number * 7 + member) % nodes:04}" for member in range(members)],
        "submitted": -number,
        "started": -number // 2,
    }


def in_flavors(number: int, nodes: int) -> Entry:
    entry = plain(number, nodes)
    return {**entry, "usage": {f"{name}@spot": 8 for name in entry["requests"]}}


def document(nodes: int, workloads: list[Entry]) -> Entry:
    capacity = {"cpu": 64, "memory": "256Gi", "nvidia.com/gpu": 8}
    return {
        "cede": 1,
        "nodes": [
            {"name": f"node-{n:04}", "capacity": capacity, "labels": {"group": f"g{n % 20}"}} for n in range(nodes)
        ],
        "queues": [{"name": f"team-{n}", "parent": "root", "max": {"cpu": 1000}} for n in range(50)],
        "workloads": workloads,
    }


def at_once(make: Callable[[int, int], Entry], workloads: int, nodes: int) -> State:
    return build(parse_document(document(nodes, [make(number, nodes) for number in range(workloads)])))


def one_by_one(make: Callable[[int, int], Entry], workloads: int, nodes: int) -> State:
    state = build(parse_document(document(nodes, [])))
    for number in range(workloads):
        apply(state, Submitted(Workload.model_validate(make(number, nodes))))
    return state


def admitted(workloads: int, nodes: int, *, in_sets: bool) -> State:
    """Each started in a flavor, so that what it asks for has to be remembered."""
    spot = [{**node, "flavor": "spot"} for node in document(nodes, [])["nodes"]]
    state = build(parse_document({**document(nodes, []), "doctrine": "kueue", "nodes": spot}))
    for number in range(workloads):
        entry = plain(number, nodes)
        places, flavors = tuple(entry.pop("nodes")), dict.fromkeys(entry["requests"], "spot")
        del entry["state"], entry["started"]
        if in_sets:
            entry["pod_sets"] = [{"name": "main", "count": entry.pop("members"), "requests": entry.pop("requests")}]
        apply(state, Submitted(Workload.model_validate(entry)))
        apply(state, Started(entry["name"], places, flavors))
    return state


CASES: dict[str, tuple[Callable[[], State], int]] = {
    "5,000 on 500 nodes": (lambda: at_once(plain, 5_000, 500), 5_000),
    "5,000 on 500 nodes, usage in flavors": (lambda: at_once(in_flavors, 5_000, 500), 5_000),
    "8,000 on 800 nodes, admitted in flavors": (lambda: admitted(8_000, 800, in_sets=False), 8_000),
    "8,000 on 800 nodes, their pod sets admitted in flavors": (lambda: admitted(8_000, 800, in_sets=True), 8_000),
    # 4,200 rows are in columns that have just grown to 8,192: the most that is ever left over.
    "4,200 on 420 nodes, one by one": (lambda: one_by_one(plain, 4_200, 420), 4_200),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_running_workload_costs_less_than_a_kilobyte(case: str) -> None:
    make, workloads = CASES[case]
    gc.collect()
    tracemalloc.start()
    try:
        state = make()
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert len(state.work_index) == workloads
    assert held / workloads < MOST_BYTES, f"{held / workloads:.0f} bytes each"
