"""Clusters in a line or two, so that a test reads like its case.

    cluster_of(node("n1", cpu=8), running("old", cpu=4, priority=1, started=0), pending("in", cpu=4, priority=9))

Names that are no key of an entry are amounts: `cpu=4` is `requests: {cpu: 4}`, or a node's `capacity`. A workload
that holds room and names no node stands on the only node there is; one without a queue is in the only queue there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import cede

SECTIONS = ("nodes", "queues", "tenants", "policies", "workloads")
NODE_KEYS = {"count", "occupied", "partition", "flavor", "home", "labels", "state", "reserved_for", "reserved_since"}
QUEUE_KEYS = {"parent", "partition", "max", "guaranteed"}
QUOTA_KEYS = {*QUEUE_KEYS, "borrowing_limit", "lending_limit", "weight", "resource_groups"}
KUEUE_SETTINGS = {
    "within": "withinClusterQueue",
    "reclaim": "reclaimWithinCohort",
    "borrow": "borrowWithinCohort",
    "fungibility": "flavorFungibility",
}
YUNIKORN_SETTINGS = {
    "policy": "preemption.policy",
    "delay": "preemption.delay",
    "priority_policy": "priority.policy",
    "offset": "priority.offset",
    "quota_delay": "quota.preemption.delay",
}
WORKLOAD_KEYS = {
    *("queue", "app", "user", "project", "domain", "tenant", "kind", "priority", "job_priority", "state", "members"),
    *("pod_sets", "usage", "exclusive", "nodes", "placement", "constraints", "required_node", "submitted", "started"),
    *("walltime", "checkpoint", "preemptible", "preempts", "preempted", "originator", "uid"),
}
HOLDS = ("running", "reserved", "checkpointing", "preempting")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a cluster file and the section it belongs to."""

    section: str
    values: dict[str, Any]


def node(name: str, /, **values: Any) -> Entry:
    """A node: `node("n1", cpu=8, occupied={"cpu": 1}, state="cordoned")`."""
    keys, amounts = _split(values, NODE_KEYS)
    return Entry("nodes", {"name": name, "capacity": amounts, **keys})


def group(name: str = "default", /, **values: Any) -> Entry:
    """A resource group: a queue whose partition has the queue's name; what is no key of a queue is a setting."""
    keys, settings = _split(values, QUEUE_KEYS)
    return Entry("queues", {"name": name, "partition": name, **keys, **({"settings": settings} if settings else {})})


def queue(name: str, parent: str | None = None, /, **values: Any) -> Entry:
    """A Kueue queue: `queue("a", "pool", cpu=4, reclaim="Any", strict=True)`; amounts are its quota."""
    settings = {setting: values.pop(short) for short, setting in KUEUE_SETTINGS.items() if short in values}
    if values.pop("strict", False):
        settings["queueingStrategy"] = "StrictFIFO"
    keys, amounts = _split(values, QUOTA_KEYS)
    entry: dict[str, Any] = {"name": name, **keys}
    if parent is not None:
        entry["parent"] = parent
    if amounts:
        entry["guaranteed"] = amounts
    return Entry("queues", entry | ({"settings": settings} if settings else {}))


cohort = queue
"""A queue with others below it; it has quotas, limits and a weight, but no settings."""


def path(name: str, /, **values: Any) -> Entry:
    """A YuniKorn queue by its full path: `path("root.a", cpu=4, policy="fence")`; amounts are its guarantee."""
    settings = {setting: values.pop(short) for short, setting in YUNIKORN_SETTINGS.items() if short in values}
    keys, amounts = _split(values, {"max", "over_limit_since", "partition"})
    entry: dict[str, Any] = {"name": name, **keys}
    if "." in name:
        entry["parent"] = name.rpartition(".")[0]
    if amounts:
        entry["guaranteed"] = amounts
    return Entry("queues", entry | ({"settings": settings} if settings else {}))


def tenant(name: str, /, **limits: int) -> Entry:
    return Entry("tenants", {"name": name, **limits})


def policy(**values: Any) -> Entry:
    """Which priorities a user or project may use: `policy(user="ann", max_priority=5)`."""
    return Entry("policies", values)


def pending(name: str, /, **values: Any) -> Entry:
    return _workload(name, "pending", values)


def asking(name: str, queue: str, /, **values: Any) -> Entry:
    """A pending workload of this queue that has waited for a minute."""
    return _workload(name, "pending", {"queue": queue, "submitted": -60, **values})


def suspended(name: str, /, **values: Any) -> Entry:
    return _workload(name, "suspended", values)


