"""How many members of one size find room, node by node, if everybody left who may be taken for them at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from cede.state.columns import NONE, Int64s
from cede.state.state import State

Count = Callable[[int], int]
"""How many members find room on a node."""


class Ground:
    """What is free on each node, and what could be taken there of each class: what all of the counting reads."""

    def __init__(self, state: State, most: int) -> None:
        self.state, self.most = state, most
        self.open: dict[int, Int64s] = {}
        """By class, what could be taken on each node."""
        self.open_rows: set[int] = set()
        homes = state.nodes.home[: state.nodes.size]
        self.homes: list[int] | None = homes.tolist() if (homes != NONE).any() else None
        self._free: dict[int, list[int]] = {}
        self._reaches: dict[object, Reach] = {}

    def changed(self, nodes: Iterable[int]) -> None:
        """Something came to, went from or was booked on these nodes."""
        for node in nodes:
            self._free.pop(node, None)
        for reach in self._reaches.values():
            reach.stale.update(nodes)

    def keep(self, reaches: Iterable[Reach]) -> None:
        """These are still asked for, and no others."""
        asked = set(reaches)
        self._reaches = {key: reach for key, reach in self._reaches.items() if reach in asked}

    def free(self, node: int) -> list[int]:
        found = self._free.get(node)
        if found is None:
            found = self._free[node] = self.state.nodes.free[:, node].tolist()
        return found

    def reach(self, size: Size, taken: Taken | None) -> Reach:
        """The count of members of this size, of whom those may be `taken`; none: nobody."""
        key = size.needs, size.allowed, taken
        found = self._reaches.get(key)
        if found is None:
            found = self._reaches[key] = Reach(self, size, taken)
        return found

    def taken_on(self, node: int, taken: Taken) -> list[Int64s]:
        """By class, what may be taken on this node."""
        every = self.every(node, taken)
        return [amounts for class_, amounts in self.open.items() if every or class_ < taken.below]

    def every(self, node: int, taken: Taken) -> bool:
        """Whether its class protects nobody on this node: it is claimed, or taken back."""
        return taken.claims or (self.homes is not None and self.homes[node] == taken.home != NONE)

    def few_enough(self, node: int, taken: Taken, short: list[tuple[int, int]]) -> bool:
        """Whether as many as may go for a higher class could make room for a member: no more than the largest of each
        resource do."""
        residents, work, most = self.state.residents, self.state.work, self.most
        there = [
            at
            for at in self.state.node_residents[node]
            if (row := residents.work.item(at)) in self.open_rows and work.priority.item(row) < taken.below
        ]
        if len(there) <= most:
            return True
        for column, lack in short:
            amounts = sorted((residents.amount.item(column, at) for at in there), reverse=True)
            if sum(amounts[:most]) < lack:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Size:
    """What one member needs of each column, and the nodes that it may use, as bytes."""

    needs: tuple[tuple[int, int], ...]
    allowed: bytes


@dataclass(frozen=True, slots=True)
class Taken:
    """Who may be taken at all: those `below` a class; whoever is on nodes of this `home`; all, if nodes are claimed."""

    below: int
    home: int
    claims: bool


class Reach:
    """One such count. Nodes are counted one by one, and only as many as it takes to tell that there are enough; a node
    that changed is `stale` and counted again when somebody asks."""

    __slots__ = ("_counts", "_ground", "_rest", "_size", "_taken", "_total", "stale")

    def __init__(self, ground: Ground, size: Size, taken: Taken | None) -> None:
        self._ground, self._size, self._taken = ground, size, taken
        self._counts: dict[int, int] = {}
        self._total = 0
        self.stale: set[int] = set()
        self._rest = self._worth_counting()

    def enough(self, members: int) -> bool:
        """Whether so many members would find room."""
        if self.stale:
            self._refresh()
        while self._total < members and self._rest:
            self._count(self._rest.pop())
        return self._total >= members

    def touched(self, nodes: Iterable[int]) -> bool:
        """Whether a member would find room on one of these nodes, all of which changed."""
        if self.stale:
            self._refresh()
        counts = self._counts
        for node in nodes:
            if node not in counts:
                self._count(node)
            if counts[node]:
                return True
        return False

    def _refresh(self) -> None:
        for node in self.stale:
            self._count(node)
        self.stale.clear()

    def _count(self, node: int) -> None:
        held = self._holds(node)
        self._total += held - self._counts.get(node, 0)
        self._counts[node] = held

    def _worth_counting(self) -> list[int]:
        """Nodes where a member might find room, by sums alone."""
        ground, nodes = self._ground, self._ground.state.nodes
        useful = np.frombuffer(self._size.allowed, np.bool_).copy()
        for column, need in self._size.needs:
            free = nodes.free[column, : nodes.size]
            if self._taken is not None:
                for amounts in ground.open.values():
                    free = free + amounts[column]
            useful &= free >= need
        found: list[int] = np.flatnonzero(useful).tolist()
        return found

    def _holds(self, node: int) -> int:
        ground, taken, needs = self._ground, self._taken, self._size.needs
        if not self._size.allowed[node]:
            return 0
        free = ground.free(node)
        least, short = 1 << 62, []
        for column, need in needs:
            least = min(least, free[column] // need)
            if free[column] < need:
                short.append((column, need - free[column]))
        if taken is None or not ground.open:
            return max(0, least)
        there = ground.taken_on(node, taken)
        least = 1 << 62
        for column, need in needs:
            have = free[column]
            for amounts in there:
                have += amounts.item(column, node)
            if have < need:
                return 0
            least = min(least, have // need)
        if short and not ground.every(node, taken) and not ground.few_enough(node, taken, short):
            return 0
        return least
