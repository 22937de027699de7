"""The cluster's nodes: what of each counts for which flavor, and whether it takes pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cede.imports.fields import Amounts
from cede.imports.kueue.admission import HOSTNAME
from cede.imports.kueue.flavors import Flavor
from cede.imports.kueue.objects import NOT_THERE, Object, conditions_of
from cede.imports.kueue.quantities import quantities
from cede.imports.kueue.queues import Queue
from cede.imports.kueue.selectors import taints
from cede.model.quantities import format_quantity

CORDON = "node.kubernetes.io/unschedulable"
NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def offered(queues: Iterable[Queue]) -> dict[str, list[str]]:
    """The flavors in which each resource has a quota anywhere, by name."""
    offers: dict[str, set[str]] = {}
    for queue in queues:
        for resources, flavors in queue.groups:
            for name in resources:
                offers.setdefault(name, set()).update(flavors)
    return {name: sorted(flavors) for name, flavors in offers.items()}


def hosts_of(objects: Sequence[Object]) -> dict[str, str]:
    """The names of the nodes, by themselves and by the label of their host."""
    by_label = {one.meta.labels("labels").get(HOSTNAME, one.name): one.name for one in objects}
    return by_label | {one.name: one.name for one in objects}


def node(
    one: Object, offers: Mapping[str, list[str]], flavors: Mapping[str, Flavor], others: Mapping[str, Amounts]
) -> dict[str, Any]:
    """The node as an entry of the file; resources that no queue has a quota for are of no use to a workload."""
    spec, status = one.fields.part("spec"), one.fields.part("status")
    labels = one.meta.labels("labels")
    given = quantities(status, "allocatable" if status.has("allocatable") else "capacity")
    counts_for = {
        name: counts_as for name in given if name in offers and (counts_as := _flavor(one, name, offers, flavors))
    }
    used = set(counts_for.values())
    plain = len(used) == 1
    keys = {name: name if plain else f"{name}@{flavor}" for name, flavor in counts_for.items()}
    entry: dict[str, Any] = {"name": one.name}
    entry["capacity"] = {key: format_quantity(given[name]) for name, key in keys.items()}
    taken = others.get(one.name, {})
    occupied = {key: format_quantity(taken[name]) for name, key in keys.items() if taken.get(name)}
    if occupied:
        entry["occupied"] = occupied
    if plain:
        entry["flavor"] = used.pop()
    if labels:
        entry["labels"] = labels
    state = _state(one, [flavors[name] for name in set(counts_for.values()) if name in flavors])
    if state != "ready":
        entry["state"] = state
    spec.skip_rest()
    return entry


def _flavor(one: Object, name: str, offers: Mapping[str, list[str]], flavors: Mapping[str, Flavor]) -> str | None:
    """The flavor with most labels that are all the node's; equal ones by name."""
    labels = one.meta.labels("labels").items()
    matching = [flavor for flavor in offers[name] if flavor not in flavors or flavors[flavor].labels.items() <= labels]
    if not matching:
        one.fields.remark(
            f"no flavor with a quota for {name} has its labels; it counts for none", "status", "allocatable"
        )
        return None
    sizes = {flavor: len(flavors[flavor].labels) if flavor in flavors else 0 for flavor in matching}
    best = [flavor for flavor in matching if sizes[flavor] == max(sizes.values())]
    if len(best) > 1:
        why = f"its {name} may be {' or '.join(best)}; here it counts for {best[0]} only"
        one.fields.remark(why, "metadata", "labels")
    return best[0]


def _state(one: Object, flavors: Sequence[Flavor]) -> str:
    spec, status = one.fields.part("spec"), one.fields.part("status")
    ready = conditions_of(status).get("Ready", NOT_THERE)
    if "Ready" in conditions_of(status) and not ready.is_true:
        return "down"
    cordoned = spec.truth("unschedulable") is True
    for taint in taints(spec, "taints"):
        if taint.key == CORDON:
            cordoned = True
        elif taint.key not in NOT_READY and not any(flavor.tolerates(taint) for flavor in flavors):
            one.fields.remark(f"none of its flavors tolerates {taint}; here it takes no pods", "spec", "taints")
            cordoned = True
    return "cordoned" if cordoned else "ready"
