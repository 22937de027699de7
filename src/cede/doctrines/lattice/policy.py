"""Edition `policy`: by score; who does not fit may preempt a lower class, take lent nodes back, or claim its nodes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cede.doctrines.lattice import rules
from cede.doctrines.lattice.admission import over_limit, over_quota, without_quota
from cede.doctrines.lattice.affording import worth
from cede.doctrines.lattice.answers import Worth, placed, preempting, waiting
from cede.doctrines.lattice.asking import of_pool
from cede.doctrines.lattice.candidates import Found, candidates
from cede.doctrines.lattice.choosing import Chosen, Effort, Hindrance, choose, effort_of, hindrance
from cede.doctrines.lattice.facts import minutes
from cede.doctrines.lattice.lending import claims_nodes
from cede.doctrines.lattice.lines import lines_of
from cede.doctrines.lattice.memory import homes_of
from cede.doctrines.lattice.policy_turns import Acting, Answer, Everybody, PolicyTurns
from cede.doctrines.lattice.pool import Pool
from cede.doctrines.lattice.reserving import AHEAD, reservation_of
from cede.doctrines.lattice.score import asked_nodes, gpus_per_node
from cede.doctrines.lattice.settings import SENSITIVE, Settings, vclusters_of
from cede.doctrines.lattice.turns import Sleep
from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.cost import total_costs
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.limits import Limit, nodes_over
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.outcomes import started
from cede.doctrines.parts.selection import best_of
from cede.model.plan import Decision
from cede.model.rules import Rule
from cede.model.times import show_duration
from cede.state.columns import Bools, Int64s
from cede.state.state import State


def decide(cycle: Cycle) -> Iterator[Decision]:
    """Everybody who waits, by score; without words those alone who may act, up to the first who preempts."""
    turns: PolicyTurns
    if cycle.words:
        turns = Everybody(cycle)
    else:
        lines = lines_of(cycle)
        if lines.idle:
            lines.take_fresh()
            return
        turns = Acting(cycle, lines)
    effort = effort_of(cycle)
    yield from turns.refusals()
    for row in turns:
        asked = cycle.only in (None, row)
        made = turns.at_once(row) or turns.answer(row)
        if made is None:
            answer = _decide_one(cycle if asked else cycle.quiet(), turns, row, effort)
            made = answer.made
            turns.keep(row, answer)
        if asked and turns.tells(row, made):
            yield made
        if row == cycle.only or (made.victims and not cycle.words):
            break
    cycle.again = turns.contested()


def _decide_one(cycle: Cycle, turns: PolicyTurns, row: int, effort: Effort) -> Answer:
    state = cycle.state
    claim, limits = turns.claim(row), turns.limits(row)
    turned_away = turns.never(claim, limits) or without_quota(state, claim, limits)
    if turned_away is not None:
        return Answer(turned_away)
    limit = over_limit(limits)
    if limit is not None:
        return Answer(_tell(cycle, claim, turns.settings, rules.QUEUE_LIMIT, **limit.facts(state)))
    nodes = placed(state, claim) if turns.fits(claim) else None
    if nodes is None:
        return _without_room(cycle, turns, claim, effort)
    over = nodes_over(state, row, nodes)
    if over is not None:
        return Answer(over_quota(state, claim, over))
    walltime, head = int(state.work.walltime[row]), turns.head_before(row)
    if head is not None and not claims_nodes(state, row):
        beside = head.beside(state, claim, nodes, walltime)
        if beside is None:
            at = show_duration(head.reservation.at - state.now)
            told = _tell(cycle, claim, turns.settings, rules.RESERVED, head=head.name, at=at)
            return Answer(told, held_back=True)
        over = nodes_over(state, row, beside)
        if over is not None:
            return Answer(over_quota(state, claim, over), held_back=True)
        nodes = beside
    if head is not None:
        head.reservation.take(claim, nodes, state.now, walltime)
    return Answer(started(cycle, claim, nodes, rules.FITS))


def _without_room(cycle: Cycle, turns: PolicyTurns, claim: Claim, effort: Effort) -> Answer:
    """It does not fit now: victims, or why there are none."""
    state, settings = cycle.state, turns.settings
    if not claim.allowed.any():
        return Answer(_no_node(cycle, settings, claim), claim, Sleep.FORM)
    if not state.work.preempts[claim.row]:
        return Answer(_tell(cycle, claim, settings, rules.MAY_NOT), claim, Sleep.FORM)
    claims = claims_nodes(state, claim.row)
    if settings.patience and not claims:
        soon = reservation_of(state, claim, min(settings.patience, AHEAD))
        if soon is not None:
            cycle.wake(soon.at)
            at = show_duration(soon.at - state.now)
            return Answer(_tell(cycle, claim, settings, rules.PATIENCE, at=at), claim)
    if turns.hopeless(claim):
        return Answer(_tell(cycle, claim, settings, rules.NO_ROOM), claim, Sleep.FORM)
    pool = turns.pool(claim)
    if pool is None:
        found = candidates(state, claim, settings, homes_of(cycle.memory, claim.name))
        pool, worth = pool_for(state, claim, settings, found)
    else:
        found, worth = None, Worth(pool.value or 0, settings.value_rule)
    solves = effort.solves
    chosen = _chosen(cycle, settings, pool, effort)
    if chosen.rows is not None:
        over = _over_its_nodes(cycle, claim, found, chosen.rows)
        if over is not None:
            return Answer(over_quota(state, claim, over))
        return Answer(preempting(cycle, claim, settings, found, chosen.rows, worth, exact=chosen.exact))
    sleeps = Sleep.KIND if chosen.exact and effort.solves == solves else Sleep.NOBODY
    why_not = hindrance(pool, turns.asking) if cycle.words else Hindrance()
    rule = rules.NO_ROOM
    facts: dict[str, object] = {}
    if why_not.many:
        rule, facts = rules.TOO_MANY, {"needed": why_not.many, "most": settings.max_victims}
    elif why_not.cheapest is not None:
        rule, facts = rules.TOO_DEAR, {"cost": minutes(why_not.cheapest), "value": minutes(worth.value)}
    return Answer(waiting(cycle, claim, settings, found, rule, None, why_not, None, **facts), claim, sleeps)


def _chosen(cycle: Cycle, settings: Settings, pool: Pool, effort: Effort) -> Chosen:
    """The set that the policy prefers; of a pool too large for that a good one, or if asked for the proven best."""
    own = choose(pool, effort)
    if own.exact or own.rows is None or not cycle.optimal:
        return own

    def again(only: Bools) -> Chosen | None:
        found = choose(pool.only(only[pool.rows]))
        return None if found.rows is None else found

    def weigh(state: State, rows: Rows) -> Int64s:
        return total_costs(state, rows, settings.assumed)

    return best_of(cycle, own, lambda one: one.rows or [], lambda: of_pool(pool), again, weigh)


def pool_for(state: State, claim: Claim, settings: Settings, found: Found) -> tuple[Pool, Worth]:
    """Those who may go, with what that costs, and what the claimant is worth."""
    rows = np.flatnonzero(found.all.open)
    cost = total_costs(state, rows, settings.assumed)
    worth = Worth(value_of(state, claim.row), settings.value_rule)
    counted = found.counted(rows)
    return Pool(state, claim, rows, cost, counted, settings.max_victims, worth.value if worth.binds else None), worth


def value_of(state: State, row: int) -> int:
    """What a claimant is worth, in millionths of a minute: class/10 x nodes x GPUs per node x walltime."""
    rows = np.array([row])
    size = float(asked_nodes(state, rows)[0]) * float(gpus_per_node(state, rows)[0])
    return worth(int(state.work.priority[row]), size, int(state.work.walltime[row]))


def _over_its_nodes(cycle: Cycle, claim: Claim, found: Found | None, victims: list[int]) -> Limit | None:
    """The limit that the claimant breaks, placed where the victims left: more nodes than its tenant may hold."""
    state = cycle.state
    if not state.static.tenants or nodes_over(state, claim.row, list(range(claim.members))) is None:
        return None  # a node of its own for every member would not be too many
    mark = cycle.trial.mark()
    for victim in victims:
        cycle.trial.evict(victim)
    back = found is not None and any(found.rule_of(row) is rules.RECLAIM for row in victims)
    over = nodes_over(state, claim.row, placed(state, claim, home_first=back) or [])
    cycle.trial.undo(mark)
    return over


def _no_node(cycle: Cycle, settings: Settings, claim: Claim) -> Decision:
    """No node that it may use is there: not ready, kept for others, or not lent to it."""
    state = cycle.state
    bare = claim_of(state, claim.row)
    if not bare.allowed.any():
        return _tell(cycle, claim, settings, rules.NO_NODES)
    vclusters, queue = vclusters_of(state), int(state.work.queue[claim.row])
    borrows = vclusters.borrows[queue] and vclusters.type[queue] != SENSITIVE
    why = "they are not lent to it" if borrows else "its vCluster does not borrow"
    return _tell(cycle, claim, settings, rules.NOT_LENT, why=why)


def _tell(cycle: Cycle, claim: Claim, settings: Settings, rule: Rule, **facts: object) -> Decision:
    """It waits by a rule that lets nobody be preempted."""
    homes = homes_of(cycle.memory, claim.name)
    found = candidates(cycle.state, claim, settings, homes) if cycle.told else None
    return waiting(cycle, claim, settings, found, rule, rule, None, None, **facts)
