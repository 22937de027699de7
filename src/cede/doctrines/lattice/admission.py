"""What is asked before room is looked for: the owner's policy, hard limits, and whether it can ever fit."""

from __future__ import annotations

from cede.doctrines.lattice import rules
from cede.doctrines.parts import outcomes
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.limits import Limit, broken, hopeless
from cede.doctrines.parts.outcomes import decision, too_big
from cede.doctrines.parts.policies import breach_of
from cede.model.plan import Decision
from cede.state.columns import NONE
from cede.state.state import State

LOWEST, HIGHEST = 0, 10


def refused(state: State, claim: Claim, limits: list[Limit]) -> Decision | None:
    """It may not have its class, or can never run; or its tenant has no quota left, for which no work is preempted."""
    return never(state, claim, limits) or without_quota(state, claim, limits)


def never(state: State, claim: Claim, limits: list[Limit]) -> Decision | None:
    """It may not have its class, or can never run, as long as nodes and queues stay as they are."""
    breach = breach_of(state, claim.row, LOWEST, HIGHEST)
    if breach is not None:
        rule = rules.FIXED if breach.fixed else rules.OUT_OF_RANGE
        return decision(state, claim.row, "refuse", rule, **breach.facts)
    for limit in hopeless(limits):
        return decision(state, claim.row, "refuse", rules.OVER_LIMIT, **limit.facts(state))
    if outcomes.matches_nothing(state, claim):
        return decision(state, claim.row, "refuse", rules.NO_MATCH, wanted=outcomes.wanted(state, claim.row))
    return too_big(state, claim, rules.TOO_BIG)


def without_quota(state: State, claim: Claim, limits: list[Limit]) -> Decision | None:
    """Its tenant has no quota left."""
    for limit in broken(limits):
        if limit.tenant != NONE:
            return over_quota(state, claim, limit)
    return None


def over_quota(state: State, claim: Claim, limit: Limit) -> Decision:
    return decision(state, claim.row, "refuse", rules.QUOTA, **limit.facts(state))


def over_limit(limits: list[Limit]) -> Limit | None:
    """The first limit of a queue that it would exceed now."""
    return next((limit for limit in broken(limits) if limit.tenant == NONE), None)
