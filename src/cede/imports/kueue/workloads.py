"""What kind of work a workload is, by its owners and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cede.imports.fields import Fields
from cede.imports.kueue.admission import Assignment, assignments_of, usage_of
from cede.imports.kueue.configuration import BOOST, SORTING
from cede.imports.kueue.objects import NOT_THERE, Condition, Object, conditions_of
from cede.imports.kueue.pod_sets import PodSet, pod_sets_of
from cede.imports.kueue.world import World
from cede.model.quantities import format_quantity
from cede.model.times import SECOND, Instant, format_duration, format_time

SERVICES = frozenset({"Deployment", "StatefulSet", "LeaderWorkerSet", "RayService", "InferenceService"})
NOTEBOOK = "notebook"
OF_A_DEPLOYMENT = "pod-template-hash"


def kind_of(one: Object, pod_sets: Sequence[PodSet], world: World) -> str:
    """Interactive for notebooks, which often are sets that serve too; service for what serves; else batch."""
    owners = {owner.kind for owner in world.owners_above(one)}
    labels = [*one.meta.labels("labels").items(), *(label for pods in pod_sets for label in pods.labels.items())]
    if NOTEBOOK in {owner.casefold() for owner in owners} or any(
        NOTEBOOK in key.casefold() or value.casefold() == NOTEBOOK for key, value in labels
    ):
        return "interactive"
    return "service" if owners & SERVICES or OF_A_DEPLOYMENT in dict(labels) else "batch"


Conditions = dict[str, Condition]

WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
MILLISECOND = SECOND // 1000
ANNOTATIONS = {
    "kueue.x-k8s.io/admission-gated-by": "what gates its admission is not carried over",
    "kueue.x-k8s.io/workload-slice-replacement-for": "it replaces another workload; here both count in full",
}
FINISHED = "it has finished, and is left out"
BOOSTED = "kueue.x-k8s.io/priority-boost"
ORDER = (
    *("name", "queue", "kind", "priority", "state", "members", "requests", "pod_sets", "usage", "nodes"),
    *("constraints", "submitted", "started", "walltime", "preempted", "uid"),
)
"""The keys of an entry, as they are written."""


@dataclass(slots=True)
class Work:
    """A workload of the file to be."""

    object: Object
    entry: dict[str, Any]
    pod_sets: list[PodSet]
    holds: bool
    assignments: dict[str, Assignment] = field(default_factory=dict)
    nodes: list[str] | None = None

    def finished(self) -> dict[str, Any]:
        """The entry with its pods: as members where there is one set of Kueue's default name, else as pod sets."""
        if self.nodes is not None:
            self._shrink()
        sets = [one for one in self.pod_sets if one.count]
        if len(sets) == 1 and sets[0].name == "main" and sets[0].min_count is None:
            members = {"members": sets[0].count} if sets[0].count > 1 else {}
            pods: dict[str, Any] = members | {"requests": sets[0].entry()["requests"]}
        else:
            pods = {"pod_sets": [one.entry() for one in sets]}
        entry = self.entry | pods | ({} if self.nodes is None else {"nodes": self.nodes})
        return {key: entry[key] for key in ORDER if key in entry}

    def _shrink(self) -> None:
        """A placed workload has as many members as pods: those it was admitted with, less those that ended."""
        for one in self.pod_sets:
            if one.held < one.count:
                why = f"{one.held} of {one.count} pods were admitted; if preempted, it asks for as many"
                self.object.fields.remark(why, "status", "admission")
            one.count = one.held
            one.min_count = None if one.min_count is None else min(one.min_count, one.count)


