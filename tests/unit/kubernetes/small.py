"""Small clusters under kube-scheduler."""

from __future__ import annotations

from typing import Any

import cede
from tests.builders import Entry, cluster_of


def pods(*entries: Entry, budgets: list[dict[str, Any]] | None = None, now: float = 0) -> cede.Cluster:
    """A cluster of these entries and disruption budgets."""
    doctrine = {"name": "kubernetes", **({"disruption_budgets": budgets} if budgets else {})}
    return cluster_of(*entries, now=now, doctrine=doctrine)


def allows(count: int, *workloads: str, name: str = "budget") -> list[dict[str, Any]]:
    """One budget, over these workloads."""
    return [{"name": name, "workloads": list(workloads), "allowed": count}]
