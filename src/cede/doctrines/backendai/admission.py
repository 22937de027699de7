"""What both editions ask before they look for room: owner's policy, hard limits, and whether it can ever fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cede.doctrines.backendai.rules import (
    EMPTY_GROUP,
    FITS,
    FIXED,
    NO_MATCH,
    OUT_OF_RANGE,
    OVER_LIMIT,
    TOO_BIG,
)
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import never_fits
from cede.doctrines.parts.limits import Limit, hopeless
from cede.doctrines.parts.shortage import shortage
from cede.model.cluster import Policy
from cede.model.plan import Decision
from cede.model.rules import Rule
from cede.state.columns import NONE
from cede.state.entry import own_priority
from cede.state.state import State

LOWEST, HIGHEST = 0, 100


def decision(state: State, row: int, action: str, rule: Rule, **facts: object) -> Decision:
    """A decision without victims, with the rule's sentence filled in."""
    return Decision(state.work_names[row], action, rule.id, rule.because(**facts))


def refused_by_owner(state: State, row: int, limits: list[Limit]) -> Decision | None:
    """Outside the priorities its user or project may use, or beyond a limit that nothing can make room under."""
    priority = int(state.work.priority[row])
    user, project = owners_of(state, row)
    for owner, policy in policies_of(state, row):
        own = own_priority(state.static, user, project)
        if policy.may_change is False:
            if priority != own:
                return decision(state, row, "refuse", FIXED, owner=owner, priority=priority, default=own)
            continue  # the range is for those who may choose
        low = LOWEST if policy.min_priority is None else policy.min_priority
        high = HIGHEST if policy.max_priority is None else policy.max_priority
        if not low <= priority <= high:
            return decision(state, row, "refuse", OUT_OF_RANGE, owner=owner, priority=priority, low=low, high=high)
    for limit in hopeless(limits):
        return decision(state, row, "refuse", OVER_LIMIT, **limit.facts(state))
    return None


def owners_of(state: State, row: int) -> tuple[str | None, str | None]:
    """The user and the project of this workload."""
    return state.users.name(int(state.work.user[row])), state.projects.name(int(state.work.project[row]))


def policies_of(state: State, row: int) -> Iterator[tuple[str, Policy]]:
    """The policies that bind this workload, its user's first."""
    user, project = owners_of(state, row)
    for policy in state.static.policies:
        if policy.user is not None and policy.user == user:
            yield f"user {user}", policy
    for policy in state.static.policies:
        if policy.project is not None and policy.project == project:
            yield f"project {project}", policy


def matches_nothing(state: State, claim: Claim) -> Decision | None:
    """No node of the group is of the kind it asks for, or the group has none: its own failure, nobody else's."""
    if not state.nodes.size or claim.matching.any():
        return None
    partition = state.partitions.names[int(state.work.partition[claim.row])]
    if not (state.nodes.partition[: state.nodes.size] == state.work.partition[claim.row]).any():
        return decision(state, claim.row, "refuse", EMPTY_GROUP, partition=partition)
    return decision(state, claim.row, "refuse", NO_MATCH, wanted=_wanted(state, claim.row))


def too_big(state: State, claim: Claim, *, bare: bool = False) -> Decision | None:
    """It fits no matching node even if that were empty, whatever the node's state.

    `bare`: of what others occupy too. Release 26.8 compares with an agent's whole capacity; it knows no use
    that it does not manage, so what is occupied may go away like any other use.
    """
    if not state.nodes.size:
        return None
    size = state.nodes.size
    empty = state.nodes.capacity[:, :size] - (0 if bare else state.nodes.occupied[:, :size])
    if not never_fits(state, replace(claim, allowed=claim.matching), empty):
        return None
    return decision(state, claim.row, "refuse", TOO_BIG, short=shortage(state, claim, empty, everywhere=True))


def started(cycle: Cycle, claim: Claim, nodes: list[int]) -> Decision:
    """It fits now: booked for the rest of the cycle."""
    state = cycle.state
    cycle.trial.book(claim.row, nodes)
    names = names_of(state, nodes)
    sentence = FITS.because(nodes=", ".join(dict.fromkeys(names)) or "its quota (the file has no nodes)")
    return Decision(claim.name, "start", FITS.id, sentence, nodes=names, flavors=flavors_of(state, claim, nodes))


def names_of(state: State, nodes: list[int]) -> tuple[str, ...]:
    return tuple(state.node_names[node] for node in nodes)


def flavors_of(state: State, claim: Claim, nodes: list[int]) -> dict[str, str]:
    """The flavor of each resource it takes, where its nodes have one in common."""
    codes = {int(state.nodes.flavor[node]) for node in nodes}
    if len(codes) != 1 or codes == {NONE}:
        return {}
    flavor = state.flavors.names[codes.pop()]
    return {state.units.names[column]: flavor for column in claim.columns if state.units.names[column]}


def _wanted(state: State, row: int) -> str:
    parts: list[str] = []
    constraints = state.constraints.get(row)
    if row in state.pins:
        parts.append(f"flavor {state.flavors.names[state.pins[row]]}")
    if constraints is not None and constraints.labels:
        parts += [f"label {key}={value}" for key, value in sorted(constraints.labels.items())]
    if constraints is not None and constraints.nodes:
        parts.append(f"a name among {', '.join(sorted(constraints.nodes))}")
    if state.work.required_node[row] != NONE:
        parts.append(f"the name {state.node_names[int(state.work.required_node[row])]}")
    return " and ".join(parts)
