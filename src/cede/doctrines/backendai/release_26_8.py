"""Release 26.8: a scheduling pass over each resource group, which agents are cleared for a session, and warnings where
that breaks what BEP-1014 and BEP-1055 promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from cede.doctrines.backendai import rules
from cede.doctrines.backendai.kinds import Kind, Kinds
from cede.doctrines.backendai.session_order import sequence
from cede.doctrines.backendai.settings import SHIPPED, Settings, settings_of
from cede.doctrines.backendai.strategies import ROUNDROBIN, likings, one_key, pick
from cede.doctrines.backendai.victims import cheapest_agents, collect, weigher_of
from cede.doctrines.backendai.waiting_line import LINES, Lines
from cede.doctrines.backendai.wording import (
    facts_about,
    groups_with_work,
    highest_waiting,
    preempting,
    scope_column,
    waiting,
)
from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.parts.claim import Claim, residents_of_all, standing_on
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.equivalence import Answers, about
from cede.doctrines.parts.fit import feasible, fits, group_room
from cede.doctrines.parts.limits import broken, nodes_over
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.outcomes import started
from cede.doctrines.parts.selection import best_of, cover_of
from cede.model.plan import Decision, Warning
from cede.model.quantities import show_quantity
from cede.model.rules import Rule
from cede.state.columns import CHECKPOINTING, NEVER, READY, RESERVED, RUNNING, SPREAD, SYSTEM, TIGHT, Bools, Int64s
from cede.state.state import State
from cede.state.units import WHOLE


def broken_promises(state: State, claim: Claim, settings: Settings, victims: list[int]) -> tuple[Warning, ...]:
    """BEP-1014 and BEP-1055 against these victims, before any of them left."""
    facts = facts_about(state, claim.row, settings)
    work = state.work
    broken: list[Warning] = []

    def warn(rule: Rule, row: int) -> None:
        broken.append(Warning(rule.id, rule.because(**facts(row))))

    for row in victims:
        if work.priority[row] >= work.priority[claim.row]:
            warn(rules.BREAKS_LOWER, row)
        if settings.threshold_given and work.priority[row] > settings.threshold:
            warn(rules.BREAKS_BAR, row)
        if work.started[row] == NEVER:
            warn(rules.BREAKS_RUNNING, row)
    if claim.members > 1:
        warn(rules.BREAKS_SINGLE, claim.row)
    for row in needless(state, claim, victims):
        warn(rules.NEEDLESS, row)
    return tuple(broken)


def needless(state: State, claim: Claim, victims: list[int]) -> list[int]:
    """Victims without whom the claimant would fit, each looked at alone, the others gone."""
    if len(victims) < 2:
        return []
    free = state.nodes.free[:, : state.nodes.size].copy()
    residents = state.residents
    amounts = {
        row: [(int(residents.node[r]), residents.amount[:, r]) for r in state.residents_of(row)] for row in victims
    }
    for moves in amounts.values():
        for node, amount in moves:
            free[:, node] += amount
    if claim.single:
        touched = np.zeros(state.nodes.size, np.bool_)
        touched[[node for moves in amounts.values() for node, _ in moves]] = True
        return [row for row, moves in amounts.items() if _one_fits(claim, free, touched, dict(moves))]
    spare = []
    for row, moves in amounts.items():
        without = free.copy()
        for node, amount in moves:
            np.subtract(without[:, node], amount, out=without[:, node])
        if fits(state, claim, without):
            spare.append(row)
    return spare


def _one_fits(claim: Claim, free: Int64s, touched: Bools, stays: dict[int, Int64s]) -> bool:
    """Whether one member fits a node that some victim left, if this victim stays."""
    need = claim.vectors[0]
    for node in np.flatnonzero(touched & claim.allowed).tolist():
        room = free[:, node] - stays[node] if node in stays else free[:, node]
        if (room >= need)[claim.columns].all():
            return True
    return False


@dataclass(frozen=True, slots=True)
class RefusedBooking:
    """Where the reservations of a pass are too many, in words."""

    node: str
    what: str
    capacity: str
    reserved: str
    asked: str
    unstarted: str


Places = Mapping[int, list[int]]
"""By session, the agents of its members."""


def refused_booking(state: State, reservations: Places, starts: Places) -> RefusedBooking | None:
    """The first agent and slot by name on which these reservations exceed the capacity with what is reserved there.

    The pass has booked its `starts` by then, and they have not begun.
    """
    asked = _asked(state, reservations)
    if not asked:
        return None
    unstarted = _unstarted(state)
    reserved = state.nodes.held[:, : state.nodes.size] + amounts_by_node(state, unstarted)
    for node, amount in _asked(state, starts).items():
        reserved[:, node] += amount
    for node in sorted(asked, key=state.node_names.__getitem__):
        over = (reserved[:, node] + asked[node] > state.nodes.capacity[:, node]) & (asked[node] > 0)
        if over.any():
            column = min(np.flatnonzero(over).tolist(), key=state.units.names.__getitem__)
            there = unstarted[state.residents.node[unstarted] == node]
            return RefusedBooking(
                node=state.node_names[node],
                what=state.units.names[column] or "whole node",
                capacity=_shown(state, column, state.nodes.capacity[column, node]),
                reserved=_shown(state, column, reserved[column, node]),
                asked=_shown(state, column, asked[node][column]),
                unstarted=", ".join(sorted({state.work_names[row] for row in state.residents.work[there].tolist()})),
            )
    return None


def _asked(state: State, places: Places) -> dict[int, Int64s]:
    """What these sessions ask for, by agent."""
    asked: dict[int, Int64s] = {}
    for row, nodes in places.items():
        for node, need in zip(nodes, state.members_of(row), strict=False):
            asked[node] = asked[node] + need if node in asked else need.copy()
    return asked


def rolled_back(made: Decision, refused: RefusedBooking, count: int) -> Decision:
    """It was to preempt, and waits: with the booking of one reservation that of all of the pass failed."""
    facts = {
        "victims": ", ".join(victim.workload for victim in made.victims),
        "nodes": ", ".join(dict.fromkeys(made.nodes)),
        "count": count,
        **{name: getattr(refused, name) for name in RefusedBooking.__slots__},
    }
    why = rules.ROLLED_BACK.because(**facts)
    shown = made.candidates and tuple(
        replace(one, verdict="protected", rule=rules.ROLLED_BACK.id, why=why) if one.verdict == "victim" else one
        for one in made.candidates
    )
    undone = Warning(rules.BREAKS_RESERVATION.id, rules.BREAKS_RESERVATION.because(**facts))
    assert made.workload is not None
    return Decision(made.workload, "wait", rules.ROLLED_BACK.id, why, warnings=(undone,), candidates=shown)


def amounts_by_node(state: State, residents: Rows) -> Int64s:
    """What these residents take of every node, by column."""
    amounts = np.zeros((state.nodes.size, len(state.units)), np.int64)
    np.add.at(amounts, state.residents.node[residents], state.residents.amount[:, residents].T)
    return amounts.T


def _unstarted(state: State) -> Rows:
    """Resident rows of the sessions that have their agents and have not begun."""
    work, size = state.work, state.work.size
    return residents_of_all(state, np.flatnonzero((work.state[:size] >= RUNNING) & (work.started[:size] == NEVER)))


def _shown(state: State, column: int, count: int) -> str:
    return show_quantity(state.units.names[column], int(count) * state.units.nano[column])


EXACT_IN_FLOAT = 1 << 53


def decide(cycle: Cycle) -> Iterator[Decision]:
    """Every group's pass, each from its own sequence; nothing of a pass is told before all of it is booked.

    What is reserved and what is preempting take room beside each other here, and do not overlap.
    """
    state = cycle.state
    overlap = cycle.trial.keep_apart()
    if cycle.words or cycle.only is not None:
        groups = groups_with_work(state)
        queues = [sequence(state, partition, group_settings(state, partition)) for partition in groups]
        for queue in queues:
            if cycle.only is None or cycle.only in queue:
                yield from GroupPass(cycle, Kinds(state, queue), overlap).decide(queue.tolist())
        return
    lines = lines_of(cycle)
    for group in sorted(lines.by_group, key=state.partitions.names.__getitem__):
        if lines.by_group[group].bands:
            yield from acts_of(cycle, lines, group, overlap)


def lines_of(cycle: Cycle) -> Lines:
    """Who waits, as the cycle before left it and brought up to date."""
    state = cycle.state
    lines: Lines | None = cycle.memory.get(LINES)
    if lines is None or lines.reshaped != state.journal.reshaped:
        settings = {group: group_settings(state, group) for group in range(len(state.partitions.names))}
        lines = cycle.memory[LINES] = Lines(state, settings)
    else:
        lines.follow(state)
    return lines


def acts_of(cycle: Cycle, lines: Lines, group: int, overlap: Int64s | None) -> list[Decision]:
    """What acts in the group, and refusals of those that came; nothing is looked at while all would be the same."""
    line = lines.by_group[group]
    kinds = lines.kinds
    came = [row for row in line.fresh if kinds.of(cycle, row).refused is None]
    made: dict[int, Decision] = {}
    if not line.sleeps(cycle, [lines.turn_of(row) for row in came]):
        alone = replace(cycle, wakes_at=None)
        picked = dict(cycle.memory.get(ROUNDROBIN, {}))
        looked = GroupPass(alone, kinds, overlap)
        made = looked.decided(row for _, row in lines.in_turn(group))
        line.head = None if looked.head is None else lines.turn_of(looked.head)
        line.wakes_at, line.grown = alone.wakes_at, cycle.state.journal.grown
        waits = not (looked.starts or looked.reservations or looked.waits_for_others or cycle.optimal)
        line.asleep = waits and cycle.memory.get(ROUNDROBIN, {}) == picked
    if line.wakes_at is not None:
        cycle.wake(line.wakes_at)
    fresh, line.fresh = set(line.fresh), []
    for row in sorted(fresh - made.keys(), key=lines.turn_of):
        refused = kinds.of(cycle, row).refused
        if refused is not None:
            made[row] = about(refused, cycle.state.work_names[row])
    acts = ("start", "preempt")
    return [one for row, one in made.items() if one.action in acts or (one.action == "refuse" and row in fresh)]


def group_settings(state: State, partition: int) -> Settings:
    """What orders the group's queue: the settings of the first of its queues, by name, that has any."""
    codes = state.tree.partition[: state.tree.size].tolist()
    names = sorted(state.tree.names[queue] for queue, code in enumerate(codes) if code == partition)
    by_queue = (state.tree.settings(state.tree.index[name]) for name in names)
    return settings_of(next((raw for raw in by_queue if raw), {}), SHIPPED)


