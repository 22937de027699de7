"""Whether and where a claim fits: by counting where members are alike, by a search that goes back where they differ.

The search is exact until STEPS tries are used up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.orders import Rows, first_node, nine_decimals, nodes_by
from cede.state.columns import ANY, SPREAD, TIGHT, Bools, Int32s, Int64s
from cede.state.state import State
from cede.state.units import FULL, WHOLE

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
    complete = search.place(0, 0)
    return Packed(search.placed if complete else None, certain=search.steps >= 0)


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


Last = Bools | Int64s
"""Which nodes are used last, or in which order they are filled: those with 0 first."""


def place(state: State, claim: Claim, free: Int64s | None = None, last: Last | None = None) -> list[int] | None:
    """A node row for each member, in the order of the members, or None; a cluster without nodes has room.

    Nodes that are `last` are used only as far as the others do not do.
    """
    if not state.nodes.size:
        return []
    free = state.nodes.free[:, : state.nodes.size] if free is None else free
    if claim.need is None:
        if last is not None:
            without = _place_parts(state, claim, np.where(last, 0, free)).placed
            if without is not None:
                return without
        return _place_parts(state, claim, free, last).placed
    if claim.single:
        open_nodes = np.flatnonzero(feasible(claim, claim.need, free))
        return [best(state, claim.need, open_nodes, free, last)] if len(open_nodes) else None
    room = members_that_fit(claim, free)
    if last is not None and enough(state, claim, early := np.where(last, 0, room)):
        room = early
    shares = _shares(state, claim, room, last)
    if shares is None:
        return None
    placed: list[int] = []
    for nodes, members in shares:
        left = members
        for node in nodes_by(state, nodes, *_late(nodes, last), leftover(state, claim.need, nodes, free)).tolist():
            taken = min(int(room[node]), left)
            placed += [node] * taken
            left -= taken
            if not left:
                break
    return placed


def fits(state: State, claim: Claim, free: Int64s | None = None) -> bool:
    """Whether `place` would find room; cheaper where the members are alike."""
    if not state.nodes.size:
        return True
    free = state.nodes.free[:, : state.nodes.size] if free is None else free
    if claim.need is None:
        return _place_parts(state, claim, free).placed is not None
    if claim.single:
        return bool(feasible(claim, claim.need, free).any())
    return enough(state, claim, members_that_fit(claim, free))


def feasible(claim: Claim, need: Int64s, free: Int64s) -> Bools:
    """Nodes with room for one member of this need."""
    mask = claim.allowed.copy()
    for column in claim.columns:
        if need[column]:
            mask &= free[column] >= need[column]
    return mask


def members_that_fit(claim: Claim, free: Int64s) -> Int64s:
    """How many equal members each node can take, never more than there are."""
    assert claim.need is not None
    mask = feasible(claim, claim.need, free)
    if claim.single or claim.need[WHOLE] >= FULL:
        return mask.astype(np.int64)
    nodes = np.flatnonzero(mask)
    most = np.full(len(nodes), claim.members)
    for column in claim.columns:
        np.minimum(most, free[column, nodes] // claim.need[column], out=most)
    room = np.zeros(len(mask), np.int64)
    room[nodes] = most
    return room


def enough(state: State, claim: Claim, room: Int64s) -> bool:
    """Whether so much room a node is enough for the gang, its placement considered."""
    if claim.placement == ANY:
        return int(room.sum()) >= claim.members
    totals, limit = group_room(state, claim, room)
    if claim.placement == TIGHT:
        return bool((totals >= claim.members).any())
    return int(np.minimum(totals, limit).sum()) >= claim.members


def group_room(state: State, claim: Claim, room: Int64s) -> tuple[Int64s, int]:
    """Members that fit each topology group, and how many one group may hold when they are spread."""
    groups = state.nodes.group[: state.nodes.size]
    totals = np.zeros(len(state.groups.names), np.int64)
    np.add.at(totals, groups, room)
    return totals, -(-claim.members // max(1, len(np.unique(groups[claim.allowed]))))


def leftover(state: State, need: Int64s, nodes: Rows, free: Int64s) -> Int64s:
    """What each node would have left, as a key that sorts best fit first."""
    score = np.zeros(len(nodes))
    for column in named_columns(state):
        capacity = state.nodes.capacity[column, nodes]
        score += (free[column, nodes] - need[column]) / np.maximum(capacity, 1)
    return nine_decimals(score)


def named_columns(state: State) -> list[int]:
    """Resource columns in the order of their names, so that sums do not depend on how the file lists them.

    Plain ones only: what is in a flavor is counted there too.
    """
    return state.units.plain


def best(state: State, need: Int64s, nodes: Rows, free: Int64s, last: Last | None = None) -> int:
    """Of these nodes, all with room for one member of this need, the one that it goes on."""
    if len(nodes) == 1:
        return int(nodes[0])
    return first_node(state, nodes, *_late(nodes, last), leftover(state, need, nodes, free))


def _late(nodes: Rows, last: Last | None) -> list[Last]:
    """A first key for nodes, where some are used last."""
    return [] if last is None else [last[nodes]]


def _shares(state: State, claim: Claim, room: Int64s, last: Last | None) -> list[tuple[Rows, int]] | None:
    """Sets of nodes, and how many members go on each set."""
    if not enough(state, claim, room):
        return None
    if claim.placement == ANY:
        return [(np.flatnonzero(room), claim.members)]
    totals, limit = group_room(state, claim, room)
    groups = state.nodes.group[: state.nodes.size]
    names = state.groups.names
    if claim.placement == TIGHT:
        late = np.zeros_like(totals)
        if last is not None:
            late = np.maximum(claim.members - group_room(state, claim, np.where(last, 0, room))[0], 0)
        large = np.flatnonzero(totals >= claim.members).tolist()
        best = min(large, key=lambda group: (late[group], totals[group], names[group]))
        return [(np.flatnonzero((groups == best) & (room > 0)), claim.members)]
    most = np.minimum(totals, limit)
    counts = dict.fromkeys(sorted(np.flatnonzero(most).tolist(), key=names.__getitem__), 0)
    left = claim.members
    while left:
        fewest = min(count for group, count in counts.items() if count < most[group])
        lowest = [group for group in counts if counts[group] == fewest < most[group]]
        above = [count for count in (*counts.values(), *(int(most[group]) for group in lowest)) if count > fewest]
        step = max(1, min(min(above, default=left) - fewest, left // len(lowest)))
        for group in lowest[:left]:
            counts[group] += step
            left -= step
    return [(np.flatnonzero((groups == group) & (room > 0)), count) for group, count in counts.items() if count]


def never_fits(state: State, claim: Claim, free: Int64s) -> bool:
    """Whether it is certain that the claim does not fit in so much that is free."""
    if claim.need is not None or not state.nodes.size:
        return not fits(state, claim, free)
    packed = _place_parts(state, claim, free)
    return packed.placed is None and packed.certain


def _place_parts(state: State, claim: Claim, free: Int64s, last: Last | None = None) -> Packed:
    """Members that differ: the largest first, each where it fits best; if that fails, any way that works."""
    if claim.placement != TIGHT:
        return _place_parts_on(state, claim, free, claim.allowed, last)
    groups = state.nodes.group[: state.nodes.size]
    certain = True
    for group in sorted(set(groups[claim.allowed].tolist()), key=state.groups.names.__getitem__):
        packed = _place_parts_on(state, claim, free, claim.allowed & (groups == group), last)
        if packed.placed is not None:
            return packed
        certain &= packed.certain
    return Packed(None, certain)


def _place_parts_on(state: State, claim: Claim, free: Int64s, allowed: Bools, last: Last | None) -> Packed:
    order = members_by_size(state, claim)
    limit = group_room(state, claim, np.zeros(state.nodes.size, np.int64))[1]
    placed = _each_where_it_fits_best(state, claim, order, free.copy(), allowed, limit, last)
    certain = True
    if placed is None:
        nodes: Rows = np.flatnonzero(allowed)
        nodes = nodes_by(state, nodes, leftover(state, claim.vectors[order[0]], nodes, free))
        most = limit if claim.placement == SPREAD else None
        packed = pack([claim.vectors[member] for member in order], nodes, free, state.nodes.group, most)
        placed, certain = packed.placed, packed.certain
    if placed is None:
        return Packed(None, certain)
    return Packed([node for _, node in sorted(zip(order, placed, strict=True))])


def _each_where_it_fits_best(
    state: State, claim: Claim, order: list[int], free: Int64s, allowed: Bools, limit: int, last: Last | None
) -> list[int] | None:
    groups = state.nodes.group[: state.nodes.size]
    in_group: dict[int, int] = {}
    placed: list[int] = []
    for member in order:
        need = claim.vectors[member]
        open_nodes = feasible(claim, need, free) & allowed
        if claim.placement == SPREAD:
            full = [group for group, count in in_group.items() if count >= limit]
            open_nodes &= ~np.isin(groups, full)
        nodes = np.flatnonzero(open_nodes)
        if not len(nodes):
            return None
        node = best(state, need, nodes, free, last)
        placed.append(node)
        free[:, node] -= need
        in_group[int(groups[node])] = in_group.get(int(groups[node]), 0) + 1
    return placed


def members_by_size(state: State, claim: Claim) -> list[int]:
    """Members that pin a flavor first, then the one with the largest share of any resource; equal ones as listed."""
    columns = named_columns(state)
    total = np.maximum(state.nodes.capacity[columns, : state.nodes.size].sum(axis=1), 1)
    sizes = nine_decimals(np.array([(need[columns] / total).max(initial=0.0) for need in claim.vectors]))
    flavors = [column for columns in state.units.flavored.values() for column in columns]
    anywhere = np.array([not need[flavors].any() for need in claim.vectors])
    return [int(member) for member in np.lexsort((-sizes, anywhere))]
