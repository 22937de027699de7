"""A plain account of quotas for checking: the definitions as they stand, worked out for what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from fractions import Fraction
from typing import Protocol

from cede.model.resources import split_flavor
from cede.state.state import State

Pair = tuple[str, str]
Amounts = dict[Pair, int]
BEFORE, AFTER = "before", "after"
WHEN = (BEFORE, AFTER)
MOMENTS = {"preempting": (BEFORE,), "reserved": (AFTER,)}
"""When work in such a state is there; all other is at both."""


class _Entries:
    """What the file says of the queues; made anew after it changed."""

    def __init__(self, state: State) -> None:
        names = state.tree.names
        above = {name: int(state.tree.parent[row]) for name, row in state.tree.index.items()}
        self.parent = {name: None if row < 0 else names[row] for name, row in above.items()}
        self.children: dict[str, list[str]] = {name: [] for name in self.parent}
        for name, parent in self.parent.items():
            if parent is not None:
                self.children[parent].append(name)
        documents = {name: state.tree.documents[row] for name, row in state.tree.index.items()}
        self.weight = {
            name: Fraction(1) if document is None or document.weight is None else Fraction(str(document.weight))
            for name, document in documents.items()
        }
        self.limits = {
            kind: {name: by_pair(getattr(document, kind, None) or {}) for name, document in documents.items()}
            for kind in ("guaranteed", "borrowing_limit", "lending_limit")
        }
        self.groups = {
            name: {
                (resource, flavor)
                for group in getattr(document, "resource_groups", None) or ()
                for resource in group.resources
                for flavor in group.flavors
            }
            for name, document in documents.items()
        }
        self.path: dict[str, tuple[str, ...]] = {}
        for name in self.parent:
            path = [name]
            while (parent := self.parent[path[-1]]) is not None:
                path.append(parent)
            self.path[name] = tuple(path)
        self._quota: dict[tuple[str, Pair], int] = {}
        self._local: dict[tuple[str, Pair], int] = {}
        self._lends_all: dict[tuple[str, Pair], bool] = {}

    def quota(self, node: str, pair: Pair) -> int:
        """What it is promised, with what its children lend."""
        found = self._quota.get((node, pair))
        if found is None:
            lent = (self.quota(child, pair) - self.local(child, pair) for child in self.children[node])
            found = _sum(pair, [self.limits["guaranteed"][node].get(pair, 0), *lent])
            self._quota[node, pair] = found
        return found

    def local(self, node: str, pair: Pair) -> int:
        """What the node keeps to itself: of an unlimited quota nothing, if that may all be lent, or else all."""
        found = self._local.get((node, pair))
        if found is None:
            lending = self.limits["lending_limit"][node].get(pair)
            quota = self.quota(node, pair)
            if quota >= unlimited(pair):
                found = 0 if lending is None or lending >= unlimited(pair) else quota
            else:
                found = 0 if lending is None else max(0, quota - lending)
            self._local[node, pair] = found
        return found

    def lends_all(self, node: str, pair: Pair) -> bool:
        """Whether nobody below keeps anything to itself, so that all that is held there counts."""
        found = self._lends_all.get((node, pair))
        if found is None:
            found = all(not self.local(child, pair) and self.lends_all(child, pair) for child in self.children[node])
            self._lends_all[node, pair] = found
        return found


Held = dict[str, Amounts]
"""What work holds, `BEFORE` and `AFTER`."""


class Counted(Protocol):
    """What work held to begin with."""

    def of(self, queue: str, children: list[str]) -> Held:
        """That of the queue itself."""

    def below(self, queue: str) -> Held | None:
        """That of the queue and of all below it; none where that is not one sum."""


class Account:
    """The queues as the file lists them, and what each holds itself; everything else is worked out when asked.

    Amounts are nano-units. What a queue holds is told twice: `BEFORE` what is preempting has left and what is reserved
    has come, and `AFTER` that. The one makes way for the other, so that what is used is the larger. What a queue held
    to begin with is `counted` when somebody asks for it.
    """

    def __init__(self, state: State, counted: Counted) -> None:
        entries = state.tree.derived.get("kueue account")
        if not isinstance(entries, _Entries):
            entries = state.tree.derived["kueue account"] = _Entries(state)
        self.entries = entries
        self.parent, self.children = entries.parent, entries.children
        self.weight, self.limits, self.groups = entries.weight, entries.limits, entries.groups
        self.quota, self.local, self.path = entries.quota, entries.local, entries.path
        self._moments = WHEN if state.between else WHEN[:1]  # the two are one where nothing makes way for anything
        self._counted = counted
        self._began: dict[str, Held] = {}
        self._below: dict[str, Held | None] = {}
        self._moved: dict[str, Held] = {}

    def at_first(self) -> Account:
        """The same before anything moved, to go on from there by itself."""
        found = copy(self)
        found._moved = {}
        return found

    def move(self, queue: str, amounts: Mapping[Pair, int], sign: int = 1, word: str = "running") -> None:
        """Work of this queue, in this state, takes so much or gives it back."""
        held = self._moved.setdefault(queue, {BEFORE: {}, AFTER: {}})
        for when in MOMENTS.get(word, WHEN):
            own = held[when]
            for pair, amount in amounts.items():
                own[pair] = own.get(pair, 0) + sign * amount

    def own(self, when: str, queue: str, pair: Pair) -> int:
        """What the queue's own work holds."""
        began = self._began.get(queue)
        if began is None:
            began = self._began[queue] = self._counted.of(queue, self.children[queue])
        moved = self._moved.get(queue)
        return began[when].get(pair, 0) + (0 if moved is None else moved[when].get(pair, 0))

    def root(self, queue: str) -> str:
        return self.path[queue][-1]

    def used(self, node: str, pair: Pair) -> int:
        if len(self._moments) == 1:
            return self.used_when(self._moments[0], node, pair)
        return max([self.used_when(when, node, pair) for when in self._moments])

    def used_when(self, when: str, node: str, pair: Pair) -> int:
        if self.children[node] and self.entries.lends_all(node, pair):
            if node not in self._below:
                self._below[node] = self._counted.below(node)
            began = self._below[node]
            if began is not None:
                moved = [held[when].get(pair, 0) for queue, held in self._moved.items() if node in self.path[queue]]
                return began[when].get(pair, 0) + sum(moved)
        found = self.own(when, node, pair)
        for child in self.children[node]:
            found += max(0, self.used_when(when, child, pair) - self.local(child, pair))
        return found

    def available(self, node: str, pair: Pair) -> int:
        """What the node could still take; below zero where it is over-used."""
        above, used, quota = self.parent[node], self.used(node, pair), self.quota(node, pair)
        if above is None:
            return quota - used
        local = self.local(node, pair)
        through = self.available(above, pair)
        limit = self.limits["borrowing_limit"][node].get(pair)
        if limit is not None:
            through = min(through, quota - local - max(0, used - local) + limit)
        return max(0, local - used) + through

    def potential(self, node: str, pair: Pair) -> int:
        above = self.parent[node]
        if above is None:
            return self.quota(node, pair)
        most = _sum(pair, [self.local(node, pair), self.potential(above, pair)])
        limit = self.limits["borrowing_limit"][node].get(pair)
        return most if limit is None else min(most, _sum(pair, [self.quota(node, pair), limit]))

    def pairs(self, node: str) -> set[Pair]:
        """The pairs that the node or something below it names."""
        own = self.groups[node].union(*(limits[node] for limits in self.limits.values()))
        return own.union(*(self.pairs(child) for child in self.children[node]))

    def share(self, node: str) -> tuple[bool, Fraction]:
        """Whether it is infinite, and the share or, if it is, the plain ratio."""
        above = self.parent[node]
        if above is None:
            return False, Fraction(0)
        excess: dict[str, int] = {}
        for pair in self.pairs(node):
            over = max(0, self.used(node, pair) - self.quota(node, pair))
            excess[pair[0]] = excess.get(pair[0], 0) + over
        ratio = Fraction(0)
        for resource, over in excess.items():
            everything = {pair for pair in self.pairs(self.root(node)) if pair[0] == resource}
            lendable = _sum((resource, ""), [self.potential(above, pair) for pair in everything])
            if over and lendable > 0:
                ratio = max(ratio, Fraction(over * 1000, lendable))
        if not ratio:
            return False, ratio
        return (True, ratio) if not self.weight[node] else (False, ratio / self.weight[node])


