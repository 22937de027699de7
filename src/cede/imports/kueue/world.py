"""What workloads refer to: queues, flavors, priority classes, namespaces and owners, each by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cede.imports.kueue.configuration import Configuration
from cede.imports.kueue.flavors import Flavor
from cede.imports.kueue.objects import Object
from cede.imports.kueue.queues import POLICIES, Queue, Tree

BUILT_IN = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
NAME_LABEL = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """A namespace's door to a cluster queue."""

    cluster_queue: str
    is_stopped: bool


@dataclass(frozen=True, slots=True)
class Owner:
    kind: str
    uid: str
    name: str


@dataclass(slots=True)
class World:
    """Everything but the workloads."""

    tree: Tree
    flavors: Mapping[str, Flavor]
    configuration: Configuration
    local_queues: Mapping[str, LocalQueue]
    priorities: Mapping[tuple[str, str], int]
    namespaces: Mapping[str, Mapping[str, str]]
    owners: Mapping[str, Sequence[Owner]] = field(default_factory=dict)
    """The owner of an object, by its uid."""

    def owners_above(self, one: Object) -> list[Owner]:
        """The owners of an object, and theirs, as far as they were given; each once."""
        owners: dict[tuple[str, str], Owner] = {}
        ahead = owners_of(one)
        while ahead:
            owner = ahead.pop(0)
            if (owner.kind, owner.uid) not in owners:
                owners[owner.kind, owner.uid] = owner
                ahead += self.owners.get(owner.uid, ())
        return list(owners.values())

    def lets_in(self, queue: Queue, namespace: str) -> bool | None:
        """Whether a cluster queue takes workloads of a namespace; None if its labels were not given."""
        if queue.selector is None:
            return False
        labels = {NAME_LABEL: namespace, **self.namespaces.get(namespace, {})}
        known = namespace in self.namespaces
        clear = [one for one in queue.selector if known or one.key == NAME_LABEL]
        if not all(one.accepts(labels) for one in clear):
            return False
        return True if len(clear) == len(queue.selector) else None


def owners_of(one: Object) -> list[Owner]:
    """The direct owners of an object."""
    references = one.meta.parts("ownerReferences")
    owners = [Owner(r.text("kind") or "", r.text("uid") or "", r.text("name") or "") for r in references]
    for reference in references:
        reference.skip_rest()
    return owners


def local_queues(objects: Sequence[Object]) -> dict[str, LocalQueue]:
    """By NAMESPACE/NAME."""
    queues = {}
    for one in objects:
        spec = one.fields.part("spec")
        stopped = spec.choice("stopPolicy", POLICIES) not in (None, "None")
        spec.note("the history of LocalQueues is not carried over", "fairSharing")
        spec.note("budgets of time are not carried over", "wallTimePolicy")
        queues[one.place.name] = LocalQueue(spec.need("clusterQueue"), stopped)
        one.fields.skip("status")
        one.fields.close()
    return queues


def priority_classes(objects: Sequence[Object]) -> dict[tuple[str, str], int]:
    """The values of classes, by kind and name."""
    classes = {("PriorityClass", name): value for name, value in BUILT_IN.items()}
    for one in objects:
        value = one.fields.whole("value")
        if value is None:
            one.fields.wrong(("value",), "this key is required and missing")
        one.fields.skip("description", "globalDefault", "preemptionPolicy")
        classes[one.kind, one.name] = value or 0
        one.fields.close()
    return classes


def namespaces(objects: Sequence[Object]) -> dict[str, Mapping[str, str]]:
    """The labels of each namespace."""
    return {one.name: one.meta.labels("labels") for one in objects}
