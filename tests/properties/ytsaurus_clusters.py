"""Small crowded YTsaurus clusters from a seed: full nodes, pools that have too much, operations that starve.

Numbers are small and simple, so that shares often stand exactly on a boundary. Every trait of the doctrine is drawn
now and then; which ones a cluster has is decided first, so that a test can ask for one of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random
from typing import Any

from tests.properties.ytsaurus_traits import TRAITS, add_traits

Document = dict[str, Any]

SHAPES: tuple[dict[str, str | None], ...] = (
    {"a": None},
    {"a": None, "b": None},
    {"a": None, "b": None},
    {"a": None, "b": None, "c": None},
    {"a": None, "b": None, "c": None, "d": None},
    {"p": None, "p1": "p", "p2": "p", "b": None},
    {"p": None, "p1": "p", "p2": "p", "q": None, "q1": "q"},
    {"p": None, "p1": "p", "x": "p1", "y": "p1", "b": None, "c": None},
    {"p": None, "p1": "p", "x": "p1", "p2": "p", "b": None},
)
SIZES = (1, 1, 1, 1, 2, 2, 3, 0.5)
CLOCKS = (-1000, -1000, -1000, -500, -200, -200, -130, -120, -100, -31, -30, -29, -1)


def cluster(seed: int, edition: str, traits: Collection[str] | None = None) -> Document:
    """A document; `traits` names those that it must have, none: as drawn."""
    dice = Random(seed)
    chosen = {name for name, chance in TRAITS.items() if dice.random() < chance} if traits is None else set(traits)
    shape = dice.choice(SHAPES)
    leaves = [name for name in shape if name not in shape.values()]
    resources = ["cpu", *(["user_slots"] if dice.random() < 0.6 else []), *(["memory"] if dice.random() < 0.3 else [])]
    if "full-host" in chosen:
        resources.append("gpu")
    claiming = dice.choice(leaves)
    many = dice.choice((2, 3)) if "full-host" in chosen else dice.choice((1, 1, 2, 2, 3, 4))
    nodes = [_node(dice, f"n{number}", resources) for number in range(1, 1 + many)]
    total = sum(node["capacity"]["cpu"] for node in nodes)
    queues = _queues(dice, shape, claiming, total)
    fifo = [queue["name"] for queue in queues if queue["settings"].get("mode") == "fifo"]
    apps = _apps(dice, leaves, claiming, fifo)
    greedy = [app for app in apps if app["queue"] != claiming] or apps
    works = _running(dice, nodes, greedy[:1] * dice.choice((4, 16)) + greedy * 2 + apps, resources)
    works += _pending(dice, [app for app in apps if app["queue"] == claiming] * 4 + apps, resources)
    document: Document = {
        "cede": 1,
        "now": dice.choice((0, 0, 100, 0.5)),
        "doctrine": {"name": "ytsaurus", "edition": edition, **_tree(dice, resources)},
        "nodes": nodes,
        "queues": queues,
        "apps": apps,
        "workloads": works,
    }
    _clocks(dice, document)
    add_traits(dice, document, chosen)
    return _tidy(document)


def _node(dice: Random, name: str, resources: list[str]) -> Document:
    capacity: Document = {"cpu": dice.choice((2, 3, 4, 4, 5, 6, 8))}
    for resource in resources[1:]:
        capacity[resource] = 8 if resource == "gpu" else dice.choice((3, 4, 6, 8, 10))
    return {"name": name, "capacity": capacity}


def _queues(dice: Random, shape: dict[str, str | None], claiming: str, total: float) -> list[Document]:
    """Pools; the one that claims is mostly owed something, and so is every pool above it."""
    owed = {claiming}
    while any((parent := shape[name]) is not None and parent not in owed for name in owed):
        owed |= {parent for name in owed if (parent := shape[name]) is not None}
    queues = []
    have: dict[str | None, float] = {None: total * dice.choice((1, 1, 1, 1.5))}
    for name, parent in shape.items():
        queue: Document = {"name": name, "settings": {}} | ({"parent": parent} if parent else {})
        most = have[parent]
        if dice.random() < (0.9 if name in owed else 0.25) and most:
            parts = (0.5, 0.75, 1, 1) if name in owed else (0.1, 0.25, 0.5)
            guaranteed = round(most * dice.choice(parts), 1)
            queue["guaranteed"] = {"cpu": int(guaranteed) if guaranteed == int(guaranteed) else guaranteed}
            have[parent] -= guaranteed if parent else 0
            have[name] = guaranteed
        else:
            have[name] = 0
        if dice.random() < 0.3:
            queue["weight"] = dice.choice((0.5, 2, 2, 3, 10))
        if name not in shape.values() and dice.random() < 0.2:
            queue["settings"]["mode"] = "fifo"
            if dice.random() < 0.3:
                keys = ["weight", "start_time", "pending_job_count"]
                queue["settings"]["fifo_sort_parameters"] = dice.sample(keys, dice.choice((1, 2, 3)))
        for key, value, chance in (
            ("enable_aggressive_starvation", True, 0.35),
            ("enable_aggressive_starvation", False, 0.05),
            ("allow_aggressive_preemption", dice.random() < 0.3, 0.12),
            ("allow_normal_preemption", False, 0.04),
            ("fair_share_starvation_tolerance", dice.choice((0, 0.5, 0.9, 1)), 0.15),
            ("fair_share_starvation_timeout", dice.choice((1, 10, 60)), 0.15),
        ):
            if dice.random() < chance:
                queue["settings"][key] = value
        queues.append(queue)
    return queues


def _apps(dice: Random, leaves: list[str], claiming: str, fifo: list[str]) -> list[Document]:
    apps = []
    for number in range(dice.choice((2, 3, 3, 4, 5, 6, 8))):
        queue = claiming if number == 0 else dice.choice([*leaves, *fifo])
        name = dice.choice((f"o{number}", f"o{number}", f"o{number}", queue if number == 1 else f"o{number}"))
        app: Document = {"name": name, "queue": queue, "settings": {}}
        if dice.random() < 0.2:
            app["weight"] = dice.choice((0.5, 2, 3))
        for key, value, chance in (
            ("fair_share_starvation_tolerance", dice.choice((0, 0.5, 0.9, 1)), 0.1),
            ("fair_share_starvation_timeout", dice.choice((1, 60)), 0.1),
            ("is_gang", True, 0.1),
        ):
            if dice.random() < chance:
                app["settings"][key] = value
        apps.append(app)
    return apps


def _needs(dice: Random, resources: list[str], sizes: Sequence[float] = SIZES) -> Document:
    need: Document = {"cpu": dice.choice(sizes)}
    for resource in resources[1:]:
        if resource != "gpu" and dice.random() < 0.9:
            need[resource] = dice.choice((1, 1, 1, 2))
        elif resource == "gpu" and dice.random() < 0.8:
            need[resource] = dice.choice((2, 4, 4, 8, 8))
    return need


def _running(dice: Random, nodes: list[Document], apps: list[Document], resources: list[str]) -> list[Document]:
    """Work on each node until it is full, or nearly so."""
    works: list[Document] = []
    kinds = {app["name"]: _needs(dice, resources) for app in apps}
    for node in nodes:
        left, misses = dict(node["capacity"]), 0
        while misses < dice.choice((2, 3, 4)) and len(works) < 24:
            app = dice.choice(apps)
            need = kinds[app["name"]] if dice.random() < 0.7 else _needs(dice, resources)
            if any(left[name] < amount for name, amount in need.items()):
                misses += 1
                continue
            for name, amount in need.items():
                left[name] -= amount
            works.append(_standing(dice, f"r{len(works)}", app, need, node["name"]))
    return works


def _standing(dice: Random, name: str, app: Document, need: Document, node: str) -> Document:
    work: Document = {"name": name, "queue": app["queue"], "app": app["name"], "state": "running", "nodes": [node]}
    work["requests"] = dict(need)
    if dice.random() < 0.93:
        work["started"] = dice.choice((-90, -80, -70, -60, -50, -40, -30, -20, -10, -10, -5))
    if dice.random() < 0.1:
        work["checkpoint"] = {"mode": "auto", "last": dice.choice((-100, -45, -10, -2))}
    if dice.random() < 0.1:
        work["usage"] = {key: amount / 2 if key == "cpu" else amount for key, amount in need.items()}
    if dice.random() < 0.1:
        work["submitted"] = dice.choice((-1000, -200, -95))
    if dice.random() < 0.1:
        work["uid"] = f"u{dice.randrange(100)}-{name}"
    if dice.random() < 0.05:
        work["preemptible"] = False
    if dice.random() < 0.03:
        work["state"] = "checkpointing"
    return work


def _pending(dice: Random, apps: list[Document], resources: list[str]) -> list[Document]:
    works: list[Document] = []
    for _ in range(dice.choice((1, 2, 2, 3))):
        app, need = dice.choice(apps), _needs(dice, resources, (0.5, 1, 1, 1, 2, 2, 3))
        for _ in range(dice.choice((1, 2, 3, 4, 6))):
            name = f"w{len(works)}"
            work: Document = {"name": name, "queue": app["queue"], "app": app["name"], "requests": dict(need)}
            if dice.random() < 0.15:
                work["requests"] = _needs(dice, resources)
            work["submitted"] = dice.choice((-1000, -200, -100, -100, -10, 0))
            if dice.random() < 0.08:
                work["members"] = 2
            if dice.random() < 0.05:
                work["preempts"] = False
            if dice.random() < 0.04:
                work["state"] = "suspended"
            works.append(work)
    return works


def _tree(dice: Random, resources: list[str]) -> Document:
    """Options of the tree; spare room is asked for only where it does not keep everybody out."""
    spare = {"cpu": dice.choice((0, 0, 0.5, 1)), "user_slots": dice.choice((0, 1)), "memory": dice.choice((0, 0, 1))}
    found: Document = {"min_spare_allocation_resources_on_node": spare}
    if dice.random() < 0.08 and "memory" not in resources:
        found = {}
    for key, values, chance in (
        ("fair_share_starvation_tolerance", (0, 0.5, 0.9, 1, 1), 0.3),
        ("fair_share_starvation_timeout", (1, 10, 29), 0.4),
        ("fair_share_aggressive_starvation_timeout", (30, 100, 130, 200), 0.3),
        ("enable_aggressive_starvation", (True,), 0.4),
        ("enable_pool_starvation", (False,), 0.1),
        ("aggressive_preemption_satisfaction_threshold", (0, 0, 0.1, 0.5, 0.8), 0.5),
        ("scheduling_preemption_priority_scope", ("operation_only", "operation_and_ancestors"), 0.2),
        ("allow_preemption_from_starving_operations", (True,), 0.12),
        ("enable_absolute_fair_share_starvation_tolerance", (True,), 0.08),
        ("consider_allocation_on_fair_share_bound_preemptible", (True,), 0.15),
        ("allow_aggressive_preemption_for_gang_operations", (False,), 0.1),
        ("allocation_count_preemption_timeout_coefficient", (2, 4, 8), 0.08),
        ("allowed_node_resources_overcommit_duration", (0, 10, 20), 0.3),
    ):
        if dice.random() < chance:
            found[key] = dice.choice(values)
    if dice.random() < 0.3:
        least = found.get("aggressive_preemption_satisfaction_threshold", 0.2)
        found["preemption_satisfaction_threshold"] = dice.choice(
            (max(least, 0.99), max(least, 0.8), 1.2, max(least, 0.5))
        )
    if dice.random() < 0.15:
        thresholds = ({"user_slots": 0}, {"user_slots": 2}, {"cpu": 1}, {"cpu": 2, "user_slots": 3}, {"cpu": 100})
        found["non_preemptible_resource_usage_threshold"] = dice.choice(thresholds)
    return found


def _clocks(dice: Random, document: Document) -> None:
    """Whoever may be below its share has mostly been so for some time."""
    for entry in [*document["queues"], *document["apps"]]:
        if dice.random() < 0.9:
            entry["settings"]["below_fair_share_since"] = dice.choice(CLOCKS) + int(document["now"])


def _tidy(document: Document) -> Document:
    for entry in [*document["queues"], *document["apps"]]:
        if not entry["settings"]:
            del entry["settings"]
    document["apps"] = [app for app in document["apps"] if "settings" in app or "weight" in app or app["name"] > "o3"]
    return document