def unlimited(pair: Pair) -> int:
    """The number that an unlimited quota is: the largest that Kueue counts, CPUs in thousandths."""
    return (2**63 - 1) * (10**6 if pair[0] == "cpu" else 10**9)


def _sum(pair: Pair, quotas: Sequence[int]) -> int:
    """Of quotas of a resource; if one of them is unlimited so is the sum, and bounded ones never are."""
    most = unlimited(pair)
    return most if any(quota >= most for quota in quotas) else min(sum(quotas), most - 1)


def by_pair(amounts: Mapping[str, int]) -> Amounts:
    """Amounts by resource and flavor; a plain name is the flavor `default`.

    Each is rounded up: of `cpu` to thousandths, of everything else to whole units.
    """
    found: Amounts = {}
    for name, nano in amounts.items():
        resource, flavor = split_flavor(name)
        pair = (resource, flavor or "default")
        step = 10**6 if resource == "cpu" else 10**9
        found[pair] = found.get(pair, 0) + nano + -nano % step
    return found


def of_members(sizes: Sequence[tuple[Mapping[str, int], int]]) -> Amounts:
    """What so many members ask for, each one's amounts rounded up."""
    found: Amounts = {}
    for requests, count in sizes:
        for pair, nano in by_pair(requests).items():
            found[pair] = found.get(pair, 0) + nano * count
    return found
