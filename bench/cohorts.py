"""Seeded cohorts of any size, full of borrowed work, as a cluster file and as the naive tree."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from bench.naive.candidates import Preemptor
from bench.naive.quota import Node, Policy, Tree, Workload

SEED = 14543
SPARE = 20
QUOTA = 30
EACH = 50
IN_A_MIDDLE = 40
SETTINGS = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
CPU = ("default", "cpu")


def cohort(queues: int, victims: int, *, fair: bool, levels: int) -> dict[str, Any]:
    """A cluster file in which the claimant `in` must evict so many of one CPU each.

    Each queue has a quota of 30 and holds 50. Classical: the claimant's queue has the quota that is lent out.
    Fair: the root has it, and the claimant's queue a weight that makes its share small.
    """
    draw = random.Random(SEED)
    lent = queues * (EACH - QUOTA) + SPARE
    own: dict[str, Any] = {"weight": 1_000_000} if fair else {"guaranteed": {"cpu": lent}}
    entries: list[dict[str, Any]] = [
        {"name": "root", **({"guaranteed": {"cpu": lent}} if fair else {})},
        {"name": "claims", "parent": "root", "guaranteed": {"cpu": 0}, "settings": SETTINGS} | own,
    ]
    middles = -(-queues // IN_A_MIDDLE) if levels > 2 else 0
    entries += [{"name": f"middle-{at:03d}", "parent": "root"} for at in range(middles)]
    workloads: list[dict[str, Any]] = []
    for at in range(queues):
        parent = f"middle-{at // IN_A_MIDDLE:03d}" if middles else "root"
        name = f"q{at:04d}"
        entries.append({"name": name, "parent": parent, "guaranteed": {"cpu": QUOTA}, "settings": SETTINGS})
        workloads += [
            {
                "name": f"{name}-{number:02d}",
                "queue": name,
                "state": "running",
                "priority": draw.randrange(10),
                "requests": {"cpu": 1},
                "submitted": -100_000,
                "started": -draw.randrange(1, 100_000),
            }
            for number in range(EACH)
        ]
    workloads.append({"name": "in", "queue": "claims", "priority": 100, "requests": {"cpu": victims + SPARE}})
    mode = "FairSharing" if fair else "Classical"
    return {"cede": 1, "doctrine": {"name": "kueue", "preemption": mode}, "queues": entries, "workloads": workloads}


def naive_tree(document: dict[str, Any]) -> tuple[Tree, Preemptor]:
    """The same cohort for the naive search, and its claimant."""
    tree = Tree(
        Node(
            entry["name"],
            entry.get("parent"),
            {CPU: entry["guaranteed"]["cpu"]} if "guaranteed" in entry else {},
            weight=Fraction(entry.get("weight", 1)),
            policy=Policy("LowerPriority", "Any") if "settings" in entry else Policy(),
        )
        for entry in document["queues"]
    )
    *running, claimant = document["workloads"]
    for entry in running:
        tree.hold(
            Workload(
                entry["name"],
                entry["queue"],
                {CPU: entry["requests"]["cpu"]},
                entry["priority"],
                entry["submitted"],
                entry["started"],
                entry["name"],
            )
        )
    return tree, Preemptor("claims", {CPU: claimant["requests"]["cpu"]}, claimant["priority"], uid="in")
