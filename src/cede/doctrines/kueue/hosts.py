"""The most that nodes could have for a claimant, whoever it took away: kept node by node as work comes and goes.

Of a node a claimant can have all that is not held by those whom its policies do not let it take. Who comes or goes and
may be taken changes nothing of that; so for each queue and priority the sums move with the others only. What is
preempting makes way for what is reserved, and counts as far as that is less. What those of other queues hold who may be
taken is told apart, for only queues above their quota give way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from cede.doctrines.kueue.quota import Asked, Quotas
from cede.doctrines.kueue.settings import ANY, LOWER_OR_NEWER, NEVER
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.fit import feasible, members_that_fit
from cede.state.columns import PREEMPTING, Int64s
from cede.state.state import State


class Place(NamedTuple):
    """What a workload holds of one node, of every column; and again as numbers, where it is something."""

    node: int
    amounts: Int64s
    counts: tuple[tuple[int, int], ...]


Places = tuple[Place, ...]


class Holding(NamedTuple):
    """What one workload holds: of its queue's quota, and of which nodes; and who may take it away."""

    queue: int
    priority: int
    preemptible: bool
    amounts: Asked
    code: int
    places: Places


class Claims(NamedTuple):
    """Those whose candidates are the same."""

    queue: int
    priority: int
    preempts: bool


def lets(policy: str, claimant: int, priority: int) -> bool:
    """Whether a policy may let a claimant of this priority take somebody of that, whatever their age."""
    if policy == ANY:
        return True
    return policy != NEVER and (priority < claimant or (policy == LOWER_OR_NEWER and priority == claimant))


class _Most:
    """What each node could have for some claims, nobody of other queues gone; `grown` counts when it became more."""

    __slots__ = ("amounts", "claims", "grown", "within")

    def __init__(self, claims: Claims, within: str, amounts: Int64s) -> None:
        self.claims = claims
        self.within = within if claims.preempts else NEVER
        self.amounts = amounts
        self.grown = 0

    def lets_go(self, held: Holding) -> bool:
        if not held.preemptible or held.queue != self.claims.queue:
            return False
        return lets(self.within, self.claims.priority, held.priority)


Below = tuple[int, str, int]
"""A queue, and the policy and priority of a claimant of another queue."""
MOST_KEPT = 64
"""Tables of nodes that are kept of each sort."""


class Hosts:
    """What nodes could have at most, for every queue and priority that somebody asked for."""

    def __init__(self, state: State, quotas: Quotas) -> None:
        self.state = state
        self.quotas = quotas
        self._most: dict[Claims, _Most] = {}
        self._standing: dict[Below, Int64s] = {}

    def move(self, held: Holding, sign: int) -> None:
        """This workload takes its room, or gives it back."""
        leaves = held.code == PREEMPTING
        for most in self._most.values():
            if leaves:
                most.grown += sign < 0
            elif not most.lets_go(held):
                _add(most.amounts, held.places, -sign)
                most.grown += sign < 0
        if held.preemptible:
            for (queue, policy, priority), amounts in self._standing.items():
                if queue == held.queue and lets(policy, priority, held.priority):
                    _add(amounts, held.places, sign)

    def grown(self, claims: Claims, holders: Iterable[Holding]) -> int:
        """How often there came to be more for these claims; the same number means that there is no more."""
        return self._of(claims, holders).grown

    def most(
        self, claims: Claims, holders: Iterable[Holding], leaving: Iterable[Holding], went: Sequence[Holding]
    ) -> Int64s:
        """What each node could have for these claims, nobody of other queues gone but those who went in this plan; to
        look at, not to change."""
        found = self._of(claims, holders)
        amounts = found.amounts
        stay: dict[int, Int64s] = {}
        for held in leaving:
            if not found.lets_go(held):
                for node, there, _ in held.places:
                    stay[node] = stay[node] + there if node in stay else there
        if stay or went:
            amounts = amounts.copy()
            for node, there in stay.items():
                amounts[:, node] -= np.maximum(there - self.state.nodes.held[:, node], 0)
            for held in went:
                if held.code != PREEMPTING and not found.lets_go(held):
                    _add(amounts, held.places, 1)
        return amounts

    def standing(self, below: Below, holders: Iterable[Holding]) -> Int64s:
        """What those of a queue hold of each node whom a claimant of another may take; to look at, not to change."""
        found = self._standing.get(below)
        if found is None:
            if len(self._standing) >= MOST_KEPT:
                self._standing.clear()
            nodes, (queue, policy, priority) = self.state.nodes, below
            found = self._standing[below] = np.zeros((len(nodes.capacity), nodes.size), np.int64)
            for held in holders:
                if held.queue == queue and held.preemptible and lets(policy, priority, held.priority):
                    _add(found, held.places, 1)
        return found

    def _of(self, claims: Claims, holders: Iterable[Holding]) -> _Most:
        found = self._most.get(claims)
        if found is None:
            if len(self._most) >= MOST_KEPT:
                self._most.clear()
            nodes, size = self.state.nodes, self.state.nodes.size
            empty = nodes.capacity[:, :size] - nodes.occupied[:, :size]
            found = self._most[claims] = _Most(claims, self.quotas.settings(claims.queue).within, empty)
            for held in holders:
                if held.code != PREEMPTING and not found.lets_go(held):
                    _add(empty, held.places, -1)
        return found


def _add(amounts: Int64s, places: Places, sign: int) -> None:
    for node, amount, _ in places:
        if sign > 0:
            amounts[:, node] += amount
        else:
            amounts[:, node] -= amount


def took(amounts: Int64s, booked: Sequence[Places]) -> Int64s:
    """The same with what was booked taken away."""
    if booked:
        amounts = amounts.copy()
        for places in booked:
            _add(amounts, places, -1)
    return amounts


def may_hold(claim: Claim, amounts: Int64s) -> bool:
    """Whether nodes with so much have room for all members of a claim that are alike."""
    assert claim.need is not None
    if claim.single:
        return bool(feasible(claim, claim.need, amounts).any())
    return int(members_that_fit(claim, amounts).sum()) >= claim.members


def places_of(state: State, row: int) -> Places:
    """What a workload holds of which nodes."""
    residents = state.residents
    return tuple(place_of(int(residents.node[at]), residents.amount[:, at].copy()) for at in state.residents_of(row))


def place_of(node: int, amounts: Int64s) -> Place:
    return Place(node, amounts, tuple((column, count) for column, count in enumerate(amounts.tolist()) if count))
