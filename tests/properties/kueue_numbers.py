"""Kueue clusters where numbers decide: parts of a unit, requests for nothing, shares a last bit apart."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.properties.kueue_clusters import Document, kueue_clusters

AMOUNTS = ("guaranteed", "borrowing_limit", "lending_limit", "usage", "requests")
WEIGHTS = (1, 2, 3, 5, 7, 10, 0.1, 0.3)


@st.composite
def kueue_fractions(draw: DrawFn) -> Document:
    """Clusters with amounts a little below whole milli-CPUs and whole units, and here and there nothing at all."""
    document = draw(kueue_clusters())
    entries = [*document["queues"], *document["workloads"]]
    entries += [part for workload in document["workloads"] for part in workload.get("pod_sets", ())]
    for entry in entries:
        for key in AMOUNTS:
            if key in entry:
                entry[key] = {name: _less(draw, name, value, key) for name, value in entry[key].items()}
    return document


def _less(draw: DrawFn, name: str, value: int, key: str) -> Any:
    kind = draw(st.sampled_from(("whole", "whole", "fine", "nothing")))
    if kind == "nothing" and key in ("usage", "requests"):
        return 0
    if kind == "whole" or not value:
        return value
    return f"{value * 1_000_000 - 300}u" if name.startswith("cpu") else f"{value * 1000 - 300}m"


@st.composite
def kueue_last_bits(draw: DrawFn) -> Document:
    """Fair sharing below one root that lends all there is; queues use multiples of their weight, so that shares tie."""
    weights = draw(st.lists(st.sampled_from(WEIGHTS), min_size=2, max_size=4))
    policies = st.sampled_from(("Any", "LowerPriority", "Never"))
    strategies = st.sampled_from((None, ["LessThanOrEqualToFinalShare"], ["LessThanInitialShare"]))
    queues: list[Document] = [{"name": "r", "guaranteed": {"cpu": draw(st.integers(3, 40))}}]
    workloads: list[Document] = []
    for number, weight in enumerate(weights):
        settings = {"reclaimWithinCohort": draw(policies), "withinClusterQueue": "LowerPriority"}
        queue: Document = {"name": f"q{number}", "parent": "r", "weight": weight, "guaranteed": {"cpu": 0}}
        queues.append(queue | {"settings": settings})
        for times in draw(st.lists(st.integers(1, 4), max_size=3)):
            workloads.append(_work("w", number, weight, times, workloads) | {"state": "running", "started": -times})
        for times in draw(st.lists(st.integers(1, 4), max_size=2)):
            workloads.append(_work("p", number, weight, times, workloads) | {"priority": times})
    doctrine: Document = {"name": "kueue", "preemption": "FairSharing"}
    if (chosen := draw(strategies)) is not None:
        doctrine["strategies"] = chosen
    return {"cede": 1, "now": 0, "doctrine": doctrine, "queues": queues, "workloads": workloads}


@st.composite
def kueue_preferences(draw: DrawFn) -> Document:
    """Queues that prefer preemption to borrowing, with two resources in one group: heads that get stuck are common.

    There is CPU to borrow, and GPUs are held by work of low priority.
    """
    flavors = draw(st.sampled_from((["f"], ["f"], ["f", "g"])))
    next_flavor = {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"}
    queues: list[Document] = [{"name": "r", "guaranteed": _some(draw, flavors, (2, 4), (0, 1))}]
    workloads: list[Document] = []
    for number in range(draw(st.integers(2, 3))):
        settings = {
            "withinClusterQueue": draw(st.sampled_from(("LowerPriority", "LowerPriority", "Never"))),
            "reclaimWithinCohort": draw(st.sampled_from(("Never", "LowerPriority", "Any"))),
            "flavorFungibility": next_flavor | {"preference": "PreemptionOverBorrowing"},
            "queueingStrategy": draw(st.sampled_from(("BestEffortFIFO", "BestEffortFIFO", "StrictFIFO"))),
        }
        quota = _some(draw, flavors, (0, 2), (1, 3))
        queue: Document = {"name": f"q{number}", "parent": "r", "guaranteed": quota, "settings": settings}
        queues.append(queue | {"resource_groups": [{"resources": ["cpu", "gpu"], "flavors": flavors}]})
        for _ in range(draw(st.integers(1, 2))):
            usage = _some(draw, [draw(st.sampled_from(flavors))], (0, 1), (1, 3))
            workload: Document = {"name": f"w{len(workloads)}", "queue": f"q{number}", "priority": 0}
            workloads.append(workload | {"state": "running", "started": -len(workloads), "usage": usage})
        for _ in range(draw(st.integers(1, 2))):
            sizes = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=2))
            parts = [
                {"name": f"s{at}", "count": 1, "requests": {"cpu": c, "gpu": g}} for at, (c, g) in enumerate(sizes)
            ]
            workload = {"name": f"p{len(workloads)}", "queue": f"q{number}", "priority": draw(st.integers(0, 3))}
            workloads.append(workload | {"submitted": -len(workloads), "pod_sets": parts})
    doctrine = {"name": "kueue", "preemption": draw(st.sampled_from(("Classical", "FairSharing")))}
    return {"cede": 1, "now": 0, "doctrine": doctrine, "queues": queues, "workloads": workloads}


def _some(draw: DrawFn, flavors: list[str], cpus: tuple[int, int], gpus: tuple[int, int]) -> Document:
    found: Document = {}
    for flavor in flavors:
        found[f"cpu@{flavor}"], found[f"gpu@{flavor}"] = draw(st.integers(*cpus)), draw(st.integers(*gpus))
    return found


def _work(kind: str, queue: int, weight: float, times: int, others: list[Document]) -> Document:
    amount = f"{round(weight * 1000) * times}m"
    return {"name": f"{kind}{len(others)}", "queue": f"q{queue}", "submitted": -10, "requests": {"cpu": amount}}
