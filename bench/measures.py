"""What `cede bench plan` measures, each beside its yardstick in the same run."""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bench.clusters import POOL, claimant, full_cluster
from cede.doctrines.catalog import find
from cede.doctrines.document import parse_document
from cede.engine.cycle import plan_state
from cede.engine.events import Ended, Event, NodeMarked, QueuePut, Requeued, Started, Submitted, apply
from cede.engine.load import load
from cede.state.build import build
from cede.state.state import State

ON = {"enabled": True, "victim_scope": "resource-group"}


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of decision: the group's settings, what the claimants ask for, and what must become of them.

    Only the first two have a bar; the others show what the rest costs.
    """

    edition: str
    name: str
    settings: dict[str, Any]
    claim: dict[str, Any]
    action: str = "preempt"
    bar: int | None = None


CASES = (
    Case("bep-1014", "oldest", {"preemptible_priority": 30}, {}, bar=20),
    Case("26.8", "oldest", ON, {}, bar=60),
    Case("26.8", "fewest-sessions", ON | {"preemption_order": "fewest-sessions"}, {}),
    Case("26.8", "smallest-resources", ON | {"preemption_order": "smallest-resources"}, {}),
    Case("bep-1014", "gang of 8", {"preemptible_priority": 30}, {"members": 8}),
    Case("bep-1014", "waits, nearest miss", {"preemptible_priority": 0}, {"priority": 0}, action="wait"),
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds at the middle and at the 99th percentile."""

    p50: float
    p99: float

    @staticmethod
    def of(samples: list[float]) -> Timing:
        return Timing(float(np.percentile(samples, 50)), float(np.percentile(samples, 99)))


def yardstick() -> Callable[[], object]:
    """`np.flatnonzero((a < 5) & (b != 3))` over 100,000 int32: a touch of everything, once, in C."""
    draw = np.random.default_rng(0)
    a = draw.integers(0, 100, 100_000, dtype=np.int32)
    b = draw.integers(0, 8, 100_000, dtype=np.int32)
    return lambda: np.flatnonzero((a < 5) & (b != 3))


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def decisions(state: State, case: Case, repeats: int) -> tuple[Timing, Timing]:
    """One decision for each of `repeats` claimants; the yardstick by itself, with warm caches, before."""
    doctrine, stick = find("backendai"), yardstick()
    theirs = [timed(stick) for _ in range(10 * repeats)]
    ours: list[float] = []
    for number in range(repeats):
        entry = claimant(number, case.claim)
        apply(state, Submitted(entry))
        began = time.perf_counter()
        made = plan_state(state, doctrine, misses=case.action == "wait")
        ours.append(time.perf_counter() - began)
        if made.decisions[0].action != case.action:
            raise AssertionError(f"{entry.name} was meant to {case.action}: {made.decisions[0]}")
        apply(state, Ended(entry.name))
    return Timing.of(ours), Timing.of(theirs)


def events(state: State, repeats: int) -> dict[str, Timing]:
    """One event applied to the state, by kind."""
    samples: dict[str, list[float]] = {}
    for number in range(repeats):
        for kind, event in _life(state, number):
            samples.setdefault(kind, []).append(timed(lambda event=event: apply(state, event)))  # type: ignore[misc]
    return {kind: Timing.of(found) for kind, found in samples.items()}


def _life(state: State, number: int) -> Iterator[tuple[str, Event]]:
    """A workload comes, runs, is preempted, runs again and ends; a node goes and comes back."""
    node = state.node_names[number % state.nodes.size]
    entry = claimant(number).model_copy(update={"name": f"event-{number}"})
    yield "submit", Submitted(entry)
    yield "start", Started(entry.name, (node,))
    yield "requeue", Requeued(entry.name)
    yield "start", Started(entry.name, (node,))
    yield "end", Ended(entry.name)
    yield "node", NodeMarked(node, "cordoned")
    yield "node", NodeMarked(node, "ready")
    yield "queue", QueuePut(POOL.model_copy(update={"weight": 1 + number % 2}))


def bytes_a_workload(document: dict[str, Any], running: int) -> float:
    """What the state holds for each running workload, everything in it included."""
    parsed = parse_document(document)
    build(parsed)
    gc.collect()
    tracemalloc.start()
    state = build(parsed)
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert state.work.size >= running
    return held / running


def loading(document: dict[str, Any], repeats: int) -> tuple[float, float, int]:
    """Seconds of `load` and of `json.loads` on the same file, best of `repeats`, and the file's size."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        ours, theirs = [], []
        for _ in range(repeats):
            gc.collect()
            theirs.append(timed(lambda: json.loads(path.read_bytes())))
            gc.collect()
            ours.append(timed(lambda: load(path)))
        return min(ours), min(theirs), path.stat().st_size


def cluster(nodes: int, running: int, edition: str, settings: dict[str, Any]) -> dict[str, Any]:
    return full_cluster(nodes, running, settings, edition)