class GroupPass:
    """One pass over one group: who is to leave for whom, and what is to be booked for whom in the end."""

    def __init__(self, cycle: Cycle, kinds: Kinds, overlap: Int64s | None) -> None:
        self.cycle = cycle
        self.state = cycle.state
        self.kinds = kinds
        self.answers = Answers(cycle)
        self.overlap = overlap
        self.leaving: list[int] = []
        self.begin = cycle.trial.mark()
        self.starts: dict[int, list[int]] = {}
        self.reservations: dict[int, list[int]] = {}
        self.head: int | None = None
        self.waits_for_others = False
        """Whether one of those that were looked at may do what it does by who else waits."""

    def decide(self, queue: Iterable[int]) -> list[Decision]:
        """What becomes of everybody in sequence, or of the one that is asked for."""
        made, only = self.decided(queue), self.cycle.only
        return list(made.values()) if only is None else [made[only]]

    def decided(self, queue: Iterable[int]) -> dict[int, Decision]:
        """The same by row; the first that finds no room ends the pass for those behind it.

        Where one session is asked for, those ahead of it are decided too, so that it finds what they leave; but none of
        them blocks it, since the question is what would become of it if it were its turn. Those behind it are, if it
        preempts, for all reservations of a pass are booked together.
        """
        only = self.cycle.only
        made: dict[int, Decision] = {}
        for row in queue:
            if only is None or row == only:
                made[row], blocks = self._answer(self.cycle, row, self.head if only is None else None)
            elif self.head is None:
                made[row], blocks = self._answer(self.cycle.quiet(), row, None)
            else:
                blocks = False
            self.waits_for_others |= self.state.work.kind[row] == SYSTEM
            if blocks and self.head is None:
                self.head = row
                if not self.cycle.words:
                    break
            if row == only and made[row].action != "preempt":
                break
        refused = refused_booking(self.state, self.reservations, self.starts)
        if refused is not None:
            made |= self._rolled_back(made, refused)
        return made

    def _rolled_back(self, made: dict[int, Decision], refused: RefusedBooking) -> dict[int, Decision]:
        """All that was to preempt waits, and what was booked for those who start stays booked."""
        self.cycle.trial.undo(self.begin)
        for row, nodes in self.starts.items():
            self.cycle.trial.book(row, nodes)
        return {row: rolled_back(made[row], refused, len(self.reservations)) for row in self.reservations}

    def _answer(self, cycle: Cycle, row: int, head: int | None) -> tuple[Decision, bool]:
        """As to the one like it before, unless an agent was picked since, on which `roundrobin` goes on.

        An answer that blocks is not kept: those behind it are asked with it as their head.
        """
        kind = self.kinds.of(cycle, row)
        owners = scope_column(self.state, kind.settings.scope) if head is None or cycle.told else None
        like = (kind, head, cycle.only in (None, row), None if owners is None else int(owners[row]))
        told = self.answers.answer(row, like)
        if told is not None:
            return told, False
        picked = dict(cycle.memory.get(ROUNDROBIN, {}))
        made, blocks = self._decide_one(cycle, row, head, kind)
        if not blocks and (kind.settings.strategy != ROUNDROBIN or cycle.memory.get(ROUNDROBIN, {}) == picked):
            self.answers.keep(like, made)
        return made, blocks

    def _decide_one(self, cycle: Cycle, row: int, head: int | None, kind: Kind) -> tuple[Decision, bool]:
        """The decision, and whether it blocks those behind: only lack of room does, not a session's own fault."""
        state, settings = self.state, kind.settings
        if kind.refused is not None:
            return about(kind.refused, state.work_names[row]), False
        claim, limits = kind.claim_of(state, row), kind.limits_of(state, row)
        behind = head is not None and not cycle.told
        looked_at = None if behind else candidates(state, claim, settings)
        wait = partial(
            waiting,
            cycle,
            claim,
            settings,
            looked_at,
            finds_room=partial(_finds_room, cycle, claim, settings),
        )
        if head is not None:
            return wait([], rules.BEHIND, rules.BEHIND, head=state.work_names[head]), False
        assert looked_at is not None
        if broken(limits):
            return wait(broken(limits), rules.QUOTA, rules.QUOTA), False
        if not state.nodes.size:
            self.starts[row] = []
            return started(cycle, claim, [], rules.FITS), False
        cannot = _cannot(state, row, settings)
        open_ = np.zeros_like(looked_at.open) if cannot else looked_at.open
        chosen = _chosen(cycle, claim, settings, open_)
        over = None if chosen is None else nodes_over(state, row, chosen.nodes)
        if over is not None:
            return wait([over], rules.QUOTA, rules.QUOTA), False
        if chosen is not None and not chosen.victims:
            self.starts[row] = chosen.nodes
            return started(cycle, claim, chosen.nodes, rules.FITS), False
        warnings = self._deviations(cycle, claim, settings, open_, chosen)
        if chosen is not None:
            warnings = broken_promises(state, claim, settings, chosen.victims) + warnings
            if cycle.explain:
                looked_at.protect((rules.GIVES_NOTHING, _useless(state, chosen)))
            self.reservations[row] = chosen.nodes
            self.leaving += chosen.victims
            leave = cycle.trial.tell_to_leave
            made = preempting(
                cycle, claim, settings, looked_at, chosen.victims, rules.LOWER_JOB, leave, chosen.nodes, warnings
            )
            return made, False
        refused = kind.too_big(state, bare=True)
        if refused is not None:
            return about(refused, claim.name), True
        _wake_when_old_enough(cycle, claim, settings, cannot)
        rule = (cannot or rules.NO_ROOM) if claim.allowed.any() else rules.NO_NODES
        waits = wait([], rule, cannot, scope=settings.scope)
        return replace(waits, warnings=warnings), _has_an_agent(state, claim)

    def _deviations(
        self, cycle: Cycle, claim: Claim, settings: Settings, open_: Bools, chosen: Choice | None
    ) -> tuple[Warning, ...]:
        """What a plan promises elsewhere and this edition does not keep, where keeping it would decide otherwise."""
        extra: dict[Rule, Int64s] = {}
        if self.leaving:
            extra[rules.CREDIT_LOST] = amounts_by_node(self.state, residents_of_all(self.state, np.array(self.leaving)))
        if self.overlap is not None:
            extra[rules.NO_OVERLAP] = self.overlap
        if not extra:
            return ()

        def otherwise(*more: Int64s) -> bool:
            free = self.state.nodes.free[:, : self.state.nodes.size] + sum(more)
            with _picks_forgotten(cycle):
                other = choose(cycle, claim, settings, open_, free)
            return (other is None) != (chosen is None) or (
                other is not None and chosen is not None and set(other.victims) != set(chosen.victims)
            )

        alone = [rule for rule, more in extra.items() if otherwise(more)]
        if not alone and len(extra) > 1 and otherwise(*extra.values()):
            alone = list(extra)
        names = ", ".join(self.state.work_names[row] for row in self.leaving)
        return tuple(Warning(rule.id, rule.because(leaving=names)) for rule in alone)