def workload(one: Object, world: World, now: int | None) -> Work | None:
    """What a Workload says; None if it takes no part, which is noted."""
    spec, status = one.fields.part("spec"), one.fields.part("status")
    conditions = conditions_of(status)

    def is_true(name: str) -> bool:
        return conditions.get(name, NOT_THERE).is_true

    if is_true("Finished"):
        one.fields.remark(FINISHED)
        return None
    holds = is_true("QuotaReserved") or is_true("Admitted")
    admission = status.part("admission")
    queue = _queue_of_holder(one, world, admission) if holds else _queue_of_waiter(one, world, spec)
    if queue is None or not (holds or _may_be_admitted(one, world, queue, conditions, spec, status, now)):
        return None
    assignments = assignments_of(admission) if holds else {}
    if not holds:
        admission.skip_rest()
    cluster_queue = world.tree.cluster_queues[queue]
    pod_sets = pod_sets_of(spec, status, assignments, cluster_queue, world)
    if pod_sets is None:
        return None
    if not any(pod_set.count for pod_set in pod_sets):
        one.fields.remark("it has no pods that need anything, and is left out")
        return None
    entry: dict[str, Any] = {"name": one.place.name, "queue": queue}
    if (kind := kind_of(one, pod_sets, world)) != "batch":
        entry["kind"] = kind
    if (priority := _priority(one, world, spec)) is not None:
        entry["priority"] = priority
    if holds:
        leaves = is_true("Evicted") or spec.truth("active") is False
        entry["state"] = "preempting" if leaves else "running"
        held = [(assignments.get(p.name, Assignment()), p.admitted, p.held) for p in pod_sets]
        entry["usage"] = {name: format_quantity(nano) for name, nano in usage_of(held).items()}
        _note_holder(one, conditions, leaves)
    _times(one, world, conditions, entry, spec, status)
    _note_rest(one, spec, status, holds)
    return Work(one, entry, pod_sets, holds, assignments)


def _queue_of_holder(one: Object, world: World, admission: Fields) -> str | None:
    if not admission.data:
        one.fields.wrong(("status", "admission"), "it holds quota, so this key is required, and it is missing")
        return None
    return _known(one, world, admission.need("clusterQueue"))


def _queue_of_waiter(one: Object, world: World, spec: Fields) -> str | None:
    name = spec.text("queueName")
    if name is None:
        one.fields.remark("it names no LocalQueue, and is left out", "spec", "queueName")
        return None
    local = world.local_queues.get(f"{one.namespace}/{name}")
    if local is None:
        why = f"the LocalQueue {one.namespace}/{name} was not given, so its queue is not known; it is left out"
        one.fields.remark(why, "spec", "queueName")
        return None
    if local.is_stopped:
        one.fields.remark(f"the LocalQueue {one.namespace}/{name} is stopped; it is left out", "spec", "queueName")
        return None
    return _known(one, world, local.cluster_queue)


def _known(one: Object, world: World, queue: str) -> str | None:
    if queue in world.tree.left_out:
        one.fields.remark(f"its ClusterQueue {queue} is left out, and so is it")
    elif queue not in world.tree.cluster_queues:
        one.fields.remark(f"its ClusterQueue {queue} was not given; it is left out")
    else:
        return queue
    return None


def _may_be_admitted(
    one: Object, world: World, queue: str, conditions: Conditions, spec: Fields, status: Fields, now: int | None
) -> bool:
    """Whether Kueue would consider a workload that waits; if not, why is noted."""
    requeued = conditions.get("Requeued", NOT_THERE)
    at = status.part("requeueState").time("requeueAt")
    lets_in = world.lets_in(world.tree.cluster_queues[queue], one.namespace)
    if spec.truth("active") is False:
        one.fields.remark("it is not active, and is left out", "spec", "active")
    elif one.meta.has("deletionTimestamp"):
        one.fields.remark("it is being deleted, and is left out", "metadata", "deletionTimestamp")
    elif lets_in is False:
        one.fields.remark(f"the namespaceSelector of {queue} does not take its namespace; it is left out")
    elif at is not None and now is not None and at > now:
        until = format_time(at, instant=True)
        one.fields.remark(f"Kueue holds it back until {until}; it is left out", "status", "requeueState", "requeueAt")
    elif requeued.is_false:
        one.fields.remark(f"Kueue holds it back: {requeued.reason}; it is left out", *requeued.loc)
    else:
        if lets_in is None:
            why = f"the Namespace {one.namespace} was not given, so the selector is taken to accept it"
            world.tree.cluster_queues[queue].object.fields.remark(why, "spec", "namespaceSelector")
        return True
    return False


