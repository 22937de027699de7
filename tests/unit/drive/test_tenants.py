"""Under every doctrine: what runs of a tenant, or is on its way out, is never more than its quota."""

from __future__ import annotations

import random
from typing import Any

import pytest

import cede
from cede.model.lifecycle import PRESENT
from tests.drive_world import World
from tests.unit.drive.lives import one_thing
from tests.unit.drive.worlds import terms

DOCTRINES: dict[str, dict[str, Any]] = {
    "backendai": {"preemptible_priority": 50, "preemption_mode": "suspend"},
    "kueue": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
    "lattice": {},
    "yunikorn": {"preemption.delay": "1s"},
    "ytsaurus": {},
}
MOST = {"acme": (2, 3), "other": (8, 2)}
"""Nodes and workloads."""


def cluster(doctrine: str) -> World:
    root = [{"name": "root"}] if doctrine in ("kueue", "yunikorn") else []
    parent = {"parent": "root"} if root else {}
    queues = [
        {"name": name, **parent, "guaranteed": {"cpu": 8}, "settings": DOCTRINES[doctrine]} for name in ("a", "b")
    ]
    data = {
        "cede": 1,
        "doctrine": doctrine,
        "nodes": [{"name": f"n{number}", "capacity": {"cpu": 4}} for number in range(4)],
        "queues": root + queues,
        "tenants": [
            {"name": name, "max_nodes": nodes, "max_workloads": workloads} for name, (nodes, workloads) in MOST.items()
        ],
    }
    return World(cede.load(data).document)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("doctrine", DOCTRINES)
def test_no_tenant_ever_has_more_than_its_quota(doctrine: str, seed: int) -> None:
    chance = random.Random(seed)
    world = cluster(doctrine)
    for number in range(60):
        one_thing(world, chance, number, "ab", terms())
        assert world.steps[-1].problems == []
        if not number % 12:
            world.restart()
        for tenant, (nodes, workloads) in MOST.items():
            there = [
                job for job in world.driver.jobs.values() if job.phase in PRESENT and job.workload.tenant == tenant
            ]
            assert len(there) <= workloads
            assert sum(len(set(job.nodes)) for job in there) <= nodes
