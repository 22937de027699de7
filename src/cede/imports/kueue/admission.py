"""What a workload was admitted with: the flavors it got, what it holds in each, and how many pods that is for."""

from __future__ import annotations

from dataclasses import dataclass, field

from cede.imports.fields import Amounts, Fields, total
from cede.imports.kueue.quantities import for_each, quantities, times
from cede.model.checks import MOST_MEMBERS

HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one pod set got."""

    flavors: dict[str, str] = field(default_factory=dict)
    usage: Amounts = field(default_factory=dict)
    count: int | None = None
    hosts: tuple[str, ...] | None = None
    """The host of each pod, where Kueue itself chose them."""

    def each(self, count: int) -> Amounts:
        """What one pod of it holds."""
        pods = count if self.count is None else self.count
        return for_each(self.usage, pods) if pods else {}


def assignments_of(admission: Fields) -> dict[str, Assignment]:
    """The assignments by pod set."""
    assignments = {}
    for one in admission.parts("podSetAssignments"):
        flavors = one.labels("flavors")
        usage = quantities(one, "resourceUsage")
        for name, nano in usage.items():
            if nano and name not in flavors:
                one.remark("no flavor was assigned, so it holds no quota", "resourceUsage", name)
        held = {name: nano for name, nano in usage.items() if name in flavors}
        assignments[one.text("name") or "main"] = Assignment(flavors, held, one.whole("count"), _hosts(one))
        one.skip("delayedTopologyRequest")
    return assignments


def usage_of(held: list[tuple[Assignment, int, int]]) -> Amounts:
    """What is held by NAME@FLAVOR; given are the pods admitted and, less those that ended, left of each set."""
    return total(
        {
            f"{name}@{flavor}": nano
            for name, flavor in assignment.flavors.items()
            for nano in (_left(assignment, name, admitted, left),)
        }
        for assignment, admitted, left in held
    )


def _left(assignment: Assignment, name: str, admitted: int, left: int) -> int:
    nano = assignment.usage.get(name, 0)
    if admitted == left or not admitted:
        return nano
    return times(for_each({name: nano}, admitted), left)[name]


def _hosts(assignment: Fields) -> tuple[str, ...] | None:
    """The hosts of a topology assignment that goes down to hosts; both APIs write it in a way of their own."""
    topology = assignment.part("topologyAssignment")
    levels = topology.texts("levels")
    slices, domains = topology.parts("slices"), topology.parts("domains")
    topology.skip_rest()
    for one in (*slices, *domains):
        one.skip_rest()
    if levels[-1:] != [HOSTNAME]:
        return None
    counted = [(host, domain.whole("count") or 0) for domain in domains for host in domain.texts("values")[-1:]]
    for one in slices:
        counted += _in_slice(one)
    if sum(count for _, count in counted) > MOST_MEMBERS:
        return None
    return tuple(host for host, count in counted for _ in range(count))


def _in_slice(one: Fields) -> list[tuple[str, int]]:
    """The hosts of a slice, each with its number of pods."""
    domains = min(one.whole("domainCount") or 0, MOST_MEMBERS)
    values = one.parts("valuesPerLevel")
    for value in values:
        value.skip_rest()
    if not values:
        return []
    last = values[-1]
    same = last.text("universalValue")
    before, after = last.text("prefix") or "", last.text("suffix") or ""
    names = [same] * domains if same else [f"{before}{root}{after}" for root in last.texts("roots")]
    each, counts = one.whole("universalPodCount"), one.raw("podCounts")
    if each is not None or not isinstance(counts, list):
        return [(name, each or 0) for name in names]
    return [(name, count) for name, count in zip(names, counts, strict=False) if type(count) is int]
