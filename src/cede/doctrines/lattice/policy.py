"""Whom a cycle of the policy looks at, in order, what it knows of them, and who waits first for natural ends."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cede.doctrines.lattice import incremental, rules
from cede.doctrines.lattice.admission import over_limit, over_quota, without_quota
from cede.doctrines.lattice.candidates import Reachable, candidates
from cede.doctrines.lattice.cycle_order import AllTurns, AwakeTurns, CycleOrder, LineScores, Sleep, Turn
from cede.doctrines.lattice.kinds import Kind
from cede.doctrines.lattice.lending import claim_within, claims_nodes
from cede.doctrines.lattice.memory import homes_of, remember
from cede.doctrines.lattice.reservation import AHEAD, Head, head_of, reservation_of
from cede.doctrines.lattice.score import Scores, asked_nodes, gpus_per_node, waiting_rows
from cede.doctrines.lattice.settings import SENSITIVE, Settings, vclusters_of
from cede.doctrines.lattice.victim_choice import Chosen, Effort, Hindrance, choose, effort_of, hindrance, of_pool
from cede.doctrines.lattice.victim_costs import claimant_value
from cede.doctrines.lattice.victim_pool import Pool
from cede.doctrines.lattice.waiting_line import Lines, lines_of
from cede.doctrines.lattice.wording import ClaimantValue, minutes, placed, preempting, waiting
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
from cede.state.columns import NEVER, NONE, Bools, Int64s
from cede.state.state import State


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of one. `claim`, if it waits for room that a natural end may make."""

    made: Decision
    claim: Claim | None = None
    sleeps: Sleep = Sleep.NOBODY
    held_back: bool = False
    """Whether the head has to do with it."""


class PolicyTurns(CycleOrder, Protocol):
    asking: Effort
    """What may be spent on telling why somebody waits."""

    def __iter__(self) -> Iterator[int]: ...
    def head_before(self, row: int) -> Head | None:
        """Whom this one, which fits, must not delay."""
        ...

    def pool(self, claim: Claim) -> Pool | None:
        """Who may go for this one, where that is kept."""
        ...

    def keep(self, row: int, answer: Answer) -> None:
        """Take in what was decided about one."""
        ...


class PolicyAllTurns(AllTurns):
    """All who wait, by score."""

    def __init__(self, cycle: Cycle) -> None:
        super().__init__(cycle)
        self.asking = effort_of(cycle)
        self.head: Head | None = None
        self._rows = waiting_rows(cycle.state)

    def __iter__(self) -> Iterator[int]:
        yield from Scores(self.cycle.state, self.settings, policy=True).ordered(self._rows).tolist()

    def claim(self, row: int) -> Claim:
        return claim_within(self.cycle.state, row)

    def head_before(self, _row: int) -> Head | None:
        return self.head

    def pool(self, _claim: Claim) -> Pool | None:
        return None  # who was looked at is told, too

    def answer(self, row: int) -> Decision | None:
        like = self._like(row)
        return self._answers.answer(row, (like, None if self.head is None else self.head.name), (like, None))

    def keep(self, row: int, answer: Answer) -> None:
        cycle, made, claim = self.cycle, answer.made, answer.claim
        head = self.head.name if self.head is not None and answer.held_back else None
        self._answers.keep((self._like(row), head), made)
        if self._count(row, made):
            remember(cycle.memory, cycle.state, made)
        if made.victims and self.head is not None:
            self.head.follow(cycle.state, made)
        if self.head is None and made.action == "wait" and claim is not None and row != cycle.only:
            self.head = head_of(cycle.state, claim)

    def _like(self, row: int) -> Hashable:
        return super()._like(row), homes_of(self.cycle.memory, self.cycle.state.work_names[row])


