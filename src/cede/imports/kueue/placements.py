"""On which nodes workloads stand, as far as pods and topology assignments tell; and what else stands there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cede.imports.fields import Amounts, total
from cede.imports.kueue.objects import Object
from cede.imports.kueue.pod_sets import requests_of
from cede.imports.kueue.workloads import Work
from cede.imports.kueue.world import World

WORKLOAD = "kueue.x-k8s.io/workload"
GROUP = "kueue.x-k8s.io/pod-group-name"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
POD_SET = "kueue.x-k8s.io/podset"
OVER = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that stands on a node, or will."""

    node: str | None
    pod_set: str | None
    requests: Amounts
    names: tuple[str, ...]
    """The workloads it may belong to, by name."""
    owners: frozenset[str]
    """Its own uid, and those of all its owners."""


@dataclass(slots=True)
class Placements:
    """The pods of each workload, by its name, and what others use on each node."""

    pods: dict[str, list[Pod]] = field(default_factory=dict)
    others: dict[str, Amounts] = field(default_factory=dict)


def pods_of(objects: Sequence[Object], world: World) -> list[Pod]:
    """The pods that are not over."""
    pods = []
    for one in objects:
        spec, status = one.fields.part("spec"), one.fields.part("status")
        if status.text("phase") in OVER:
            continue
        labels, annotations = one.meta.labels("labels"), one.meta.labels("annotations")
        named = (annotations.get(WORKLOAD), labels.get(GROUP), labels.get(PREBUILT))
        uids = {one.meta.text("uid"), *(owner.uid for owner in world.owners_above(one))}
        pods.append(
            Pod(
                spec.text("nodeName"),
                labels.get(POD_SET),
                requests_of(spec),
                tuple(f"{one.namespace}/{name}" for name in named if name is not None),
                frozenset(uid for uid in uids if uid),
            )
        )
    return pods


def placements_of(works: Sequence[Work], pods: Sequence[Pod], world: World) -> Placements:
    """Every pod with its workload, or else with what Cede does not manage."""
    by_name = {work.entry["name"]: work for work in works if work.holds}
    by_owner = {
        owner.uid: work.entry["name"]
        for work in works
        if work.holds
        for owner in world.owners_above(work.object)
        if owner.uid
    }
    placements = Placements()
    for pod in pods:
        mine = next((name for name in pod.names if name in by_name), None)
        if mine is None:
            mine = next((by_owner[uid] for uid in sorted(pod.owners) if uid in by_owner), None)
        if mine is not None:
            placements.pods.setdefault(mine, []).append(pod)
        elif pod.node is not None:
            placements.others[pod.node] = total((placements.others.get(pod.node, {}), pod.requests))
    return placements


def nodes_of(work: Work, placements: Placements, hosts: Mapping[str, str]) -> list[str] | None:
    """The node of each member, set by set; None unless all are known. `hosts` are the names of nodes by host."""
    pods = placements.pods.get(work.entry["name"], [])
    names: list[str] = []
    for one in work.pod_sets:
        mine = pods if len(work.pod_sets) == 1 else [pod for pod in pods if pod.pod_set == one.name]
        on = sorted(pod.node for pod in mine if pod.node is not None)
        assigned = work.assignments[one.name].hosts if one.name in work.assignments else None
        if len(on) != one.held and assigned is not None:
            on = sorted(assigned)
        if len(on) != one.held or any(name not in hosts for name in on):
            return None
        names += [hosts[name] for name in on]
    return names
