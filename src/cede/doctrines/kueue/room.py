"""Whether a claimant finds its place on the nodes while victims are taken and put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cede.doctrines.kueue.hosts import Places
from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.fit import fits, members_that_fit, never_fits, place
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.shortage import shortage
from cede.state.columns import ANY, GONE, PREEMPTING, RESERVED, SPREAD
from cede.state.state import State
from cede.state.units import FULL, WHOLE


class Room:
    """The free amounts of all nodes, to try things on; asked again only of nodes on which something changed."""

    def __init__(self, state: State, claim: Claim, places: Callable[[int], Places]) -> None:
        nodes, size = state.nodes, state.nodes.size
        self.state = state
        self.claim = claim
        self.places = places
        self.free = nodes.free[:, :size].copy()
        self._overlap = (nodes.leaving[:, :size].copy(), nodes.held[:, :size].copy()) if state.between else None
        self._fits: bool | None = None
        self._members: list[int] | None = None
        self._total = 0
        self._changed: set[int] = set()

    def afresh(self) -> Room:
        """The same room with nobody taken."""
        return Room(self.state, self.claim, self.places)

    def take(self, row: int) -> None:
        self._move(row, 1)

    def put_back(self, row: int) -> None:
        self._move(row, -1)

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
            self._members = members_that_fit(self.claim, self.free).tolist()
            self._total = sum(self._members)
        else:
            for node in self._changed:
                now = self._on(node)
                self._total += now - self._members[node]
                self._members[node] = now
        self._changed.clear()
        return self._total

    def _on(self, node: int) -> int:
        """How many members have room on one node."""
        claim = self.claim
        assert claim.need is not None
        free, need = self.free[:, node].tolist(), claim.need.tolist()
        most = 1 if need[WHOLE] >= FULL else claim.members
        for column in claim.columns:
            most = min(most, free[column] // need[column])
        return max(0, most)

    def place(self) -> list[int] | None:
        """A node row for each member."""
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
        """False only if it would certainly not fit, whoever of these were gone."""
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
        state = self.state
        code = int(state.work.state[row])
        if code == GONE:  # a victim of an earlier claimant: its room is counted as free already
            return
        overlaps = self._overlap is not None and code in (PREEMPTING, RESERVED)
        for node, held_there in self.places(row):
            amount = held_there if sign > 0 else -held_there
            if overlaps:
                assert self._overlap is not None
                leaving, held = self._overlap
                bucket = leaving if code == PREEMPTING else held
                before = np.maximum(leaving[:, node], held[:, node])
                bucket[:, node] -= amount
                self.free[:, node] += before - np.maximum(leaving[:, node], held[:, node])
            else:
                self.free[:, node] += amount
            if self.claim.allowed[node]:
                self._fits = None
                self._changed.add(node)
