"""Where a key of a cluster file stands in the object it was made from."""

from __future__ import annotations

from cede.imports.kueue.objects import Object
from cede.model.errors import Loc

_IN_QUEUES: dict[str, Loc] = {
    "name": ("metadata", "name"),
    "guaranteed": ("spec", "resourceGroups"),
    "borrowing_limit": ("spec", "resourceGroups"),
    "lending_limit": ("spec", "resourceGroups"),
    "resource_groups": ("spec", "resourceGroups"),
    "weight": ("spec", "fairSharing", "weight"),
}
_IN_SETTINGS: dict[str, Loc] = {
    "withinClusterQueue": ("spec", "preemption"),
    "reclaimWithinCohort": ("spec", "preemption"),
    "borrowWithinCohort": ("spec", "preemption"),
    "flavorFungibility": ("spec",),
    "queueingStrategy": ("spec",),
}
_IN_WORKLOADS: dict[str, Loc] = {
    "name": ("metadata", "name"),
    "uid": ("metadata", "uid"),
    "priority": ("spec", "priority"),
    "members": ("spec", "podSets"),
    "requests": ("spec", "podSets"),
    "pod_sets": ("spec", "podSets"),
    "constraints": ("spec", "podSets"),
    "walltime": ("spec", "maximumExecutionTimeSeconds"),
    "usage": ("status", "admission"),
}
_IN_NODES: dict[str, Loc] = {
    "name": ("metadata", "name"),
    "labels": ("metadata", "labels"),
    "capacity": ("status", "allocatable"),
}
_IN_CONFIGURATION: dict[str, Loc] = {"strategies": ("fairSharing", "preemptionStrategies")}
_KINDS = {
    "ClusterQueue": _IN_QUEUES,
    "Cohort": _IN_QUEUES,
    "Workload": _IN_WORKLOADS,
    "Node": _IN_NODES,
    "Configuration": _IN_CONFIGURATION,
}
_PARENTS = {
    ("ClusterQueue", True): "cohort",
    ("ClusterQueue", False): "cohortName",
    ("Cohort", True): "parent",
    ("Cohort", False): "parentName",
}
_WORDS = {
    "borrowing_limit": "borrowingLimit",
    "lending_limit": "lendingLimit",
    "resource_groups": "resourceGroups",
    "add a parent": "add a cohort",
}


def kubernetes_loc(one: Object, steps: Loc) -> Loc:
    """The path in the object of what an entry has below these steps; the steps themselves where that is not known."""
    if not steps:
        return ()
    key, rest = str(steps[0]), steps[1:]
    if key == "settings" and rest:
        return (*_IN_SETTINGS[str(rest[0])], *rest) if rest[0] in _IN_SETTINGS else steps
    if key == "parent" and (one.kind, one.is_old) in _PARENTS:
        return "spec", _PARENTS[one.kind, one.is_old]
    path = _KINDS.get(one.kind, {}).get(key)
    if path is None:
        return steps
    if key == "resource_groups":
        return (*path, *("coveredResources" if step == "resources" else step for step in rest))
    return path


def kubernetes_words(text: str) -> str:
    """The text with the keys of a cluster file as Kubernetes calls them."""
    for ours, theirs in _WORDS.items():
        text = text.replace(ours, theirs)
    return text
