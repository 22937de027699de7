"""The edition `core`, the library: queue by queue, the cheapest victims that free as many nodes as a claimant wants.

Warnings say where that breaks what the policy promises.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from cede.doctrines.lattice import rules
from cede.doctrines.lattice.admission import over_limit, over_quota, without_quota
from cede.doctrines.lattice.candidates import Reachable, near_end
from cede.doctrines.lattice.core_library import (
    Ranked,
    core_costs,
    largest_kind,
    one_kind,
    placed,
    ranked_of,
    spelled_out,
)
from cede.doctrines.lattice.core_order import CoreAllTurns, CoreAwakeTurns, CoreTurns
from cede.doctrines.lattice.cycle_order import Sleep
from cede.doctrines.lattice.lending import standing_at_home
from cede.doctrines.lattice.memory import in_vain
from cede.doctrines.lattice.policy import value_of
from cede.doctrines.lattice.settings import HIGHEST, SENSITIVE, SERVICE, UNPROTECTED, Settings, vclusters_of
from cede.doctrines.lattice.waiting_line import lines_of
from cede.doctrines.lattice.wording import facts_about, in_minutes, minutes, waiting
from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.cost import NO_CHECKPOINT, costs_of
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.limits import nodes_over
from cede.doctrines.parts.outcomes import flavors_of, names_of, started
from cede.doctrines.parts.shortage import free_before, lacking, shortage
from cede.model.plan import REQUEUED, Decision, Victim, Warning
from cede.model.rules import Rule
from cede.state.columns import RESERVED, RUNNING
from cede.state.state import State


def broken_promises(cycle: Cycle, claim: Claim, settings: Settings, victims: list[int]) -> Iterator[Warning]:
    """A warning for each promise that taking these victims breaks."""
    state, work = cycle.state, cycle.state.work
    facts = facts_about(state, claim.row, settings)
    near, at_home = near_end(state, settings), standing_at_home(state, work.queue)
    types = vclusters_of(state).type

    def warning(rule: Rule, row: int) -> Warning:
        return Warning(rule.id, rule.because(**facts(row)))

    for row in victims:
        if near[row]:
            yield warning(rules.BREAKS_NEAR_END, row)
        if work.checkpoint[row] == NO_CHECKPOINT and work.priority[row] >= UNPROTECTED:
            yield warning(rules.BREAKS_NO_CHECKPOINT, row)
        if types[int(work.queue[row])] == SERVICE and at_home[row]:
            yield warning(rules.BREAKS_AT_HOME, row)
        if types[int(work.queue[row])] == SENSITIVE:
            yield warning(rules.BREAKS_SENSITIVE, row)
    cost = int(costs_of(state, np.array(victims, np.intp), settings.assumed).total.sum())
    value = value_of(state, claim.row)
    if settings.value_rule and cost >= value:
        yield Warning(rules.BREAKS_VALUE.id, rules.BREAKS_VALUE.because(cost=minutes(cost), value=minutes(value)))
    for row in _needless(cycle, claim, victims):
        yield warning(rules.NEEDLESS, row)


def _needless(cycle: Cycle, claim: Claim, victims: list[int]) -> list[int]:
    """Those whom the claimant does not need, the dearest first, one after another."""
    mark = cycle.trial.mark()
    spared: list[int] = []
    for row in reversed(victims):
        for other in victims:
            if other != row and other not in spared:
                cycle.trial.evict(other)
        if placed(cycle.state, claim) is not None:
            spared.append(row)
        cycle.trial.undo(mark)
    return spared


@dataclass(frozen=True, slots=True)
class CheapestVictims:
    """Victims in the order of their cost, and whether they free as many nodes as are wanted."""

    rows: list[int]
    costs: list[float]
    freed: int
    enough: bool


def decide(cycle: Cycle) -> Iterator[Decision]:
    """vCluster by vCluster, in the order of names; without words those alone who may act, up to who preempts."""
    turns: CoreTurns
    if cycle.words:
        turns = CoreAllTurns(cycle)
    else:
        lines = lines_of(cycle)
        if lines.idle:
            lines.take_fresh()
            return
        turns = CoreAwakeTurns(cycle, lines)
    yield from turns.refusals()
    for queue in turns.queues():
        for row in turns.within(queue):
            asked = cycle.only in (None, row)
            made = turns.at_once(row) or turns.answer(row)
            if made is None:
                made, sleeps = _decide_one(cycle if asked else cycle.quiet(), turns, row)
                turns.keep(row, made, sleeps)
            if asked and turns.tells(row, made):
                yield made
            if row == cycle.only or (made.victims and not cycle.words):
                return
    cycle.again = turns.contested()


def _decide_one(cycle: Cycle, turns: CoreTurns, row: int) -> tuple[Decision, Sleep]:
    """What becomes of one, and who needs not be looked at any more."""
    state, settings = cycle.state, turns.settings
    claim, limits = turns.claim(row), turns.limits(row)
    turned_away = turns.never(claim, limits) or without_quota(state, claim, limits)
    if turned_away is not None:
        return turned_away, Sleep.NOBODY
    limit = over_limit(limits)
    if limit is not None:
        return _tell(cycle, claim, settings, rules.QUEUE_LIMIT, **limit.facts(state)), Sleep.NOBODY
    if turns.blocked is not None:
        return _tell(cycle, claim, settings, rules.BEHIND, head=turns.blocked), Sleep.NOBODY
    nodes = placed(state, claim) if turns.fits(claim) else None
    if nodes is None:
        return _without_room(cycle, turns, spelled_out(state, claim))
    over = nodes_over(state, row, nodes)
    made = over_quota(state, claim, over) if over is not None else started(cycle, claim, nodes, rules.FITS)
    return made, Sleep.NOBODY


def _without_room(cycle: Cycle, turns: CoreTurns, claim: Claim) -> tuple[Decision, Sleep]:
    """It does not fit now: the cheapest, or why it takes nothing."""
    state, settings = cycle.state, turns.settings
    if not state.work.preempts[claim.row]:
        return _tell(cycle, claim, settings, rules.MAY_NOT), Sleep.FORM
    if turns.hopeless(claim):
        return _tell(cycle, claim, settings, rules.NO_ROOM), Sleep.KIND
    looked_at, ranked = _ranked(cycle, turns, claim)
    priced = partial(price, state)
    if not claim.allowed.any():
        return waiting(cycle, claim, settings, looked_at, rules.NO_NODES, price=priced), Sleep.FORM
    taken = take(claim, ranked, settings.max_victims)
    if taken.enough:
        return _preempting(cycle, claim, settings, looked_at, taken), Sleep.NOBODY
    everybody = take(claim, ranked, len(ranked.rows))
    if everybody.enough:  # which of them are the cheapest changes with time
        facts = {"needed": len(everybody.rows), "most": settings.max_victims}
        made = waiting(cycle, claim, settings, looked_at, rules.TOO_MANY, None, None, price=priced, **facts)
        return made, Sleep.NOBODY
    if cycle.words and one_kind(state, claim.row) and place(state, claim) is not None:
        asked, most = claim.members, largest_kind(state, claim)
        mixed = waiting(
            cycle, claim, settings, looked_at, rules.MIXED, None, None, price=priced, asked=asked, most=most
        )
        return mixed, Sleep.KIND
    return waiting(cycle, claim, settings, looked_at, rules.NO_ROOM, price=priced), Sleep.KIND


# -- who goes --------------------------------------------------------------------------------------------------------


def candidates(state: State, claim: Claim, before: Collection[str] = ()) -> Reachable:
    """CoreAllTurns who holds room in the partition; the library looks at class, state and sensitivity alone.

    `before` are those who were taken for the claimant and did not make it fit.
    """
    work, size = state.work, state.work.size
    looked = (work.state[:size] >= RESERVED) & (work.partition[:size] == work.partition[claim.row])
    candidates = Candidates(looked).protect(
        (rules.NOT_RUNNING, work.state[:size] != RUNNING),
        (rules.OPTED_OUT, ~work.preemptible[:size]),
        (rules.SENSITIVE, work.sensitive[:size] | (work.priority[:size] >= HIGHEST)),
        (rules.NOT_LOWER, work.priority[:size] >= work.priority[claim.row]),
    )
    if before:
        taken = np.zeros(size, np.bool_)
        taken[[state.work_index[name] for name in before if name in state.work_index]] = True
        candidates.protect((rules.FELL_SHORT, taken))
    return Reachable(candidates, np.zeros(size, np.bool_), False)


def take(claim: Claim, ranked: Ranked, most: int) -> CheapestVictims:
    """The cheapest until they free as many nodes as are wanted, or are as many as may go."""
    rows, freed = ranked.rows, ranked.freed
    enough = int(freed.searchsorted(claim.members)) + 1
    count = min(enough, len(rows), most)
    total = int(freed[count - 1]) if count else 0
    return CheapestVictims(
        rows[:count].tolist(), ranked.costs[:count].tolist(), total, count > 0 and total >= claim.members
    )


def _ranked(cycle: Cycle, turns: CoreTurns, claim: Claim) -> tuple[Reachable, Ranked]:
    """What may be taken for it, and that by its cost: the same for all of a class that took nothing in vain."""
    state, before = cycle.state, in_vain(cycle.memory, claim.name)
    if before:
        reachable = candidates(state, claim, before)
        return reachable, ranked_of(state, np.flatnonzero(reachable.all.open))
    alike = cycle.trial.mark(), int(state.work.priority[claim.row]), int(state.work.partition[claim.row])
    known = turns.ranked.get(alike)
    if known is None:
        reachable = candidates(state, claim)
        known = turns.ranked[alike] = reachable, ranked_of(state, np.flatnonzero(reachable.all.open))
    return known


def _preempting(
    cycle: Cycle, claim: Claim, settings: Settings, reachable: Reachable, taken: CheapestVictims
) -> Decision:
    state = cycle.state
    victims, costs = taken.rows, taken.costs
    warnings = list(broken_promises(cycle, claim, settings, victims)) if cycle.reasons else []
    shown = account = None
    if cycle.explain:
        facts = facts_about(state, claim.row, settings, partial(price, state))
        shown = reachable.all.explain(state, facts, dict.fromkeys(victims, rules.PRIORITY), rules.FREED)
        account = {"cost": in_minutes(sum(costs)), "nodes freed": taken.freed, "nodes wanted": claim.members}
    who = ", ".join(
        f"{state.work_names[row]} (class {state.work.priority[row]}, {in_minutes(cost)})"
        for row, cost in zip(victims, costs, strict=True)
    )
    before = free_before(state, victims)
    mark = cycle.trial.mark()
    for row in victims:
        cycle.trial.evict(row)
    nodes = placed(state, claim)
    over = None if nodes is None else nodes_over(state, claim.row, nodes)
    if over is not None:
        cycle.trial.undo(mark)
        return over_quota(state, claim, over)
    if nodes is None:
        warnings.append(Warning(rules.NO_GAIN.id, _no_gain(state, claim, taken) if cycle.reasons else ""))
        nodes = _nodes_for(state, claim, victims)
    short = lacking(state, claim, nodes, before)
    why = f"{short}; " if short else ""
    why += f"it has class {state.work.priority[claim.row]} and preempts {who}; "
    why += f"nodes freed {taken.freed}, wanted {claim.members}"
    cycle.trial.book(claim.row, nodes)
    return Decision(
        claim.name,
        "preempt",
        rules.PRIORITY.id,
        why,
        tuple(Victim(state.work_names[row], "priority", REQUEUED, rule=rules.PRIORITY.id) for row in victims),
        names_of(state, nodes),
        flavors_of(state, claim, nodes),
        warnings=tuple(warnings),
        candidates=shown,
        account=account,
    )


def _no_gain(state: State, claim: Claim, taken: CheapestVictims) -> str:
    return rules.NO_GAIN.because(freed=taken.freed, claimant=claim.name, short=shortage(state, claim))


def price(state: State, row: int) -> str:
    """What the library says that one costs."""
    return in_minutes(float(core_costs(state, np.array([row]))[0]))


def _nodes_for(state: State, claim: Claim, victims: list[int]) -> list[int]:
    """Nodes that it may use, by name, those first that the victims leave; there is no room for it on all of them."""
    freed = {int(node) for row in victims for node in state.residents.node[state.residents_of(row)]}
    nodes: list[int] = np.flatnonzero(claim.allowed).tolist()
    nodes.sort(key=lambda node: (node not in freed, state.node_names[node]))
    return [nodes[member % len(nodes)] for member in range(claim.members)]


def _tell(cycle: Cycle, claim: Claim, settings: Settings, rule: Rule, **facts: object) -> Decision:
    """It waits by a rule that lets nothing be preempted."""
    reachable = candidates(cycle.state, claim, in_vain(cycle.memory, claim.name)) if cycle.told else None
    return waiting(cycle, claim, settings, reachable, rule, rule, None, price=partial(price, cycle.state), **facts)
