"""Who may be preempted by whom: for a higher class, to get lent nodes back, or for a sensitive claim."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.lattice import rules
from cede.doctrines.lattice.lending import claims_nodes, is_sensitive, standing_at_home
from cede.doctrines.lattice.memory import on_nodes_of
from cede.doctrines.lattice.settings import SERVICE, UNPROTECTED, Settings, vclusters_of
from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.cost import NO_CHECKPOINT
from cede.doctrines.parts.fit import members_that_fit
from cede.model.rules import Rule
from cede.state.columns import NEVER, NONE, RESERVED, RUNNING, Bools, Int64s
from cede.state.state import State

REASONS = {rules.PRIORITY: "priority", rules.RECLAIM: "reclaim", rules.CLAIMED: "sensitive"}
"""The doctrine's own word for each rule by which somebody goes."""


@dataclass(frozen=True, slots=True)
class Reachable:
    """Who was looked at; `lent` marks those who borrow a node of the claimant's vCluster, `claim` a sensitive claim."""

    all: Candidates
    lent: Bools
    claim: bool

    def rule_of(self, row: int) -> Rule:
        """The rule by which this one would go: the strongest that applies."""
        if self.claim:
            return rules.CLAIMED
        return rules.RECLAIM if self.lent[row] else rules.PRIORITY

    def counted(self, rows: Int64s) -> Bools:
        """Whom the most victims and the claimant's value bind: those who go for a higher class alone."""
        return np.zeros(len(rows), np.bool_) if self.claim else ~self.lent[rows]


def candidates(state: State, claim: Claim, settings: Settings, homes: tuple[str, ...] = ()) -> Reachable:
    """All that holds room in the claimant's partition; the first rule that protects one is its verdict.

    `homes` are vClusters that took their nodes back from the claimant.
    """
    work, size = state.work, state.work.size
    phase, class_ = work.state[:size], work.priority[:size]
    looked = (phase >= RESERVED) & (work.partition[:size] == work.partition[claim.row])
    here, lent = _standing(state, claim)
    candidates = Candidates(looked).protect(
        (rules.NOT_RUNNING, phase != RUNNING),
        (rules.ELSEWHERE, ~here),
        (rules.OPTED_OUT, ~work.preemptible[:size]),
        (rules.SENSITIVE, is_sensitive(state)),
    )
    if claims_nodes(state, claim.row):
        return Reachable(candidates, lent, True)
    candidates.protect(
        (rules.NEAR_END, near_end(state, settings)),
        (rules.NOT_LOWER, ~lent & (class_ >= work.priority[claim.row])),
        (rules.NO_CHECKPOINT, ~lent & (work.checkpoint[:size] == NO_CHECKPOINT) & (class_ >= UNPROTECTED)),
    )
    types = vclusters_of(state).type
    if (types == SERVICE).any():
        serving = np.flatnonzero(candidates.open & ~lent & (types[work.queue[:size]] == SERVICE))
        candidates.protect((rules.AT_HOME, standing_at_home(state, work.queue, serving)))
    if homes:
        candidates.protect((rules.SENT_HOME, ~lent & on_nodes_of(state, homes)))
    return Reachable(candidates, lent, False)


def near_end(state: State, settings: Settings) -> Bools:
    """Work that has begun and whose walltime is over within the threshold, or was over before."""
    work, size = state.work, state.work.size
    started, walltime = work.started[:size], work.walltime[:size]
    known = (started != NEVER) & (walltime != NEVER)
    ends = np.where(known, started, 0) + np.where(known, walltime, 0)
    ending: Bools = known & (ends - state.now <= settings.near_end)
    return ending


def _needs(state: State, claim: Claim) -> Bools:
    """Nodes that could take one member more if they were empty: others are not taken back."""
    nodes, size = state.nodes, state.nodes.size
    empty = nodes.capacity[:, :size] - nodes.occupied[:, :size]
    if claim.need is not None:
        helped: Bools = members_that_fit(claim, empty) > members_that_fit(claim, nodes.free[:, :size])
        return helped
    need = np.min(claim.vectors, axis=0)
    holds: Bools = (empty >= need[:, None])[need > 0].all(axis=0)
    return holds


def _standing(state: State, claim: Claim) -> tuple[Bools, Bools]:
    """Workloads on nodes that the claimant may use, and those of others on nodes whose home is the claimant's queue."""
    residents, size = state.residents, state.work.size
    here, lent = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    if not state.nodes.size:
        return here, lent
    works, nodes = residents.work[: residents.size], residents.node[: residents.size]
    live = claim.allowed[nodes] & (residents.count[: residents.size] > 0)
    here[works[live]] = True
    queue = int(state.work.queue[claim.row])
    own = claim.allowed & (state.nodes.home[: state.nodes.size] == queue)
    if queue != NONE and own.any():
        own &= _needs(state, claim)
        guests = works[live & own[nodes]]
        lent[guests[state.work.queue[guests] != queue]] = True
    return here, lent
