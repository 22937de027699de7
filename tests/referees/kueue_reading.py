"""A Kueue cluster file read the slow way, into the naive tree and plain asks; only quota, no nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from bench.naive import classical, fair
from bench.naive.candidates import Preemptor
from bench.naive.quota import Amounts, FlavorResource, Node, Policy, Workload
from cede.model.quantities import parse_quantity
from cede.model.times import parse_time
from tests.referees.kueue_overlap import Overlapping

Document = dict[str, Any]
HOLDS = ("reserved", "running", "checkpointing", "preempting")
WAITS = ("pending", "suspended")


@dataclass(frozen=True)
class Part:
    """A pod set: what one member requests, the flavors that its requests pin, and what it requests nothing of."""

    name: str
    count: int
    least: int
    requests: Mapping[str, int]
    pins: Mapping[str, frozenset[str]]
    nothing: frozenset[str]


@dataclass(frozen=True, eq=False)
class Ask:
    """A pending workload; `whole`: it has no pod sets of its own, only members that are all alike."""

    name: str
    uid: str
    queue: str
    priority: int
    submitted: int
    preempts: bool
    parts: tuple[Part, ...]
    whole: bool

    @property
    def key(self) -> tuple[int, int, str, str]:
        return -self.priority, self.submitted, self.uid, self.name


@dataclass(frozen=True)
class Group:
    """Resources that take their flavor together, and the flavors in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass
class Board:
    """The cluster, with every default filled in."""

    tree: Overlapping
    asks: list[Ask]
    groups: dict[str, list[Group]]
    settings: dict[str, Document]
    fair: bool
    strategies: tuple[str, ...]
    leaving: set[str]

    def search(self, ask: Ask, requests: Amounts, contested: Collection[FlavorResource]) -> dict[str, str] | None:
        """Whom the ask would preempt in the tree as it stands."""
        preemptor = Preemptor(ask.queue, requests, ask.priority, ask.submitted, ask.uid, ask.preempts)
        if self.fair:
            return fair.search(self.tree, preemptor, contested, self.strategies)
        return classical.search(self.tree, preemptor, contested)

    def group_of(self, queue: str, resource: str) -> Group | None:
        return next((group for group in self.groups[queue] if resource in group.resources), None)

    def strict(self, queue: str) -> bool:
        return bool(self.settings[queue].get("queueingStrategy") == "StrictFIFO")

    def is_cohort(self, queue: str) -> bool:
        return bool(self.tree.nodes[queue].children)

    def workload(self, name: str) -> Workload:
        return next(node.workloads[name] for node in self.tree.nodes.values() if name in node.workloads)


def read(document: Document) -> Board:
    """The board that a document describes."""
    now = parse_time(document.get("now", 0))
    queues = {queue["name"]: queue for queue in document.get("queues", [])}
    parents = {queue["parent"] for queue in queues.values() if "parent" in queue}
    unlisted: list[Document] = [{"name": name} for name in sorted(parents - queues.keys())]
    comes, goes = (
        {entry["name"] for entry in document.get("workloads", []) if entry.get("state") == state}
        for state in ("reserved", "preempting")
    )
    tree = Overlapping(lambda kind: [_node(queue, kind) for queue in [*queues.values(), *unlisted]], comes, goes)
    choice = document["doctrine"] if isinstance(document["doctrine"], dict) else {}
    leaving: set[str] = set()
    asks = []
    for entry in document.get("workloads", []):
        if entry.get("state", "pending") in WAITS:
            asks.append(_ask(entry, now))
        else:
            workload = _workload(entry, now)
            tree.hold(workload)
            leaving |= {workload.name} if workload.evicted else set()
    return Board(
        tree,
        asks,
        {name: _groups(tree.nodes[name], queues.get(name, {})) for name in tree.nodes},
        {name: queues.get(name, {}).get("settings", {}) for name in tree.nodes},
        choice.get("preemption") == "FairSharing",
        tuple(choice.get("strategies") or (fair.FINAL_SHARE, fair.INITIAL_SHARE)),
        leaving,
    )


