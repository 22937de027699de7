"""The numbers that go into this doctrine's sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cede.doctrines.parts.candidates import Candidates, Facts, held_back
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.limits import hopeless, nodes_over
from cede.doctrines.parts.nearest_miss import nearest_miss
from cede.doctrines.parts.outcomes import decision, flavors_of, matches_nothing, names_of, started, too_big, wanted
from cede.doctrines.parts.policies import breach_of
from cede.doctrines.yunikorn import rules
from cede.doctrines.yunikorn.ask import Ask, say, used_of, what_is_short
from cede.doctrines.yunikorn.queues import Amounts, Queues
from cede.doctrines.yunikorn.seven_laws import Slack
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.model.plan import Decision, Miss, Victim, Warning
from cede.model.rules import Rule
from cede.state.columns import NONE, STATES
from cede.state.state import State

Ranks = Callable[[int], dict[str, object]]


def facts_about(
    state: State,
    queues: Queues,
    snapshot: Snapshot,
    ask: Ask,
    fence: int,
    slack: Slack | None = None,
    ranks: Ranks | None = None,
) -> Facts:
    """A function from a candidate's row to what a sentence may name; `ranks` where offsets change priorities."""
    work = state.work

    def facts(row: int) -> Mapping[str, object]:
        queue = int(work.queue[row])
        required = int(work.required_node[row])
        owner = next((above for above in queues.path_of(queue) if queues.guaranteed[above] is not None), queue)
        told: dict[str, object] = {
            "queue": queues.name(queue),
            "used": held_of(state, queues, snapshot, queue, ask.amounts),
            "guaranteed": promised_to(state, queues, queue),
            "owner": f"its queue {queues.name(owner)}" if owner == queue else f"{queues.name(owner)} above its queue",
            "held": held_of(state, queues, snapshot, owner, ask.amounts),
            "promised": promised_to(state, queues, owner),
            "claimant_queue": queues.name(ask.leaf),
            "asks": asks(state, row),
            "node": ", ".join(dict.fromkeys(state.nodes_of(row))) or "no node",
            "priority": int(work.priority[row]),
            "claimant_priority": int(work.priority[ask.row]),
            "rank": int(work.priority[row]),
            "claimant_rank": int(work.priority[ask.row]),
            "resort": "nothing else makes enough room" if slack is not None else "it goes where the search ends",
            "state": STATES[int(work.state[row])],
            "count": len(set(state.nodes_of(row))),
            "required": state.node_names[required] if required != NONE else "",
            "asked": say(state, ask.amounts),
            "disabling": queues.name(queues.disabling(queue)),
            "fence": queues.name(fence),
            "app": state.apps.name(int(work.app[ask.row])) or state.work_names[ask.row],
            "victim": state.work_names[row],
            "claimant": state.work_names[ask.row],
        }
        told |= law_2_facts(state, queues, slack, row) if slack is not None else {}
        return told | (ranks(row) if ranks is not None else {})

    return facts


def asks(state: State, row: int) -> str:
    """What an unwilling victim asks for."""
    if not state.work.preemptible[row]:
        return "asks not to be preempted"
    return "started the others of its application" if state.work.originator[row] else "asks for nothing special"


def promised_to(state: State, queues: Queues, queue: int) -> str:
    """A queue's own guarantee."""
    guaranteed = None if queue == NONE else queues.guaranteed[queue]
    return "nothing" if guaranteed is None else say(state, guaranteed)


def held_of(state: State, queues: Queues, snapshot: Snapshot, queue: int, asked: Amounts) -> str:
    """What a queue uses of the types that it guarantees, or that are asked for."""
    if queue == NONE:
        return "nothing"
    return say(state, used_of(snapshot.used(queue), asked | queues.guarantee(queue)))


def law_2_facts(state: State, queues: Queues, slack: Slack, row: int) -> dict[str, object]:
    """The queue that would be under its guarantee without this workload, and the numbers."""
    for pair in slack.of_leaf.get(int(state.work.queue[row]), ()):
        queue, column, left = slack.pairs[pair]
        takes = int(state.work.usage[column, row])
        if takes > left or left < 0:
            guaranteed = queues.guarantee(queue)[column]
            return {
                "short_queue": queues.name(queue),
                "left": say(state, {column: guaranteed + left - takes}),
                "guaranteed": say(state, {column: guaranteed}),
            }
    return {}


