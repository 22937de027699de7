"""Clusters under Lattice in a few lines.

    policy(node("n1", "a"), node("n2"), vcluster("a", "service"), whole("old", "n1 n2", priority=1),
           wants("in", 2, priority=8))

A node has four GPUs if it says nothing else; `whole` work has nodes to itself, `part` shares them. A workload without
a queue is in the only vCluster there is.
"""

from __future__ import annotations

from typing import Any

import cede
from tests.builders import Entry, document_of

NODE_KEYS = {"occupied", "partition", "state", "reserved_for", "count"}
LABELS = ("group", "zone", "fingerprint")
WORK_KEYS = {
    *("queue", "tenant", "user", "priority", "state", "members", "pod_sets", "exclusive", "placement", "constraints"),
    *("required_node", "submitted", "started", "walltime", "checkpoint", "preemptible", "preempts", "sensitive", "uid"),
}
AUTO, MANUAL, NONE = ({"mode": mode} for mode in ("auto", "manual", "none"))
FREE: dict[str, Any] = {"value_rule": False}
"""Victims may cost what they like."""


def node(name: str = "n1", home: str | None = None, /, **values: Any) -> Entry:
    """A node: `node("n1", "a", gpu=8, fingerprint="x")` is at home in `a`."""
    keys, rest = _split(values, NODE_KEYS)
    labels = {key: rest.pop(key) for key in LABELS if key in rest}
    entry: dict[str, Any] = {"name": name, "capacity": rest or {"gpu": 4}, **keys}
    return Entry("nodes", entry | ({"labels": labels} if labels else {}) | ({"home": home} if home else {}))


def nodes(names: str, home: str | None = None, /, **values: Any) -> tuple[Entry, ...]:
    return tuple(node(name, home, **values) for name in names.split())


def vcluster(name: str, kind: str | None = None, /, **values: Any) -> Entry:
    """A vCluster: `vcluster("a", "service", allow_lending=False, max={"gpu": 4})`."""
    keys, settings = _split(values, {"max", "partition", "parent"})
    settings |= {} if kind is None else {"type": kind}
    return Entry("queues", {"name": name, **keys} | ({"settings": settings} if settings else {}))


def tenant(name: str, /, **values: float) -> Entry:
    return Entry("tenants", {"name": name, **values})


def whole(name: str, on: str, /, **values: Any) -> Entry:
    """Running work that has each of these nodes to itself."""
    names = on.split()
    values = {"exclusive": True, "members": len(names), "checkpoint": AUTO, **values}
    return _work(name, {"state": "running", **values}, names)


def part(name: str, on: str, /, **values: Any) -> Entry:
    """Running work that shares these nodes with others, one member on each."""
    names = on.split()
    return _work(name, {"state": "running", "members": len(names), "checkpoint": AUTO, **values}, names)


def wants(name: str = "in", members: int = 1, /, **values: Any) -> Entry:
    """Pending work that wants nodes to itself."""
    return _work(name, {"state": "pending", "exclusive": True, "members": members, "submitted": -60, **values})


def shares(name: str = "in", members: int = 1, /, **values: Any) -> Entry:
    """Pending work that asks for parts of nodes."""
    return _work(name, {"state": "pending", "members": members, "submitted": -60, **values})


def document(*entries: Entry, edition: str = "policy", now: float = 0, **settings: Any) -> dict[str, Any]:
    """The cluster file; what is named besides is a setting of the doctrine, but for the topology label."""
    keys = {"topology": settings.pop("topology")} if "topology" in settings else {}
    return document_of(*entries, now=now, doctrine={"name": "lattice", "edition": edition, **settings}, **keys)


def policy(*entries: Entry, now: float = 0, **settings: Any) -> cede.Cluster:
    """A cluster under the policy document."""
    return cede.load(document(*entries, now=now, **settings))


def core(*entries: Entry, now: float = 0, **settings: Any) -> cede.Cluster:
    """The same as the library computes it."""
    return policy(*entries, now=now, edition="core", **settings)


def _work(name: str, values: dict[str, Any], on: list[str] | None = None) -> Entry:
    keys, amounts = _split(values, WORK_KEYS)
    if "pod_sets" in keys:
        keys.pop("members", None)
    elif not amounts:
        amounts = {"gpu": 4 if keys.get("exclusive") else 1}
    entry: dict[str, Any] = {"name": name, **keys} | ({"requests": amounts} if amounts else {})
    return Entry("workloads", entry | ({} if on is None else {"nodes": on}))


def _split(values: dict[str, Any], known: set[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    keys = {key: value for key, value in values.items() if key in known}
    return keys, {key: value for key, value in values.items() if key not in known}