class PolicyAwakeTurns(AwakeTurns):
    """Those who may act, by score."""

    def __init__(self, cycle: Cycle, lines: Lines) -> None:
        super().__init__(cycle, lines)
        self.asking = effort_of(cycle)
        self.head: Head | None = None
        self._woken: set[Kind] | None = None
        """Who was awake when the cycle began, until the others were asked for."""
        self._waiters: list[tuple[Turn, int]] = []
        """Who waits for room, by turn, as far as none of them was found to be the head."""
        self._ends = self.lines.running.timed > 0

    def __iter__(self) -> Iterator[int]:
        """Who had room when the cycle began, or victims, may have neither when its turn comes: it sleeps again at the
        cost of a look at what was counted. So would it if it were decided about: there is no idle room for all its
        members, and none if all that may be taken left, or it takes nothing. Nobody asks for the score of who has
        no way when the cycle begins."""
        lines = self.lines
        if not lines.awake:
            return
        for kind in list(lines.awake):
            if not self._has_way(kind):
                self._rest_without_way(kind)
        self._woken = set(lines.awake)
        if not lines.awake:
            return
        self._awake.begin(lines.awake, LineScores(lines))
        for row in self._awake:
            kind = lines.kind_of(row)
            if self._has_way(kind):
                yield row
                continue
            heapq.heappush(self._waiters, (self._awake.turn, row))
            self._rest_without_way(kind)

    def _has_way(self, kind: Kind) -> bool:
        form, lines = kind.form, self.lines
        if not form.steady or form.idle_room.enough(form.members):
            return True
        return form.freeable_room.enough(form.members) and lines.affords(kind)

    def _rest_without_way(self, kind: Kind) -> None:
        form = kind.form
        if form.freeable_room.enough(form.members):
            self.lines.put_to_sleep(kind)
        else:
            self.lines.shut(form)

    def at_once(self, row: int) -> Decision | None:
        """Where a natural end is known, who fits may have to mind a head: that is not told here."""
        lines = self.lines
        kind = lines.kind_of(row)
        form, made = kind.form, None
        if incremental.reads(form):
            fits = lines.fits(form)
            if fits and not self._ends:
                made = self._start_at_once(row, kind)
                if made is not None:
                    self._ends = kind.walltime != NEVER
                    return made
            if not fits and form.preempts and form.claim.single and not form.claims:
                made = incremental.preempt_one(lines, row, kind)
                if made is not None:
                    lines.again.add(row)
                    remember(self.cycle.memory, self.cycle.state, made)
                    return made
        self._book()
        return None

    def pool(self, claim: Claim) -> Pool | None:
        return self.lines.running.pool(claim, self.lines.kind_of(claim.row))

    def hopeless(self, claim: Claim) -> bool:
        form = self.lines.kind_of(claim.row).form
        return form.steady and not form.freeable_room.enough(form.members)

    def head_before(self, _row: int) -> Head | None:
        """Looked for only now that somebody fits. Of a kind that waits only the first is tried: if all natural ends do
        not make room for that, they do not for the next one either, whatever was booked in between."""
        turn, lines = self._awake.turn, self.lines
        if self.head is not None or not self._ends:
            return self.head
        if self._woken is not None:
            self._waiters += [self._first(kind) for kind in lines.waiting() if kind not in self._woken]
            self._woken = None
            heapq.heapify(self._waiters)
        while self.head is None and self._waiters and self._waiters[0][0] < turn:
            self.head = head_of(self.cycle.state, lines.claim(heapq.heappop(self._waiters)[1]))
        return self.head

    def _first(self, kind: Kind) -> tuple[Turn, int]:
        turn = min(self._awake.turn_of(line, line.entries[0]) for line in kind.lines.values() if line.entries)
        return turn, turn[1][3]

    def answer(self, row: int) -> Decision | None:
        return self._answer(row, None if self.head is None else self.head.name)

    def keep(self, row: int, answer: Answer) -> None:
        made, lines = answer.made, self.lines
        kind = lines.kind_of(row)
        if made.action == "start":
            self._ends |= kind.walltime != NEVER
            self._wake_at_home(self._start(kind, made))
        elif made.victims:
            remember(self.cycle.memory, self.cycle.state, made)
            lines.again.add(row)
        elif made.action == "wait":
            self._waited.add(kind)
            if answer.claim is not None:
                heapq.heappush(self._waiters, (self._awake.turn, row))
        self._rest(row, answer.sleeps, self.head.name if self.head is not None and answer.held_back else None, made)

    def _wake_at_home(self, nodes: set[int]) -> None:
        """Who starts on a node of another's home may be in the way of that one's work, which may then take more than it
        could before."""
        lines = self.lines
        if lines.homes is None:
            return
        for node in nodes:
            for form in lines.at_home(node) if lines.homes[node] != NONE else ():
                lines.wake(form)
                for other in form.kinds:
                    self._awake.push(other)


