"""A cluster file as the naive YuniKorn searches hold it: objects and dicts, nothing counted ahead but usage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bench.naive.yunikorn_amounts import Amounts, add, amounts, least, sub, sub_existing


@dataclass(slots=True)
class Queue:
    name: str
    parent: Queue | None
    guaranteed: Amounts | None
    limit: Amounts | None
    settings: dict[str, Any]
    children: list[Queue] = field(default_factory=list)
    held: list[Allocation] = field(default_factory=list)
    usage: Amounts = field(default_factory=dict)
    preempting: Amounts = field(default_factory=dict)

    def path(self) -> Iterator[Queue]:
        """From here up to the root."""
        queue: Queue | None = self
        while queue is not None:
            yield queue
            queue = queue.parent

    @property
    def offset(self) -> int:
        return int(self.settings.get("priority.offset", 0))

    @property
    def priority_fence(self) -> bool:
        return self.settings.get("priority.policy") == "fence"

    @property
    def fence(self) -> bool:
        return self.settings.get("preemption.policy") == "fence"

    @property
    def policies(self) -> list[str]:
        """The preemption policies that are set, from here up to the root."""
        return [queue.settings["preemption.policy"] for queue in self.path() if "preemption.policy" in queue.settings]

    def most(self) -> Amounts | None:
        """The effective max: the least of all on the path."""
        found: Amounts | None = None
        for queue in self.path():
            found = least(found, queue.limit)
        return found

    def headroom(self) -> Amounts | None:
        found: Amounts | None = None
        for queue in self.path():
            found = least(found, sub_existing(queue.limit, queue.usage))
        return found


@dataclass(frozen=True, slots=True)
class Allocation:
    name: str
    queue: Queue
    app: str
    node: str | None
    need: Amounts
    priority: int
    submitted: float
    uid: str
    opted_out: bool
    originator: bool
    required: bool
    preempting: bool


@dataclass(slots=True)
class Machine:
    name: str
    capacity: Amounts
    ready: bool
    free: Amounts
    held: list[Allocation] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Cluster:
    root: Queue
    nodes: list[Machine]
    ask: Allocation


def cluster(document: dict[str, Any]) -> Cluster:
    """The same cluster for the naive search; one workload of one member waits, and no node is reserved."""
    queues = _queues(document["queues"])
    root = next(queue for queue in queues.values() if queue.parent is None)
    nodes: dict[str, Machine] = {}
    for entry in document["nodes"]:
        capacity = {kind: int(value) for kind, value in entry["capacity"].items()}
        nodes[entry["name"]] = Machine(entry["name"], capacity, entry.get("state", "ready") == "ready", dict(capacity))
        root.limit = add(root.limit or {}, capacity)
    asks = []
    for entry in document["workloads"]:
        allocation = _allocation(entry, queues)
        if allocation.node is None:
            asks.append(allocation)
            continue
        machine = nodes[allocation.node]
        machine.held.append(allocation)
        machine.free = sub(machine.free, allocation.need)
        allocation.queue.held.append(allocation)
        for queue in allocation.queue.path():
            queue.usage = add(queue.usage, allocation.need)
            if allocation.preempting:
                queue.preempting = add(queue.preempting, allocation.need)
    [ask] = asks
    return Cluster(root, list(nodes.values()), ask)


def _queues(entries: list[dict[str, Any]]) -> dict[str, Queue]:
    found: dict[str, Queue] = {}
    for entry in sorted(entries, key=lambda one: str(one["name"]).count(".")):
        parent = found[entry["parent"]] if "parent" in entry else None
        guaranteed, limit = amounts(entry.get("guaranteed")), amounts(entry.get("max"))
        queue = found[entry["name"]] = Queue(entry["name"], parent, guaranteed, limit, entry.get("settings", {}))
        if parent is not None:
            parent.children.append(queue)
    return found


def _allocation(entry: dict[str, Any], queues: dict[str, Queue]) -> Allocation:
    state = entry.get("state", "pending")
    return Allocation(
        entry["name"],
        queues[entry["queue"]],
        entry.get("app", entry["name"]),
        None if state == "pending" else entry["nodes"][0],
        {kind: int(value) for kind, value in entry["requests"].items()},
        entry.get("priority", 0),
        entry["submitted"],
        entry.get("uid", entry["name"]),
        not entry.get("preemptible", True),
        entry.get("originator", False),
        "required_node" in entry,
        state == "preempting",
    )
