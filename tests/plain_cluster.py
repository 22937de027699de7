"""What events mean, on entries of a document: a second opinion that knows no columns."""

from __future__ import annotations

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
from cede.model.cluster import ClusterFile
from cede.model.times import Instant


class PlainCluster:
    """A document kept up to date entry by entry."""

    def __init__(self, document: ClusterFile) -> None:
        self.base = document
        self.now = document.now
        self.nodes = {node.name: node for node in document.nodes}
        self.queues = {queue.name: queue for queue in document.queues}
        self.work = {workload.name: workload for workload in document.workloads}
        for name, workload in self.work.items():
            if workload.submitted is None:
                self._change(name, submitted=self.now)

    def happens(self, event: Event) -> None:
        match event:
            case Submitted(workload):
                self.work[workload.name] = workload
                if workload.submitted is None:
                    self._change(workload.name, submitted=self.now)
            case Started(name, nodes):
                self._change(name, state="running", started=self.now, nodes=list(nodes) or None)
            case Marked(name, word):
                self._change(name, state=word)
            case Requeued(name, preempted):
                times = self.work[name].preempted + (1 if preempted else 0)
                self._change(name, state="pending", started=None, nodes=None, preempted=times)
            case Ended(name):
                del self.work[name]
                kept = [node for node in self.nodes.values() if node.reserved_for == name]
                self.nodes |= {node.name: node.model_copy(update={"reserved_for": None}) for node in kept}
            case NodePut(node):
                self.nodes[node.name] = node
            case NodeMarked(name, word):
                self.nodes[name] = self.nodes[name].model_copy(update={"state": word})
            case QueuePut(queue):
                self.queues[queue.name] = queue
            case Ticked(now):
                self.now = Instant(now) if isinstance(self.now, Instant) else now

    def document(self) -> ClusterFile:
        parts = {"now": self.now, "nodes": self.nodes, "queues": self.queues, "workloads": self.work}
        return self.base.model_copy(
            update={key: list(value.values()) if isinstance(value, dict) else value for key, value in parts.items()}
        )

    def _change(self, name: str, **keys: object) -> None:
        self.work[name] = self.work[name].model_copy(update=keys)
