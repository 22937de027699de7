"""What a pod asks for, by its specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cede.imports.fields import Amounts, Fields, total
from cede.imports.kubernetes import CONTAINER, OBJECT_META, POD_SPEC, RESOURCES
from cede.imports.kueue.admission import Assignment
from cede.imports.kueue.flavors import usable
from cede.imports.kueue.quantities import for_each, largest, quantities, times
from cede.imports.kueue.queues import Queue
from cede.imports.kueue.selectors import NodeSelection, node_selection
from cede.imports.kueue.world import World
from cede.model.quantities import NANO, format_quantity

FOR_THE_POD = ("cpu", "memory")
"""With hugepages, the resources that a pod may state for itself instead of for its containers."""


def requests_of(spec: Fields) -> Amounts:
    """What one pod needs while it runs: containers together, or an init container if that needs more; and overhead."""
    running = total(map(_container, spec.parts("containers")))
    beside: Amounts = {}
    starting: Amounts = {}
    for container in spec.parts("initContainers"):
        asked = _container(container)
        if container.text("restartPolicy") == "Always":  # it stays beside those that come after it
            beside = total((beside, asked))
            starting = largest(starting, beside)
        else:
            starting = largest(starting, total((beside, asked)))
    needed = largest(total((running, beside)), starting)
    stated = _resources(spec)
    needed |= {name: nano for name, nano in stated.items() if name in FOR_THE_POD or name.startswith("hugepages-")}
    return total((needed, quantities(spec, "overhead")))


def _container(container: Fields) -> Amounts:
    asked = _resources(container)
    container.skip_rest(CONTAINER)
    return asked


def _resources(fields: Fields) -> Amounts:
    """The requests; a limit stands for a request that is not given."""
    resources = fields.part("resources")
    asked = quantities(resources, "requests")
    resources.skip_rest(RESOURCES)
    return asked | {name: nano for name, nano in quantities(resources, "limits").items() if name not in asked}


PODS = "pods"


@dataclass(slots=True)
class PodSet:
    """Equal pods: how many the workload asks for, with how many it was admitted, and how many are left of those."""

    name: str
    count: int
    min_count: int | None
    requests: Amounts
    selection: NodeSelection
    labels: Mapping[str, str]
    """Those of its pods."""
    node_labels: Mapping[str, str]
    """Those that its nodes must have."""
    admitted: int
    held: int

    def entry(self) -> dict[str, object]:
        requests = {name: format_quantity(nano) for name, nano in self.requests.items()}
        least = {} if self.min_count is None else {"min_count": self.min_count}
        return {"name": self.name, "count": self.count, "requests": requests, **least}


def pod_sets_of(
    spec: Fields, status: Fields, assignments: Mapping[str, Assignment], queue: Queue, world: World
) -> list[PodSet] | None:
    """All sets, be they without pods; None if Kueue could never admit one of them, which is noted."""
    ended = {one.need("name"): one.whole("count") or 0 for one in status.parts("reclaimablePods")}
    looked_at = {one.need("name"): quantities(one, "resources") for one in status.parts("resourceRequests")}
    pod_sets = []
    for fields in spec.parts("podSets"):
        name = fields.text("name") or "main"
        given = fields.whole("count")
        stated = 1 if given is None else given
        count = max(0, stated - ended.get(name, 0))
        template = fields.part("template")
        meta = template.part("metadata")
        meta.skip_rest(OBJECT_META)
        pod = template.part("spec")
        selection = node_selection(pod)
        of_pod = requests_of(pod)
        _note_pod(fields, pod)
        assignment = assignments.get(name)
        admitted = stated if assignment is None or assignment.count is None else assignment.count
        requests = _requests(of_pod, assignment, looked_at.get(name), stated, count, queue, world)
        pinned = _pinned(fields, requests, selection, queue, world) if count else requests
        if pinned is None and assignment is None:
            return None
        least = fields.whole("minCount")
        pod_sets.append(
            PodSet(
                name,
                count,
                min(least, count) if least is not None and least < stated else None,
                requests if pinned is None else pinned,
                selection,
                meta.labels("labels"),
                pod.labels("nodeSelector"),
                admitted,
                max(0, admitted - ended.get(name, 0)),
            )
        )
    return pod_sets


def _requests(
    of_pod: Amounts,
    assignment: Assignment | None,
    looked_at: Amounts | None,
    stated: int,
    count: int,
    queue: Queue,
    world: World,
) -> Amounts:
    """What one pod asks for: as Kueue last counted it where it says so, else as its specification has it."""
    if assignment is not None and assignment.usage and stated:
        return assignment.each(stated)
    if looked_at is not None:
        each = for_each(looked_at, max(1, count))
        if times(each, count) == looked_at:
            return each
    requests = world.configuration.transformed(of_pod)
    if queue.covers(PODS):
        requests.setdefault(PODS, NANO)
    return requests


def _pinned(fields: Fields, requests: Amounts, selection: NodeSelection, queue: Queue, world: World) -> Amounts | None:
    """The requests, with the flavor where only one will do; None if none will."""
    pins: dict[str, str] = {}
    for resources, flavors in queue.groups:
        asked = [name for name in resources if name in requests]
        left = usable(selection, flavors, world.flavors)
        if not asked or left == flavors:
            continue
        if not left:
            why = f"no flavor of {queue.name} for {', '.join(asked)} takes its pods"
            fields.remark(f"{why}, so Kueue never admits it; it is left out", "template", "spec")
            return None
        if len(left) == 1:
            pins |= dict.fromkeys(asked, left[0])
        else:
            why = f"of the flavors {', '.join(flavors)} it may only get {', '.join(left)}; here it may get any"
            fields.remark(why, "template", "spec")
    return {f"{name}@{pins[name]}" if name in pins else name: nano for name, nano in requests.items()}


def _note_pod(fields: Fields, pod: Fields) -> None:
    fields.note("placement by topology is not carried over", "topologyRequest")
    pod.note("devices of dynamic resource allocation are not counted", "resourceClaims")
    if pod.has("runtimeClassName") and not pod.has("overhead"):
        pod.note("the overhead of a RuntimeClass is not known", "runtimeClassName")
    pod.skip_rest(POD_SPEC)