def decide(cycle: Cycle) -> Iterator[Decision]:
    """PolicyAllTurns who waits, by score; without words those alone who may act, up to the first who preempts."""
    turns: PolicyTurns
    if cycle.words:
        turns = PolicyAllTurns(cycle)
    else:
        lines = lines_of(cycle)
        if lines.idle:
            lines.take_fresh()
            return
        turns = PolicyAwakeTurns(cycle, lines)
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
        reachable = candidates(state, claim, settings, homes_of(cycle.memory, claim.name))
        pool, worth = pool_for(state, claim, settings, reachable)
    else:
        reachable, worth = None, ClaimantValue(pool.value or 0, settings.value_rule)
    solves = effort.solves
    chosen = _chosen(cycle, settings, pool, effort)
    if chosen.rows is not None:
        over = _over_its_nodes(cycle, claim, reachable, chosen.rows)
        if over is not None:
            return Answer(over_quota(state, claim, over))
        return Answer(preempting(cycle, claim, settings, reachable, chosen.rows, worth, exact=chosen.exact))
    sleeps = Sleep.KIND if chosen.exact and effort.solves == solves else Sleep.NOBODY
    why_not = hindrance(pool, turns.asking) if cycle.words else Hindrance()
    rule = rules.NO_ROOM
    facts: dict[str, object] = {}
    if why_not.many:
        rule, facts = rules.TOO_MANY, {"needed": why_not.many, "most": settings.max_victims}
    elif why_not.cheapest is not None:
        rule, facts = rules.TOO_DEAR, {"cost": minutes(why_not.cheapest), "value": minutes(worth.value)}
    return Answer(waiting(cycle, claim, settings, reachable, rule, None, why_not, None, **facts), claim, sleeps)


def _chosen(cycle: Cycle, settings: Settings, pool: Pool, effort: Effort) -> Chosen:
    """The set that the policy prefers; of a pool too large for that a good one, or if asked for the proven best."""
    own = choose(pool, effort)
    if own.exact or own.rows is None or not cycle.optimal:
        return own

    def again(only: Bools) -> Chosen | None:
        cheaper = choose(pool.only(only[pool.rows]))
        return None if cheaper.rows is None else cheaper

    def weigh(state: State, rows: Rows) -> Int64s:
        return total_costs(state, rows, settings.assumed)

    return best_of(cycle, own, lambda one: one.rows or [], lambda: of_pool(pool), again, weigh)


def pool_for(state: State, claim: Claim, settings: Settings, reachable: Reachable) -> tuple[Pool, ClaimantValue]:
    """Those who may go, with what that costs, and what the claimant is worth."""
    rows = np.flatnonzero(reachable.all.open)
    cost = total_costs(state, rows, settings.assumed)
    worth = ClaimantValue(value_of(state, claim.row), settings.value_rule)
    counted = reachable.counted(rows)
    return Pool(state, claim, rows, cost, counted, settings.max_victims, worth.value if worth.binds else None), worth


def value_of(state: State, row: int) -> int:
    """What a claimant is worth, in millionths of a minute: class/10 x nodes x GPUs per node x walltime."""
    rows = np.array([row])
    size = float(asked_nodes(state, rows)[0]) * float(gpus_per_node(state, rows)[0])
    return claimant_value(int(state.work.priority[row]), size, int(state.work.walltime[row]))


def _over_its_nodes(cycle: Cycle, claim: Claim, reachable: Reachable | None, victims: list[int]) -> Limit | None:
    """The limit that the claimant breaks, placed where the victims left: more nodes than its tenant may hold."""
    state = cycle.state
    if not state.static.tenants or nodes_over(state, claim.row, list(range(claim.members))) is None:
        return None  # a node of its own for every member would not be too many
    mark = cycle.trial.mark()
    for victim in victims:
        cycle.trial.evict(victim)
    back = reachable is not None and any(reachable.rule_of(row) is rules.RECLAIM for row in victims)
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
    """It waits by a rule that lets nothing be preempted."""
    homes = homes_of(cycle.memory, claim.name)
    reachable = candidates(cycle.state, claim, settings, homes) if cycle.told else None
    return waiting(cycle, claim, settings, reachable, rule, rule, None, None, **facts)
