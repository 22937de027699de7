"""Edition `26.8`: every session in sequence may preempt by job priority, agent by agent; a misfit blocks the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from cede.doctrines.backendai import rules
from cede.doctrines.backendai.answers import preempting, waiting
from cede.doctrines.backendai.facts import groups_with_work, scope_column
from cede.doctrines.backendai.known import Answer, Kind, Known
from cede.doctrines.backendai.promises import broken_promises
from cede.doctrines.backendai.sequence import sequence
from cede.doctrines.backendai.settings import SHIPPED, Settings, settings_of
from cede.doctrines.backendai.strategies import pick, preference, remember
from cede.doctrines.backendai.victims import cheapest_agent, collect, weigher_of
from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.parts.claim import Claim, residents_of_all, standing_on
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import feasible, group_room
from cede.doctrines.parts.limits import broken, nodes_over
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.outcomes import started
from cede.doctrines.parts.selection import best_of, cover_of
from cede.doctrines.parts.shapes import about
from cede.model.plan import Decision
from cede.model.rules import Rule
from cede.state.columns import CHECKPOINTING, NEVER, READY, RESERVED, RUNNING, SPREAD, SYSTEM, TIGHT, Bools, Int64s
from cede.state.state import State
from cede.state.units import WHOLE

EXACT_IN_FLOAT = 1 << 53


def decide(cycle: Cycle) -> Iterator[Decision]:
    """Every group's sequence; the first session that finds no room ends the pass for those behind it.

    Where one session is asked for, those ahead of it are decided too, so that it finds what they leave; but none of
    them blocks it, since the question is what would become of it if it were its turn.
    """
    state = cycle.state
    for partition in groups_with_work(state):
        queue = sequence(state, partition, group_settings(state, partition))
        if cycle.only is not None and cycle.only not in queue:
            continue
        known = Known(cycle, queue)
        head: int | None = None
        for row in queue.tolist():
            blocks = False
            if cycle.only is None or row == cycle.only:
                made, blocks = _answer(cycle, row, head if cycle.only is None else None, known)
                yield made
            elif head is None:
                blocks = _answer(cycle.quiet(), row, head, known)[1]
            if blocks and head is None:
                head = row
            if row == cycle.only:
                break


def group_settings(state: State, partition: int) -> Settings:
    """What orders the group's queue: the settings of the first of its queues, by name, that has any."""
    codes = state.tree.partition[: state.tree.size].tolist()
    names = sorted(state.tree.names[queue] for queue, code in enumerate(codes) if code == partition)
    found = (state.tree.settings(state.tree.index[name]) for name in names)
    return settings_of(next((raw for raw in found if raw), {}), SHIPPED)


def _answer(cycle: Cycle, row: int, head: int | None, known: Known) -> Answer:
    """As to the one like it before, unless that moved on the agent from which `roundrobin` goes on."""
    kind = known.kind(row)
    owners = scope_column(cycle.state, kind.settings.scope) if head is None or cycle.told else None
    beside = (head, cycle.only in (None, row), None if owners is None else int(owners[row]))
    answer = known.answer(row, beside)
    if answer is None:
        last = cycle.memory.get("roundrobin", {})
        answer = _decide_one(cycle, row, head, kind)
        if cycle.memory.get("roundrobin", {}) == last:
            known.keep(row, beside, answer)
    return answer


def _decide_one(cycle: Cycle, row: int, head: int | None, kind: Kind) -> Answer:
    """The decision, and whether it blocks those behind: only lack of room does, not a session's own fault."""
    state, settings = cycle.state, kind.settings
    if kind.refused is not None:
        return about(kind.refused, state.work_names[row]), False
    claim, limits = kind.claim_of(state, row), kind.limits_of(state, row)
    behind = head is not None and not cycle.told
    found = None if behind else candidates(state, claim, settings)
    wait = partial(waiting, cycle, claim, settings, found, finds_room=partial(_finds_room, cycle, claim, settings))
    if head is not None:
        return wait([], rules.BEHIND, rules.BEHIND, head=state.work_names[head]), False
    assert found is not None
    if broken(limits):
        return wait(broken(limits), rules.QUOTA, rules.QUOTA), False
    if not state.nodes.size:
        return started(cycle, claim, [], rules.FITS), False
    cannot = _cannot(state, row, settings)
    open_ = np.zeros_like(found.open) if cannot else found.open
    chosen = _chosen(cycle, claim, settings, open_)
    over = None if chosen is None else nodes_over(state, row, chosen.nodes)
    if over is not None:
        return wait([over], rules.QUOTA, rules.QUOTA), False
    if chosen is not None and not chosen.victims:
        return started(cycle, claim, chosen.nodes, rules.FITS), False
    if chosen is not None:
        warnings = broken_promises(state, claim, settings, chosen.victims)
        if cycle.explain:
            found.protect((rules.GIVES_NOTHING, _useless(state, chosen)))
        made = preempting(cycle, claim, settings, found, chosen.victims, rules.LOWER_JOB, chosen.nodes, warnings)
        return made, False
    refused = kind.too_big(state, bare=True)
    if refused is not None:
        return about(refused, claim.name), True
    _wake_when_old_enough(cycle, claim, settings, cannot)
    rule = (cannot or rules.NO_ROOM) if claim.allowed.any() else rules.NO_NODES
    return wait([], rule, cannot), _has_an_agent(state, claim)