def running(name: str, on: str | Iterable[str] | None = None, /, **values: Any) -> Entry:
    """A running workload; `on` names the node, or one node a member."""
    return _workload(name, values.pop("state", "running"), values, on)


def reserved(name: str, on: str | Iterable[str] | None = None, /, **values: Any) -> Entry:
    return _workload(name, "reserved", values, on)


def preempting(name: str, on: str | Iterable[str] | None = None, /, **values: Any) -> Entry:
    return _workload(name, "preempting", values, on)


def document_of(*entries: Entry, edition: str = "bep-1014", now: float = 0, **keys: Any) -> dict[str, Any]:
    """The cluster file with these entries, as plain data."""
    document: dict[str, Any] = {"cede": 1, "now": now, "doctrine": {"name": "backendai", "edition": edition}, **keys}
    document |= {section: [] for section in SECTIONS}
    for entry in entries:
        document[entry.section].append(dict(entry.values))
    nodes, queues = document["nodes"], document["queues"]
    for workload in document["workloads"]:
        if "queue" not in workload and len(queues) == 1:
            workload["queue"] = queues[0]["name"]
        if workload["state"] in HOLDS and "nodes" not in workload and len(nodes) == 1:
            parts = workload.get("pod_sets", [{"count": workload.get("members", 1)}])
            workload["nodes"] = [nodes[0]["name"]] * sum(part["count"] for part in parts)
    return document


def cluster_of(*entries: Entry, edition: str = "bep-1014", now: float = 0, **keys: Any) -> cede.Cluster:
    """The cluster with these entries."""
    return cede.load(document_of(*entries, edition=edition, now=now, **keys))


def shipped(*entries: Entry, now: float = 0, **keys: Any) -> cede.Cluster:
    """A cluster under edition 26.8; a group that preempts stands in where none is given.

    What runs began a minute ago; `started=None` is what never began.
    """
    if not any(entry.section == "queues" for entry in entries):
        entries = (group(enabled=True), *entries)
    return cluster_of(*(_begun(entry, now) for entry in entries), edition="26.8", now=now, **keys)


def _begun(entry: Entry, now: float) -> Entry:
    if entry.values.get("state") not in HOLDS:
        return entry
    values = {"started": now - 60, **entry.values}
    return Entry(entry.section, {key: value for key, value in values.items() if value is not None})


def kueue(*entries: Entry, now: float = 0, **doctrine: Any) -> cede.Cluster:
    """A cluster under Kueue's rules; what is named besides is a setting of the doctrine."""
    return cede.load(document_of(*entries, now=now, doctrine={"name": "kueue", **doctrine}))


def fair(*entries: Entry, **doctrine: Any) -> cede.Cluster:
    """The same with fair sharing."""
    return kueue(*entries, preemption="FairSharing", **doctrine)


def laws(*entries: Entry, now: float = 0, **doctrine: Any) -> cede.Cluster:
    """A cluster under the seven laws of YuniKorn's design; what is named besides is a setting of the doctrine."""
    return cede.load(document_of(*entries, now=now, doctrine={"name": "yunikorn", "edition": "laws", **doctrine}))


def release(*entries: Entry, now: float = 0, **doctrine: Any) -> cede.Cluster:
    """The same as YuniKorn 1.9 ships it."""
    return laws(*entries, now=now, edition="1.9", **doctrine)


def decided(cluster: cede.Cluster, workload: str, **options: Any) -> cede.Decision:
    """The decision about one workload in a plan of the whole cluster."""
    found = cede.plan(cluster, **options).of(workload)
    assert found is not None, f"nothing was decided about {workload}"
    return found


def actions(cluster: cede.Cluster, **options: Any) -> dict[str | None, str]:
    """What is decided, by workload, in the order of the decisions."""
    return {made.workload: made.action for made in cede.plan(cluster, **options).decisions}


def verdicts(made: cede.Decision) -> dict[str, tuple[str, str]]:
    """Verdict and rule of every candidate of a decision that was asked for with `explain`."""
    assert made.candidates is not None
    return {one.workload: (one.verdict, one.rule.partition(".")[2]) for one in made.candidates}


def _workload(name: str, state: str, values: dict[str, Any], on: str | Iterable[str] | None = None) -> Entry:
    keys, amounts = _split(values, WORKLOAD_KEYS)
    entry: dict[str, Any] = {"name": name, "state": state, **keys}
    if amounts:
        entry["requests"] = amounts
    if on is not None:
        entry["nodes"] = [on] * int(keys.get("members", 1)) if isinstance(on, str) else list(on)
    return Entry("workloads", entry)


def _split(values: Mapping[str, Any], known: set[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    keys = {key: value for key, value in values.items() if key in known}
    return keys, {key: value for key, value in values.items() if key not in known}
