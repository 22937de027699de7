"""Clusters under Lattice for real servers."""

from __future__ import annotations

from typing import Any

from tests.live.serving import TIMES

RETURN_S = 1.5
"""How long whoever borrowed a node has to give it back, by the configuration of the tests' servers."""
TYPES = ("hpc_batch", "ml_training", "service", "sensitive", "interactive")


def lattice_of(
    *nodes: str,
    homes: dict[str, str] | None = None,
    queues: tuple[str, ...] = ("default",),
    tenants: tuple[dict[str, Any], ...] = (),
    **settings: Any,
) -> dict[str, Any]:
    """Nodes of four cpus and queues; a queue that is called like a type has that type. Nobody is near its end.

    The times are in the cluster file: the doctrine has them itself.
    """
    given = TIMES | {"near_completion_threshold": 0} | settings
    return {
        "cede": 1,
        "now": "2026-01-01T00:00:00Z",
        "doctrine": {"name": "lattice", **given},
        "nodes": [_node(name, (homes or {}).get(name)) for name in nodes],
        "queues": [{"name": name, "settings": {"type": name} if name in TYPES else {}} for name in queues],
        "tenants": list(tenants),
    }


def _node(name: str, home: str | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "capacity": {"cpu": 4, "memory": "8Gi"}}
    return entry if home is None else entry | {"home": home}
