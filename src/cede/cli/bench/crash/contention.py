"""Clusters on which a stream of jobs preempts, one for each doctrine, as each has its own rules for victims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

NODES = 4
CPUS = 4
Asks = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Contention:
    """The cluster that is served, and what a job asks for under its doctrine beside room and times.

    `ordinary` work is what fills the nodes, `urgent` work what takes room from it.
    """

    cluster: dict[str, Any]
    ordinary: Callable[[Random], Asks]
    urgent: Callable[[Random], Asks]
    lasting: int = 1
    """How many times as long ordinary work lasts: where work waits before it may preempt, nodes must stay full."""
    most_under_way: int = 20
    whole_on_one_node: bool = False
    """Whether all members of a gang stand on one node."""


def _cluster(doctrine: object, *queues: dict[str, Any]) -> dict[str, Any]:
    nodes = [{"name": "n", "count": NODES, "capacity": {"cpu": CPUS}}]
    return {"cede": 1, "doctrine": doctrine, "nodes": nodes, "queues": list(queues)}


def _half(name: str, parent: str, **settings: Any) -> dict[str, Any]:
    """A queue that is owed half of all there is."""
    return {"name": name, "parent": parent, "guaranteed": {"cpu": NODES * CPUS // 2}, "settings": settings}


_RECLAIMS = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
_STARVES = {"fair_share_starvation_timeout": 1, "preemptive_scheduling_backoff": 0.1}

CONTENTIONS = {
    "backendai": Contention(
        _cluster(
            "backendai",
            {"name": "default", "settings": {"preemptible_priority": 40, "preemption_mode": "suspend"}},
        ),
        ordinary=lambda draw: {"priority": draw.randint(1, 9)},
        urgent=lambda draw: {"priority": draw.randint(50, 90)},
    ),
    "kueue": Contention(
        _cluster(
            "kueue",
            {"name": "all", "guaranteed": {"cpu": 0}},
            _half("batch", "all", **_RECLAIMS),
            _half("prod", "all", **_RECLAIMS),
        ),
        ordinary=lambda draw: {"queue": "batch", "priority": draw.randint(1, 9)},
        # Within its own queue by priority, out of the other by what it is owed.
        urgent=lambda draw: {"queue": draw.choice(["batch", "prod", "prod"]), "priority": draw.randint(50, 90)},
    ),
    "yunikorn": Contention(
        _cluster(
            "yunikorn",
            {"name": "root"},
            {"name": "root.batch", "parent": "root", "guaranteed": {"cpu": 2}, "settings": {"preemption.delay": "1s"}},
            _half("root.prod", "root", **{"preemption.delay": "1s"}),
        ),
        ordinary=lambda draw: {"queue": "root.batch", "priority": draw.randint(1, 9)},
        urgent=lambda draw: {"queue": "root.prod", "priority": draw.randint(50, 90)},
        lasting=8,
        most_under_way=30,
    ),
    "ytsaurus": Contention(
        _cluster({"name": "ytsaurus", **_STARVES}, {"name": "batch"}, {"name": "prod", "weight": 3}),
        # Several allocations make an operation, which may hold more than its share.
        ordinary=lambda draw: {"queue": "batch", "app": f"batch-{draw.randrange(2)}"},
        urgent=lambda draw: {"queue": "prod", "app": f"prod-{draw.randrange(2)}"},
        lasting=8,
        most_under_way=30,
        whole_on_one_node=True,
    ),
    "lattice": Contention(
        _cluster(
            # Nobody is near its end; the times are the doctrine's own, so that they are here and not in submissions.
            {"name": "lattice", "near_completion_threshold": 0, "value_rule": False},
            {"name": "default"},
        ),
        ordinary=lambda draw: {"priority": draw.randint(1, 4)},
        urgent=lambda draw: {"priority": draw.randint(6, 9)},
    ),
}
