"""Names of resources that nobody offers and that look like a name that somebody does."""

from __future__ import annotations

from collections.abc import Iterator

from cede.engine.lint_rules import NO_SUCH_RESOURCE, finding
from cede.model.cluster import ClusterFile, Workload
from cede.model.lint import Finding
from cede.model.lookalikes import lookalike


def resource_findings(document: ClusterFile) -> Iterator[Finding]:
    """By queue name, then by workload name. Nodes offer what they have; where there are none, queues do."""
    of_nodes = {name for node in document.nodes for name in node.capacity}
    of_queues = {queue.name: {*(queue.guaranteed or ()), *(queue.max or ())} for queue in document.queues}
    offered = of_nodes if document.nodes else set().union(*of_queues.values())
    if not offered:
        return
    known: dict[str, str | None] = {}

    def found(entry: str, names: set[str]) -> Iterator[Finding]:
        for name in sorted(names):
            if name not in known:
                known[name] = lookalike(name, offered)
            if (meant := known[name]) is not None:
                who = "node" if document.nodes else "queue"
                yield finding(NO_SUCH_RESOURCE, entry, f"did you mean '{meant}'?", resource=name, who=who)

    for queue, names in sorted(of_queues.items()):
        yield from found(f"queues[{queue}]", names)
    for workload in sorted(document.workloads, key=lambda workload: workload.name):
        yield from found(f"workloads[{workload.name}]", requested(workload))


def requested(workload: Workload) -> set[str]:
    """The resources that any of its members asks for."""
    parts = [workload.requests] if workload.pod_sets is None else [part.requests for part in workload.pod_sets]
    return {name for part in parts for name in part}
