"""The tree of quotas: what every queue and cohort is promised, keeps to itself and may ever have, by flavor.

A pair of resource and flavor is one number here, a `pair`. Amounts are whole counts of the finest unit seen of
the resource, in Python integers, so that sums and products are exact however large they are. The finest unit is
Kueue's own: thousandths of a CPU, and one of everything else; what is finer is rounded up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from cede.doctrines.kueue.settings import Settings, settings_of
from cede.model.quantities import LARGEST, say_quantity
from cede.model.resources import split_flavor
from cede.state.columns import NONE
from cede.state.state import State
from cede.state.tree import QueueTree
from cede.state.units import COARSEST, WHOLE, Units

DEFAULT = "default"
MILLI, ONE = 10**6, 10**9
"""Kueue's units in nano-units: of CPU, and of everything else."""
Table = list[list[int]]
Limits = list[list[int | None]]
Asked = tuple[tuple[int, int], ...]
"""Amounts by pair, each pair once, in the order of the pairs."""


@dataclass(frozen=True, slots=True)
class Group:
    """Resources that take one flavor together, and the flavors in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


class Quotas:
    """What follows from the queues' entries alone. Tables are [pair][queue]."""

    def __init__(self, state: State) -> None:
        tree, units = state.tree, state.units
        self.names = tree.names
        self.size = tree.size
        self._lay_out(tree)
        self.pairs, self.columns, self.nano = _pairs(tree, units)
        self.finer = _finer(units)
        self.index = {pair: at for at, pair in enumerate(self.pairs)}
        self.unlimited = [_unlimited(resource, nano) for (resource, _), nano in zip(self.pairs, self.nano, strict=True)]
        nominal = self._limits(tree, "guaranteed")
        self.borrowing = self._limits(tree, "borrowing_limit")
        self.lending = self._limits(tree, "lending_limit")
        self.subtree: Table = [[limit or 0 for limit in row] for row in nominal]
        self.local: Table = [[0] * self.size for _ in self.pairs]
        self.potential: Table = [[0] * self.size for _ in self.pairs]
        for pair in range(len(self.pairs)):
            self._roll_up(pair)
        self.declared = self._declared(tree, nominal)
        self.weights = [_weight(tree, queue) for queue in range(self.size)]
        self._settings: dict[int, Settings] = {}
        self._groups: dict[int, tuple[Group, ...]] = {}
        self._tree = tree
        self.kept: dict[str, object] = {}

    def settings(self, queue: int) -> Settings:
        settings = self._settings.get(queue)
        if settings is None:
            settings = self._settings[queue] = settings_of(self._tree.settings(queue))
        return settings

    @cached_property
    def strict(self) -> frozenset[int]:
        """The queues in which nothing passes the head."""
        return frozenset(queue for queue in range(self.size) if self.settings(queue).strict)

    def groups(self, queue: int) -> tuple[Group, ...]:
        """The resource groups of a queue; what none lists comes after, one group a resource, flavors by name."""
        groups = self._groups.get(queue)
        if groups is None:
            groups = self._groups[queue] = self._groups_of(queue)
        return groups

    def show(self, pair: int, amount: int) -> str:
        """An amount for people; what is left of an unlimited quota is unlimited too."""
        plenty = 2 * amount > self.unlimited[pair]
        return say_quantity(self.pairs[pair][0], LARGEST if plenty else amount * self.nano[pair])

    def name(self, pair: int) -> str:
        """The pair for people: the resource alone where it has but one flavor called default."""
        resource, flavor = self.pairs[pair]
        return resource if flavor == DEFAULT else f"{resource}@{flavor}"

    def knows(self, resource: str, flavor: str) -> bool:
        """Whether the file has anything of the resource in this flavor; `default` is known everywhere."""
        return flavor == DEFAULT or bool(self.columns[self.index[resource, flavor]])

    def count(self, pair: int, nano: int) -> int:
        """Nano-units in counts; what is finer than the unit is rounded up."""
        return -(-nano // self.nano[pair])

    def _lay_out(self, tree: QueueTree) -> None:
        """Parents and children; paths, heights, and an order in which children come before their parents."""
        self.parent = tree.parent[: self.size].tolist()
        self.children: list[list[int]] = [[] for _ in range(self.size)]
        for queue in sorted(range(self.size), key=self.names.__getitem__):
            if self.parent[queue] != NONE:
                self.children[self.parent[queue]].append(queue)
        self.path = [tree.path(queue) for queue in range(self.size)]
        self.root = [path[-1] for path in self.path]
        self.upward = sorted(range(self.size), key=lambda queue: -len(self.path[queue]))
        self.height = [0] * self.size
        for queue in self.upward:
            above = self.parent[queue]
            if above != NONE:
                self.height[above] = max(self.height[above], self.height[queue] + 1)

    def is_cohort(self, queue: int) -> bool:
        return bool(self.children[queue])

    def _limits(self, tree: QueueTree, name: str) -> Limits:
        limits: Limits = [[None] * self.size for _ in self.pairs]
        for queue, document in enumerate(tree.documents):
            for key, nano in (getattr(document, name, None) or {}).items():
                resource, flavor = split_flavor(key)
                pair = self.index[resource, flavor or DEFAULT]
                limits[pair][queue] = self.added(pair, limits[pair][queue] or 0, self.count(pair, nano))
        return limits

    def added(self, pair: int, one: int, other: int) -> int:
        """The sum of two quotas: an unlimited one absorbs the other, bounded ones stay below it."""
        most = self.unlimited[pair]
        return most if max(one, other) >= most else min(one + other, most - 1)

    def _less(self, pair: int, quota: int, other: int) -> int:
        """A quota less another: of an unlimited one all is left, but nothing where the other is unlimited too."""
        most = self.unlimited[pair]
        return quota - other if quota < most else 0 if other >= most else most

    def _roll_up(self, pair: int) -> None:
        subtree, local, potential = self.subtree[pair], self.local[pair], self.potential[pair]
        for queue in self.upward:
            lending = self.lending[pair][queue]
            if lending is not None:
                local[queue] = max(0, self._less(pair, subtree[queue], lending))
            above = self.parent[queue]
            if above != NONE:
                lent = self._less(pair, subtree[queue], local[queue])
                subtree[above] = self.added(pair, subtree[above], lent)
        for queue in reversed(self.upward):
            above = self.parent[queue]
            if above == NONE:
                potential[queue] = subtree[queue]
                continue
            most = self.added(pair, local[queue], potential[above])
            borrowing = self.borrowing[pair][queue]
            potential[queue] = most if borrowing is None else min(most, self.added(pair, subtree[queue], borrowing))

    def _declared(self, tree: QueueTree, nominal: Limits) -> list[list[int]]:
        """The pairs each queue names, or that a queue below it names."""
        pairs_of: list[set[int]] = [set() for _ in range(self.size)]
        for queue in self.upward:
            own = pairs_of[queue]
            for pair in range(len(self.pairs)):
                if any(table[pair][queue] is not None for table in (nominal, self.borrowing, self.lending)):
                    own.add(pair)
            document = tree.documents[queue]
            for group in (document.resource_groups if document is not None else None) or ():
                own.update(self.index[name, flavor] for name in group.resources for flavor in group.flavors)
            if self.parent[queue] != NONE:
                pairs_of[self.parent[queue]] |= own
        return [sorted(pairs) for pairs in pairs_of]

    def _groups_of(self, queue: int) -> tuple[Group, ...]:
        flavors: dict[str, list[str]] = {}
        for pair in self.declared[queue]:
            resource, flavor = self.pairs[pair]
            flavors.setdefault(resource, []).append(flavor)
        document = self._tree.documents[queue]
        groups: list[Group] = []
        grouped: set[str] = set()
        for group in (document.resource_groups if document is not None else None) or ():
            more = {flavor for name in group.resources for flavor in flavors.get(name, ())}
            listed = (*group.flavors, *sorted(more - set(group.flavors)))
            groups.append(Group(tuple(group.resources), listed))
            grouped.update(group.resources)
        groups += [Group((name,), tuple(sorted(flavors[name]))) for name in sorted(flavors) if name not in grouped]
        return tuple(groups)


def quotas_of(state: State) -> Quotas:
    """The quotas of this state; made anew only after a queue's entry or a unit changed."""
    quotas = state.tree.derived.get("kueue")
    if not isinstance(quotas, Quotas):
        quotas = state.tree.derived["kueue"] = Quotas(state)
    return quotas


def _pairs(tree: QueueTree, units: Units) -> tuple[list[tuple[str, str]], list[list[tuple[int, int]]], list[int]]:
    """Pairs in the order of their names, the resource columns each one sums up with their factors, and the units."""
    columns: dict[tuple[str, str], list[int]] = {}
    for column, name in enumerate(units.names):
        if column != WHOLE:
            resource, flavor = split_flavor(name)
            columns.setdefault((resource, flavor or DEFAULT), []).append(column)
    for document in tree.documents:
        for group in (document.resource_groups if document is not None else None) or ():
            known = {flavor for resource, flavor in columns if resource in group.resources}
            for resource in group.resources:
                for flavor in known.union(group.flavors):
                    columns.setdefault((resource, flavor), [])
    finest: dict[str, int] = {}
    for (resource, _), counting in columns.items():
        finest[resource] = min([finest.get(resource, COARSEST), *(units.nano[column] for column in counting)])
    finest = {resource: max(nano, kueue_unit(resource)) for resource, nano in finest.items()}
    pairs = sorted(columns)
    factors = [[(column, max(1, units.nano[column] // finest[pair[0]])) for column in columns[pair]] for pair in pairs]
    return pairs, factors, [finest[resource] for resource, _ in pairs]


def kueue_unit(resource: str) -> int:
    """The nano-units in one of what Kueue counts of a resource."""
    return MILLI if resource == "cpu" else ONE


def rounded_up(resource: str, nano: int) -> int:
    """An amount as Kueue has it: the next whole number of its unit."""
    unit = kueue_unit(resource)
    return -(-nano // unit) * unit


def _finer(units: Units) -> dict[int, int]:
    """The columns that count in parts of Kueue's unit, and how many of those make one."""
    finer = {}
    for column, name in enumerate(units.names):
        unit = kueue_unit(split_flavor(name)[0])
        if column != WHOLE and units.nano[column] < unit:
            finer[column] = unit // units.nano[column]
    return finer


def _unlimited(resource: str, nano: int) -> int:
    """What Kueue takes an unlimited quota for where it needs a number, 2**63 - 1 of its own unit, in counts."""
    return -(-(2**63 - 1) * kueue_unit(resource) // nano)


def _weight(tree: QueueTree, queue: int) -> Fraction:
    document = tree.documents[queue]
    weight = None if document is None else document.weight
    return Fraction(1) if weight is None else Fraction(str(weight))


def named(quotas: Quotas, amounts: Sequence[tuple[int, int]]) -> str:
    """Amounts of several pairs for people."""
    return ", ".join(f"{quotas.show(pair, amount)} {quotas.name(pair)}" for pair, amount in amounts)
