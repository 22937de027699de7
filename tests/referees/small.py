"""Small crowded clusters for the referees: at most four nodes and seven that run, one to three that want in.

Drawn with few draws, so that thousands take seconds; what does not fit where it was drawn is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

Document = dict[str, Any]

STATES = ("running",) * 9 + ("reserved", "preempting", "checkpointing")
KINDS = ("batch", "batch", "batch", "batch", "interactive", "inference", "system")
STARTS = (-40, -30, -20, -10, None)
PLACEMENTS = ("any", "any", "any", "any", "tight", "spread")
SETTINGS: dict[str, dict[str, Sequence[Any]]] = {
    "bep-1014": {
        "preemptible_priority": (5, 3, 100),
        "preemption_order": ("oldest", "newest"),
        "preemption_mode": ("terminate", "suspend"),
    },
    "26.8": {
        "enabled": (True, True, True, True, True, False),
        "preemption_order": ("oldest", "newest", "fewest-sessions", "smallest-resources"),
        "preemption_mode": ("terminate", "reschedule"),
        "preemption_min_runtime": (0, 0, 15, 30),
        "victim_scope": ("resource-group", "user", "project", "domain"),
        "scheduler": ("fifo", "lifo", "drf", "fair-share"),
        "agent_selection_strategy": ("concentrated", "dispersed", "roundrobin", "legacy"),
    },
}


@st.composite
def small_clusters(draw: DrawFn, edition: str) -> Document:
    """Plain documents of one resource group."""
    dice = Dice(draw)
    gpus, halves, limited, count = dice.pick((False, True), (1, 1, 2), (False, False, False, True), (1, 2, 3, 4))
    nodes = [_node(dice, f"n{number}", gpus=gpus) for number in range(count)]
    free = {entry["name"]: _left(entry) for entry in nodes}
    whole: dict[str, str] = {}
    workloads: list[Document] = []
    (many,) = dice.pick((7, 7, 6, 5, 4, 2, 0))
    for number in range(many):
        entry = _workload(dice, f"r{number}", gpus=gpus, halves=halves)
        _stand(dice, entry, free, whole)
        if "nodes" in entry:
            workloads.append(entry)
    (more,) = dice.pick((1, 2, 3))
    for number in range(more):
        entry = _workload(dice, f"p{number}", gpus=gpus, halves=halves)
        high, submitted, placement, preempts = dice.pick((0, 2, 3, 4), range(3), PLACEMENTS, (True,) * 9 + (False,))
        entry |= {"priority": entry["priority"] + high, "job_priority": entry["job_priority"] + high}
        entry |= {"submitted": -submitted, "placement": placement, "preempts": preempts}
        state, only = dice.pick(("pending", "pending", "suspended"), range(12))
        entry["state"] = state
        _differ(dice, entry)
        if only < len(nodes):
            entry["constraints"] = {"nodes": [nodes[only]["name"], nodes[0]["name"]]}
        del entry["started"]
        workloads.append(entry)
    settings = dict(zip(SETTINGS[edition], dice.pick(*SETTINGS[edition].values()), strict=True))
    if dice.pick((False, True)) == (True,):
        _duel(dice, nodes, workloads, settings)
    queue: Document = {"name": "rg", "settings": settings}
    document: Document = {
        "cede": 1,
        "doctrine": {"name": "backendai", "edition": edition},
        "nodes": nodes,
        "queues": [queue],
        "workloads": [{key: value for key, value in entry.items() if value is not None} for entry in workloads],
    }
    if limited:
        cpus, most = dice.pick(range(3, 12), (1, 2, 3, 9))
        queue["max"] = {"cpu": cpus}
        document["tenants"] = [{"name": "t", "max_workloads": most}]
    return document


class Dice:
    """Several choices in one draw: what Hypothesis takes long for is the number of draws."""

    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw

    def pick(self, *choices: Sequence[Any]) -> tuple[Any, ...]:
        number = self.draw(st.integers(0, prod(map(len, choices)) - 1))
        found = []
        for options in choices:
            number, at = divmod(number, len(options))
            found.append(options[at])
        return tuple(found)


def _node(dice: Dice, name: str, *, gpus: bool) -> Document:
    cpu, gpu, taken, state, group = dice.pick(
        range(3, 7), range(1, 4), (0, 0, 0, 1), ("ready",) * 7 + ("cordoned",), ("g1", "g2")
    )
    capacity = {"cpu": cpu, **({"gpu": gpu} if gpus else {})}
    entry: Document = {"name": name, "capacity": capacity, "state": state, "labels": {"group": group}}
    return {**entry, "occupied": {"cpu": 1}} if taken else entry


def _left(entry: Document) -> Counter[str]:
    left = Counter[str](entry["capacity"])
    left.subtract(entry.get("occupied", {}))
    return left


def _workload(dice: Dice, name: str, *, gpus: bool, halves: int) -> Document:
    cpu, gpu, members, priority, job, started, kind = dice.pick(
        (1, 2, 3), (0, 1, 2), (1, 1, 1, 2, 3), range(7), range(4), STARTS, KINDS
    )
    user, project, domain, preemptible, uid, tenant, exclusive = dice.pick(
        "ab", "xy", "vw", (True,) * 9 + (False,), range(3), (None, "t"), (False,) * 11 + (True,)
    )
    requests = {"cpu": cpu if halves == 1 else f"{500 * cpu}m", **({"gpu": gpu} if gpus and gpu else {})}
    entry = {"name": name, "queue": "rg", "requests": requests, "members": members, "kind": kind, "started": started}
    entry |= {"priority": priority, "job_priority": job, "user": user, "project": project, "domain": domain}
    return entry | {"preemptible": preemptible, "uid": f"{uid}-{name}", "tenant": tenant, "exclusive": exclusive}


def _differ(dice: Dice, entry: Document) -> None:
    """Sometimes members of different size instead of equal ones."""
    chance, driver, count = dice.pick(range(6), (1, 2, 4), (1, 2, 3))
    if chance == 0:
        parts = [("driver", 1, entry["requests"] | {"cpu": driver}), ("worker", count, entry["requests"])]
        entry["pod_sets"] = [{"name": name, "count": size, "requests": amounts} for name, size, amounts in parts]
        del entry["requests"], entry["members"]


def _duel(dice: Dice, nodes: list[Document], workloads: list[Document], settings: Document) -> None:
    """Make it a cluster where nobody is protected and one gang, ahead of all others, may take whom it likes."""
    same = {"kind": "batch", "user": "a", "project": "x", "domain": "v", "exclusive": False}
    for entry in workloads:
        if entry["state"] not in ("pending", "suspended"):
            entry.update(same, state="running", preemptible=True, priority=entry["priority"] % 4)
    gang = next(entry for entry in workloads if entry["name"] == "p0")
    for key in ("constraints", "pod_sets"):
        gang.pop(key, None)
    cpu, members = dice.pick((1, 2), (1, 2, 3, 4))
    gang |= same | {"requests": {"cpu": cpu}, "members": members, "priority": 9, "job_priority": 9, "preempts": True}
    for node in nodes:
        node["state"] = "ready"
    settings |= {"preemptible_priority": 5}
    if "enabled" in settings:
        settings["enabled"] = True


def _stand(dice: Dice, entry: Document, free: dict[str, Counter[str]], whole: dict[str, str]) -> None:
    """Put the members where the dice say, if there is room for all of them."""
    names = list(free)
    *places, state = dice.pick(*[names] * entry["members"], STATES)
    cpu = entry["requests"]["cpu"]
    need = Counter({**entry["requests"], "cpu": int(cpu[:-1]) / 1000 if isinstance(cpu, str) else cpu})
    asked = {name: {key: amount * places.count(name) for key, amount in need.items()} for name in places}
    for name, amounts in asked.items():
        alone = whole.get(name, "") == "" if entry["exclusive"] else whole.get(name) != "exclusive"
        if any(free[name][key] < amount for key, amount in amounts.items()) or not alone:
            return
    if entry["exclusive"] and len(set(places)) < len(places):
        return
    entry |= {"nodes": places, "state": state}
    for name, amounts in asked.items():
        free[name].subtract(amounts)
        whole[name] = "exclusive" if entry["exclusive"] else "shared"
