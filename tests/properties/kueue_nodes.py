"""Small crowded Kueue clusters with nodes: quota and room are short in turn, in one flavor or the other."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.properties.kueue_clusters import BORROW, FUNGIBILITY, Dice, Document

WITHIN = ("LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority", "Never")
RECLAIM = ("Any", "Any", "LowerPriority", "Never")


@st.composite
def kueue_on_nodes(draw: DrawFn) -> Document:
    """Plain documents; what runs stands on nodes of its flavor and fits there, whatever its queue's quota."""
    dice = Dice(draw)
    mode, recheck, flavors, pinned, many, more, depth = dice.pick(
        ("Classical", "FairSharing"),
        (False, True),
        (["default"], ["spot", "fast"]),
        (True, False),
        range(9),
        range(1, 5),
        (1, 1, 2),
    )
    doctrine: Document = {"name": "kueue", "preemption": mode}
    if mode == "FairSharing":
        doctrine["recheck_final_set"] = recheck
    nodes = [_node(dice, number, flavors, pinned=pinned) for number in range(4)]
    queues = [_queue(dice, f"q{number}", flavors, depth) for number in range(3)]
    if depth == 2:
        queues.append({"name": "left", "parent": "pool"})
    workloads = [entry for number in range(many) if (entry := _running(dice, number, nodes)) is not None]
    for node in nodes:
        node.pop("left", None)
    workloads += [_pending(dice, number, flavors) for number in range(more)]
    return {"cede": 1, "doctrine": doctrine, "nodes": nodes, "queues": queues, "workloads": workloads}


def _node(dice: Dice, number: int, flavors: list[str], *, pinned: bool) -> Document:
    cpu, gpu, occupied, state = dice.pick((2, 3, 4, 4, 6), (0, 0, 1, 2), (0, 0, 0, 1), ("ready",) * 9 + ("cordoned",))
    entry: Document = {"name": f"n{number}", "capacity": {"cpu": cpu, "gpu": gpu}, "state": state}
    entry["labels"] = {"group": f"g{number // 2}"}
    if occupied:
        entry["occupied"] = {"cpu": occupied}
    if pinned or flavors != ["default"]:
        entry["flavor"] = flavors[number % len(flavors)]
    return entry


def _queue(dice: Dice, name: str, flavors: list[str], depth: int) -> Document:
    within, reclaim, borrow, fungibility, strict = dice.pick(
        WITHIN, RECLAIM, BORROW, FUNGIBILITY, (False, False, False, True)
    )
    settings: Document = {"withinClusterQueue": within, "reclaimWithinCohort": reclaim}
    if borrow is not None and reclaim != "Never":
        settings["borrowWithinCohort"] = borrow
    if fungibility is not None:
        settings["flavorFungibility"] = fungibility
    if strict:
        settings["queueingStrategy"] = "StrictFIFO"
    quota: Document = {}
    for flavor in flavors:
        cpu, gpu = dice.pick((0, 2, 4, 6, 9), (0, 1, 2))
        quota |= {f"cpu@{flavor}": cpu, f"gpu@{flavor}": gpu}
    [together] = dice.pick((True, False))
    groups = [["cpu", "gpu"]] if together else [["cpu"], ["gpu"]]
    return {
        "name": name,
        "parent": "left" if depth > 1 and name != "q0" else "pool",
        "guaranteed": quota,
        "resource_groups": [{"resources": group, "flavors": flavors} for group in groups],
        "settings": settings,
    }


def _running(dice: Dice, number: int, nodes: list[Document]) -> Document | None:
    """One that fits where it stands; nobody if there is no room for it."""
    at, more, queue, priority, started, cpu, gpu, state, members = dice.pick(
        range(4),
        range(4),
        ("q0", "q1", "q1", "q2"),
        (0, 0, 1, 2, 3),
        (-9, -5, -5),
        (1, 1, 2, 2, 3),
        (0, 0, 0, 1),
        ("running",) * 7 + ("preempting",),
        (1, 1, 1, 2),
    )
    places = [nodes[at]] if members == 1 else [nodes[at], nodes[more]]
    if len({place.get("flavor") for place in places}) > 1 or any(place["state"] != "ready" for place in places):
        return None
    for place in places:
        left = place.setdefault("left", {"cpu": place["capacity"]["cpu"] - place.get("occupied", {}).get("cpu", 0)})
        left.setdefault("gpu", place["capacity"]["gpu"])
    if any(left["cpu"] < cpu * members or left["gpu"] < gpu * members for left in (place["left"] for place in places)):
        return None
    for place in places:
        place["left"]["cpu"] -= cpu
        place["left"]["gpu"] -= gpu
    flavor = places[0].get("flavor")
    requests = {f"{name}@{flavor}" if flavor else name: amount for name, amount in (("cpu", cpu), ("gpu", gpu))}
    return {
        "name": f"w{number}",
        "queue": queue,
        "priority": priority,
        "started": started,
        "submitted": started,
        "state": state,
        "members": members,
        "requests": {name: amount for name, amount in requests.items() if amount},
        "nodes": [place["name"] for place in places],
    }


def _pending(dice: Dice, number: int, flavors: list[str]) -> Document:
    queue, priority, submitted, form, exclusive, placement, pinned, flavor = dice.pick(
        ("q0", "q1", "q2"),
        (1, 2, 3, 4),
        range(3),
        range(4),
        (False,) * 5 + (True,),
        ("any", "any", "any", "tight", "spread"),
        (False,) * 5 + (True,),
        flavors,
    )
    entry: Document = {"name": f"p{number}", "queue": queue, "priority": priority, "submitted": -submitted}
    entry |= {"placement": placement, "exclusive": exclusive}

    def requests() -> dict[str, Any]:
        cpu, gpu = dice.pick((1, 1, 2, 2, 3, 4), (0, 0, 0, 1))
        wanted: dict[str, Any] = {f"cpu@{flavor}" if pinned else "cpu": cpu}
        return wanted | ({"gpu": gpu} if gpu else {})

    if form < 2:
        [members] = dice.pick((1, 1, 2, 3))
        return entry | {"members": members, "requests": requests()}
    counts = [dice.pick((1, 1, 2, 3))[0] for _ in range(form - 1)]
    parts = [{"name": f"s{at}", "count": count, "requests": requests()} for at, count in enumerate(counts)]
    for part in parts:
        if part["count"] > 1:
            part["min_count"] = 1
    return entry | {"pod_sets": parts}
