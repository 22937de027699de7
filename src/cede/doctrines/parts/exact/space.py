"""What of a question matters to its answer: nodes where a departure helps, and what stands on them.

Nodes that have room for so many members whoever goes are no more than a number. Nodes on which the same ones stand
with the same amounts are one node, as often as there are such.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cede.doctrines.parts.claim import residents_of_all
from cede.doctrines.parts.fit import group_room, members_that_fit
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.question import Floats, Question
from cede.state.columns import GONE, SPREAD, Int64s
from cede.state.state import State
from cede.state.units import FULL, WHOLE


@dataclass(frozen=True, slots=True)
class Kind:
    """Members that need the same; `need` has one entry a column of the claim."""

    need: tuple[int, ...]
    count: int


@dataclass(slots=True)
class Sort:
    """Nodes that are alike: what is free on one, who stands there with how much, how many nodes there are.

    `base` members fit if none leaves, `most` if all leave; of members that differ the two are of any.
    """

    group: int
    free: tuple[int, ...]
    works: tuple[int, ...]
    amounts: tuple[tuple[int, ...], ...]
    base: int
    most: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class Space:
    """The question in numbers. Works are positions among the candidates; columns are those of the claim.

    `on`, `who` and `held` say of every candidate on every node that the claimant may use how much it holds there, by
    node and then by candidate.
    """

    state: State
    question: Question
    kinds: tuple[Kind, ...]
    whole: bool
    """Whether each member takes a node to itself."""
    limit: int | None
    """How many members one group may hold, where they are spread."""
    free: Int64s
    on: Int64s
    who: Int64s
    held: Int64s
    base: Int64s
    most: Int64s

    @property
    def weights(self) -> Floats:
        return self.question.weights

    @property
    def members(self) -> int:
        return self.question.claim.members

    def sorts(self, nodes: Rows) -> tuple[dict[int, int], list[Sort]]:
        """Members that fit anyway, by group if they are spread, and the nodes of the area that somebody must leave."""
        alone = self.kinds[0].count if len(self.kinds) == 1 else 0
        groups = self.state.nodes.group[: self.state.nodes.size]
        ready: dict[int, int] = {}
        if alone:
            sure = nodes[self.base[nodes] > 0]
            for group, room in zip(groups[sure].tolist(), self.base[sure].tolist(), strict=True):
                key = group if self.limit is not None else 0
                ready[key] = ready.get(key, 0) + room
        sorts: dict[object, Sort] = {}
        for node, works, amounts in self._standing(nodes[self.most[nodes] > (self.base[nodes] if alone else 0)]):
            group = int(groups[node]) if self.limit is not None else 0
            free = tuple(self.free[:, node].tolist())
            key = (group, free, works, amounts)
            sort = sorts.get(key)
            if sort is None:
                sorts[key] = Sort(group, free, works, amounts, int(self.base[node]), int(self.most[node]))
            else:
                sort.count += 1
        return ready, list(sorts.values())

    def _standing(self, nodes: Rows) -> Iterator[tuple[int, tuple[int, ...], tuple[tuple[int, ...], ...]]]:
        """These nodes in turn, and who stands there with how much."""
        begins = np.searchsorted(self.on, nodes, "left").tolist()
        ends = np.searchsorted(self.on, nodes, "right").tolist()
        for node, begin, end in zip(nodes.tolist(), begins, ends, strict=True):
            who, held = self.who[begin:end].tolist(), self.held[:, begin:end].T.tolist()
            yield node, tuple(who), tuple(map(tuple, held))


def space_of(state: State, question: Question) -> Space:
    """The question's numbers on the nodes that the claimant may use."""
    claim, size = question.claim, state.nodes.size
    position = np.full(state.work.size, -1, np.int64)
    position[question.rows] = np.arange(len(question.rows))
    residents = residents_of_all(state, question.rows[state.work.state[question.rows] != GONE])
    residents = residents[claim.allowed[state.residents.node[residents]]]
    who, on = position[state.residents.work[residents]], state.residents.node[residents].astype(np.int64)
    turn = np.lexsort((who, on))
    residents, who, on = residents[turn], who[turn], on[turn]
    free = state.nodes.free[claim.columns, :size]
    held = state.residents.amount[claim.columns][:, residents]
    most = state.nodes.free[:, :size].copy()
    for at, column in enumerate(claim.columns):
        np.add.at(most[column], on, held[at])
    kinds = _kinds_of(question)
    if claim.need is not None:
        rooms = (members_that_fit(claim, state.nodes.free[:, :size]), members_that_fit(claim, most))
    else:
        rooms = (np.zeros(size, np.int64), _any_kind(question, kinds, most[claim.columns]))
    whole = all(int(need[WHOLE]) == FULL for need in claim.vectors)
    spread = claim.placement == SPREAD and not question.one_node
    limit = group_room(state, claim, rooms[0])[1] if spread else None
    return Space(state, question, kinds, whole, limit, free, on, who, held, *rooms)


def _kinds_of(question: Question) -> tuple[Kind, ...]:
    claim = question.claim
    counts: dict[tuple[int, ...], int] = {}
    for vector in claim.vectors:
        need = tuple(vector[claim.columns].tolist())
        counts[need] = counts.get(need, 0) + 1
    return tuple(Kind(need, count) for need, count in sorted(counts.items(), reverse=True))


def _any_kind(question: Question, kinds: tuple[Kind, ...], most: Int64s) -> Int64s:
    """Where a member of any kind could fit: how many of the kind of which most would."""
    room = np.zeros(most.shape[1], np.int64)
    for kind in kinds:
        room = np.maximum(room, rooms_for(kind, most))
    return np.where(question.claim.allowed, room, 0)


def rooms_for(kind: Kind, free: Int64s) -> Int64s:
    """How many members of this kind fit each place, one row a column, and never more than there are."""
    room = np.full(free.shape[1], kind.count, np.int64)
    for need, have in zip(kind.need, free, strict=True):
        if need:
            np.minimum(room, np.maximum(have, 0) // need, out=room)
    return room