def account_of(
    state: State,
    queues: Queues,
    before: Snapshot,
    after: Snapshot | None,
    ask: Ask,
    fence: int,
    leaves: Mapping[int, Any],
) -> dict[str, Any]:
    """The fence root; remaining guarantee at each level of the claimant's path; each leaf, open or why not."""
    return {
        "fence": queues.name(fence) if fence != NONE else "none",
        "path": [_level(state, queues, before, after, queue) for queue in queues.path_of(ask.leaf)],
        "leaves": [leaves[queue] for queue in sorted(leaves, key=queues.name)],
    }


def _level(state: State, queues: Queues, before: Snapshot, after: Snapshot | None, queue: int) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "queue": queues.name(queue),
        "guaranteed": say(state, queues.guaranteed[queue]) if queues.guaranteed[queue] else "none",
        "remaining": _rest(state, before, queue),
    }
    if after is not None:
        shown["remaining after"] = _rest(state, after, queue)
    return shown


def _rest(state: State, snapshot: Snapshot, queue: int) -> str:
    """For the leaf that asks, what it is owed by all above it; for a queue above it, what remains of its own."""
    rest = snapshot.remaining(queue) if queue == snapshot.leaf else snapshot.own(queue)
    return "none" if rest is None else say(state, dict(rest))


def leaf_of(queues: Queues, queue: int, rule: Rule | None, why: str) -> dict[str, Any]:
    """One leaf of the account."""
    return {"queue": queues.name(queue), "open": rule is None, "rule": "" if rule is None else rule.id, "why": why}


def refused(state: State, ask: Ask) -> Decision | None:
    """Outside its owner's priorities, beyond a limit that nothing can make room under, or too big for every node."""
    row = ask.row
    breach = breach_of(state, row, None, None)
    if breach is not None:
        rule = rules.FIXED if breach.fixed else rules.OUT_OF_RANGE
        return decision(state, row, "refuse", rule, **breach.facts)
    for limit in hopeless(ask.limits):
        return decision(state, row, "refuse", rules.OVER_LIMIT, **limit.facts(state))
    if matches_nothing(state, ask.claim):
        return decision(state, row, "refuse", rules.NO_MATCH, wanted=wanted(state, row) or "room for anybody")
    return too_big(state, ask.claim, rules.TOO_BIG)


def barred(cycle: Cycle, never: Decision | None, ask: Ask) -> Decision | None:
    """What stands in its way whatever is preempted: it can never run, or its tenant may hold no more."""
    if never is not None:
        return never
    tenants = (limit for limit in ask.short_limits if limit.tenant != NONE)
    return next((waiting(cycle, ask, rules.QUOTA, limit.facts(cycle.state)) for limit in tenants), None)


def begun(cycle: Cycle, ask: Ask) -> Decision | None:
    """It starts where it fits now, unless those are more nodes than its tenant may hold; none if it fits nowhere."""
    nodes = place(cycle.state, ask.claim)
    if nodes is None:
        return None
    over = nodes_over(cycle.state, ask.row, nodes)
    if over is not None:
        return waiting(cycle, ask, rules.QUOTA, over.facts(cycle.state))
    return started(cycle, ask.claim, nodes, rules.FITS)


def taken_by(state: State, rows: Iterable[int], usual: Rule) -> dict[int, Rule]:
    """Victims, each with the rule by which it goes: law 1 for those who should be spared, else the usual one."""
    work = state.work
    return {row: usual if work.preemptible[row] and not work.originator[row] else rules.LAST_RESORT for row in rows}


