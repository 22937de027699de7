"""Nodes by what is free on them, so that the best fit for equal members is found without looking at every node.

The same answers as `fit.place` where members are alike, may use every node of their partition that takes work, and ask
for no placement. Nodes with the same capacity and the same room are equally good: of those the first by name is taken,
and kinds of nodes that are equally full are few.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from cede.doctrines.parts.fit import named_columns
from cede.doctrines.parts.orders import LARGEST, NINE_DECIMALS
from cede.state.columns import NONE, READY
from cede.state.state import State

MOST_SCORES = 4096

Kind = tuple[int, ...]
"""The number of a capacity, and what is free of each column."""
Need = tuple[tuple[int, int], ...]
"""Column, and what one member takes of it."""


class Shape:
    """What a member takes, and what that makes of each kind of node: its score, and how many members it takes."""

    __slots__ = ("members", "need", "scores", "whole")

    def __init__(self, need: Need, members: int, columns: int) -> None:
        self.need = need
        self.members = members
        self.whole = [0] * columns
        for column, count in need:
            self.whole[column] = count
        self.scores: dict[Kind, tuple[int, int] | None] = {}


class NodeIndex:
    """The nodes of one partition that are ready and not reserved. `free` is what each has, with bookings."""

    def __init__(self, state: State, partition: int) -> None:
        nodes, size = state.nodes, state.nodes.size
        here = (
            (nodes.partition[:size] == partition) & (nodes.state[:size] == READY) & (nodes.reserved_for[:size] == NONE)
        )
        self.rank: list[int] = state.node_rank().tolist()
        self._by_rank = sorted(range(size), key=self.rank.__getitem__)
        self._named = named_columns(state)
        self._capacities: list[list[tuple[int, float]]] = []
        self._capacity_of: dict[int, int] = {}
        self.kinds: dict[Kind, list[int]] = {}
        """The ranks of the nodes of each kind, in order."""
        self.free: dict[int, Kind] = {}
        self.booked: dict[int, None] = {}
        """Nodes on which something was booked since they were updated last."""
        self.version = 0
        """Changes with every change of what is free."""
        numbers: dict[tuple[int, ...], int] = {}
        room = state.room()
        for node in np.flatnonzero(here).tolist():
            capacity = tuple(nodes.capacity[:, node].tolist())
            number = numbers.get(capacity)
            if number is None:
                number = numbers[capacity] = len(self._capacities)
                self._capacities.append([(column + 1, float(max(capacity[column], 1))) for column in self._named])
            self._capacity_of[node] = number
            self._put(node, (number, *room.free[node]))

    def _put(self, node: int, kind: Kind) -> None:
        self.version += 1
        before = self.free.get(node)
        rank = self.rank[node]
        if before is not None:
            ranks = self.kinds[before]
            if len(ranks) == 1:
                del self.kinds[before]
            else:
                del ranks[bisect_left(ranks, rank)]
        self.free[node] = kind
        there = self.kinds.get(kind)
        if there is None:
            self.kinds[kind] = [rank]
        else:
            insort(there, rank)

    def update(self, node: int, free: list[int]) -> bool | None:
        """What is free on this node now; whether that is more of something, none if it is the same as before."""
        number = self._capacity_of.get(node)
        if number is None:
            return None
        kind = (number, *free)
        before = self.free[node]
        if kind == before:
            return None
        self._put(node, kind)
        for now, then in zip(kind, before, strict=True):  # noqa: SIM110 - any() takes three times as long
            if now > then:
                return True
        return False

    def book(self, nodes: list[int], need: Need) -> None:
        """Members take their room. It stays so until `update` knows better: a form that found no room beside them must
        hear of it if they do not start, or have ended since."""
        for node in nodes:
            self.booked[node] = None
            left = list(self.free[node])
            for column, count in need:
                left[column + 1] -= count
            self._put(node, tuple(left))

    def fits_on(self, node: int, need: Need) -> bool:
        """Whether a member fits on this node."""
        kind = self.free[node]
        for column, count in need:  # noqa: SIM110
            if kind[column + 1] < count:
                return False
        return True

    def place(self, shape: Shape) -> list[int] | None:
        """A node for each member, best fit first; none if they do not all fit."""
        if shape.members == 1 and len(self.kinds) == 1:  # all are equally good: there is nothing to weigh
            ((kind, ranks),) = self.kinds.items()
            for column, count in shape.need:
                if kind[column + 1] < count:
                    return None
            return [self._by_rank[ranks[0]]]
        scores = shape.scores
        if len(scores) > MOST_SCORES:
            scores.clear()
        best: tuple[int, int] | None = None
        open_kinds: list[tuple[int, int, list[int]]] = []
        total = 0
        single = shape.members == 1
        for kind, ranks in self.kinds.items():
            try:
                score = scores[kind]
            except KeyError:
                score = scores[kind] = self.score(kind, shape)
            if score is None:
                continue
            if single:
                key = (score[0], ranks[0])
                if best is None or key < best:
                    best = key
            else:
                total += score[1] * len(ranks)
                open_kinds.append((score[0], score[1], ranks))
        if single:
            return None if best is None else [self._by_rank[best[1]]]
        return self._fill(open_kinds, shape.members) if total >= shape.members else None

    def room(self, shape: Shape) -> int:
        """How many such members fit in all."""
        total = 0
        for kind, ranks in self.kinds.items():
            score = self.score(kind, shape)
            total += 0 if score is None else score[1] * len(ranks)
        return total

    def _fill(self, open_kinds: list[tuple[int, int, list[int]]], members: int) -> list[int]:
        placed: list[int] = []
        open_kinds.sort(key=lambda one: one[0])
        for _, alike in groupby(open_kinds, key=lambda one: one[0]):
            for rank, takes in sorted((rank, takes) for _, takes, ranks in alike for rank in ranks):
                placed += [self._by_rank[rank]] * min(takes, members - len(placed))
                if len(placed) == members:
                    return placed
        raise AssertionError("all together are enough")

    def score(self, kind: Sequence[int], shape: Shape) -> tuple[int, int] | None:
        """What would be left over, as `fit.leftover` has it, and how many members fit; none if none does."""
        takes = shape.members
        for column, count in shape.need:
            free = kind[column + 1]
            if free < count:
                return None
            if free < count * takes:
                takes = free // count
        score = 0.0
        whole = shape.whole
        for at, capacity in self._capacities[kind[0]]:
            score += float(kind[at] - whole[at - 1]) / capacity
        return round(min(max(score * NINE_DECIMALS, -LARGEST), LARGEST)), takes
