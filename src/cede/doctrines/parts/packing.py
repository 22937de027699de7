"""Room for members of different size, searched with going back: exact until STEPS tries are used up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cede.doctrines.parts.orders import Rows
from cede.state.columns import Int32s, Int64s

STEPS = 5_000
MEMBERS = 64
"""Gangs with more members than this are not searched: where the first placement tried fails, they wait."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A node row for each member or None; `certain` if None is proven and not just what was found in time."""

    placed: list[int] | None
    certain: bool = True


def pack(needs: Sequence[Int64s], nodes: Rows, free: Int64s, groups: Int32s, most: int | None) -> Packed:
    """Room for each of these members; `nodes` in the order to try, `most` members in one of the `groups`."""
    if not _enough_for_each_kind(needs, nodes, free):
        return Packed(None)
    if len(needs) > MEMBERS:
        return Packed(None, certain=False)
    columns = np.flatnonzero(np.any(np.array(needs) > 0, axis=0))
    asked = [tuple(need[columns].tolist()) for need in needs]
    search = _Search(asked, nodes.tolist(), free[np.ix_(columns, nodes)].T.tolist(), groups[nodes].tolist(), most)
    found = search.place(0, 0)
    return Packed(search.placed if found else None, certain=search.steps >= 0)


def _enough_for_each_kind(needs: Sequence[Int64s], nodes: Rows, free: Int64s) -> bool:
    """Whether all fit by volume, and those of each kind if the others were not there; no search is begun if not."""
    if (np.sum(needs, axis=0) > np.maximum(free[:, nodes], 0).sum(axis=1)).any():
        return False
    kinds, counts = np.unique(np.array(needs), axis=0, return_counts=True)
    for need, count in zip(kinds, counts.tolist(), strict=True):
        asked = np.flatnonzero(need)
        room = (np.maximum(free[np.ix_(asked, nodes)], 0) // need[asked][:, None]).min(axis=0, initial=count)
        if int(np.minimum(room, count).sum()) < count:
            return False
    return True


class _Search:
    """Members in order, each on every node that has room, but on only one of several that look the same.

    Of equal members in a row the next one never goes back to an earlier node: that would be the same again.
    """

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

    def place(self, member: int, begin: int) -> bool:
        if member == len(self.needs):
            return True
        need = self.needs[member]
        alike = member + 1 < len(self.needs) and self.needs[member + 1] == need
        tried: set[tuple[int, ...]] = set()
        for at in range(begin, len(self.nodes)):
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
            self.placed.append(self.nodes[at])
            if self.place(member + 1, at if alike else 0):
                return True
            self.placed.pop()
            self.in_group[group] = held
            self.room[at] = room
        return False
