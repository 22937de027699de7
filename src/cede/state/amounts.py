"""Amounts of an entry by the names of columns: of nodes, of quota, and of both together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cede.model.cluster import Node, Queue, Workload
from cede.model.resources import split_flavor
from cede.model.workloads import PodSet
from cede.state.static import Static
from cede.state.tree import LIMITS
from cede.state.units import FULL

Parts = tuple[PodSet, ...]
Sizes = Sequence[tuple[Mapping[str, int], int]]
"""What one member asks for, and how many such there are, of each kind."""
DEFAULT_FLAVOR = "default"


def flavored(amounts: Mapping[str, int]) -> bool:
    """Whether any of them is in a flavor."""
    for name in amounts:  # noqa: SIM110 - any() takes three times as long, and every node of a file comes by here
        if "@" in name:
            return True
    return False


def plain(amounts: Mapping[str, int]) -> Mapping[str, int]:
    """The amounts by resource, whatever the flavor."""
    if not flavored(amounts):
        return amounts
    total: dict[str, int] = {}
    for name, nano in amounts.items():
        resource = split_flavor(name)[0]
        total[resource] = total.get(resource, 0) + nano
    return total


def taken(requests: Mapping[str, int]) -> Mapping[str, int]:
    """What a member takes of a node: of each resource by its plain name, and what it pins in that flavor too."""
    return {**requests, **plain(requests)} if flavored(requests) else requests


def is_odd(amounts: Mapping[str, int]) -> bool:
    """Whether the columns of a node or a member do not say all of this: flavors, or an amount of nothing."""
    return flavored(amounts) or 0 in amounts.values()


def by_flavor(static: Static, node: Node) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """What a node has and what is occupied of it: each resource by its plain name, and beside that in its flavor.

    A plain name is in the node's flavor. Where the quota is in flavors, a node without one offers `default`.
    """
    own = node.flavor or (DEFAULT_FLAVOR if static.flavored_quota else None)
    if own is None and not flavored(node.capacity) and not flavored(node.occupied):
        return node.capacity, node.occupied
    offered: dict[str, set[str | None]] = {}
    for name in node.capacity:
        resource, flavor = split_flavor(name)
        offered.setdefault(resource, set()).add(flavor or own)

    def flavor_of(resource: str) -> str | None:
        """What is occupied without a flavor, of a resource that the node has in one other flavor, is in that."""
        found = offered.get(resource, {own})
        if own in found:
            return own
        return next(iter(found)) if len(found) == 1 else None

    return _with_flavors(node.capacity, lambda _: own), _with_flavors(node.occupied, flavor_of)


def _with_flavors(amounts: Mapping[str, int], flavor_of: Callable[[str], str | None]) -> Mapping[str, int]:
    total: dict[str, int] = {}
    for name, nano in amounts.items():
        resource, flavor = split_flavor(name)
        flavor = flavor or flavor_of(resource)
        for key in (resource,) if flavor is None else (resource, f"{resource}@{flavor}"):
            total[key] = total.get(key, 0) + nano
    return total


def columns_of_node(static: Static, node: Node) -> list[Mapping[str, int]]:
    """Amounts to learn before the node joins; where the quota is in flavors, `default` is one of every resource."""
    found = list(by_flavor(static, node))
    if static.flavored_quota:
        found.append({f"{split_flavor(name)[0]}@{DEFAULT_FLAVOR}": 0 for name in node.capacity})
    return found


def columns_of_queue(static: Static, queue: Queue) -> list[Mapping[str, int]]:
    """Amounts to learn before the queue joins; where the quota is in flavors, every flavor its work may be given."""
    found: list[Mapping[str, int]] = [getattr(queue, key) or {} for key in LIMITS]
    if static.flavored_quota:
        groups = queue.resource_groups or ()
        found += [{f"{name}@{flavor}": 0 for name in group.resources for flavor in group.flavors} for group in groups]
    return found


def sizes_of_workload(workload: Workload) -> Sizes:
    """What one member asks for, and how many such there are."""
    if workload.pod_sets is None:
        return [(workload.requests, workload.members)]
    return [(part.requests, part.count) for part in workload.pod_sets]


def usage_of(workload: Workload) -> dict[str, int]:
    """What the workload holds of its queues' quota in all."""
    return dict(workload.usage) if workload.usage is not None else total_of(sizes_of_workload(workload))


def total_of(sizes: Sizes) -> dict[str, int]:
    """What so many members ask for in all."""
    total: dict[str, int] = {}
    for requests, count in sizes:
        for name, nano in requests.items():
            total[name] = total.get(name, 0) + nano * count
    return total


def load_of_workload(workload: Workload) -> dict[str, int]:
    """As much of each resource as the workload can add to any sum, in whatever flavor it is admitted."""
    return load_of(usage_of(workload), sizes_of_workload(workload), workload.exclusive)


def load_of(usage: Mapping[str, int], sizes: Sizes, exclusive: bool) -> dict[str, int]:
    """What the quota it holds and what its members take of nodes come to: of each name the more."""
    whole = FULL if exclusive else 1
    load = {**usage, **plain(usage), "": sum(count for _, count in sizes) * whole}
    placed: dict[str, int] = {}
    for requests, count in sizes:
        for name, nano in taken(requests).items():
            placed[name] = placed.get(name, 0) + nano * count
    for name, nano in placed.items():
        load[name] = max(load.get(name, 0), nano)
    return load


def load_of_node(static: Static, node: Node) -> dict[str, int]:
    """What the node adds to sums over nodes."""
    capacity, occupied = by_flavor(static, node)
    total = {**capacity, "": FULL}
    for name, nano in occupied.items():
        total[name] = total.get(name, 0) + nano
    return total


def difference(more: Mapping[str, int], less: Mapping[str, int]) -> dict[str, int]:
    """What is left of some amounts, below zero too."""
    return {name: more.get(name, 0) - less.get(name, 0) for name in more.keys() | less.keys()}


def sizes_of(parts: Sequence[PodSet]) -> Sizes:
    """What one member asks for, and how many such there are."""
    return [(part.requests, part.count) for part in parts]


@dataclass(frozen=True, slots=True)
class Ask:
    """A workload's members as they were before it was admitted; amounts in nano-units, whatever a column counts in."""

    parts: Parts | None
    members: int
    requests: Mapping[str, int]
    usage: Mapping[str, int]

    @property
    def sizes(self) -> Sizes:
        """What one member asks for, and how many such there are."""
        return [(self.requests, self.members)] if self.parts is None else sizes_of(self.parts)
