"""A tree of quotas: what each node holds, what it lends, and what a queue can still take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

FlavorResource = tuple[str, str]
Amounts = dict[FlavorResource, int]


@dataclass(eq=False)
class Workload:
    """One that holds quota; `evicted`: it is leaving already."""

    name: str
    queue: str
    usage: Amounts
    priority: int = 0
    queued_at: int = 0
    reserved_at: int = 0
    uid: str = ""
    evicted: bool = False
    preemptible: bool = True


@dataclass(frozen=True)
class Policy:
    """Whom the workloads of a queue may preempt; `borrowing` is `borrowWithinCohort.policy`."""

    within: str = "Never"
    reclaim: str = "Never"
    borrowing: str = "Never"
    threshold: int | None = None


@dataclass(eq=False)
class Node:
    """A queue, or a cohort if it has children; what is not in `nominal` is not declared, and counts as 0."""

    name: str
    parent_name: str | None = None
    nominal: Amounts = field(default_factory=dict)
    borrowing_limit: Amounts = field(default_factory=dict)
    lending_limit: Amounts = field(default_factory=dict)
    weight: Fraction = Fraction(1)
    policy: Policy = Policy()
    parent: Node | None = field(default=None, init=False)
    children: list[Node] = field(default_factory=list, init=False)
    subtree: Amounts = field(default_factory=dict, init=False)
    used: Amounts = field(default_factory=dict, init=False)
    workloads: dict[str, Workload] = field(default_factory=dict, init=False)

    def quota(self, fr: FlavorResource) -> int:
        """S: what it and all below it own and do not keep from it."""
        return self.subtree.get(fr, 0)

    def usage(self, fr: FlavorResource) -> int:
        """U: what is used here, less what the children keep to themselves."""
        return self.used.get(fr, 0)

    def local(self, fr: FlavorResource) -> int:
        """L: the part of its quota that the parent never sees."""
        limit = self.lending_limit.get(fr)
        return 0 if limit is None else max(0, self.quota(fr) - limit)

    def local_available(self, fr: FlavorResource) -> int:
        return max(0, self.local(fr) - self.usage(fr))

    def add(self, fr: FlavorResource, amount: int) -> None:
        """Use more; what exceeds the local part is used at the parent too."""
        local = self.local_available(fr)
        self.used[fr] = self.usage(fr) + amount
        if self.parent is not None and amount > local:
            self.parent.add(fr, amount - local)

    def remove(self, fr: FlavorResource, amount: int) -> None:
        over = self.usage(fr) - self.local(fr)
        self.used[fr] = self.usage(fr) - amount
        if self.parent is not None and over > 0:
            self.parent.remove(fr, min(amount, over))

    def room(self, fr: FlavorResource) -> int:
        """What is left here and above, below zero where more was admitted than there is."""
        if self.parent is None:
            return self.quota(fr) - self.usage(fr)
        above, limit = self.parent.room(fr), self.borrowing_limit.get(fr)
        if limit is not None:
            local = self.local(fr)
            above = min(above, self.quota(fr) - local - max(0, self.usage(fr) - local) + limit)
        return self.local_available(fr) + above

    def available(self, fr: FlavorResource) -> int:
        return max(0, self.room(fr))

    def potential(self, fr: FlavorResource) -> int:
        """What it could use if nobody else used anything."""
        if self.parent is None:
            return self.quota(fr)
        most, limit = self.local(fr) + self.parent.potential(fr), self.borrowing_limit.get(fr)
        return most if limit is None else min(most, self.quota(fr) + limit)

    def borrows(self, fr: FlavorResource, extra: int = 0) -> bool:
        return self.quota(fr) < self.usage(fr) + extra

    def within_nominal(self, frs: Iterable[FlavorResource]) -> bool:
        return not any(self.borrows(fr) for fr in frs)

    def fits(self, requests: Mapping[FlavorResource, int], *, borrowing: bool = True) -> bool:
        return all(
            amount <= self.available(fr) and (borrowing or not self.borrows(fr, amount))
            for fr, amount in requests.items()
        )

    def level(self, fr: FlavorResource, amount: int) -> tuple[int, bool]:
        """How high in the tree it must borrow for this much, and whether it may reclaim above that."""
        if self.parent is None or not self.borrows(fr, amount):
            return 0, self.parent is not None
        rest, cohort = amount - self.local_available(fr), self.parent
        while cohort.usage(fr) + rest > cohort.quota(fr):
            if cohort.parent is None:
                return cohort.height(), False
            rest -= cohort.local_available(fr)
            cohort = cohort.parent
        return cohort.height(), cohort.parent is not None

    def height(self) -> int:
        return 1 + max(child.height() for child in self.children) if self.children else 0

    def ancestors(self) -> Iterator[Node]:
        """Its parent, and so on up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def root(self) -> Node:
        return self if self.parent is None else self.parent.root()

    def queues(self) -> Iterator[Node]:
        """The queues at or below it."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.queues()


class Tree:
    """All nodes by name; a parent that is not among them is a root without quota."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = {node.name: node for node in nodes}
        for node in list(self.nodes.values()):
            if node.parent_name is not None:
                node.parent = self.nodes.setdefault(node.parent_name, Node(node.parent_name))
                node.parent.children.append(node)
        for node in self.nodes.values():
            node.children.sort(key=lambda child: child.name)
        for node in self.nodes.values():
            if node.parent is None:
                _sum_quotas(node)

    def hold(self, workload: Workload) -> None:
        """Let the workload hold its quota."""
        node = self.nodes[workload.queue]
        node.workloads[workload.name] = workload
        self.use(node, workload.usage)

    def release(self, workload: Workload) -> None:
        node = self.nodes[workload.queue]
        del node.workloads[workload.name]
        self.unuse(node, workload.usage)

    def use(self, node: Node, amounts: Mapping[FlavorResource, int]) -> None:
        for fr, amount in amounts.items():
            node.add(fr, amount)

    def unuse(self, node: Node, amounts: Mapping[FlavorResource, int]) -> None:
        for fr, amount in amounts.items():
            node.remove(fr, amount)


def _sum_quotas(node: Node) -> None:
    node.subtree = dict(node.nominal)
    for child in node.children:
        _sum_quotas(child)
        for fr in child.subtree:
            node.subtree[fr] = node.quota(fr) + child.quota(fr) - child.local(fr)