@contextmanager
def _picks_forgotten(cycle: Cycle) -> Iterator[None]:
    """What is tried in between is no pick of the pass."""
    picked = dict(cycle.memory.get(ROUNDROBIN, {}))
    yield
    cycle.memory[ROUNDROBIN] = picked


def _finds_room(cycle: Cycle, claim: Claim, settings: Settings, free: Int64s) -> bool:
    """Whether every member would find an agent in so much that is free, taken in order as the strategy likes."""
    if not cycle.state.nodes.size:
        return True
    with _picks_forgotten(cycle):
        return choose(cycle, claim, settings, np.zeros(cycle.state.work.size, np.bool_), free) is not None


def _has_an_agent(state: State, claim: Claim) -> bool:
    """Whether an agent of its kind is up; without one its failure is its own, as in an empty group."""
    return bool((claim.matching & (state.nodes.state[: state.nodes.size] == READY)).any())


def _cannot(state: State, row: int, settings: Settings) -> Rule | None:
    """The rule that keeps this session from preempting anybody."""
    if not settings.enabled:
        return rules.OFF
    if state.work.kind[row] == SYSTEM and highest_waiting(state, row, settings) is None:
        return rules.SYSTEM_ALONE
    return None if state.work.preempts[row] else rules.MAY_NOT


