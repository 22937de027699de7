"""How many members of one size find room, node by node, if all that may be taken for them left.

It is an upper bound, and so a reason not to search: work that a rule protects beside its class is counted as if it
could be taken, so that no victim set makes more room on any node. Room is counted node by node, and a node where
nothing changed counts as it did: only changed nodes are counted again, and only until there are enough.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cede.state.columns import NONE, Int64s
from cede.state.state import State

MANY = 1 << 62
"""How many members find room that need nothing."""


class Preemptible(Protocol):
    """Work that could be taken: its class, its nodes, and what it holds of each of them."""

    priority: int
    nodes: list[int]
    amounts: list[list[int]]


LOG = 4_096
"""The most changes that are noted before all counts take them in."""


class Freeable:
    """What is free on each node, and what could be taken there of each class: what all of the counting reads."""

    def __init__(self, state: State, most: int) -> None:
        self.state, self.most = state, most
        self.room_of_nodes = state.room()
        self.booked: dict[int, list[int]] = {}
        """What is free on those nodes on which this cycle booked something."""
        self.open: dict[int, dict[int, list[int]]] = {}
        """By class, and by node, what could be taken there."""
        self.standing: dict[int, dict[int, Preemptible]] = {}
        """By node, what work could be taken there, by row."""
        self.log: list[int] = []
        """Nodes that changed, in order: each count takes in what it did not know when it is asked."""
        self.changes = 0
        homes = state.nodes.home[: state.nodes.size]
        self.homes: list[int] | None = homes.tolist() if (homes != NONE).any() else None
        self._rooms: dict[VictimScope, dict[int, list[int]]] = {}
        self._bounds: dict[object, RoomBound] = {}
        self._open_columns: dict[int, Int64s] = {}
        self._unwritten: dict[int, set[int]] = {}
        """Of each class, nodes where these columns say something else than `open`."""

    def begin(self) -> None:
        """Another cycle, in which nothing is booked yet."""
        self.room_of_nodes = self.state.room()
        self.booked.clear()

    def changed(self, nodes: Collection[int]) -> None:
        """Something came to, went from or was booked on these nodes."""
        for rooms in self._rooms.values():
            for node in nodes:
                rooms.pop(node, None)
        self.changes += 1
        self.log += nodes
        if len(self.log) > LOG:
            for bound in self._bounds.values():
                bound.take_in()
                bound.known = 0
            self.log.clear()

    def take(self, row: int, one: Preemptible, sign: int) -> None:
        """One more that could be taken, or one less."""
        class_, standing = one.priority, self.standing
        there = self.open.setdefault(class_, {})
        self._unwritten.setdefault(class_, set()).update(one.nodes)
        for node, amounts in zip(one.nodes, one.amounts, strict=True):
            before = there.get(node)
            if sign > 0:
                standing.setdefault(node, {})[row] = one
                there[node] = amounts if before is None else list(map(int.__add__, before, amounts))
            else:
                del standing[node][row]
                assert before is not None, "it was counted when it came"
                there[node] = list(map(int.__sub__, before, amounts))

    def keep(self, bounds: Iterable[RoomBound]) -> None:
        """These are still asked for, and no others."""
        asked = set(bounds)
        self._bounds = {key: bound for key, bound in self._bounds.items() if bound in asked}

    def free(self, node: int) -> list[int]:
        """What is free beside what was booked; not to be changed."""
        return self.booked.get(node) or self.room_of_nodes.free[node]

    def bound(self, size: Size, scope: VictimScope | None) -> RoomBound:
        """The count of members of this size, with all in `scope` gone; none: with nothing gone."""
        key = size.needs, size.allowed, scope
        bound = self._bounds.get(key)
        if bound is None:
            bound = self._bounds[key] = RoomBound(self, size, scope)
        return bound

    def room(self, node: int, scope: VictimScope | None) -> list[int]:
        """What would be free on this node if all work in scope left."""
        if scope is None:
            return self.free(node)
        rooms = self._rooms.get(scope)
        if rooms is None:
            rooms = self._rooms[scope] = {}
        free = rooms.get(node)
        if free is None:
            every = self.every(node, scope)
            free = self.free(node).copy()
            for class_, on in self.open.items():
                if (every or class_ < scope.below) and node in on:
                    free = list(map(int.__add__, free, on[node]))
            rooms[node] = free
        return free

    def every(self, node: int, scope: VictimScope) -> bool:
        """Whether its class protects nothing on this node: it is claimed, or taken back."""
        return scope.claims or (self.homes is not None and self.homes[node] == scope.home != NONE)

    def few_enough(self, node: int, scope: VictimScope, short: list[tuple[int, int]]) -> bool:
        """Whether as many as may go for a higher class could make room for a member.

        Whichever they are, of no resource do they free more than as many of those that hold most of it.
        """
        most, below = self.most, scope.below
        there = [one for one in self.standing.get(node, {}).values() if one.priority < below]
        if len(there) <= most:
            return True
        for column, lack in short:
            amounts = sorted((one.amounts[one.nodes.index(node)][column] for one in there), reverse=True)
            if sum(amounts[:most]) < lack:
                return False
        return True

    def open_columns(self) -> Iterator[Int64s]:
        """What could be taken of each class, as columns of all nodes."""
        nodes = self.state.nodes
        for class_, there in self.open.items():
            columns = self._open_columns.get(class_)
            if columns is None:
                columns = self._open_columns[class_] = np.zeros((nodes.free.shape[0], nodes.size), np.int64)
            for node in self._unwritten[class_]:
                columns[:, node] = there[node]
            self._unwritten[class_].clear()
            yield columns


@dataclass(frozen=True, slots=True)
class Size:
    """What one member needs of each column, and the nodes that it may use, as bytes."""

    needs: tuple[tuple[int, int], ...]
    allowed: bytes


@dataclass(frozen=True, slots=True)
class VictimScope:
    """What may be taken at all: work `below` a class, all on nodes of this `home`; everything, if it claims nodes."""

    below: int
    home: int
    claims: bool


class RoomBound:
    """One such count. Nodes are counted one by one, and only as many as it takes to tell that there are enough; one
    that changed is not counted until somebody asks again."""

    __slots__ = ("_counts", "_freeable", "_rest", "_scope", "_size", "_total", "known")

    def __init__(self, freeable: Freeable, size: Size, scope: VictimScope | None) -> None:
        self._freeable, self._size, self._scope = freeable, size, scope
        self._counts: dict[int, int] = {}
        """Of nodes that were counted since they changed; on those that are neither here nor left there is no room."""
        self._total = 0
        self._rest = self._worth_counting()
        self.known = len(freeable.log)
        """How much of the log was taken in."""

    def take_in(self) -> None:
        """Nodes that changed are to be counted again."""
        log, counts, rest = self._freeable.log, self._counts, self._rest
        for node in log[self.known :]:
            self._total -= counts.pop(node, 0)
            rest.add(node)
        self.known = len(log)

    def enough(self, members: int) -> bool:
        """Whether so many members would find room."""
        if self.known != len(self._freeable.log):
            self.take_in()
        rest = self._rest
        while self._total < members and rest:
            node = rest.pop()
            held = self._counts[node] = self._holds(node)
            self._total += held
        return self._total >= members

    def touched(self, nodes: Iterable[int]) -> bool:
        """Whether a member would find room on one of these nodes, all of which changed.

        If not, nothing changed for members of this size: no set that makes room uses one of these nodes, and on all
        others there is as much as when they found no way.
        """
        for node in nodes:  # noqa: SIM110 - any() takes twice as long
            if self.on(node):
                return True
        return False

    def on(self, node: int) -> bool:
        """Whether a member would find room on this node."""
        if self.known != len(self._freeable.log):
            self.take_in()
        if node not in self._rest:
            return node in self._counts and self._counts[node] > 0
        self._rest.discard(node)
        held = self._counts[node] = self._holds(node)
        self._total += held
        return held > 0

    def short_on(self, node: int) -> list[tuple[int, int]]:
        """What a member lacks on this node as it is now."""
        free = self._freeable.free(node)
        return [(column, need - free[column]) for column, need in self._size.needs if need > free[column]]

    def _worth_counting(self) -> set[int]:
        """Nodes where a member might find room, by sums alone."""
        freeable, nodes = self._freeable, self._freeable.state.nodes
        useful = np.frombuffer(self._size.allowed, np.bool_).copy()
        for column, need in self._size.needs:
            free = nodes.free[column, : nodes.size]
            if self._scope is not None:
                for amounts in freeable.open_columns():
                    free = free + amounts[column]
            useful &= free >= need
        return set(np.flatnonzero(useful).tolist())

    def _holds(self, node: int) -> int:
        if not self._size.allowed[node]:
            return 0
        freeable, scope = self._freeable, self._scope
        room, least = freeable.room(node, scope), MANY
        for column, need in self._size.needs:
            have = room[column]
            if have < need * least:
                least = have // need
                if least <= 0:
                    return 0
        if scope is not None and not freeable.every(node, scope):
            short = self.short_on(node)
            if short and not freeable.few_enough(node, scope, short):
                return 0
        return least
