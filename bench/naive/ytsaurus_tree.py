"""A pool tree from a cluster file as plain objects, and one fair share update of it, every function made anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from bench.naive.ytsaurus_lines import (
    SAME,
    Line,
    Number,
    Offer,
    Vector,
    add,
    offer_of,
    one_after_another,
    operation_line,
    side_by_side,
)

TINY = 1e-9
"""Shares below it are nothing."""


@dataclass(slots=True, eq=False)
class Work:
    """An allocation that runs, or a workload that waits."""

    name: str
    owner: Element
    need: list[int]
    node: str | None
    started: int
    submitted: int


@dataclass(slots=True, eq=False)
class Element:
    """A pool or an operation; the root is a pool without a name."""

    name: str
    parent: Element | None
    is_pool: bool
    entry: dict[str, Any]
    usage: list[int]
    waiting: list[int]
    settings: dict[str, Any]
    weight: Number = 1
    children: list[Element] = field(default_factory=list)
    running: list[Work] = field(default_factory=list)
    pending: list[Work] = field(default_factory=list)
    order: int = 0
    guarantee: Vector = field(default_factory=list)
    offer: Offer | None = None
    share: Vector = field(default_factory=list)

    def path(self) -> Iterator[Element]:
        """From here up to the root."""
        element: Element | None = self
        while element is not None:
            yield element
            element = element.parent

    def below(self) -> Iterator[Element]:
        """This one and all below it, children in order."""
        yield self
        for child in self.children:
            yield from child.below()

    @property
    def fifo(self) -> bool:
        return self.settings.get("mode") == "fifo"

    @property
    def first(self) -> int:
        """When the first of its work was submitted."""
        return min((work.submitted for work in (*self.running, *self.pending)), default=0)


class Forest:
    """The pool tree of a cluster file in which everybody has a pool. With `exact` nothing is rounded."""

    def __init__(self, document: dict[str, Any], *, exact: bool = False) -> None:
        self.document = document
        self.same: Number = Fraction(1, 10**12) if exact else SAME
        self._ratio: Callable[[int, int], Number] = Fraction if exact else lambda a, b: a / b
        capacities = [node["capacity"] for node in document["nodes"]]
        asked = [work["requests"] for work in document["workloads"]]
        self.names = sorted({name for amounts in (*capacities, *asked) for name in amounts})
        self.total = [sum(capacity.get(name, 0) for capacity in capacities) for name in self.names]
        self._sizes = Counter(capacity["memory"] for capacity in capacities)
        self._gangs_step = bool(document["doctrine"].get("enable_step_function_for_gang_operations"))
        self.root = self._element("", None, {}, is_pool=True)
        self.elements: dict[str, Element] = {}
        self._read()

    # -- as the file has it ----------------------------------------------------------------------------------------

    def _element(self, name: str, parent: Element | None, entry: dict[str, Any], *, is_pool: bool) -> Element:
        zeros = [0] * len(self.names)
        weight = self._ratio(*Fraction(entry.get("weight", 1)).as_integer_ratio())
        found = Element(name, parent, is_pool, entry, zeros, list(zeros), entry.get("settings", {}), weight)
        if parent is not None:
            parent.children.append(found)
        return found

    def _read(self) -> None:
        for entry in self.document["queues"]:
            parent = self.elements[entry["parent"]] if "parent" in entry else self.root
            self.elements[entry["name"]] = self._element(entry["name"], parent, entry, is_pool=True)
        for entry in self.document["apps"]:
            self.elements[entry["name"]] = self._element(
                entry["name"], self.elements[entry["queue"]], entry, is_pool=False
            )
        for entry in self.document["workloads"]:
            owner = self.elements[entry["app"]]
            need = [entry["requests"].get(name, 0) for name in self.names]
            node = entry["nodes"][0] if "nodes" in entry else None
            work = Work(entry["name"], owner, need, node, entry.get("started", 0), entry["submitted"])
            (owner.pending if node is None else owner.running).append(work)
        for element in (self.root, *self.elements.values()):
            element.children.sort(key=lambda one: (one.name, not one.is_pool))
        for number, element in enumerate(self.root.below()):
            element.order = number
            element.running.sort(key=lambda one: (one.started, one.name))
            element.pending.sort(key=lambda one: (one.submitted, one.name))
        for element in reversed(list(self.root.below())):
            element.usage = [*map(sum, zip(element.usage, *(one.need for one in element.running), strict=True))]
            element.waiting = [*map(sum, zip(element.waiting, *(one.need for one in element.pending), strict=True))]
            if element.parent is not None:
                above = element.parent
                above.usage = [a + b for a, b in zip(above.usage, element.usage, strict=True)]
                above.waiting = [a + b for a, b in zip(above.waiting, element.waiting, strict=True)]

    def shares(self, amounts: list[int] | Vector) -> Vector:
        return [self._ratio(a, t) if t else 0 for a, t in zip(amounts, self.total, strict=True)]  # type: ignore[arg-type]

    def used(self, element: Element) -> Vector:
        return self.shares(element.usage)

    def demand(self, element: Element) -> Vector:
        return self.shares([a + b for a, b in zip(element.usage, element.waiting, strict=True)])

    def limits(self, element: Element) -> Vector:
        """The part of everything that it may have; of an operation's memory only what whole allocations can have."""
        given = element.entry.get("max", {}) if element.is_pool else element.settings.get("resource_limits", {})
        found = self.shares([min(given.get(n, t), t) for n, t in zip(self.names, self.total, strict=True)])
        if element.is_pool or not any((*element.usage, *element.waiting)):
            return found
        memory, slots = self.names.index("memory"), self.names.index("user_slots")
        asked, count = (element.usage[at] + element.waiting[at] for at in (memory, slots))
        whole = sum(size * count // asked * nodes for size, nodes in self._sizes.items())
        found[memory] = min(found[memory], self._ratio(whole * asked, count * self.total[memory]))
        return found

    # -- guarantees --------------------------------------------------------------------------------------------------

    def promise(self) -> None:
        """What each pool is guaranteed as a share: given, or inferred from cores, and such that it fits."""
        amounts: dict[Element, Vector] = {self.root: [self._ratio(one, 1) for one in self.total]}
        pools = [element for element in self.root.below() if element.is_pool]
        for pool in pools:
            amounts.update(self._inferred(pool, amounts[pool]))
        for pool in pools[1:]:
            pool.guarantee = self.shares(amounts[pool])
        size = len(self.names)
        inner = add((child.guarantee for child in self.root.children if child.is_pool), size)
        self.root.guarantee = [one * _fitting(inner, [1] * size) for one in inner]
        for pool in pools:
            pool.guarantee = [min(a, b) for a, b in zip(pool.guarantee, self.limits(pool), strict=True)]
            below = [child for child in pool.children if child.is_pool]
            factor = _fitting(add((child.guarantee for child in below), size), pool.guarantee)
            for child in below:
                child.guarantee = [a * factor for a in child.guarantee]

    def _inferred(self, pool: Element, above: Vector) -> dict[Element, Vector]:
        main = self.names.index("cpu")
        below = [child for child in pool.children if child.is_pool]
        given = {child: child.entry.get("guaranteed", {}) for child in below}
        found = {child: [self._ratio(given[child].get(name, 0), 1) for name in self.names] for child in below}
        for at, name in enumerate(self.names):
            others = [child for child in below if name not in given[child] and at != main]
            wanted = {child: above[at] * found[child][main] / above[main] if above[main] else 0 for child in others}
            rest, asked = above[at] - sum(found[child][at] for child in below), sum(wanted.values())
            factor = max(rest, 0) / asked if pool.parent is not None and asked > max(rest, 0) else 1
            for child in others:
                found[child][at] = wanted[child] * factor
        return found

    # -- shares --------------------------------------------------------------------------------------------------------

    def update(self) -> None:
        """Everybody's fair share."""
        self.promise()
        self.offer(self.root)
        self.give(self.root, 1)
        for element in self.root.below():
            element.share = [0 if one < TINY else one for one in element.share]
        self.root.share = add((child.share for child in self.root.children), len(self.names))

    def offer(self, element: Element) -> Offer:
        """What an element takes under each suggestion; kept with it, as those of all below."""
        size = len(self.names)
        nothing: Vector = [0] * size
        line: Line
        if not element.is_pool:
            step = self._gangs_step and bool(element.settings.get("is_gang"))
            line = operation_line(self.used(element), self.demand(element), step=step)
        elif element.fifo:
            line = one_after_another([self.offer(child) for child in self.in_turn(element)], size)
        else:
            line = side_by_side([(child.weight, self.offer(child)) for child in element.children], size)
        found = offer_of(line, element.guarantee or nothing, self.limits(element), self.same)
        element.offer = found
        return found

    def in_turn(self, pool: Element) -> list[Element]:
        """The operations of a FIFO pool in the order in which it serves them."""
        return sorted(pool.children, key=lambda one: (-one.weight, one.first, one.name))

    def give(self, element: Element, suggestion: Number) -> None:
        """The share that a suggestion gives an element, and those that it gives to all below."""
        assert element.offer is not None
        fit, element.share = element.offer.at(suggestion)
        if element.fifo:
            for number, child in enumerate(self.in_turn(element)):
                self.give(child, min(max(fit - number, 0), 1))
        elif element.children:
            lightest = min(child.weight for child in element.children)
            for child in element.children:
                self.give(child, min(1, fit * child.weight / lightest))


def _fitting(sums: Vector, most: Vector) -> Number:
    """The largest factor up to 1 that brings the sums within the most."""
    return min([b / a for a, b in zip(sums, most, strict=True) if a > b + TINY], default=1)
