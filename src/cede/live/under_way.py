"""What a cluster file that is served must have a place for: everything that has not ended yet."""

from __future__ import annotations

from collections.abc import Iterable

from cede.engine.drive.job import Job
from cede.model.cluster import ClusterFile
from cede.model.errors import CedeError


def check_under_way(document: ClusterFile, jobs: Iterable[Job]) -> None:
    """A CedeError names the first workload whose nodes, queue or priority the file does not have."""
    nodes = {node.name for node in document.nodes}
    queues = {queue.name for queue in document.queues} | {queue.parent for queue in document.queues}
    dialect = document.dialect
    low, high = dialect.priorities
    for job in jobs:
        own = job.workload
        missing = ""
        if gone := sorted(set(job.nodes) - nodes):
            missing = f"on {', '.join(gone)}, which the cluster file does not have"
        elif own.queue is not None and own.queue not in queues:
            missing = f"in the queue {own.queue}, which the cluster file does not have"
        elif own.priority is not None and not low <= own.priority <= high:
            missing = f"with priority {own.priority}, and under {dialect.name} priorities go from {low} to {high}"
        if missing:
            raise CedeError(f"{job.name} is {job.phase} {missing}; serve the former file until it has ended")
