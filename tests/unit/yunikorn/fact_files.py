"""Facts about YuniKorn, and cluster files that state the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cede
from cede.doctrines.yunikorn.queues import Queues, queues_of
from cede.doctrines.yunikorn.settings import SHIPPED
from cede.engine.cluster import Cluster
from cede.state.state import State

Fact = dict[str, Any]
RELEASE = "1.9.0"
FACTS: list[Fact] = json.loads((Path(__file__).parent / "facts.json").read_text(encoding="utf-8"))["facts"]
NOW = 1800
"""Half past some hour: ages of minutes lie within one hour."""
NO_PLUGIN = "the score of a node is for the predicate plugin, which edition 1.9 is built without"
NOT_APPLICABLE: dict[str, str] = {
    **{fact["id"]: NO_PLUGIN for fact in FACTS if fact["kind"] == "solution-score"},
    "yunikorn-178": "a run of quota preemption is over within its cycle, so that none is ever under way",
}


def facts(kind: str) -> pytest.MarkDecorator:
    """One test for each fact of the kind that applies."""
    found = [fact for fact in FACTS if fact["kind"] == kind and fact["id"] not in NOT_APPLICABLE]
    return pytest.mark.parametrize("fact", found, ids=lambda fact: f"{fact['id']} {fact['title']}")


def expected(fact: Fact) -> Fact:
    """What is expected of release 1.9.0."""
    found: Fact = fact["expect_by_version"][RELEASE] if "expect_by_version" in fact else fact["expect"]
    return found


def queue_entries(fact: Fact, **more: Any) -> list[Fact]:
    """The queues; `more` by dotted path adds to an entry."""
    entries = []
    for queue in fact["queues"]:
        path = queue["path"]
        entry: Fact = {"name": path, **{key: queue[key] for key in ("guaranteed", "max") if queue.get(key)}}
        if "." in path:
            entry["parent"] = path.rpartition(".")[0]
        if path == "root":
            entry.pop("max", None)  # it is what the nodes have
        entries.append(entry | more.get(path, {}))
    return entries


def used_entries(fact: Fact) -> list[Fact]:
    """Running work that makes up what each queue uses; beside its children, in a leaf of its own."""
    paths = {queue["path"]: queue.get("allocated") or {} for queue in fact["queues"]}
    found = []
    for path, used in paths.items():
        below = [paths[other] for other in paths if other.rpartition(".")[0] == path]
        rest = {kind: amount - sum(other.get(kind, 0) for other in below) for kind, amount in used.items()}
        rest = {kind: amount for kind, amount in rest.items() if amount > 0}
        if rest:
            leaf = f"{path}.rest" if below else path
            found.append({"name": f"work of {path}", "queue": leaf, "state": "running", "requests": rest})
    return found


def rest_entries(workloads: list[Fact], known: list[Fact]) -> list[Fact]:
    """Queues that work is in and that no entry has."""
    names = {queue["name"] for queue in known}
    missing = sorted({work["queue"] for work in workloads} - names)
    return [{"name": name, "parent": name.rpartition(".")[0]} for name in missing]


def allocation_entries(fact: Fact, queue: str | None = None) -> list[Fact]:
    """Running work as the fact has it; what was released is in no file."""
    found = []
    for work in fact["allocations"]:
        if work.get("released"):
            continue
        entry: Fact = {
            "name": work["key"],
            "app": work["app"],
            "queue": work["queue"] or queue,
            "state": "preempting" if work.get("preempted") else "running",
            "nodes": [work["node"]],
            "requests": work["resource"],
            "submitted": NOW - work["age_s"],
            "priority": work.get("priority", 0),
            "preemptible": work.get("allow_preempt_self", False),
            "originator": work.get("originator", False),
        }
        if work.get("required_node"):
            entry["required_node"] = work["required_node"]
        found.append(entry)
    return found


def load(queues: list[Fact], workloads: list[Fact], nodes: list[Fact] | None = None, **settings: Any) -> Cluster:
    """A cluster under edition 1.9."""
    document: Fact = {
        "cede": 1,
        "now": NOW,
        "doctrine": {"name": "yunikorn", "edition": SHIPPED, **settings},
        "queues": queues,
        "workloads": workloads,
    }
    return cede.load(document | ({"nodes": nodes} if nodes else {}))


def tree_of(cluster: Cluster) -> tuple[State, Queues]:
    return cluster.state, queues_of(cluster.state, SHIPPED)


def named(state: State, amounts: Any) -> Fact | None:
    """Amounts by column as a fact states them."""
    return None if amounts is None else {state.units.names[column]: amount for column, amount in amounts.items()}
