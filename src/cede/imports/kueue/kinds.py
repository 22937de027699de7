"""What kind of work a workload is, by who owns it and what its labels say."""

from __future__ import annotations

from collections.abc import Sequence

from cede.imports.kueue.objects import Object
from cede.imports.kueue.pod_sets import PodSet
from cede.imports.kueue.world import World

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
