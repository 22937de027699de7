"""Clusters and work of Lattice for the lives of two drivers: homes and loans, types of vClusters, tenants, limits."""

from __future__ import annotations

from random import Random
from typing import Any

from cede.doctrines.document import parse_document
from cede.model.cluster import ClusterFile
from tests.properties.twins import node

TYPES = ("hpc_batch", "ml_training", "service", "sensitive", "interactive", None, None)


def vclusters(dice: Random, edition: str) -> tuple[ClusterFile, dict[str, Any]]:
    """vClusters a, b and c; some nodes are at home in one of them, some are identical to others."""
    shape: dict[str, Any] = {"partitions": 1, "nodes": [(4, 8)] * dice.randint(1, 5)}
    settings: dict[str, Any] = {"max_victims": dice.choice([1, 2, 3, 3, 8])}
    if edition == "policy":
        settings["value_rule"] = dice.random() < 0.7
        settings["near_completion_threshold"] = dice.choice(["0s", "2s", "5m"])
        if dice.random() < 0.2:
            settings["patience"] = dice.choice(["3s", "20s"])
    homes, alike = dice.random() < 0.4, dice.random() < 0.4
    nodes = []
    for number, (gpu, cpu) in enumerate(shape["nodes"]):
        made = node(number, gpu, cpu)
        if homes and dice.random() < 0.6:
            made["home"] = dice.choice("abc")
        if alike:
            made["labels"]["fingerprint"] = f"f{number % 2}"
        nodes.append(made)
    document = {
        "cede": 1,
        "doctrine": {"name": "lattice", "edition": edition, **settings},
        "nodes": nodes,
        "queues": [{"name": name, **vcluster(dice, edition)} for name in "abc"],
    }
    if dice.random() < 0.4:
        document["tenants"] = [tenant(dice, name) for name in ("t", "u")]
    return parse_document(document), shape


def vcluster(dice: Random, edition: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"type": dice.choice(TYPES)}
    if edition == "policy":
        settings |= {"allow_borrowing": dice.random() < 0.8, "allow_lending": dice.random() < 0.8}
    limit = {"max": {"gpu": dice.choice([4, 6, 8])}} if dice.random() < 0.15 else {}
    return {"settings": {key: value for key, value in settings.items() if value is not None}, **limit}


def tenant(dice: Random, name: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "share": dice.choice([0.1, 0.3, 0.6])}
    for key, values in (
        ("burst", [0, 0.5]),
        ("used", [0.5, 0.9, 1.3]),
        ("max_nodes", [1, 2]),
        ("max_workloads", [2, 4]),
    ):
        if dice.random() < 0.3:
            made[key] = dice.choice(values)
    return made


def allocation(dice: Random, *, tenants: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "queue": dice.choice(["a", "b", "b", "c", None]),
        "tenant": dice.choice(["t", "u", None]) if tenants else None,
        "priority": dice.choice([0, 2, 2, 5, 5, 7, 8, 9, 10]),
        "requests": {"gpu": dice.choice([1, 1, 2, 4]), "cpu": dice.choice([0, 1, 2])},
        "members": dice.choice([1, 1, 1, 2, 3]),
        "walltime": dice.choice([None, None, 3, 10, 60, 4000]),
        "preemptible": dice.random() < 0.9,
        "preempts": dice.random() < 0.9,
        "sensitive": dice.random() < 0.07,
        "checkpoint": dice.choice([None, {"mode": "none"}, {"mode": "auto"}, {"mode": "manual"}]),
    }
    if dice.random() < 0.2:
        made |= dice.choice(
            [
                {"placement": "tight"},
                {"placement": "spread"},
                {"constraints": {"nodes": ["n0"]}},
                {"constraints": {"nodes": ["n0"]}, "sensitive": True},
                {"constraints": {"labels": {"kind": "k0"}}},
                {"exclusive": True},
            ]
        )
    elif dice.random() < 0.1:
        del made["members"]
        made["pod_sets"] = [
            {"name": "one", "count": 1, "requests": made.pop("requests")},
            {"name": "two", "count": 2, "requests": {"cpu": 1}},
        ]
    return made
