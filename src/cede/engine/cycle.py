"""What would let a workload run: the conditions that could end its wait, in words, the nearest one first.

The rule by which it waits says of which kinds they are; the numbers are those of the state that it was decided on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from cede.doctrines.catalog import doctrine_of
from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.doctrine import BRISK, EFFORT, Cycle, Doctrine
from cede.doctrines.parts.fit import fits
from cede.doctrines.parts.shortage import shortage
from cede.engine.certify import ahead_of, certified
from cede.engine.cluster import Cluster
from cede.engine.costs import priced
from cede.model.cluster import DoctrineChoice
from cede.model.errors import InputError, Problem, did_you_mean
from cede.model.garbage import collecting_no_garbage
from cede.model.plan import CONDITIONS, Decision, Plan, Until
from cede.model.times import about, format_time
from cede.state.columns import PENDING, STATES, SUSPENDED
from cede.state.state import State
from cede.state.trial import Trial

WakesAt = Callable[[str], int | None]
"""When time alone may change what becomes of the workload of this name."""


def with_conditions(
    state: State, doctrine: Doctrine, decisions: tuple[Decision, ...], wakes_at: WakesAt
) -> tuple[Decision, ...]:
    """Every decision to wait says what could end it."""
    return tuple(
        replace(made, until=tuple(_conditions(state, doctrine, made, wakes_at))) if made.action == "wait" else made
        for made in decisions
    )


def _conditions(state: State, doctrine: Doctrine, made: Decision, wakes_at: WakesAt) -> Iterator[Until]:
    """In the order of `CONDITIONS`, which is by nearness, in whichever order the rule declares its own."""
    assert made.workload is not None, "whoever waits has a name"
    rule = doctrine.rules[made.rule.removeprefix(f"{doctrine.name}.")]
    for kind in sorted(rule.until, key=CONDITIONS.index):
        if kind == "candidate":
            if made.nearest_miss:
                yield Until(kind, _without(made))
        elif kind == "room":
            yield Until(kind, _room(state, made))
        elif kind == "time":
            at = wakes_at(made.workload)
            if at is not None:
                yield Until(kind, f"in {about(max(0, at - state.now))}", str(format_time(at, state.instant)))
        else:
            yield Until(kind, made.why)


def _without(made: Decision) -> str:
    """Who would have to end, or to lose what protects it."""
    protected = "; ".join(f"{miss.workload}: {miss.why}" for miss in made.nearest_miss)
    names = [miss.workload for miss in made.nearest_miss]
    who = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    verb = "leaves, or may" if len(names) == 1 else "leave, or may"
    return f"{who} {verb} be preempted ({protected})"


def _room(state: State, made: Decision) -> str:
    assert made.workload is not None
    claim = claim_of(state, state.work_index[made.workload])
    if not state.nodes.size:
        return made.why
    if fits(state, claim):
        return "there is room for it now, and this plan gives it to others"
    return shortage(state, claim)


MOST_TIMES = 32
"""Of so many that wait for a time one explanation says when that is."""


def plan(
    cluster: Cluster,
    *,
    only: str | None = None,
    shares: bool = False,
    explain: bool = False,
    misses: bool = True,
    certify: float | None = None,
    effort: int = EFFORT,
    kept: Mapping[str, Any] | None = None,
    until: bool = False,
) -> Plan:
    """What one cycle decides on this cluster, or on one of its pending workloads. The cluster stays as it is.

    With `explain` or `until`, whoever waits is told what could end that.

    With `certify`, so many seconds are used to prove how near its victims are to the best. `effort`: how far exact
    searches may branch. `kept` is what doctrines remember that no file says, each under its name.
    """
    doctrine = doctrine_of(cluster.document.doctrine)
    state = cluster.state
    decide = partial(plan_state, state, doctrine, effort=effort)
    recalled = partial(recalled_of, state, doctrine, kept)
    made = decide(only=only, shares=shares, explain=explain, misses=misses, memory=recalled())
    made = replace(made, decisions=priced(state, made.decisions))
    if explain or until:
        asked = 0

        def wakes_at(name: str) -> int | None:
            nonlocal asked
            asked += 1  # each takes a plan of its own
            return decide(only=name, misses=False, memory=recalled()).wakes_at if asked <= MOST_TIMES else None

        made = replace(made, decisions=with_conditions(state, doctrine, made.decisions, wakes_at))
    if certify is None:
        return made
    ahead = () if only is None else ahead_of(decide(misses=False, memory=recalled()), only)
    return certified(state, doctrine, made, certify, ahead=ahead, memory=recalled())


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
    effort: int = EFFORT,
    carried_out: bool = True,
) -> Plan:
    """The same on live columns, what victims cost left aside; `memory` is what the doctrine keeps between cycles, and
    is updated.

    `whole`: everybody is asked for who waits, and not only some of them. `carried_out`: all of the plan will be, and
    not only what comes up to its first preemption.
    """
    choice = choice_of(state)
    row = None if only is None else _pending_row(state, only)
    with collecting_no_garbage(), Trial(state) as trial:
        kept = {} if memory is None else memory
        cycle = Cycle(state, trial, choice.edition, row, explain, misses, kept, whole, effort=effort)
        cycle.carried_out = carried_out
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
        cycle.again,
    )


def wordless(
    trial: Trial, doctrine: Doctrine, memory: dict[str, Any], backfill: str = "off", *, reasons: bool = True
) -> Cycle | None:
    """The cycle for `plan_acts`, again and again, nobody passing a head but as `backfill` says; none where the edition
    does not decide without words. With `reasons` what acts is told why."""
    edition = choice_of(trial.state).edition
    if edition not in (doctrine.incremental if backfill == "off" else doctrine.traits.backfills):
        return None
    return Cycle(trial.state, trial, edition, None, False, False, memory, True, backfill, BRISK, False, reasons)


def plan_acts(cycle: Cycle, doctrine: Doctrine) -> Plan | None:
    """What a plan decides that acts, up to the first preemption, with refusals of those that just came; none if that is
    nothing, now and later. Of the trial nothing stays, and the plan does not say its time.
    """
    cycle.wakes_at, cycle.again = None, False
    if cycle.missed:
        cycle.missed = {}
    trial = cycle.trial
    try:
        decisions = tuple(doctrine.decide(cycle))
    finally:
        if trial.log:
            trial.undo()
    if not decisions and cycle.wakes_at is None:
        return None
    name = doctrine.dialect.name
    return Plan(name, cycle.edition, "", decisions, cycle.state.version, cycle.wakes_at, None, cycle.again)


def recalled_of(state: State, doctrine: Doctrine, kept: Mapping[str, Any] | None) -> dict[str, Any]:
    """The memory of which this was kept; what another doctrine left behind counts for nothing."""
    found = None if kept is None else kept.get(doctrine.name)
    return doctrine.recalled(state, found) if found and doctrine.recalled is not None else {}


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
