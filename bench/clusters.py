"""Seeded clusters of any size: every node full of small work, so that every claimant must preempt."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from cede.model.cluster import Queue, Workload

GPUS = 10
SEED = 20


def full_cluster(nodes: int, running: int, settings: dict[str, Any], edition: str) -> dict[str, Any]:
    """A cluster file with `running` workloads, evenly on `nodes` nodes, that holds all their GPUs."""
    draw = random.Random(SEED)
    each = running // nodes
    return {
        "cede": 1,
        "now": 0,
        "doctrine": {"name": "backendai", "edition": edition},
        "nodes": [
            {
                "name": f"n{number:05d}",
                "partition": "pool",
                "capacity": {"cpu": 96, "memory": "1Ti", "gpu": each},
                "labels": {"group": f"g{number // 16:04d}"},
            }
            for number in range(nodes)
        ],
        "queues": [{"name": "pool", "partition": "pool", "settings": settings}],
        "workloads": [_running(draw, number, f"n{number % nodes:05d}") for number in range(each * nodes)],
    }


def _running(draw: random.Random, number: int, node: str) -> dict[str, Any]:
    return {
        "name": f"w{number:06d}",
        "queue": "pool",
        "user": f"user-{draw.randrange(100)}",
        "project": f"project-{draw.randrange(20)}",
        "state": "running",
        "priority": draw.randrange(0, 40),
        "job_priority": draw.randrange(-10, 11),
        "requests": {"cpu": draw.choice((1, 2, 4, 8)), "memory": draw.choice(("4Gi", "16Gi", "64Gi")), "gpu": 1},
        "nodes": [node],
        "submitted": -draw.randrange(100_000, 200_000),
        "started": -draw.randrange(1, 100_000),
        "preemptible": draw.random() > 0.1,
    }


POOL = Queue(name="pool", partition="pool")


def claimant(number: int, keys: Mapping[str, Any] = MappingProxyType({})) -> Workload:
    """A pending workload that fits nowhere without victims; each number has a shape of its own."""
    draw = random.Random(SEED + number)
    return Workload.model_validate(
        {
            "name": f"claimant-{number}",
            "queue": "pool",
            "user": f"user-{draw.randrange(100)}",
            "project": f"project-{draw.randrange(20)}",
            "priority": 90,
            "job_priority": 90,
            "requests": {
                "cpu": draw.choice((4, 8, 16)),
                "memory": draw.choice(("32Gi", "64Gi", "128Gi")),
                "gpu": draw.choice((1, 2, 4)),
            },
            "submitted": -1,
        }
        | dict(keys)
    )