def candidates(state: State, claim: Claim, settings: Settings) -> Candidates:
    """All that hold room in the group; the first rule that protects one is its verdict."""
    work, size, row = state.work, state.work.size, claim.row
    phase = work.state[:size]
    looked = (phase >= RESERVED) & (work.partition[:size] == work.partition[row])
    candidates = Candidates(looked).protect(
        (rules.NOT_RUNNING, phase != RUNNING),
        (rules.SYSTEM, work.kind[:size] == SYSTEM),
        (rules.OPTED_OUT, ~work.preemptible[:size]),
    )
    column = scope_column(state, settings.scope)
    if column is not None:
        candidates.protect((rules.OUT_OF_SCOPE, column[:size] != column[row]))
    candidates.protect((rules.NOT_LOWER_JOB, work.job_priority[:size] >= work.job_priority[row]))
    if work.kind[row] == SYSTEM and (ceiling := highest_waiting(state, row, settings)) is not None:
        candidates.protect((rules.ABOVE_OTHERS, work.job_priority[:size] >= ceiling))
    if settings.min_runtime > 0:
        begun = work.started[:size]
        candidates.protect((rules.TOO_YOUNG, (begun == NEVER) | (begun > state.now - settings.min_runtime)))
    return candidates


@dataclass(slots=True)
class Choice:
    """Agents for the members so far, the sessions claimed for them, and what is free with those gone.

    `shorts` is what was missing on each agent that sessions were claimed on.
    """

    free: Int64s
    open_: Bools
    nodes: list[int] = field(default_factory=list)
    victims: list[int] = field(default_factory=list)
    shorts: dict[int, Int64s] = field(default_factory=dict)