def _finds_room(cycle: Cycle, claim: Claim, settings: Settings, free: Int64s) -> bool:
    """Whether every member would find an agent in so much that is free, taken in order as the strategy likes."""
    if not cycle.state.nodes.size:
        return True
    remembered = dict(cycle.memory.get("roundrobin", {}))
    chosen = choose(cycle, claim, settings, np.zeros(cycle.state.work.size, np.bool_), free)
    cycle.memory["roundrobin"] = remembered
    return chosen is not None


def _has_an_agent(state: State, claim: Claim) -> bool:
    """Whether an agent of its kind is up; without one its failure is its own, as in an empty group."""
    return bool((claim.matching & (state.nodes.state[: state.nodes.size] == READY)).any())


def _cannot(state: State, row: int, settings: Settings) -> Rule | None:
    """The rule that keeps this session from preempting anybody."""
    if not settings.enabled:
        return rules.OFF
    if state.work.kind[row] == SYSTEM:
        return rules.SYSTEM_CLAIM
    return None if state.work.preempts[row] else rules.MAY_NOT


def candidates(state: State, claim: Claim, settings: Settings) -> Candidates:
    """All that hold room in the group; the first rule that protects one is its verdict."""
    work, size, row = state.work, state.work.size, claim.row
    phase = work.state[:size]
    looked = (phase >= RESERVED) & (work.partition[:size] == work.partition[row])
    found = Candidates(looked).protect(
        (rules.NOT_RUNNING, phase != RUNNING),
        (rules.SYSTEM, work.kind[:size] == SYSTEM),
        (rules.OPTED_OUT, ~work.preemptible[:size]),
    )
    column = scope_column(state, settings.scope)
    if column is not None:
        found.protect((rules.OUT_OF_SCOPE, column[:size] != column[row]))
    found.protect((rules.NOT_LOWER_JOB, work.job_priority[:size] >= work.job_priority[row]))
    if settings.min_runtime > 0:
        begun = work.started[:size]
        found.protect((rules.TOO_YOUNG, (begun == NEVER) | (begun > state.now - settings.min_runtime)))
    return found


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
    remembered = dict(cycle.memory.get("roundrobin", {}))
    areas = [claim.allowed]
    if claim.placement == TIGHT:
        inside = sorted(set(groups[claim.allowed].tolist()), key=state.groups.names.__getitem__)
        areas = [claim.allowed & (groups == group) for group in inside]
    spread = group_room(state, claim, np.zeros(state.nodes.size, np.int64))[1] if claim.placement == SPREAD else None
    best: Choice | None = None
    after = remembered
    for area in areas:
        cycle.memory["roundrobin"] = dict(remembered)
        choice = Choice(free.copy(), open_.copy())
        if all(_choose_one(cycle, claim, settings, need, area, spread, choice) for need in claim.vectors):
            if not choice.victims:
                return choice
            if best is None:
                best, after = choice, cycle.memory["roundrobin"]
    cycle.memory["roundrobin"] = after
    return best


def _chosen(cycle: Cycle, claim: Claim, settings: Settings, open_: Bools) -> Choice | None:
    """Agents as the release chooses them; where that is asked for, as it would among the sessions of a better set."""
    state = cycle.state
    before = dict(cycle.memory.get("roundrobin", {}))
    own = choose(cycle, claim, settings, open_)
    if own is None or not own.victims or not cycle.optimal:
        return own
    asked = cover_of(state, claim, np.flatnonzero(open_))

    def again(only: Bools) -> tuple[Choice, dict[int, str]] | None:
        cycle.memory["roundrobin"] = dict(before)
        found = choose(cycle, claim, settings, open_ & only)
        over = None if found is None else nodes_over(state, claim.row, found.nodes)
        return None if found is None or over is not None else (found, cycle.memory["roundrobin"])

    mine = own, cycle.memory["roundrobin"]
    best, cycle.memory["roundrobin"] = best_of(
        cycle, mine, lambda found: found[0].victims, lambda: asked, again, weigher_of(settings)
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
        node = pick(state, settings.strategy, nodes, free, cycle.memory, partition)
    else:
        credited = free + _reclaimable(state, claim, choice.open_)
        nodes = np.flatnonzero(feasible(claim, need, credited) & area)
        if not len(nodes):
            return False
        if settings.order in ("fewest-sessions", "smallest-resources"):
            shorts = np.maximum(need[:, None] - free[:, nodes], 0)
            liking = preference(state, settings.strategy, nodes, credited, cycle.memory, partition)
            node = cheapest_agent(state, nodes, liking, shorts, choice.open_, settings)
            remember(state, node, cycle.memory, partition)
        else:
            node = pick(state, settings.strategy, nodes, credited, cycle.memory, partition)
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
    found = np.zeros(state.work.size, np.bool_)
    for resident in standing_on(state, np.array(list(choice.shorts), np.intp)):
        row = int(state.residents.work[resident])
        found[row] = not any(_gives(state, other, choice.shorts) for other in state.residents_of(row))
    return found


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
