"""Decisions without victims, worded alike under every doctrine: what starts, and what can never fit."""

from __future__ import annotations

from dataclasses import replace

from cede.doctrines.parts.claim import Claim, pinned_by
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import never_fits
from cede.doctrines.parts.shortage import shortage
from cede.model.plan import Decision
from cede.model.resources import split_flavor
from cede.model.rules import Rule
from cede.state.columns import NONE, SPREAD
from cede.state.state import State


def decision(state: State, row: int, action: str, rule: Rule, **facts: object) -> Decision:
    """A decision without victims, with the rule's sentence filled in."""
    return Decision(state.work_names[row], action, rule.id, rule.because(**facts))


def started(cycle: Cycle, claim: Claim, nodes: list[int], rule: Rule) -> Decision:
    """It fits now: booked for the rest of the cycle."""
    state = cycle.state
    cycle.trial.book(claim.row, nodes)
    names = names_of(state, nodes)
    sentence = rule.because(nodes=", ".join(dict.fromkeys(names)) or "its quota (the file has no nodes)")
    return Decision(claim.name, "start", rule.id, sentence, nodes=names, flavors=flavors_of(state, claim, nodes))


def too_big(state: State, claim: Claim, rule: Rule, *, bare: bool = False) -> Decision | None:
    """It fits no matching node even if that were empty, whatever its state. `bare`: of what others occupy too."""
    if not state.nodes.size:
        return None
    size = state.nodes.size
    empty = state.nodes.capacity[:, :size] - (0 if bare else state.nodes.occupied[:, :size])
    if not never_fits(state, replace(claim, allowed=claim.matching), empty):
        return None
    if claim.placement == SPREAD and not never_fits(state, claim, empty):
        return None  # over fewer groups an even share is more
    return decision(state, claim.row, "refuse", rule, short=shortage(state, claim, empty, everywhere=True))


def matches_nothing(state: State, claim: Claim) -> bool:
    """Whether no node is of the kind that one of its members asks for; a file without nodes asks for none."""
    return bool(state.nodes.size) and not (claim.matching.any() and _all_kinds_match(state, claim))


def _all_kinds_match(state: State, claim: Claim) -> bool:
    """Whether each kind of its members finds a node that offers the flavors it names."""
    kinds = pinned_by(state, claim.row)
    if len(kinds) == 1:
        return True
    offered = state.nodes.capacity[:, : state.nodes.size] > 0
    columns = ([state.units.index[name] for name in kind] for kind in kinds)
    return all(bool((offered[kind].all(axis=0) & claim.matching).any()) for kind in columns)


def names_of(state: State, nodes: list[int]) -> tuple[str, ...]:
    return tuple(state.node_names[node] for node in nodes)


def flavors_of(state: State, claim: Claim, nodes: list[int]) -> dict[str, str]:
    """The flavor of each resource it takes, where all its nodes have it in the same one."""
    if not nodes or not state.units.flavored:
        return {}
    flavors: dict[str, str] = {}
    for name in (state.units.names[column] for column in claim.columns):
        columns = state.units.flavored.get(name, [])
        shared = [column for column in columns if (state.nodes.capacity[column, nodes] > 0).all()]
        if len(shared) == 1:
            flavors[name] = split_flavor(state.units.names[shared[0]])[1] or ""
    return flavors


def wanted(state: State, row: int) -> str:
    """What it asks of a node beside room: flavor, labels, names."""
    parts: list[str] = []
    constraints = state.constraints.get(row)
    kinds = pinned_by(state, row)
    flavors = {split_flavor(name)[1] for kind in kinds for name in kind}
    if len(flavors) == 1:
        parts.append(f"flavor {flavors.pop()}")
    elif all(kinds):
        parts.append(" or ".join(sorted(map(" and ".join, kinds))))
    if constraints is not None and constraints.labels:
        parts += [f"label {key}={value}" for key, value in sorted(constraints.labels.items())]
    if constraints is not None and constraints.nodes:
        parts.append(f"a name among {', '.join(sorted(constraints.nodes))}")
    if state.work.required_node[row] != NONE:
        parts.append(f"the name {state.node_names[int(state.work.required_node[row])]}")
    return " and ".join(parts)
