"""The most that nodes could have for a claimant, whoever it took away: kept node by node as work comes and goes.

Of a node a claimant can have all that is not held by those whom its policies do not let it take. Who comes or goes and
may be taken changes nothing of that; so for each queue and priority the sums move with the others only. What is
preempting is left out, for it makes way for what is reserved: so the sums are never less than what there is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cede.doctrines.kueue.quota import Asked, Quotas
from cede.doctrines.kueue.settings import ANY, LOWER_OR_NEWER, NEVER
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.fit import feasible, members_that_fit
from cede.state.columns import PREEMPTING, Int64s
from cede.state.state import State

Places = tuple[tuple[int, Int64s], ...]
"""What a workload holds of which nodes."""


class Holding(NamedTuple):
    """What one workload holds: of its queue's quota, and of which nodes; and who may take it away."""

    queue: int
    priority: int
    preemptible: bool
    amounts: Asked
    code: int
    places: Places


class Claims(NamedTuple):
    """Whom a claimant may take: of its own queue, and of others in its tree if `others`."""

    queue: int
    priority: int
    preempts: bool
    others: bool


def lets(policy: str, claimant: int, priority: int) -> bool:
    """Whether a policy may let a claimant of this priority take somebody of that, whatever their age."""
    if policy == ANY:
        return True
    return policy != NEVER and (priority < claimant or (policy == LOWER_OR_NEWER and priority == claimant))


class _Most:
    """What each node could have for some claims; `grown` counts the times that it became more."""

    __slots__ = ("amounts", "claims", "grown", "own", "reclaim", "root", "within")

    def __init__(self, quotas: Quotas, claims: Claims, empty: Int64s) -> None:
        settings = quotas.settings(claims.queue)
        self.claims = claims
        self.within = settings.within if claims.preempts else NEVER
        self.reclaim = settings.reclaim if claims.preempts and claims.others else NEVER
        self.root = quotas.root[claims.queue]
        self.amounts = empty
        self.grown = 0


class Hosts:
    """What nodes could have at most, for every queue and priority that somebody asked for."""

    def __init__(self, state: State, quotas: Quotas) -> None:
        self.state = state
        self.quotas = quotas
        self._most: dict[Claims, _Most] = {}

    def move(self, held: Holding, sign: int) -> None:
        """This workload takes its room, or gives it back."""
        if held.code == PREEMPTING:
            return
        root = self.quotas.root[held.queue]
        for most in self._most.values():
            if not self._may_go(most, held, root):
                amounts = most.amounts
                for node, amount in held.places:
                    amounts[:, node] -= sign * amount
                if sign < 0:
                    most.grown += 1

    @staticmethod
    def _may_go(most: _Most, held: Holding, root: int) -> bool:
        if not held.preemptible:
            return False
        priority = most.claims.priority
        if held.queue == most.claims.queue:
            return lets(most.within, priority, held.priority)
        return root == most.root and lets(most.reclaim, priority, held.priority)

    def grown(self, claims: Claims, holders: Iterable[Holding]) -> int:
        """How often there came to be more for these claims; the same number means that there is no more."""
        return self._of(claims, holders).grown

    def may_hold(self, claim: Claim, claims: Claims, holders: Iterable[Holding]) -> bool:
        """False only if the nodes have certainly no room for all its members, whoever it takes."""
        assert claim.need is not None
        amounts = self._of(claims, holders).amounts
        if claim.single:
            return bool(feasible(claim, claim.need, amounts).any())
        return int(members_that_fit(claim, amounts).sum()) >= claim.members

    def _of(self, claims: Claims, holders: Iterable[Holding]) -> _Most:
        found = self._most.get(claims)
        if found is None:
            nodes, size = self.state.nodes, self.state.nodes.size
            found = _Most(self.quotas, claims, nodes.capacity[:, :size] - nodes.occupied[:, :size])
            for held in holders:
                if held.code != PREEMPTING and not self._may_go(found, held, self.quotas.root[held.queue]):
                    for node, amount in held.places:
                        found.amounts[:, node] -= amount
            self._most[claims] = found
        return found


def places_of(state: State, row: int) -> Places:
    """What a workload holds of which nodes."""
    residents = state.residents
    return tuple((int(residents.node[at]), residents.amount[:, at].copy()) for at in state.residents_of(row))