def preempting(
    cycle: Cycle,
    ask: Ask,
    nodes: list[int],
    victims: Mapping[int, Rule],
    rule: Rule,
    because: str,
    *,
    apart: str = "",
    warnings: tuple[Warning, ...] = (),
    candidates: Candidates | None = None,
    facts: Facts | None = None,
    spare: Rule = rules.SPARED,
) -> Decision:
    """Victims go and the claimant's room is kept; booked for the rest of the cycle.

    `apart`: what is to be said if that is not where they stood.
    """
    state = cycle.state
    shown = None
    if cycle.explain and candidates is not None and facts is not None:
        exclude_elsewhere(state, ask, candidates, beside=victims)
        shown = candidates.explain(state, facts, victims, spare)
    names = [state.work_names[row] for row in victims]
    who = ", ".join(
        f"{name} ({_queue(state, row)}, priority {state.work.priority[row]}"
        f"{'; ' + asks(state, row) if why is rules.LAST_RESORT else ''})"
        for name, (row, why) in zip(names, victims.items(), strict=True)
    )
    sentence = f"{what_is_short(state, ask)}; {because} and preempts {who}{'; ' + apart if apart else ''}"
    for row in victims:
        cycle.trial.evict(row)
    cycle.trial.book(ask.row, nodes)
    return Decision(
        ask.claim.name,
        "preempt",
        rule.id,
        sentence,
        tuple(Victim(name, why.id, rule=why.id) for name, why in zip(names, victims.values(), strict=True)),
        names_of(state, nodes),
        flavors_of(state, ask.claim, nodes),
        warnings=warnings,
        candidates=shown,
    )


def _queue(state: State, row: int) -> str:
    queue = int(state.work.queue[row])
    return "no queue" if queue == NONE else state.tree.names[queue]


def waiting(
    cycle: Cycle,
    ask: Ask,
    rule: Rule,
    numbers: Mapping[str, object] | None = None,
    *,
    candidates: Candidates | None = None,
    facts: Facts | None = None,
    cannot: Rule | None = None,
    spare: Rule = rules.TOO_LITTLE,
) -> Decision:
    """It stays pending. `numbers` go into the sentence; `cannot` is the rule that keeps it from preempting anybody."""
    state = cycle.state
    if not cycle.words:
        return Decision(ask.claim.name, "wait", rule.id, "")
    known = {"short": what_is_short(state, ask), **(numbers or {})}
    sentence = rule.because(**known)
    if candidates is None or facts is None or not cycle.told:
        return Decision(ask.claim.name, "wait", rule.id, sentence)

    def about(row: int) -> Mapping[str, object]:
        return {**facts(row), **known}

    shown = None
    exclude_elsewhere(state, ask, candidates)
    if cycle.explain:
        shown = candidates.explain(state, about, {}, spare, cannot)
    missed = tuple(_missed(cycle, ask, candidates, about, cannot)) if cycle.misses else ()
    return Decision(ask.claim.name, "wait", rule.id, sentence, nearest_miss=missed, candidates=shown)


def _missed(cycle: Cycle, ask: Ask, candidates: Candidates, facts: Facts, cannot: Rule | None) -> Sequence[Miss]:
    state = cycle.state
    if ask.claim.members > 1 and ask.short_limits:
        return []
    misses: list[Miss] = []
    for row in nearest_miss(state, ask.claim, ask.short_limits):
        name, rule = state.work_names[row], candidates.rule_of(row)
        if rule is not None:
            misses.append(Miss(name, rule.id, rule.because(**facts(row))))
        elif cannot is not None:
            misses.append(Miss(name, cannot.id, held_back(cannot, facts(row))))
        else:
            misses.append(Miss(name, None, "no rule protects it alone"))
    return misses


def exclude_elsewhere(state: State, ask: Ask, candidates: Candidates, beside: Mapping[int, Any] | None = None) -> None:
    """Exclude those that stand on no node the claimant may use. The search need not; an explanation must."""
    if not state.nodes.size or ask.short_limits:
        return
    here = np.zeros(state.work.size, np.bool_)
    residents = state.residents
    live = residents.count[: residents.size] > 0
    usable = live & ask.claim.allowed[residents.node[: residents.size]]
    here[residents.work[: residents.size][usable]] = True
    here[list(beside or ())] = True
    candidates.protect((rules.ELSEWHERE, ~here & candidates.looked))
