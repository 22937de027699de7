"""A second account of who stands where, kept in nano-units from the entries alone: it chose nothing and shares nothing.

Every start that no plan was made for is checked against it.
"""

from __future__ import annotations

from collections.abc import Iterable

from cede.engine.drive.job import Job
from cede.model.cluster import Node


class Account:
    """What is free on each node beside all whose processes are there; of plain workloads on plain nodes."""

    def __init__(self, nodes: Iterable[Node], jobs: Iterable[Job]) -> None:
        self._free = {
            node.name: {name: nano - node.occupied.get(name, 0) for name, nano in node.capacity.items()}
            for node in nodes
        }
        for job in jobs:
            self.enter(job)

    def enter(self, job: Job) -> str | None:
        """Its members take their room; what is wrong with that, if anything is."""
        entry = job.workload
        if len(job.nodes) != entry.members:
            return f"{job.name}: {len(job.nodes)} nodes for {entry.members} members"
        requests = entry.requests.items()
        for node in job.nodes:
            free = self._free[node]
            for name, nano in requests:
                left = free[name] = free.get(name, 0) - nano
                if left < 0 < nano:
                    return f"{job.name} oversubscribes {name} of {node}"
        return None

    def leave(self, job: Job) -> None:
        requests = job.workload.requests.items()
        for node in job.nodes:
            free = self._free[node]
            for name, nano in requests:
                free[name] += nano
