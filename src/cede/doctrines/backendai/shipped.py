"""Edition `26.8`: every session in sequence may preempt by job priority, agent by agent; a misfit blocks the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from cede.doctrines.backendai import rules
from cede.doctrines.backendai.admission import matches_nothing, refused_by_owner, started, too_big
from cede.doctrines.backendai.answers import preempting, waiting
from cede.doctrines.backendai.facts import groups_with_work, scope_column
from cede.doctrines.backendai.promises import broken_promises
from cede.doctrines.backendai.sequence import sequence
from cede.doctrines.backendai.settings import SHIPPED, Settings, settings_of
from cede.doctrines.backendai.strategies import pick
from cede.doctrines.backendai.victims import collect, narrow
from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import feasible, group_room
from cede.doctrines.parts.limits import broken, limits_of
from cede.doctrines.parts.orders import Rows
from cede.model.plan import Decision
from cede.model.rules import Rule
from cede.state.columns import NEVER, PREEMPTING, RESERVED, RUNNING, SPREAD, SYSTEM, TIGHT, Bools, Int64s
from cede.state.state import State


def decide(cycle: Cycle) -> Iterator[Decision]:
    """Every group's sequence; the first session that finds no room ends the pass for those behind it."""
    state = cycle.state
    for partition in groups_with_work(state):
        settings = group_settings(state, partition)
        head: int | None = None
        for row in sequence(state, partition, settings).tolist():
            if cycle.only is not None and row != cycle.only:
                continue
            made, blocks = _decide_one(cycle, row, settings, head)
            if blocks and head is None:
                head = row
            yield made


def group_settings(state: State, partition: int) -> Settings:
    """The settings of the group: those of the first queue by name that this partition belongs to."""
    queues = [queue for queue, code in enumerate(state.tree.partition[: state.tree.size].tolist()) if code == partition]
    names = sorted(queues, key=state.tree.names.__getitem__)
    return settings_of(state.tree.settings(names[0]) if names else {}, SHIPPED)


def _decide_one(cycle: Cycle, row: int, settings: Settings, head: int | None) -> tuple[Decision, bool]:
    """The decision, and whether it blocks those behind: only lack of room does, not a session's own fault."""
    state = cycle.state
    claim, limits = claim_of(state, row), limits_of(state, row)
    refused = refused_by_owner(state, row, limits) or matches_nothing(state, claim)
    if refused is not None:
        return refused, False
    found = candidates(state, claim, settings)
    if head is not None:
        made = waiting(cycle, claim, settings, found, [], rules.BEHIND, rules.BEHIND, head=state.work_names[head])
        return made, False
    if broken(limits):
        return waiting(cycle, claim, settings, found, broken(limits), rules.QUOTA, rules.QUOTA), False
    if not state.nodes.size:
        return started(cycle, claim, []), False
    cannot = _cannot(state, row, settings)
    open_ = np.zeros_like(found.open) if cannot else found.open
    chosen = choose(cycle, claim, settings, open_)
    if chosen is not None and not chosen.victims:
        return started(cycle, claim, chosen.nodes), False
    if chosen is not None:
        warnings = broken_promises(state, claim, settings, chosen.victims)
        made = preempting(cycle, claim, settings, found, chosen.victims, chosen.nodes, rules.LOWER_JOB, warnings)
        return made, False
    refused = too_big(state, claim, bare=True)
    if refused is not None:
        return refused, True
    _wake_when_old_enough(cycle, claim, settings, cannot)
    rule = cannot or (rules.NO_ROOM if claim.allowed.any() else rules.NO_NODES)
    return waiting(cycle, claim, settings, found, [], rule, cannot), True


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
    looked = (phase >= RESERVED) & (phase <= PREEMPTING) & (work.partition[:size] == work.partition[row])
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
    """Agents for the members so far, the sessions claimed for them, and what is free with those gone."""

    free: Int64s
    open_: Bools
    nodes: list[int] = field(default_factory=list)
    victims: list[int] = field(default_factory=list)


def choose(cycle: Cycle, claim: Claim, settings: Settings, open_: Bools) -> Choice | None:
    """An agent for each member, in order, all or none; victims claimed for one member free room for the next."""
    state = cycle.state
    groups = state.nodes.group[: state.nodes.size]
    remembered = dict(cycle.memory.get("roundrobin", {}))
    areas = [claim.allowed]
    if claim.placement == TIGHT:
        inside = sorted(set(groups[claim.allowed].tolist()), key=state.groups.names.__getitem__)
        areas = [claim.allowed & (groups == group) for group in inside]
    spread = group_room(state, claim, np.zeros(state.nodes.size, np.int64))[1] if claim.placement == SPREAD else None
    best: Choice | None = None
    for area in areas:
        choice = Choice(state.nodes.free[:, : state.nodes.size].copy(), open_.copy())
        if all(_choose_one(cycle, claim, settings, need, area, spread, choice) for need in claim.vectors):
            if not choice.victims:
                return choice
            best = best or choice
    if best is None:
        cycle.memory["roundrobin"] = remembered
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
        credited = free + _reclaimable(state, choice.open_)
        nodes = np.flatnonzero(feasible(claim, need, credited) & area)
        if not len(nodes):
            return False
        shorts = np.maximum(need[:, None] - free[:, nodes], 0)
        nodes = narrow(state, nodes, shorts, choice.open_, settings)
        node = pick(state, settings.strategy, nodes, credited, cycle.memory, partition)
        short = np.maximum(need - free[:, node], 0)[:, None]
        taken = collect(state, np.array([node]), short, choice.open_, settings).sessions(state)
        for row in taken:
            choice.open_[row] = False
            for resident in state.residents_of(row):
                free[:, state.residents.node[resident]] += state.residents.amount[:, resident]
        choice.victims += taken
    free[:, node] -= need
    choice.nodes.append(node)
    return True


def _reclaimable(state: State, open_: Bools) -> Int64s:
    """What each node would get back if every open session went."""
    residents, size = state.residents, state.residents.size
    counted = open_[residents.work[:size]]
    result = np.empty((len(state.units), state.nodes.size), np.int64)
    for column in range(len(state.units)):
        amounts = residents.amount[column, :size] * counted
        result[column] = np.bincount(residents.node[:size], weights=amounts, minlength=state.nodes.size)
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
