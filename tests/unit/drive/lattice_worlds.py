"""Small clusters under Lattice with a driver: nodes at home in queues, and tenants with quotas."""

from __future__ import annotations

from typing import Any

import cede
from cede.engine.drive.terms import Terms
from tests.drive_world import World
from tests.unit.drive.worlds import terms

CPU = 4


def lattice(
    *homes: str | None,
    tenants: list[dict[str, Any]] | None = None,
    queues: dict[str, dict[str, Any]] | None = None,
    **settings: Any,
) -> World:
    """Nodes n1, n2, ... of four cpus, each at home in its queue, or nowhere; queues `a`, `b` and `c`."""
    nodes = [
        {"name": f"n{at}", "capacity": {"cpu": CPU}, **({} if home is None else {"home": home})}
        for at, home in enumerate(homes, 1)
    ]
    data = {
        "cede": 1,
        "doctrine": {"name": "lattice", **settings},
        "nodes": nodes,
        "queues": [{"name": name, "settings": (queues or {}).get(name, {})} for name in "abc"],
        "tenants": tenants or [],
    }
    return World(cede.load(data).document)


def given(**seconds: Any) -> Terms:
    """Terms of the tests, with 60 s to give a lent node back."""
    return terms(**{"reclaim_grace": 60, "grace_period": 30} | seconds)


def nodes_of(world: World, tenant: str) -> int:
    """On how many nodes the tenant's work stands, or has room held for it; counted from the records alone.

    Who makes way for another of the tenant, and whoever that is, have the same node one after the other.
    """
    jobs = [job for job in world.driver.jobs.values() if job.workload.tenant == tenant]
    shared = sum(len(set(job.nodes) & _nodes(world, job.waits_for, tenant)) for job in jobs)
    return sum(len(set(job.nodes)) for job in jobs) - shared


def _nodes(world: World, names: tuple[str, ...], tenant: str) -> set[str]:
    jobs = [world.job(name) for name in names]
    return {node for job in jobs if job.workload.tenant == tenant for node in job.nodes}
