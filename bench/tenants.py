"""Seeded clusters of tenants below YuniKorn's root, with every node taken by queues that are over their guarantee."""

from __future__ import annotations

import random
from typing import Any

SEED = 3232
GI = 2**30
EACH = 10
TENANTS, QUEUES, VICTIM_QUEUES = 16, 400, 50
CAPACITY = {"vcore": 32, "memory": 128 * GI, "ephemeral-storage": 100 * GI, "pods": 110}
ASKING = "root.t00.asks"
ASKS = {1: (3, 14), 3: (9, 40), 8: (24, 100)}
"""By the number of victims that an ask needs, its cores and memory: none of the shapes below does with fewer."""


def tenants(nodes: int, victims: int, edition: str, *, quota: bool = False) -> dict[str, Any]:
    """A cluster file in which the claimant `in` needs so many victims, all on one node, for each node is full.

    With `quota` every second node has room for it; the max of its tenant does not.
    """
    draw = random.Random(SEED)
    leaves = _leaves()
    takers = leaves[:: len(leaves) // VICTIM_QUEUES][:VICTIM_QUEUES]
    running = _running(nodes, takers, draw)
    cores, memory = ASKS[victims]
    requests = {"vcore": cores, "memory": memory * GI, "ephemeral-storage": victims * 10 * GI}
    claimant = {"name": "in", "queue": ASKING, "app": "in", "priority": 100, "requests": requests, "submitted": -60}
    roomy = {kind: amount * 2 for kind, amount in CAPACITY.items()} if quota else CAPACITY
    return {
        "cede": 1,
        "now": 0,
        "doctrine": {"name": "yunikorn", "edition": edition},
        "nodes": [{"name": f"n{at:05d}", "capacity": dict(roomy if at % 2 else CAPACITY)} for at in range(nodes)],
        "queues": _queues(leaves, running, draw, quota=quota),
        "workloads": [*running, claimant],
    }


def _leaves() -> list[str]:
    """All leaves but the asking one, tenant after tenant."""
    numbers = range(QUEUES - TENANTS - 2)
    return sorted(f"root.t{at % TENANTS:02d}.q{at:03d}" for at in numbers)


def _running(nodes: int, takers: list[str], draw: random.Random) -> list[dict[str, Any]]:
    """Ten on each node, of five shapes that fill it, of queues drawn by lot, no two of one age."""
    ages = list(range(3_600, 3_600 + nodes * EACH))
    draw.shuffle(ages)
    found: list[dict[str, Any]] = []
    for node in range(nodes):
        for cores, memory in _shapes(draw):
            number, queue = len(found), draw.choice(takers)
            entry = {
                "name": f"a{number:06d}",
                "queue": queue,
                "app": f"{queue}-{draw.randrange(20)}",
                "state": "running",
                "priority": draw.choice((0, 0, 10, 50, 100, 1_000)),
                "requests": {"vcore": cores, "memory": memory * GI, "ephemeral-storage": 10 * GI},
                "nodes": [f"n{node:05d}"],
                "submitted": -ages[number],
                "started": -ages[number],
            }
            lot = draw.random()
            if lot < 0.05:
                entry["preemptible"] = False
            elif lot < 0.07:
                entry["originator"] = True
            found.append(entry)
    return found


def _shapes(draw: random.Random) -> list[tuple[int, int]]:
    """Two of four cores and eight of three, with 128 GiB in all."""
    large = [(4, draw.choice((12, 16))) for _ in range(2)]
    missing = (128 - sum(memory for _, memory in large) - 8 * 12) // 2
    small = draw.randrange(1, (8 - missing) // 2 + 1)
    middle = 8 - missing - 2 * small
    found = [*large, *[(3, 10)] * small, *[(3, 12)] * middle, *[(3, 14)] * (small + missing)]
    draw.shuffle(found)
    return found


def _queues(
    leaves: list[str], running: list[dict[str, Any]], draw: random.Random, *, quota: bool
) -> list[dict[str, Any]]:
    """Leaves with guarantees below what they use, a few only just; every second tenant has the sum of its leaves'."""
    usage: dict[str, dict[str, int]] = {}
    for one in running:
        for queue in (one["queue"], one["queue"].rpartition(".")[0]):
            used = usage.setdefault(queue, {"vcore": 0, "memory": 0})
            for kind in used:
                used[kind] += one["requests"][kind]
    below: dict[str, list[dict[str, Any]]] = {f"root.t{at:02d}": [] for at in range(TENANTS)}
    for leaf in leaves:
        tenant = leaf.rpartition(".")[0]
        promised = _promised(usage.get(leaf), draw)
        below[tenant].append({"name": leaf, "parent": tenant, "guaranteed": promised})
        if draw.random() < 0.2:
            most = {"vcore": usage.get(leaf, {}).get("vcore", 0) + 64}
            below[tenant][-1]["max"] = most
    asking = ASKING.rpartition(".")[0]
    owed = {"vcore": 64, "memory": 256 * GI}
    below[asking].append({"name": ASKING, "parent": asking, "guaranteed": owed})
    found: list[dict[str, Any]] = [{"name": "root"}]
    for at, (tenant, children) in enumerate(below.items()):
        entry: dict[str, Any] = {"name": tenant, "parent": "root"}
        if at % 2:
            entry["guaranteed"] = {
                kind: sum(child["guaranteed"].get(kind, 0) for child in children) for kind in ("vcore", "memory")
            }
        if quota and tenant == asking:
            entry["max"] = usage[tenant]
        elif at % 4 == 2:
            entry["max"] = {"vcore": usage[tenant]["vcore"] + 256}
        found += [entry, *children]
    return found


def _promised(used: dict[str, int] | None, draw: random.Random) -> dict[str, int]:
    """The guarantee of one leaf: cores, mostly memory too; small where nobody runs."""
    if used is None:
        cores = draw.choice((4, 8, 16))
    elif draw.random() < 0.2:
        cores = used["vcore"] - draw.randrange(1, 5)
    else:
        cores = used["vcore"] * draw.randrange(5, 10) // 10
    return {"vcore": max(1, cores)} | ({"memory": max(1, cores) * 3 * GI} if draw.random() < 0.7 else {})
