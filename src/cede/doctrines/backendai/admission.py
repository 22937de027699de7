"""What both editions ask before they look for room: owner's policy, hard limits, and whether it can ever fit."""

from __future__ import annotations

from cede.doctrines.backendai.rules import EMPTY_GROUP, FIXED, NO_MATCH, OUT_OF_RANGE, OVER_LIMIT
from cede.doctrines.parts import outcomes
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.limits import Limit, hopeless
from cede.doctrines.parts.outcomes import decision
from cede.doctrines.parts.policies import breach_of
from cede.model.plan import Decision
from cede.state.state import State

LOWEST, HIGHEST = 0, 100


def refused_by_owner(state: State, row: int, limits: list[Limit]) -> Decision | None:
    """Outside the priorities its user or project may use, or beyond a limit that nothing can make room under."""
    breach = breach_of(state, row, LOWEST, HIGHEST)
    if breach is not None:
        return decision(state, row, "refuse", FIXED if breach.fixed else OUT_OF_RANGE, **breach.facts)
    for limit in hopeless(limits):
        return decision(state, row, "refuse", OVER_LIMIT, **limit.facts(state))
    return None


def matches_nothing(state: State, claim: Claim) -> Decision | None:
    """No node of the group is of the kind that one of its members asks for, or the group has none: its own failure."""
    if not outcomes.matches_nothing(state, claim):
        return None
    partition = state.partitions.names[int(state.work.partition[claim.row])]
    if not (state.nodes.partition[: state.nodes.size] == state.work.partition[claim.row]).any():
        return decision(state, claim.row, "refuse", EMPTY_GROUP, partition=partition)
    return decision(state, claim.row, "refuse", NO_MATCH, wanted=outcomes.wanted(state, claim.row))
