"""One scheduling cycle: every pending workload decided once, nothing changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cede.doctrines.parts.doctrine import Cycle, Doctrine
from cede.engine.catalog import check_selection, doctrine_of
from cede.engine.cluster import Cluster
from cede.model.cluster import DoctrineChoice
from cede.model.errors import InputError, Problem, did_you_mean
from cede.model.garbage import collecting_no_garbage
from cede.model.plan import Plan
from cede.model.times import format_time
from cede.state.columns import PENDING, STATES, SUSPENDED
from cede.state.state import State
from cede.state.trial import Trial


def plan(
    cluster: Cluster, *, only: str | None = None, shares: bool = False, explain: bool = False, misses: bool = True
) -> Plan:
    """What one cycle decides on this cluster, or on one of its pending workloads. The cluster stays as it is."""
    doctrine = doctrine_of(cluster.document.doctrine)
    check_selection(cluster.document.selection)
    return plan_state(cluster.state, doctrine, only=only, shares=shares, explain=explain, misses=misses)


def plan_state(
    state: State,
    doctrine: Doctrine,
    *,
    only: str | None = None,
    shares: bool = False,
    explain: bool = False,
    misses: bool = True,
    memory: dict[str, Any] | None = None,
    whole: bool = True,
) -> Plan:
    """The same on live columns; `memory` is what the doctrine keeps between cycles, and is updated.

    `whole`: everybody is asked for who waits, and not only some of them.
    """
    choice = choice_of(state)
    row = None if only is None else _pending_row(state, only)
    with collecting_no_garbage(), Trial(state) as trial:
        cycle = Cycle(state, trial, choice.edition, row, explain, misses, {} if memory is None else memory, whole)
        decisions = tuple(doctrine.decide(cycle))
    if explain:
        decisions = tuple(made if made.candidates is not None else replace(made, candidates=()) for made in decisions)
    return Plan(
        doctrine.name,
        choice.edition,
        format_time(state.now, state.instant),
        decisions,
        state.version,
        cycle.wakes_at,
        doctrine.shares(state, choice.edition) if shares else None,
    )


def plan_acts(
    trial: Trial, doctrine: Doctrine, memory: dict[str, Any], backfill: str = "off"
) -> tuple[bool, Plan | None]:
    """What a plan decides that acts, up to the first preemption, with refusals of those that just came, nobody passing
    a head but as `backfill` says; none if that is nothing. First whether that could be told: only where the doctrine
    has a shorter way to it. Of the `trial` nothing stays.
    """
    if doctrine.swift is None:
        return False, None
    state = trial.state
    choice = choice_of(state)
    cycle = Cycle(state, trial, choice.edition, None, False, False, memory, backfill=backfill)
    found = doctrine.swift(cycle)
    if found is None:
        return False, None
    try:
        decisions = tuple(found)
    finally:
        trial.undo()
    if not decisions:
        return True, None
    now = format_time(state.now, state.instant)
    return True, Plan(doctrine.name, choice.edition, now, decisions, state.version, cycle.wakes_at)


def choice_of(state: State) -> DoctrineChoice:
    """The doctrine and edition this state was built for."""
    choice = state.static.doctrine
    assert choice is not None, "a state that is planned has a doctrine"
    return choice


def _pending_row(state: State, name: str) -> int:
    row = state.work_index.get(name)
    if row is None:
        problem = Problem("--for", f"no workload is called {name!r}", did_you_mean(name, state.work_index))
        raise InputError([problem])
    code = int(state.work.state[row])
    if code not in (PENDING, SUSPENDED):
        raise InputError([Problem("--for", f"{name} is {STATES[code]}, not pending: there is nothing to decide")])
    return row
