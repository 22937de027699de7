"""The numbers that go into this doctrine's sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from cede.doctrines.lattice import rules
from cede.doctrines.lattice.candidates import REASONS, Reachable
from cede.doctrines.lattice.lending import borrowed_by
from cede.doctrines.lattice.settings import HIGHEST, SENSITIVE, Settings, vclusters_of
from cede.doctrines.lattice.victim_choice import Hindrance
from cede.doctrines.parts.candidates import Facts, held_back
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.cost import PARTS, Costs, costs_of, total_costs
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.nearest_miss import nearest_miss
from cede.doctrines.parts.outcomes import flavors_of, names_of
from cede.doctrines.parts.shortage import free_before, lacking, shortage
from cede.model.costs import seconds_in_words
from cede.model.plan import REQUEUED, Decision, Miss, Victim, Warning
from cede.model.rules import Rule
from cede.model.times import show_duration
from cede.state.columns import NEVER, NONE, STATES
from cede.state.state import State

Price = Callable[[int], str]


def minutes(cost: int) -> str:
    """A cost in millionths of a minute as people read it."""
    return in_minutes(cost / PARTS)


def in_minutes(cost: float) -> str:
    return seconds_in_words(cost) or f"{cost:,.6g} min"


def facts_about(state: State, claimant: int, settings: Settings, price: Price | None = None) -> Facts:
    """A function from a candidate's row to everything a sentence may name; `price` says what one costs, in words."""
    work = state.work
    if price is None:
        price = partial(_by_policy, state, settings)

    def facts(row: int) -> Mapping[str, object]:
        return {
            "class_": int(work.priority[row]),
            "claimant_class": int(work.priority[claimant]),
            "cost": price(row),
            "state": STATES[int(work.state[row])],
            "how": how_sensitive(state, row),
            "ends": ends_of(state, row),
            "threshold": show_duration(settings.near_end),
            "nodes": ", ".join(dict.fromkeys(state.nodes_of(row))),
            "lent": ", ".join(nodes_at(state, row, int(work.queue[claimant]))),
            "home": name_of(state, int(work.queue[claimant])),
            "own": ", ".join(own_nodes(state, row)),
            "vcluster": name_of(state, int(work.queue[row])),
            "victim": state.work_names[row],
            "claimant": state.work_names[claimant],
        }

    return facts


def _by_policy(state: State, settings: Settings, row: int) -> str:
    return worded(costs_of(state, np.array([row]), settings.assumed))


def worded(costs: Costs) -> str:
    """What one preemption costs, with its parts."""
    total = minutes(int(costs.total[0]))
    parts = {
        "checkpoint": costs.checkpoint[0],
        "lost": costs.lost[0],
        "progress": costs.progress[0],
    }
    shown = [f"{name} {float(value):,.6g}" for name, value in parts.items() if value]
    return f"{total} ({' + '.join(shown)})" if len(shown) > 1 else f"{total} ({shown[0]})" if shown else total


def how_sensitive(state: State, row: int) -> str:
    work = state.work
    if work.sensitive[row]:
        return "sensitive: true"
    if work.priority[row] >= HIGHEST:
        return f"class {int(work.priority[row])}"
    if vclusters_of(state).type[int(work.queue[row])] == SENSITIVE:
        return f"of the sensitive vCluster {name_of(state, int(work.queue[row]))}"
    return "not at all"


def ends_of(state: State, row: int) -> str:
    """When its walltime is over, in words."""
    work = state.work
    if NEVER in (work.started[row], work.walltime[row]):
        return "has no known end"
    left = int(work.started[row]) + int(work.walltime[row]) - state.now
    return f"ends in {show_duration(left)}" if left >= 0 else f"was over {show_duration(-left)} ago"


def nodes_at(state: State, row: int, home: int) -> list[str]:
    """The nodes of one home that it stands on."""
    nodes = state.residents.node[state.residents_of(row)].tolist()
    return sorted({state.node_names[node] for node in nodes if home != NONE and state.nodes.home[node] == home})


def own_nodes(state: State, row: int) -> list[str]:
    """The nodes that it stands on and does not borrow."""
    nodes = state.residents.node[state.residents_of(row)].tolist()
    homes = (NONE, int(state.work.queue[row]))
    return sorted({state.node_names[node] for node in nodes if int(state.nodes.home[node]) in homes})


def name_of(state: State, queue: int) -> str:
    return "(none)" if queue == NONE else state.tree.names[queue]


@dataclass(frozen=True, slots=True)
class ClaimantValue:
    """What a claimant is worth, in millionths of a minute, and whether victims must cost less than that."""

    value: int
    binds: bool


def preempting(
    cycle: Cycle,
    claim: Claim,
    settings: Settings,
    reachable: Reachable | None,
    victims: list[int],
    worth: ClaimantValue,
    *,
    exact: bool,
    warnings: tuple[Warning, ...] = (),
) -> Decision:
    """Victims go and the claimant takes their room; booked for the rest of the cycle.

    `reachable` are those that were looked at; none: all go for a higher class."""
    state = cycle.state
    by_rule = {row: rules.PRIORITY if reachable is None else reachable.rule_of(row) for row in victims}
    rule = max(by_rule.values(), key=list(REASONS).index)
    lost = tuple(
        Victim(state.work_names[row], REASONS[by_rule[row]], REQUEUED, rule=by_rule[row].id) for row in victims
    )
    costs = total_costs(state, np.array(victims, np.intp), settings.assumed)
    total = int(costs.sum())
    shown = account = None
    if cycle.explain and reachable is not None:
        facts = facts_about(state, claim.row, settings)
        shown = reachable.all.explain(state, facts, by_rule, rules.SPARED)
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
    reachable: Reachable | None,
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
    if reachable is not None:
        count = int(reachable.all.open.sum())
        numbers["victims"] = (
            f"what it may preempt ({count}) does not make enough" if count else "nothing may be preempted for it"
        )
    sentence = rule.because(**numbers)
    if reachable is None or not cycle.told:
        return Decision(claim.name, "wait", rule.id, sentence)
    about = facts_about(state, claim.row, settings, price)
    misses = cycle.misses and rule is not rules.QUEUE_LIMIT  # room is not what is missing
    missed = tuple(
        _miss(state, row, reachable.all.rule_of(row), cannot, numbers | dict(about(row)))
        for row in (_missed(cycle, claim) if misses else ())
    )
    shown = None
    if cycle.explain:
        shown = reachable.all.explain(state, lambda row: numbers | dict(about(row)), {}, rules.TOO_LITTLE, cannot)
    return Decision(claim.name, "wait", rule.id, sentence, nearest_miss=missed, candidates=shown)


def short_of(state: State, claim: Claim) -> str:
    return shortage(state, claim) if state.nodes.size else "its quota is used up"


def _enough(why_not: Hindrance | None, settings: Settings) -> str:
    if why_not is not None and why_not.many:
        return f"it takes {why_not.many} victims, and {settings.max_victims} is the most"
    if why_not is not None and why_not.cheapest is not None:
        return "every set that makes room costs at least what the claimant is worth"
    return "preempting every candidate would not make enough room"


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