def choose(cycle: Cycle, claim: Claim, settings: Settings, open_: Bools, free: Int64s | None = None) -> Choice | None:
    """An agent for each member, in order, all or none; victims claimed for one member free room for the next."""
    state = cycle.state
    free = state.nodes.free[:, : state.nodes.size] if free is None else free
    groups = state.nodes.group[: state.nodes.size]
    remembered = dict(cycle.memory.get(ROUNDROBIN, {}))
    areas = [claim.allowed]
    if claim.placement == TIGHT:
        inside = sorted(set(groups[claim.allowed].tolist()), key=state.groups.names.__getitem__)
        areas = [claim.allowed & (groups == group) for group in inside]
    spread = group_room(state, claim, np.zeros(state.nodes.size, np.int64))[1] if claim.placement == SPREAD else None
    best: Choice | None = None
    after = remembered
    for area in areas:
        cycle.memory[ROUNDROBIN] = dict(remembered)
        choice = Choice(free.copy(), open_.copy())
        if all(_choose_one(cycle, claim, settings, need, area, spread, choice) for need in claim.vectors):
            if not choice.victims:
                return choice
            if best is None:
                best, after = choice, cycle.memory[ROUNDROBIN]
        elif claim.placement != TIGHT:
            return None
    cycle.memory[ROUNDROBIN] = after
    return best


