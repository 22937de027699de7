"""Edition `policy`: by score; who does not fit may preempt a lower class, take lent nodes back, or claim its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cede.doctrines.lattice import rules
from cede.doctrines.lattice.admission import over_limit, over_quota, refused
from cede.doctrines.lattice.alike import Alike
from cede.doctrines.lattice.answers import Worth, placed, preempting, waiting
from cede.doctrines.lattice.asking import of_pool
from cede.doctrines.lattice.candidates import Found, candidates
from cede.doctrines.lattice.choosing import Chosen, Effort, choose, effort_of, hindrance
from cede.doctrines.lattice.facts import minutes
from cede.doctrines.lattice.lending import borrowed_by, claim_within, claims_nodes
from cede.doctrines.lattice.memory import homes_of, remember
from cede.doctrines.lattice.pool import Pool
from cede.doctrines.lattice.reserving import AHEAD, reservation_of
from cede.doctrines.lattice.score import Scores, asked_nodes, gpus_per_node
from cede.doctrines.lattice.settings import SENSITIVE, Settings, settings_of, vclusters_of
from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.cost import MINUTE, PARTS, total_costs
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.limits import Limit, limits_of, nodes_over
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.outcomes import started
from cede.doctrines.parts.reservation import Reservation
from cede.doctrines.parts.selection import best_of
from cede.model.plan import Decision
from cede.model.rules import Rule
from cede.model.times import show_duration
from cede.state.columns import NEVER, SUSPENDED, Bools, Int64s
from cede.state.state import State


@dataclass(slots=True)
class Head:
    """The first that waits for natural ends, whom nobody delays who starts in idle room."""

    claim: Claim
    reservation: Reservation

    @property
    def name(self) -> str:
        return self.claim.name

    def beside(self, state: State, claim: Claim, nodes: list[int], walltime: int) -> list[int] | None:
        """Where this one starts without delaying the head: there, or elsewhere; none if it cannot."""
        if self.reservation.allows(claim, nodes, state.now, walltime):
            return nodes
        borrowed = borrowed_by(state, int(state.work.queue[claim.row]))
        found = self.reservation.passes(state, claim, walltime, borrowed)
        if found is not None:
            return found
        if self._moves(state, claim, nodes):
            return nodes
        late = self.claim.allowed.astype(np.int64) + (0 if borrowed is None else 2 * borrowed)
        other = place(state, claim, last=late)
        return other if other is not None and other != nodes and self._moves(state, claim, other) else None

    def _moves(self, state: State, claim: Claim, nodes: list[int]) -> bool:
        """Whether the head finds its room elsewhere while this one is on these nodes; if so, that is where it is."""
        moved = self.reservation.beside(state, self.claim, claim, nodes)
        if moved is not None:
            self.reservation = moved
        return moved is not None

    def follow(self, state: State, made: Decision) -> None:
        """Somebody preempted: what it takes, and what its victims would still have held, changes what is left."""
        at, left = self.reservation.at, self.reservation.left
        for victim in made.victims:
            row = state.work_index[victim.workload]
            ends = int(state.work.started[row]), int(state.work.walltime[row])
            if NEVER not in ends and state.now < sum(ends) <= at:
                continue
            for resident in state.residents_of(row):
                left[:, state.residents.node[resident]] += state.residents.amount[:, resident]
        claimant = state.work_index[made.workload or ""]
        nodes = [state.node_index[name] for name in made.nodes]
        self.reservation.take(claim_of(state, claimant), nodes, state.now, int(state.work.walltime[claimant]))


def decide(cycle: Cycle) -> Iterator[Decision]:
    """Everybody who waits, by score. Where one is asked for, those ahead of it are decided too."""
    state, settings = cycle.state, settings_of(cycle.state)
    queue = waiting_rows(state)
    head: Head | None = None
    alike, effort = Alike(cycle, queue), effort_of(cycle)
    for row in Scores(state, settings, policy=True).ordered(queue).tolist():
        asked = cycle.only in (None, row)
        beside = (asked, None if head is None else head.name, homes_of(cycle.memory, state.work_names[row]))
        known = alike.answer(row, beside)
        if known is not None:
            if asked:
                yield known
            if row == cycle.only:
                break
            continue
        made, claim = _decide_one(cycle if asked else cycle.quiet(), settings, row, head, effort)
        alike.keep(row, beside, made)
        if made.victims:
            remember(cycle.memory, state, made)
            if head is not None:
                head.follow(state, made)
        if head is None and made.action == "wait" and claim is not None and row != cycle.only:
            found = reservation_of(state, claim)
            head = None if found is None else Head(claim, found)
        if asked:
            yield made
        if row == cycle.only:
            break


def waiting_rows(state: State) -> Rows:
    """Work that waits and is not decided yet."""
    rows: Rows = np.fromiter(state.pending, np.intp, len(state.pending))
    waiting: Rows = rows[state.work.state[rows] <= SUSPENDED]
    return waiting


def _decide_one(
    cycle: Cycle, settings: Settings, row: int, head: Head | None, effort: Effort
) -> tuple[Decision, Claim | None]:
    """What becomes of one; with its claim, if it waits for room that a natural end may make."""
    state = cycle.state
    claim = claim_within(state, row)
    limits = limits_of(state, row)
    turned_away = refused(state, claim, limits)
    if turned_away is not None:
        return turned_away, None
    limit = over_limit(limits)
    if limit is not None:
        return _tell(cycle, claim, settings, rules.QUEUE_LIMIT, **limit.facts(state)), None
    nodes = placed(state, claim)
    if nodes is not None:
        over = nodes_over(state, row, nodes)
        if over is not None:
            return over_quota(state, claim, over), None
        walltime = int(state.work.walltime[row])
        if head is not None and not claims_nodes(state, row):
            beside = head.beside(state, claim, nodes, walltime)
            if beside is None:
                at = show_duration(head.reservation.at - state.now)
                return _tell(cycle, claim, settings, rules.RESERVED, head=head.name, at=at), None
            over = nodes_over(state, row, beside)
            if over is not None:
                return over_quota(state, claim, over), None
            nodes = beside
        if head is not None:
            head.reservation.take(claim, nodes, state.now, walltime)
        return started(cycle, claim, nodes, rules.FITS), None
    return _without_room(cycle, settings, claim, effort)


def _without_room(cycle: Cycle, settings: Settings, claim: Claim, effort: Effort) -> tuple[Decision, Claim | None]:
    """It does not fit now: victims, or why there are none."""
    state = cycle.state
    if not claim.allowed.any():
        return _no_node(cycle, settings, claim), claim
    if not state.work.preempts[claim.row]:
        return _tell(cycle, claim, settings, rules.MAY_NOT), claim
    claims = claims_nodes(state, claim.row)
    if settings.patience and not claims:
        soon = reservation_of(state, claim, min(settings.patience, AHEAD))
        if soon is not None:
            cycle.wake(soon.at)
            at = show_duration(soon.at - state.now)
            return _tell(cycle, claim, settings, rules.PATIENCE, at=at), claim
    found = candidates(state, claim, settings, homes_of(cycle.memory, claim.name))
    pool, worth = pool_for(state, claim, settings, found)
    chosen = _chosen(cycle, settings, pool, effort)
    if chosen.rows is not None:
        over = _over_its_nodes(cycle, claim, found, chosen.rows)
        if over is not None:
            return over_quota(state, claim, over), None
        return preempting(cycle, claim, settings, found, chosen.rows, worth, exact=chosen.exact), None
    why_not = hindrance(pool, effort)
    rule = rules.NO_ROOM
    facts: dict[str, object] = {}
    if why_not.many:
        rule, facts = rules.TOO_MANY, {"needed": why_not.many, "most": settings.max_victims}
    elif why_not.cheapest is not None:
        rule, facts = rules.TOO_DEAR, {"cost": minutes(why_not.cheapest), "value": minutes(worth.value)}
    return waiting(cycle, claim, settings, found, rule, None, why_not, None, **facts), claim


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
    walltime = int(state.work.walltime[row])
    lasts = AHEAD if walltime == NEVER else walltime
    size = float(asked_nodes(state, rows)[0]) * float(gpus_per_node(state, rows)[0])
    return round(int(state.work.priority[row]) / 10 * size * (lasts / MINUTE) * PARTS)


def _over_its_nodes(cycle: Cycle, claim: Claim, found: Found, victims: list[int]) -> Limit | None:
    """The limit that the claimant breaks, placed where the victims left: more nodes than its tenant may hold."""
    state = cycle.state
    if not state.static.tenants or nodes_over(state, claim.row, list(range(claim.members))) is None:
        return None  # a node of its own for every member would not be too many
    mark = cycle.trial.mark()
    for victim in victims:
        cycle.trial.evict(victim)
    back = any(found.rule_of(row) is rules.RECLAIM for row in victims)
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
