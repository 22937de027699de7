"""What events mean, on entries of a document: a second opinion that knows no columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from cede.engine.events import (
    Ended,
    Event,
    Marked,
    NodeMarked,
    NodePut,
    QueuePut,
    Requeued,
    Started,
    Submitted,
    Ticked,
)
from cede.model.cluster import ClusterFile, PodSet, Workload
from cede.model.times import Instant

NOBODY = {"reserved_for": None, "reserved_since": None}


class PlainCluster:
    """A document kept up to date entry by entry."""

    def __init__(self, document: ClusterFile) -> None:
        self.base = document
        self.now = document.now
        self.nodes = {node.name: node for node in document.nodes}
        self.queues = {queue.name: queue for queue in document.queues}
        self.work = {workload.name: workload for workload in document.workloads}
        self.in_flavors = document.doctrine is not None and document.doctrine.name == "kueue"
        self.given: dict[str, tuple[Mapping[str, Any], Mapping[str, int]]] = {}
        for name, workload in self.work.items():
            if workload.submitted is None:
                self._change(name, submitted=self.now)

    def happens(self, event: Event) -> None:
        match event:
            case Submitted(workload):
                self.work[workload.name] = workload
                if workload.submitted is None:
                    self._change(workload.name, submitted=self.now)
            case Started(name, nodes, flavors, counts):
                self._change(name, state="running", started=self.now, nodes=list(nodes) or None)
                if self.in_flavors and (flavors or counts):
                    self.given[name] = (flavors, counts)
            case Marked(name, word):
                self._change(name, state=word)
            case Requeued(name, preempted):
                times = self.work[name].preempted + (1 if preempted else 0)
                self._change(name, state="pending", started=None, nodes=None, preempted=times)
                if self.given.pop(name, None) is None and self.in_flavors and self.work[name].usage is not None:
                    self._change(name, **self._asks(name), usage=None)
            case Ended(name):
                del self.work[name]
                self.given.pop(name, None)
                kept = [node for node in self.nodes.values() if node.reserved_for == name]
                self.nodes |= {node.name: node.model_copy(update=NOBODY) for node in kept}
            case NodePut(node):
                self.nodes[node.name] = node
            case NodeMarked(name, word):
                self.nodes[name] = self.nodes[name].model_copy(update={"state": word})
            case QueuePut(queue):
                self.queues[queue.name] = queue
            case Ticked(now):
                self.now = Instant(now) if isinstance(self.now, Instant) else now

    def document(self) -> ClusterFile:
        work = {name: self._admitted(name) if name in self.given else entry for name, entry in self.work.items()}
        parts = {"now": self.now, "nodes": self.nodes, "queues": self.queues, "workloads": work}
        return self.base.model_copy(
            update={key: list(value.values()) if isinstance(value, dict) else value for key, value in parts.items()}
        )

    def _change(self, name: str, **keys: object) -> None:
        self.work[name] = self.work[name].model_copy(update=keys)

    # -- admission -----------------------------------------------------------------------------------------------

    def _asks(self, name: str) -> dict[str, Any]:
        """Its members and requests; what says only what it holds asks for that, as one member in any flavor."""
        entry = self.work[name]
        if entry.pod_sets is not None or entry.requests or not entry.usage:
            return {}
        requests: Counter[str] = Counter()
        for key, nano in entry.usage.items():
            requests[key.partition("@")[0]] += nano
        return {"members": 1, "requests": dict(requests)}

    def _admitted(self, name: str) -> Workload:
        """The entry of a workload as it was admitted: as many members, and what they hold in which flavors."""
        flavors, counts = self.given[name]
        entry = self.work[name].model_copy(update=self._asks(name))
        main = PodSet.model_construct(name="main", count=entry.members, requests=entry.requests, min_count=None)
        asked, pinned = [], []
        usage: Counter[str] = Counter()
        for part in entry.pod_sets or [main]:
            count = counts.get(part.name, part.count)
            least = None if part.min_count is None else min(part.min_count, count)
            own = flavors.get(part.name, flavors)
            requests: Counter[str] = Counter()
            for key, nano in part.requests.items():
                requests[f"{key}@{own[key]}" if key in own else key] += nano
                usage[f"{key}@{own[key]}" if key in own else key] += nano * count
            asked.append(part.model_copy(update={"count": count, "min_count": least}))
            pinned.append(asked[-1].model_copy(update={"requests": dict(requests)}))
        parts = pinned if self._has_flavors_to_choose(entry) else asked
        total: Counter[str] = Counter()
        for part in parts:
            total.update({key: nano * part.count for key, nano in part.requests.items()})
        said = dict(usage) if usage != total or self.work[name].usage is not None else None
        if entry.pod_sets is not None:
            return entry.model_copy(update={"pod_sets": parts, "usage": said})
        return entry.model_copy(update={"members": parts[0].count, "requests": parts[0].requests, "usage": said})

    def _has_flavors_to_choose(self, entry: Workload) -> bool:
        """Whether it stands on a node that has some resource in more than one flavor."""
        for name in entry.nodes or ():
            node = self.nodes[name]
            offered: dict[str, set[str]] = {}
            for key, nano in node.capacity.items():
                resource, _, flavor = key.partition("@")
                if nano:
                    offered.setdefault(resource, set()).add(flavor or node.flavor or "default")
            if any(len(flavors) > 1 for flavors in offered.values()):
                return True
        return False
