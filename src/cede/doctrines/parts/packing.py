"""Room for members of different size, searched with going back: exact until STEPS tries are used up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cede.doctrines.parts.orders import Rows
from cede.state.columns import Int32s, Int64s

STEPS = 5_000
MEMBERS = 64
"""Gangs with more members than this are not searched: where the first placement tried fails, they wait."""


def pack(needs: Sequence[Int64s], nodes: Rows, free: Int64s, groups: Int32s, most: int | None) -> list[int] | None:
    """A node row for each of these members; `nodes` in the order to try, `most` members in one of the `groups`."""
    if len(needs) > MEMBERS or not _enough_for_each_kind(needs, nodes, free):
        return None
    columns = np.flatnonzero(np.any(np.array(needs) > 0, axis=0))
    asked = [tuple(need[columns].tolist()) for need in needs]
    search = _Search(asked, nodes.tolist(), free[np.ix_(columns, nodes)].T.tolist(), groups[nodes].tolist(), most)
    return search.placed if search.place(0) else None


def _enough_for_each_kind(needs: Sequence[Int64s], nodes: Rows, free: Int64s) -> bool:
    """Whether the members of each kind would find room if the others were not there; a search is not begun if not."""
    kinds, counts = np.unique(np.array(needs), axis=0, return_counts=True)
    for need, count in zip(kinds, counts.tolist(), strict=True):
        asked = np.flatnonzero(need)
        room = (np.maximum(free[np.ix_(asked, nodes)], 0) // need[asked][:, None]).min(axis=0, initial=count)
        if int(np.minimum(room, count).sum()) < count:
            return False
    return True


class _Search:
    """Members in order, each on every node that has room, but on only one of several that look the same."""

    def __init__(
        self,
        needs: list[tuple[int, ...]],
        nodes: list[int],
        room: list[list[int]],
        groups: list[int],
        most: int | None,
    ) -> None:
        self.needs, self.nodes, self.room, self.groups, self.most = needs, nodes, room, groups, most
        self.in_group: dict[int, int] = {}
        self.placed: list[int] = []
        self.steps = STEPS

    def place(self, member: int) -> bool:
        if member == len(self.needs):
            return True
        need = self.needs[member]
        tried: set[tuple[int, ...]] = set()
        for at, node in enumerate(self.nodes):
            room, group = self.room[at], self.groups[at]
            held = self.in_group.get(group, 0)
            look = (group, *room)
            if look in tried or (self.most is not None and held >= self.most):
                continue
            if any(asked and have < asked for have, asked in zip(room, need, strict=True)):
                continue
            tried.add(look)
            self.steps -= 1
            if self.steps < 0:
                return False
            self.room[at] = [have - asked for have, asked in zip(room, need, strict=True)]
            self.in_group[group] = held + 1
            self.placed.append(node)
            if self.place(member + 1):
                return True
            self.placed.pop()
            self.in_group[group] = held
            self.room[at] = room
        return False
