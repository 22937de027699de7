"""The tree of queues: names that both a cohort and a cluster queue have, circles, and what is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.imports.fields import Amounts, Fields
from cede.imports.kueue.objects import NOT_THERE, Object, conditions_of
from cede.imports.kueue.quantities import is_resource, quantity, quota
from cede.imports.kueue.selectors import Requirement, label_selector
from cede.model.errors import shown
from cede.model.quantities import NANO, format_quantity


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
    names: set[str] = set()
    for name in cohorts:
        path: list[str] = []
        at: str | None = name
        while at is not None and at in cohorts and at not in path and at not in names:
            path.append(at)
            at = cohorts[at].parent
        if at in path or at in names:
            names.update(path)
    return names


PRIORITIES = ("Never", "LowerPriority")
MAY_STOP = {"MayStopSearch": "MayStopSearch", "TryNextFlavor": "TryNextFlavor"}
POLICIES = ("None", "Hold", "HoldAndDrain")
CHECKS = "a plan does not wait for admission checks"
RENAMED = {
    "cohort": "v1beta2 calls it cohortName, and knows no such field",
    "cohortName": "v1beta1 calls it cohort, and knows no such field",
    "parent": "v1beta2 calls it parentName, and knows no such field",
    "parentName": "v1beta1 calls it parent, and knows no such field",
}

Group = tuple[list[str], list[str]]
"""Resources that take their flavor together, and the flavors in order."""


@dataclass(slots=True)
class Queue:
    """A queue of the file to be, and what the import must know of it beyond that."""

    object: Object
    parent: str | None
    entry: dict[str, Any]
    groups: list[Group] = field(default_factory=list)
    inactive: str | None = None
    """Why Kueue leaves it out of scheduling, if it does."""
    selector: list[Requirement] | None = None
    """What it demands of namespaces; None if it takes none."""

    @property
    def name(self) -> str:
        return self.object.name

    @property
    def is_cohort(self) -> bool:
        return self.object.kind == "Cohort"

    def covers(self, resource: str) -> bool:
        return any(resource in resources for resources, _ in self.groups)


def cluster_queue(one: Object) -> Queue:
    """What a ClusterQueue says; its parent is set when all names are known."""
    spec, status = one.fields.part("spec"), one.fields.part("status")
    queue = Queue(one, spec.text("cohort" if one.is_old else "cohortName"), {"name": one.name})
    _quotas(queue, spec)
    if queue.groups:
        groups = [{"resources": resources, "flavors": flavors} for resources, flavors in queue.groups]
        queue.entry["resource_groups"] = groups
    settings = _settings(spec, one.is_old)
    if settings:
        queue.entry["settings"] = settings
    if spec.has("namespaceSelector"):
        queue.selector = label_selector(spec.part("namespaceSelector"))
    spec.note(CHECKS, "admissionChecks", "admissionChecksStrategy")
    spec.note("the history of LocalQueues is not carried over", "admissionScope")
    spec.note("a workload tries one flavor at a time", "concurrentAdmissionPolicy")
    queue.inactive = _inactive(one, spec, status)
    status.skip_rest()
    one.fields.close(RENAMED)
    return queue


def cohort(one: Object) -> Queue:
    """What a Cohort says."""
    spec = one.fields.part("spec")
    queue = Queue(one, spec.text("parent" if one.is_old else "parentName"), {"name": one.name})
    _quotas(queue, spec)
    one.fields.skip("status")
    one.fields.close(RENAMED)
    return queue


def _inactive(one: Object, spec: Fields, status: Fields) -> str | None:
    if (policy := spec.choice("stopPolicy", POLICIES)) not in (None, "None"):
        return f"its stopPolicy is {policy}"
    if one.meta.has("deletionTimestamp"):
        return "it is being deleted"
    active = conditions_of(status).get("Active", NOT_THERE)
    return f"it is not active: {active.reason}" if active.is_false else None


def _quotas(queue: Queue, spec: Fields) -> None:
    """The amounts, by NAME@FLAVOR, and the weight."""
    nominal: Amounts = {}
    borrowing: Amounts = {}
    lending: Amounts = {}
    for group in spec.parts("resourceGroups"):
        resources = group.texts("coveredResources")
        flavors = group.parts("flavors")
        queue.groups.append((resources, [flavor.need("name") for flavor in flavors]))
        for flavor in flavors:
            named = [(entry, entry.need("name")) for entry in flavor.parts("resources")]
            if sorted(name for _, name in named) != sorted(resources):
                flavor.wrong(("resources",), f"must have quotas for {', '.join(resources)}, and for nothing else")
            for entry, name in named:
                _quota(entry, f"{name}@{flavor.text('name')}", (nominal, borrowing, lending))
    amounts = {"guaranteed": nominal, "borrowing_limit": borrowing, "lending_limit": lending}
    for key, quotas in amounts.items():
        if quotas:
            queue.entry[key] = {name: format_quantity(nano) for name, nano in quotas.items()}
    weight = quantity(spec.part("fairSharing"), "weight")
    if weight is not None:
        queue.entry["weight"] = weight // NANO if weight % NANO == 0 else weight / NANO


def _quota(fields: Fields, name: str, into: tuple[Amounts, Amounts, Amounts]) -> None:
    resource = name.partition("@")[0]
    if resource and not is_resource(resource):
        fields.wrong(("name",), f"{shown(resource)} is no name of a resource")
    elif name in into[0]:
        fields.wrong(("name",), f"{shown(resource)} in this flavor has a quota already")
    else:
        for key, amounts in zip(("nominalQuota", "borrowingLimit", "lendingLimit"), into, strict=True):
            nano = quota(fields, key)
            if nano is not None:
                amounts[name] = nano
            elif key == "nominalQuota":
                amounts[name] = 0


def _settings(spec: Fields, is_old: bool) -> dict[str, Any]:
    """What is stated of preemption, flavors and order, under the same names."""
    settings: dict[str, Any] = {}
    preemption = spec.part("preemption")
    settings["withinClusterQueue"] = preemption.choice("withinClusterQueue", (*PRIORITIES, "LowerOrNewerEqualPriority"))
    settings["reclaimWithinCohort"] = preemption.choice("reclaimWithinCohort", (*PRIORITIES, "Any"))
    borrow = preemption.part("borrowWithinCohort")
    settings["borrowWithinCohort"] = _given(
        policy=borrow.choice("policy", PRIORITIES), maxPriorityThreshold=borrow.whole("maxPriorityThreshold")
    )
    fungibility = spec.part("flavorFungibility")
    settings["flavorFungibility"] = _given(
        whenCanBorrow=fungibility.choice("whenCanBorrow", _stops("Borrow", is_old)),
        whenCanPreempt=fungibility.choice("whenCanPreempt", _stops("Preempt", is_old)),
        preference=fungibility.choice("preference", ("BorrowingOverPreemption", "PreemptionOverBorrowing")),
    )
    settings["queueingStrategy"] = spec.choice("queueingStrategy", ("BestEffortFIFO", "StrictFIFO"))
    return {key: value for key, value in settings.items() if value not in (None, {})}


def _stops(word: str, is_old: bool) -> dict[str, str]:
    """The words for when to look no further; before v1beta2 there was one of its own for each case."""
    return {word: "MayStopSearch", **MAY_STOP} if is_old else MAY_STOP


def _given(**values: object) -> dict[str, object]:
    return {key: value for key, value in values.items() if value is not None}