def _chosen(cycle: Cycle, claim: Claim, settings: Settings, open_: Bools) -> Choice | None:
    """Agents as the release chooses them; where that is asked for, as it would among the sessions of a better set."""
    state = cycle.state
    before = dict(cycle.memory.get(ROUNDROBIN, {}))
    own = choose(cycle, claim, settings, open_)
    if own is None or not own.victims or not cycle.optimal:
        return own
    asked = cover_of(state, claim, np.flatnonzero(open_))

    def again(only: Bools) -> tuple[Choice, dict[int, int]] | None:
        cycle.memory[ROUNDROBIN] = dict(before)
        choice = choose(cycle, claim, settings, open_ & only)
        over = None if choice is None else nodes_over(state, claim.row, choice.nodes)
        return None if choice is None or over is not None else (choice, cycle.memory[ROUNDROBIN])

    mine = own, cycle.memory[ROUNDROBIN]
    best, cycle.memory[ROUNDROBIN] = best_of(
        cycle, mine, lambda one: one[0].victims, lambda: asked, again, weigher_of(settings)
    )
    return best


def _choose_one(
    cycle: Cycle, claim: Claim, settings: Settings, need: Int64s, area: Bools, spread: int | None, choice: Choice
) -> bool:
    state, free = cycle.state, choice.free
    partition = int(state.work.partition[claim.row])
    if spread is not None:
        held = np.bincount(state.nodes.group[choice.nodes], minlength=len(state.groups.names))
        area = area & (held[state.nodes.group[: state.nodes.size]] < spread)
    nodes: Rows = np.flatnonzero(feasible(claim, need, free) & area)
    if len(nodes):
        node = pick(state, settings.strategy, nodes, need, free, cycle.memory, partition)
    else:
        credited = free + _reclaimable(state, claim, choice.open_)
        nodes = np.flatnonzero(feasible(claim, need, credited) & area)
        if not len(nodes):
            return False
        if settings.order in ("fewest-sessions", "smallest-resources"):
            shorts = np.maximum(need[:, None] - free[:, nodes], 0)
            liking: Int64s | None = None
            if settings.strategy != ROUNDROBIN:
                keys = likings(state, settings.strategy, nodes, need, credited)
                liking = one_key(keys, len(nodes))
            nodes = cheapest_agents(state, nodes, liking, shorts, choice.open_, settings)
        node = pick(state, settings.strategy, nodes, need, credited, cycle.memory, partition)
        short = np.maximum(need - free[:, node], 0)[:, None]
        choice.shorts[node] = short[:, 0] + choice.shorts.get(node, 0)
        taken = collect(state, np.array([node]), short, choice.open_, settings).sessions(state)
        for row in taken:
            choice.open_[row] = False
            for resident in state.residents_of(row):
                free[:, state.residents.node[resident]] += state.residents.amount[:, resident]
        choice.victims += taken
    free[:, node] -= need
    choice.nodes.append(node)
    return True