def _priority(one: Object, world: World, spec: Fields) -> int | None:
    """The priority that is written down, or else its class's; with what boosts it, if that is switched on."""
    kind, name = _class(one, spec)
    priority = spec.whole("priority")
    if priority is None and name is not None:
        priority = world.priorities.get((kind, name))
        if priority is None:
            one.fields.remark(f"the {kind} {name} was not given; its priority counts as 0", "spec")
    boost = one.meta.labels("annotations").get(BOOSTED)
    if boost is None:
        return priority
    if not world.configuration.is_on(BOOST):
        one.fields.remark(f"it counts with the gate {BOOST} only, which is off", "metadata", "annotations", BOOSTED)
        return priority
    return (priority or 0) + (int(boost) if boost.removeprefix("-").isdecimal() else 0)


def _class(one: Object, spec: Fields) -> tuple[str, str | None]:
    if one.is_old:
        of_pods = spec.text("priorityClassSource") == "scheduling.k8s.io/priorityclass"
        return "PriorityClass" if of_pods else "WorkloadPriorityClass", spec.text("priorityClassName")
    reference = spec.part("priorityClassRef")
    reference.skip("group")
    return reference.text("kind") or "WorkloadPriorityClass", reference.text("name")


def _times(
    one: Object, world: World, conditions: Conditions, entry: dict[str, Any], spec: Fields, status: Fields
) -> None:
    submitted = _queue_time(one, world, conditions)
    started = conditions.get("QuotaReserved", NOT_THERE).since if "state" in entry else None
    for key, time in (("submitted", submitted), ("started", started)):
        if time is not None:
            entry[key] = format_time(time, instant=True)
    longest = spec.whole("maximumExecutionTimeSeconds")
    spelling = "Exexcution" if one.is_old else "Execution"  # as the first API has it
    past = status.whole(f"accumulatedPast{spelling}TimeSeconds") or 0
    if longest is not None:
        entry["walltime"] = format_duration(max(0, longest - past) * SECOND)
    evictions = status.part("schedulingStats").parts("evictions")
    times = sum(e.whole("count") or 0 for e in evictions if e.text("reason") == "Preempted")
    for eviction in evictions:
        eviction.skip_rest()
    if times:
        entry["preempted"] = times
    if (uid := one.meta.text("uid")) is not None:
        entry["uid"] = uid


def _queue_time(one: Object, world: World, conditions: Conditions) -> int | None:
    """The time by which it queues: its creation, or an eviction that sent it to the back."""
    evicted = conditions.get("Evicted", NOT_THERE)
    by_timeout = evicted.reason == "PodsReadyTimeout" and not world.configuration.timeout_requeues_at_creation
    if evicted.is_true and (by_timeout or evicted.reason == "AdmissionCheck"):
        return evicted.since
    preempted = conditions.get("Preempted", NOT_THERE)
    if not world.configuration.is_on(SORTING) and preempted.is_true and preempted.reason == WHILE_BORROWING:
        return None if preempted.since is None else Instant(preempted.since + MILLISECOND)
    return one.meta.time("creationTimestamp")


def _note_holder(one: Object, conditions: Conditions, leaves: bool) -> None:
    if one.meta.has("deletionTimestamp"):
        one.fields.remark("it is being deleted; here it stays until it is preempted", "metadata", "deletionTimestamp")
    if "Admitted" in conditions and not conditions["Admitted"].is_true and not leaves:
        one.fields.remark("it waits for admission checks; here it runs", *conditions["Admitted"].loc)


def _note_rest(one: Object, spec: Fields, status: Fields, holds: bool) -> None:
    """What else is given, and has a meaning."""
    annotations = one.meta.labels("annotations")
    for name, why in ANNOTATIONS.items():
        if name in annotations:
            one.fields.remark(why, "metadata", "annotations", name)
    spec.skip("queueName", "active")
    if not holds:
        status.note("it is there without the condition QuotaReserved, and does not count", "admission")
    status.note("other clusters are not known", "clusterName", "nominatedClusterNames")
    status.note("replacing failed nodes is not foreseen", "unhealthyNodes")
    status.skip(
        "conditions", "requeueState", "admissionChecks", "resourceRequests", "reclaimablePods", "schedulingStats"
    )
    status.skip("accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")
    one.fields.close()
