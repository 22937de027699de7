"""A fact of YTsaurus as cluster files: its total as one node, usage as running work, what is missing as pending."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cede
from cede.doctrines.ytsaurus.curves import Floats
from cede.doctrines.ytsaurus.starvation import Memory
from cede.doctrines.ytsaurus.update import Update
from cede.state.build import build

Fact = dict[str, Any]

ROOT = "<Root>"
FACTS: list[Fact] = json.loads((Path(__file__).parents[2] / "facts" / "ytsaurus.json").read_text("utf-8"))["facts"]
INTEGRAL = {
    "type": "guarantee_type",
    "flow": "resource_flow",
    "burst": "burst_guarantee_resources",
    "can_accept_free_volume": "can_accept_free_volume",
}
POOL_KEYS = {"strong_guarantee_resources": "guaranteed", "resource_limits": "max", "weight": "weight"}


def facts_of(*kinds: str) -> list[Fact]:
    return [fact for fact in FACTS if fact["kind"] in kinds]


def named(fact: Fact) -> str:
    return f"{fact['id']} {fact['title']}"


def document(fact: Fact, *, now: float = 0, update: int | None = None) -> dict[str, Any]:
    """The fact's cluster at this update; with number 0, which is before the first one, nobody is there yet.

    The nodes of facts have less memory than a node must have left by default to be looked at.
    """
    tree = {"min_spare_allocation_resources_on_node": {}, **fact.get("tree_config", {})}
    if "smooth_period_s" in fact:
        tree["integral_guarantees"] = {"smooth_period": fact["smooth_period_s"]}
    if fact.get("distribute_free_volume"):
        tree["should_distribute_free_volume_among_children"] = True
    there = [one for one in fact.get("operations", ()) if update is None or one.get("appears_at_update", 1) <= update]
    return {
        "cede": 1,
        "now": now,
        "doctrine": {"name": "ytsaurus", **tree},
        "nodes": _nodes(fact),
        "queues": [_pool(one) for one in fact.get("pools", ())],
        "apps": [_app(one) for one in there],
        "workloads": [work for one in there for work in (_allocations(one) if "allocation" in one else _work(one))],
    }


def _nodes(fact: Fact) -> list[dict[str, Any]]:
    if "nodes" in fact:
        return [{"name": one["id"], "capacity": one["resources"]} for one in fact["nodes"]]
    sizes = [one["memory"] for one in fact.get("node_memory_distribution", ()) for _ in range(one["nodes"])]
    if not sizes:
        return [{"name": "n1", "capacity": fact["total"]}]
    even = {name: amount / len(sizes) for name, amount in fact["total"].items()}
    return [{"name": f"n{at}", "capacity": {**even, "memory": size}} for at, size in enumerate(sizes)]


def _pool(entry: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"name": entry["id"]} | ({"parent": entry["parent"]} if entry["parent"] else {})
    found |= {key: entry[name] for name, key in POOL_KEYS.items() if name in entry}
    settings: dict[str, Any] = {
        key: entry[key] for key in ("mode", "compute_promised_guarantee_fair_share") if key in entry
    }
    if "integral" in entry:
        given = entry["integral"]
        settings["integral_guarantees"] = {key: given[name] for name, key in INTEGRAL.items() if name in given}
        if "volume" in given:
            settings["accumulated_resource_volume"] = given["volume"]
    return found | {"settings": settings}


def _app(entry: dict[str, Any]) -> dict[str, Any]:
    name = "non_preemptible_resource_usage_threshold"
    settings = {name: entry[name]} if name in entry else {}
    found = {"name": entry["id"], "settings": settings} | ({"queue": entry["pool"]} if entry["pool"] else {})
    return found | ({"weight": entry["weight"]} if "weight" in entry else {})


def _work(entry: dict[str, Any]) -> list[dict[str, Any]]:
    used = {name: amount for name, amount in entry["usage"].items() if amount}
    rest = {name: amount - used.get(name, 0) for name, amount in entry["demand"].items()}
    found = [_one(entry, "running", used, f"{entry['id']}/running", nodes=["n1"])] if used else []
    return found + ([_one(entry, "pending", rest, f"{entry['id']}/pending")] if any(rest.values()) else [])


def _allocations(entry: dict[str, Any]) -> list[dict[str, Any]]:
    size = entry["allocation"]
    held = [
        _one(entry, "running", size, one["id"], nodes=[one["node"]], started=one["start"])
        for one in entry.get("running", ())
    ]
    return held + [_one(entry, "pending", size, f"{entry['id']}/more{at}") for at in range(entry["pending"])]


def _one(entry: dict[str, Any], state: str, size: dict[str, Any], name: str, **keys: Any) -> dict[str, Any]:
    home = {"queue": entry["pool"]} if entry["pool"] else {}
    return {"name": name, "app": entry["id"], "state": state, "requests": size, **home, **keys}


def updated(fact: Fact, memory: Memory | None = None) -> Update:
    """The last of the fact's updates. Where time passes before it, there is one before, with nobody there."""
    memory = Memory() if memory is None else memory
    steps = [one["elapsed_s"] for one in fact.get("updates", ())] or (
        [fact["elapsed_s"]] if "elapsed_s" in fact else []
    )
    now, number = 0.0, 1
    if steps:
        run(document(fact, update=0), memory)
    for number, step in enumerate(steps, start=1):
        now += step
        if number < len(steps):
            run(document(fact, now=now, update=number), memory)
    return run(document(fact, now=now, update=number), memory)


def run(data: dict[str, Any], memory: Memory) -> Update:
    return Update(build(cede.load(data).document), memory)


def by_name(update: Update, row: Floats) -> dict[str, float]:
    """A vector of the update by resource."""
    names = [update.state.units.names[column] for column in update.pools.columns]
    return dict(zip(names, row.tolist(), strict=True))


def pool_row(update: Update, name: str) -> int:
    return update.pools.size if name == ROOT else update.state.tree.index[name]


def operation_row(update: Update, name: str) -> int:
    return update.operations.names.index(name)


def element(update: Update, name: str, pools: Floats, operations: Floats) -> dict[str, float]:
    """What a pool or an operation has of something that both have."""
    is_pool = name == ROOT or name in update.state.tree.index
    row = pools[pool_row(update, name)] if is_pool else operations[operation_row(update, name)]
    return by_name(update, row)
