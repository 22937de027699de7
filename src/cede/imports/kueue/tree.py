"""The tree of queues: names that both a cohort and a cluster queue have, circles, and what is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.imports.kueue.objects import Object
from cede.imports.kueue.queues import Queue, cluster_queue, cohort


@dataclass(slots=True)
class Tree:
    """Cluster queues by name, which of them take part, and the entries of all queues that do."""

    cluster_queues: dict[str, Queue]
    left_out: dict[str, str] = field(default_factory=dict)
    """Cluster queues that take no part, each with the reason."""
    queues: list[Queue] = field(default_factory=list)

    @property
    def entries(self) -> list[dict[str, Any]]:
        return [queue.entry for queue in self.queues]


def tree_of(objects: Iterable[Object]) -> Tree:
    """The queues of the file, in the order of the objects. Kueue's cohorts have names of their own; here all share."""
    queues = [cohort(one) if one.kind == "Cohort" else cluster_queue(one) for one in objects]
    cohorts = {queue.name: queue for queue in queues if queue.is_cohort}
    tree = Tree({queue.name: queue for queue in queues if not queue.is_cohort})
    circling = _in_circles(cohorts)
    for queue in queues:
        if reason := _left_out(queue, circling):
            queue.object.fields.remark(f"{reason}; Kueue leaves it out of scheduling, and so does the file")
            if not queue.is_cohort:
                tree.left_out[queue.name] = reason
            continue
        if queue.is_cohort:
            queue.entry["name"] = _name_of(queue.name, tree.cluster_queues)
            if queue.entry["name"] != queue.name:
                queue.object.fields.remark(f"a ClusterQueue has the same name; here it is {queue.entry['name']}")
        if queue.parent is not None:
            rest = {key: value for key, value in queue.entry.items() if key != "name"}
            parent = _name_of(queue.parent, tree.cluster_queues)
            queue.entry = {"name": queue.entry["name"], "parent": parent, **rest}
        tree.queues.append(queue)
    return tree


def _left_out(queue: Queue, circling: set[str]) -> str | None:
    if (queue.name if queue.is_cohort else queue.parent) in circling:
        return "the parents of its cohort go in a circle"
    return queue.inactive


def _name_of(cohort: str, cluster_queues: Mapping[str, object]) -> str:
    return f"cohort/{cohort}" if cohort in cluster_queues else cohort


def _in_circles(cohorts: Mapping[str, Queue]) -> set[str]:
    """The cohorts that stand in a circle of parents, or below one."""
    found: set[str] = set()
    for name in cohorts:
        path: list[str] = []
        at: str | None = name
        while at is not None and at in cohorts and at not in path and at not in found:
            path.append(at)
            at = cohorts[at].parent
        if at in path or at in found:
            found.update(path)
    return found
