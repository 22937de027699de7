"""How many members of one size find room, node by node, if everybody left who may be taken for them at all."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from cede.state.columns import NONE, Int64s
from cede.state.state import State

MANY = 1 << 62
"""Room for so many who need nothing."""


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
        self._rooms: dict[Taken, dict[int, list[int]]] = {}
        self._reaches: dict[object, Reach] = {}

    def changed(self, nodes: Collection[int]) -> None:
        """Something came to, went from or was booked on these nodes."""
        for node in nodes:
            self._free.pop(node, None)
            for rooms in self._rooms.values():
                rooms.pop(node, None)
        for reach in self._reaches.values():
            reach.changed(nodes)

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

    def room(self, node: int, taken: Taken | None) -> list[int]:
        """What would be free on this node if everybody left who may be taken."""
        if taken is None:
            return self.free(node)
        rooms = self._rooms.setdefault(taken, {})
        found = rooms.get(node)
        if found is None:
            every = self.every(node, taken)
            found = self.free(node)
            for class_, amounts in self.open.items():
                if every or class_ < taken.below:
                    found = list(map(int.__add__, found, amounts[:, node].tolist()))
            rooms[node] = found
        return found

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
    """One such count. Nodes are counted one by one, and only as many as it takes to tell that there are enough; one
    that changed is not counted until somebody asks again."""

    __slots__ = ("_counts", "_ground", "_rest", "_size", "_taken", "_total")

    def __init__(self, ground: Ground, size: Size, taken: Taken | None) -> None:
        self._ground, self._size, self._taken = ground, size, taken
        self._counts: dict[int, int] = {}
        """Of nodes that were counted since they changed; on those that are neither here nor left there is no room."""
        self._total = 0
        self._rest = self._worth_counting()

    def changed(self, nodes: Iterable[int]) -> None:
        """These are to be counted again."""
        for node in nodes:
            self._total -= self._counts.pop(node, 0)
            self._rest.add(node)

    def enough(self, members: int) -> bool:
        """Whether so many members would find room."""
        rest = self._rest
        while self._total < members and rest:
            self._count(rest.pop())
        return self._total >= members

    def touched(self, nodes: Iterable[int]) -> bool:
        """Whether a member would find room on one of these nodes, all of which changed."""
        return any(map(self.on, nodes))

    def on(self, node: int) -> bool:
        """Whether a member would find room on this node."""
        if node in self._rest:
            self._rest.discard(node)
            self._count(node)
        return bool(self._counts.get(node))

    def short_on(self, node: int) -> list[tuple[int, int]]:
        """What a member lacks on this node as it is now."""
        free = self._ground.free(node)
        return [(column, need - free[column]) for column, need in self._size.needs if need > free[column]]

    def _count(self, node: int) -> None:
        held = self._counts[node] = self._holds(node)
        self._total += held

    def _worth_counting(self) -> set[int]:
        """Nodes where a member might find room, by sums alone."""
        ground, nodes = self._ground, self._ground.state.nodes
        useful = np.frombuffer(self._size.allowed, np.bool_).copy()
        for column, need in self._size.needs:
            free = nodes.free[column, : nodes.size]
            if self._taken is not None:
                for amounts in ground.open.values():
                    free = free + amounts[column]
            useful &= free >= need
        return set(np.flatnonzero(useful).tolist())

    def _holds(self, node: int) -> int:
        if not self._size.allowed[node]:
            return 0
        ground, taken = self._ground, self._taken
        room, least = ground.room(node, taken), MANY
        for column, need in self._size.needs:
            have = room[column]
            if have < need * least:
                least = have // need
                if least <= 0:
                    return 0
        if taken is not None and not ground.every(node, taken):
            short = self.short_on(node)
            if short and not ground.few_enough(node, taken, short):
                return 0
        return least