def _node(queue: Document, kind: type[Node]) -> Node:
    settings = queue.get("settings", {})
    borrowing = settings.get("borrowWithinCohort") or {}
    borrow, lend = (_amounts(queue.get(key, {})) for key in ("borrowing_limit", "lending_limit"))
    declared = [*borrow, *lend]
    for group in queue.get("resource_groups", []):
        declared += [(flavor, resource) for flavor in group["flavors"] for resource in group["resources"]]
    return kind(
        queue["name"],
        queue.get("parent"),
        dict.fromkeys(declared, 0) | _amounts(queue.get("guaranteed", {})),
        borrow,
        lend,
        Fraction(str(queue.get("weight", 1))),
        Policy(
            settings.get("withinClusterQueue", "Never"),
            settings.get("reclaimWithinCohort", "Never"),
            borrowing.get("policy", "Never"),
            borrowing.get("maxPriorityThreshold"),
        ),
    )


def _groups(node: Node, queue: Document) -> list[Group]:
    """The groups listed, each with its further flavors in name order; then each other resource by itself."""
    groups = []
    for listed in queue.get("resource_groups", []):
        further = {flavor for flavor, resource in node.nominal if resource in listed["resources"]}
        flavors = [*listed["flavors"], *sorted(further - set(listed["flavors"]))]
        groups.append(Group(tuple(listed["resources"]), tuple(flavors)))
    known = {resource for group in groups for resource in group.resources}
    for resource in sorted({resource for _, resource in node.nominal} - known):
        flavors = sorted(flavor for flavor, found in node.nominal if found == resource)
        groups.append(Group((resource,), tuple(flavors)))
    return groups


def _ask(entry: Document, now: int) -> Ask:
    parts = tuple(
        Part(
            part.get("name", ""),
            part["count"],
            part["min_count"] if "min_count" in part else part["count"],
            {resource: amount for resource, amount in _by_resource(part["requests"]).items() if amount},
            _pins(part["requests"]),
            frozenset(resource for resource, amount in _by_resource(part["requests"]).items() if not amount),
        )
        for part in _parts(entry)
    )
    return Ask(
        entry["name"],
        str(entry.get("uid", entry["name"])),
        entry["queue"],
        entry.get("priority", 0),
        parse_time(entry["submitted"]) if "submitted" in entry else now,
        entry.get("preempts", True),
        parts,
        "pod_sets" not in entry,
    )


def _workload(entry: Document, now: int) -> Workload:
    held: Amounts = {}
    for part in _parts(entry):
        for fr, amount in _amounts(part["requests"]).items():
            held[fr] = held.get(fr, 0) + amount * part["count"]
    return Workload(
        entry["name"],
        entry["queue"],
        _amounts(entry["usage"]) if "usage" in entry else held,
        entry.get("priority", 0),
        parse_time(entry["submitted"]) if "submitted" in entry else now,
        parse_time(entry["started"]) if "started" in entry else now,
        str(entry.get("uid", entry["name"])),
        entry["state"] == "preempting",
        entry.get("preemptible", True),
    )


def _parts(entry: Document) -> list[Document]:
    return entry.get("pod_sets") or [{"count": entry.get("members", 1), "requests": entry.get("requests", {})}]


def _amounts(raw: Mapping[str, Any]) -> Amounts:
    """Amounts by flavor and resource; a plain name means the flavor `default`."""
    total: Amounts = {}
    for name, value in raw.items():
        resource, _, flavor = name.partition("@")
        fr = (flavor or "default", resource)
        total[fr] = total.get(fr, 0) + _counted(resource, value)
    return total


def _counted(resource: str, value: Any) -> int:
    """Kueue's integers: milli-CPU, or units of anything else; never less than what was written."""
    return ceil(Fraction(parse_quantity(value), 10**6 if resource == "cpu" else 10**9))


def _by_resource(raw: Mapping[str, Any]) -> dict[str, int]:
    total: dict[str, int] = {}
    for name, value in raw.items():
        resource = name.partition("@")[0]
        total[resource] = total.get(resource, 0) + _counted(resource, value)
    return total


def _pins(raw: Iterable[str]) -> dict[str, frozenset[str]]:
    pins: dict[str, frozenset[str]] = {}
    for name in raw:
        resource, _, flavor = name.partition("@")
        if flavor:
            pins[resource] = pins.get(resource, frozenset()) | {flavor}
    return pins