def _useless(state: State, choice: Choice) -> Bools:
    """Sessions on the agents that were cleared, and on no other, that hold nothing of what was short there."""
    useless = np.zeros(state.work.size, np.bool_)
    for resident in standing_on(state, np.array(list(choice.shorts), np.intp)):
        row = int(state.residents.work[resident])
        useless[row] = not any(_gives(state, other, choice.shorts) for other in state.residents_of(row))
    return useless


def _gives(state: State, resident: int, shorts: dict[int, Int64s]) -> bool:
    short = shorts.get(int(state.residents.node[resident]))
    return short is None or bool((np.minimum(state.residents.amount[:, resident], short) > 0).any())


def _reclaimable(state: State, claim: Claim, open_: Bools) -> Int64s:
    """What each node would get back if every open session went; whole nodes only where they matter.

    Summed over the open ones or, if they are most, over the others and taken from what is used.
    """
    size, nodes = state.work.size, state.nodes.size
    phase = state.work.state[:size]
    using = (phase == RUNNING) | (phase == CHECKPOINTING)
    most = 2 * np.count_nonzero(open_) > np.count_nonzero(using)
    rows = residents_of_all(state, np.flatnonzero(using & ~open_ if most else open_))
    on = state.residents.node[rows]
    result = np.zeros((len(state.units), nodes), np.int64)
    wanted = max(int(need[WHOLE]) for need in claim.vectors)
    skipped = (state.nodes.free[WHOLE, :nodes] >= wanted).all()
    for column in range(1 if skipped else 0, len(state.units)):
        amount, used = state.residents.amount[column, rows], state.nodes.used[column, :nodes]
        if used.max(initial=0) < EXACT_IN_FLOAT:
            amounts = np.bincount(on, weights=amount, minlength=nodes)
        else:
            amounts = np.zeros(nodes, np.int64)
            np.add.at(amounts, on, amount)
        result[column] = used - amounts if most else amounts
    return result


def _wake_when_old_enough(cycle: Cycle, claim: Claim, settings: Settings, cannot: Rule | None) -> None:
    """A session that is protected only by its youth may be open later: say when the next one is."""
    if cannot is not None or settings.min_runtime <= 0:
        return
    state = cycle.state
    ages = candidates(state, claim, replace(settings, min_runtime=0))
    begun = state.work.started[: state.work.size]
    young = ages.open & (begun != NEVER) & (begun > state.now - settings.min_runtime)
    if young.any():
        cycle.wake(int(begun[young].min()) + settings.min_runtime)
