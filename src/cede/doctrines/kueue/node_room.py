"""Whether a claimant finds its place on the nodes while victims are taken and put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cede.doctrines.kueue.node_bounds import NodeUsage, NodeUsages, members_in
from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.fit import best, fits, members_that_fit, never_fits, place
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.shortage import shortage
from cede.state.columns import ANY, GONE, PREEMPTING, RESERVED, SPREAD, Int64s
from cede.state.state import State
from cede.state.units import FULL, WHOLE


class Room:
    """The free amounts of all nodes, to try things on; asked again only of nodes on which something changed.

    Of nodes that changed lately the amounts are in a list each, which goes faster where one workload is taken after
    another.
    """

    def __init__(self, state: State, claim: Claim, places: Callable[[int], NodeUsages]) -> None:
        nodes, size = state.nodes, state.nodes.size
        self.state = state
        self.claim = claim
        self.places = places
        self._free = nodes.free[:, :size].copy()
        self._lately: dict[int, list[int]] = {}
        self._overlap = (nodes.leaving[:, :size].copy(), nodes.held[:, :size].copy()) if state.between else None
        self._fits: bool | None = None
        self._members: list[int] | None = None
        self._total = 0
        self._changed: set[int] = set()
        self._needs: list[tuple[int, int]] = []

    def afresh(self) -> Room:
        """The room as it is now, with no victims taken."""
        return Room(self.state, self.claim, self.places)

    def copy(self) -> Room:
        """The same, to try things on; nothing was tried on this one."""
        room = Room.__new__(Room)  # copy() goes through what pickling would ask, and takes ten times as long
        room.__dict__.update(self.__dict__)
        room._free = self._free.copy()
        room._lately, room._changed = {}, set()
        if self._overlap is not None:
            leaving, held = self._overlap
            room._overlap = (leaving.copy(), held.copy())
        if self._members is not None:
            room._members = self._members[:]
        return room

    def take(self, row: int) -> None:
        self._move(row, 1)

    def put_back(self, row: int) -> None:
        self._move(row, -1)

    @property
    def free(self) -> Int64s:
        """What is free of each node now."""
        for node, amounts in self._lately.items():
            self._free[:, node] = amounts
        self._lately.clear()
        return self._free

    def fits(self) -> bool:
        if self._fits is None:
            if self.claim.need is None or self.claim.placement != ANY:
                self._fits = fits(self.state, self.claim, self.free)
            else:
                self._fits = self._count() >= self.claim.members
        return self._fits

    def _count(self) -> int:
        """How many members have room on all nodes together; counted again where something changed."""
        if self._members is None:
            assert self.claim.need is not None
            self._members = members_that_fit(self.claim, self.free).tolist()
            self._total = sum(self._members)
            need = self.claim.need.tolist()
            self._needs = [(column, need[column]) for column in self.claim.columns]
        else:
            for node in self._changed:
                now = self._on(node)
                self._total += now - self._members[node]
                self._members[node] = now
        self._changed.clear()
        return self._total

    def _on(self, node: int) -> int:
        """How many members have room on one node."""
        free = self._lately.get(node)
        if free is None:
            free = self._free[:, node].tolist()
        assert self.claim.need is not None
        return members_in(free, self._needs, 1 if self.claim.need[WHOLE] >= FULL else self.claim.members)

    def place(self) -> list[int] | None:
        """A node row for each member."""
        need = self.claim.need
        if self.claim.single and need is not None and self._members is not None and not self._changed:
            having = np.flatnonzero(self._members)  # it was counted where one goes
            return [best(self.state, need, having, self.free)] if len(having) else None
        return place(self.state, self.claim, self.free)

    def short(self) -> str:
        """What is missing, in words."""
        return shortage(self.state, self.claim, self.free)

    @property
    def grows_with_room(self) -> bool:
        """Whether it fits wherever less does; what is spread, or differs, may not."""
        return self.claim.need is not None and self.claim.placement != SPREAD

    def never(self) -> str | None:
        """What would be missing even on empty nodes, if that is certain."""
        claim = self.claim
        if self.grows_with_room and self.fits():
            return None  # empty nodes, and more of them, have room for all that these have
        nodes, size = self.state.nodes, self.state.nodes.size
        empty = nodes.capacity[:, :size] - nodes.occupied[:, :size]
        anywhere = replace(claim, allowed=claim.matching)
        if not never_fits(self.state, anywhere, empty):
            return None
        return shortage(self.state, claim, empty, everywhere=True)

    def enough(self, rows: Rows) -> bool:
        """False only if it would certainly not fit, whichever of these were gone."""
        if self.claim.need is None:
            return True
        residents = self.state.residents
        standing = residents_of_all(self.state, rows)
        most = self.free.copy()
        nodes = residents.node[standing]
        for column in self.claim.columns:  # one that overlaps with others gives no more than it holds
            np.add.at(most[column], nodes, residents.amount[column, standing])
        return fits(self.state, self.claim, most)

    def _move(self, row: int, sign: int) -> None:
        code = int(self.state.work.state[row])
        if code == GONE:  # a victim of an earlier claimant: its room is counted as free already
            return
        overlaps = self._overlap is not None and code in (PREEMPTING, RESERVED)
        for there in self.places(row):
            node = there.node
            if overlaps:
                self._make_way(there, code, sign)
            else:
                free = self._lately.get(node)
                if free is None:
                    free = self._lately[node] = self._free[:, node].tolist()
                for column, count in there.counts:
                    free[column] += sign * count
            if self.claim.allowed[node]:
                self._fits = None
                self._changed.add(node)

    def _make_way(self, there: NodeUsage, code: int, sign: int) -> None:
        """What is preempting and what is reserved overlap."""
        assert self._overlap is not None
        leaving, held = self._overlap
        node, free = there.node, self.free
        before = np.maximum(leaving[:, node], held[:, node])
        (leaving if code == PREEMPTING else held)[:, node] -= sign * there.amounts
        free[:, node] += before - np.maximum(leaving[:, node], held[:, node])
