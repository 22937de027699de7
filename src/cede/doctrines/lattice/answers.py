"""Decisions as the policy words them: who goes and why, what stands in the way and what came nearest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.lattice import rules
from cede.doctrines.lattice.candidates import REASONS, Found
from cede.doctrines.lattice.choosing import Hindrance
from cede.doctrines.lattice.facts import Price, facts_about, minutes
from cede.doctrines.lattice.lending import borrowed_by
from cede.doctrines.lattice.settings import Settings
from cede.doctrines.parts.candidates import held_back
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.cost import total_costs
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.misses import nearest_miss
from cede.doctrines.parts.outcomes import flavors_of, names_of
from cede.doctrines.parts.shortage import free_before, lacking, shortage
from cede.model.plan import REQUEUED, Decision, Miss, Victim, Warning
from cede.model.rules import Rule
from cede.state.state import State


@dataclass(frozen=True, slots=True)
class Worth:
    """What a claimant is worth, in millionths of a minute, and whether victims must cost less than that."""

    value: int
    binds: bool


def preempting(
    cycle: Cycle,
    claim: Claim,
    settings: Settings,
    found: Found | None,
    victims: list[int],
    worth: Worth,
    *,
    exact: bool,
    warnings: tuple[Warning, ...] = (),
) -> Decision:
    """Victims go and the claimant takes their room; booked for the rest of the cycle.

    `found` is who was looked at; none: all go for a higher class."""
    state = cycle.state
    by_rule = {row: rules.PRIORITY if found is None else found.rule_of(row) for row in victims}
    rule = max(by_rule.values(), key=list(REASONS).index)
    lost = tuple(
        Victim(state.work_names[row], REASONS[by_rule[row]], REQUEUED, rule=by_rule[row].id) for row in victims
    )
    costs = total_costs(state, np.array(victims, np.intp), settings.assumed)
    total = int(costs.sum())
    shown = account = None
    if cycle.explain and found is not None:
        facts = facts_about(state, claim.row, settings)
        shown = found.all.explain(state, facts, by_rule, rules.SPARED)
        account = {"cost": minutes(total)}
        if worth.binds and rules.PRIORITY in by_rule.values():
            account["worth"] = minutes(worth.value)
        account["best"] = "proven" if exact else "not proven"
    who = ", ".join(
        f"{state.work_names[row]} (class {state.work.priority[row]}, {minutes(cost)})"
        for row, cost in zip(victims, costs.tolist(), strict=True)
    )
    before = free_before(state, victims)
    nodes = _taking(cycle, claim, victims, home_first=rules.RECLAIM in by_rule.values())
    short = lacking(state, claim, nodes, before)
    prefix = f"{short}; " if short else ""
    why = f"{prefix}it has class {state.work.priority[claim.row]} and {_verb(rule)} {who}"
    if worth.binds and rule is rules.PRIORITY:
        why += f", {minutes(total)} in all, and is worth {minutes(worth.value)}"
    cycle.trial.book(claim.row, nodes)
    return Decision(
        claim.name,
        "preempt",
        rule.id,
        why,
        lost,
        names_of(state, nodes),
        flavors_of(state, claim, nodes),
        warnings=warnings,
        candidates=shown,
        account=account,
    )


def _taking(cycle: Cycle, claim: Claim, victims: list[int], *, home_first: bool) -> list[int]:
    """Its nodes once its victims are gone."""
    for row in victims:
        cycle.trial.evict(row)
    nodes = placed(cycle.state, claim, home_first=home_first)
    assert nodes is not None, "victims that make no room are no victims"
    return nodes


def _verb(rule: Rule) -> str:
    return {rules.RECLAIM: "takes nodes back from", rules.CLAIMED: "claims nodes from"}.get(rule, "preempts")


def placed(state: State, claim: Claim, *, home_first: bool = False) -> list[int] | None:
    """Where it goes: on nodes that it need not borrow, as far as they do; who takes nodes back goes there first."""
    queue = int(state.work.queue[claim.row])
    borrowed = borrowed_by(state, queue)
    if not home_first:
        return place(state, claim, last=borrowed)
    others = (state.nodes.home[: state.nodes.size] != queue).astype(np.int64)
    if borrowed is None:
        return place(state, claim, last=others)
    without = place(state, claim, np.where(borrowed, 0, state.nodes.free[:, : state.nodes.size]), others)
    return place(state, claim, last=others + borrowed) if without is None else without


def waiting(
    cycle: Cycle,
    claim: Claim,
    settings: Settings,
    found: Found | None,
    rule: Rule,
    cannot: Rule | None = None,
    why_not: Hindrance | None = None,
    price: Price | None = None,
    **facts: object,
) -> Decision:
    """It stays pending. `cannot` is the rule that keeps it from preempting anybody at all."""
    if not cycle.words:
        return Decision(claim.name, "wait", rule.id, "")
    state = cycle.state
    numbers: dict[str, object] = {"short": short_of(state, claim), "matching": int(claim.matching.sum())} | facts
    numbers["enough"] = _enough(why_not, settings)
    if found is not None:
        count = int(found.all.open.sum())
        numbers["victims"] = f"what it may preempt ({count}) does not make enough" if count else "it may preempt nobody"
    sentence = rule.because(**numbers)
    if found is None or not cycle.told:
        return Decision(claim.name, "wait", rule.id, sentence)
    about = facts_about(state, claim.row, settings, price)
    misses = cycle.misses and rule is not rules.QUEUE_LIMIT  # room is not what is missing
    missed = tuple(
        _miss(state, row, found.all.rule_of(row), cannot, numbers | dict(about(row)))
        for row in (_missed(cycle, claim) if misses else ())
    )
    shown = None
    if cycle.explain:
        shown = found.all.explain(state, lambda row: numbers | dict(about(row)), {}, rules.TOO_LITTLE, cannot)
    return Decision(claim.name, "wait", rule.id, sentence, nearest_miss=missed, candidates=shown)


def short_of(state: State, claim: Claim) -> str:
    return shortage(state, claim) if state.nodes.size else "its quota is used up"


def _enough(why_not: Hindrance | None, settings: Settings) -> str:
    if why_not is not None and why_not.many:
        return f"it takes {why_not.many} victims, and {settings.max_victims} is the most"
    if why_not is not None and why_not.cheapest is not None:
        return "every set that makes room costs at least what the claimant is worth"
    return "all who may be, together, do not make enough room"


def _missed(cycle: Cycle, claim: Claim) -> list[int]:
    """The nearest miss; the same claim in the same state has the same."""
    key = (
        cycle.trial.mark(),
        int(cycle.state.work.partition[claim.row]),
        claim.placement,
        b"".join(need.tobytes() for need in claim.vectors),
        claim.allowed.tobytes(),
    )
    if key not in cycle.missed:
        cycle.missed[key] = nearest_miss(cycle.state, claim, [])
    return cycle.missed[key]


def _miss(state: State, row: int, rule: Rule | None, cannot: Rule | None, facts: dict[str, object]) -> Miss:
    name = state.work_names[row]
    if rule is not None:
        return Miss(name, rule.id, rule.because(**facts))
    if cannot is not None:
        return Miss(name, cannot.id, held_back(cannot, facts))
    return Miss(name, None, "no rule protects it")
