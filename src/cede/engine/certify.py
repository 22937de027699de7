"""How near the victims of a plan's decisions are to the best there are, proven by an exact solver.

The plan is followed decision by decision, as everything was when each was made. The rules of the doctrine are hard
conditions of the question that its decision answers; nothing of the plan is changed by asking.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cede.doctrines.parts.doctrine import OPTIMAL, Doctrine
from cede.doctrines.parts.exact import solve
from cede.doctrines.parts.exact.check import lawful
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.question import Question
from cede.doctrines.parts.selection import by_cost
from cede.engine.clock import Clock, ElapsedClock
from cede.model.certificate import Certificate
from cede.model.errors import InputError, Problem
from cede.model.plan import Decision, Plan
from cede.state.admission import admitted_parts
from cede.state.columns import GONE, PREEMPTING, Bools
from cede.state.state import State
from cede.state.static import holds
from cede.state.trial import Trial

SECONDS = 10.0
"""How long a whole plan may take to be certified, if nobody says otherwise."""
MOST_SECONDS = 86_400.0
MOST_LIVE_SECONDS = 20.0
"""Of a running server, which refuses to answer what takes longer."""
COST = "cost"
AHEAD = "what those hold who come first and wait, as if they had started, is not counted"


def seconds_of(text: str, place: str = "--certify", *, live: bool = False) -> float:
    """The time that an option gives; an InputError if it is none, or more than a running server takes."""
    most = MOST_LIVE_SECONDS if live else MOST_SECONDS
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found <= most:
        message, whose = f"{text!r} is no time to certify in", " of a running server" if live else ""
        raise InputError([Problem(place, message, f"give seconds, above 0 and at most {most:g}{whose}; as 10 or 0.5")])
    return found


def certified(
    state: State,
    doctrine: Doctrine,
    made: Plan,
    seconds: float = SECONDS,
    *,
    ahead: Sequence[Decision] = (),
    memory: Mapping[str, Any] | None = None,
    clock: Clock | None = None,
) -> Plan:
    """The plan with a certificate on each decision that has victims, as far as the doctrine can be asked.

    `ahead` are decisions that came before those of the plan and are not among them; `memory` is what the doctrine
    remembered when it decided. All questions share the time.
    """
    asked = sum(1 for decision in made.decisions if _asks(doctrine, decision))
    if not asked:
        return made
    time = _Time(seconds, 2 * asked, ElapsedClock() if clock is None else clock)
    decisions: list[Decision] = []
    once = made.edition in doctrine.traits.transactional
    with Trial(state) as trial:
        if once:
            trial.keep_apart()
        for decision in ahead:
            _follow(trial, doctrine, decision, once=once)
        counted = any(decision.rule in doctrine.traits.counted for decision in ahead)
        for decision in made.decisions:
            found = None
            if _asks(doctrine, decision):
                question = _question(state, doctrine, made.edition, decision, memory or {}, counted=counted)
                found = _certificate(state, question, decision, time)
            decisions.append(decision if found is None else replace(decision, certificate=found))
            _follow(trial, doctrine, decision, once=once)
            counted |= decision.rule in doctrine.traits.counted
    return replace(made, decisions=tuple(decisions))


def ahead_of(made: Plan, name: str) -> tuple[Decision, ...]:
    """The decisions of a plan that come before the one about this workload."""
    names = [decision.workload for decision in made.decisions]
    return made.decisions[: names.index(name)] if name in names else ()


def _asks(doctrine: Doctrine, decision: Decision) -> bool:
    return doctrine.question is not None and decision.workload is not None and bool(decision.victims)


class _Time:
    """The time that is left, shared out evenly among the questions that are."""

    def __init__(self, seconds: float, questions: int, clock: Clock) -> None:
        self.clock = clock
        self.end = clock.now() + int(seconds * 1e6)
        self.questions = questions

    def skip(self, questions: int = 1) -> None:
        """So many need not be asked after all."""
        self.questions -= questions

    def next(self) -> Callable[[], float]:
        """How long the next question may still take, whenever that is asked."""
        now = self.clock.now()
        end = now + (self.end - now) // max(self.questions, 1)
        self.questions -= 1
        return lambda: (end - self.clock.now()) / 1e6


def _follow(trial: Trial, doctrine: Doctrine, decision: Decision, *, once: bool) -> None:
    """What is so for those decided next: victims gone, the claimant in its place.

    `once`: the victims' room was free for their claimant alone.
    """
    state = trial.state
    if decision.rule in doctrine.traits.awaits:
        for leaving in np.flatnonzero(state.work.state[: state.work.size] == PREEMPTING).tolist():
            trial.evict(leaving)
    for victim in decision.victims:
        row = state.work_index.get(victim.workload)
        if row is not None and holds(int(state.work.state[row])):
            (trial.tell_to_leave if once else trial.evict)(row)
    if decision.workload is None or decision.action not in ("start", "preempt"):
        return
    row = state.work_index[decision.workload]
    parts = admitted_parts(state, row, decision.flavors, decision.counts)
    trial.book(row, [state.node_index[name] for name in decision.nodes], parts)


def _question(
    state: State, doctrine: Doctrine, edition: str, decision: Decision, memory: Mapping[str, Any], *, counted: bool
) -> Question | None:
    """What the doctrine says of the decision; `counted`: somebody ahead of it waits and holds quota nevertheless."""
    assert doctrine.question is not None
    there = tuple(one for one in decision.victims if state.work.state[state.work_index[one.workload]] != GONE)
    question = doctrine.question(state, edition, replace(decision, victims=there), memory)
    if question is None or not counted:
        return question
    return replace(question, relaxed=(*question.relaxed, AHEAD))


def _certificate(state: State, question: Question | None, decision: Decision, time: _Time) -> Certificate | None:
    if question is None:
        time.skip(2)
        return None
    if state.static.selection == OPTIMAL and question.by_order:
        question = by_cost(state, question)
    rows = np.array([state.work_index[victim.workload] for victim in decision.victims], np.intp)
    rows = rows[state.work.state[rows] != GONE]
    own = _judged(state, question, rows, time)
    if question.objective == COST:
        time.skip()
        return own
    return replace(own, cost=_judged(state, by_cost(state, question), rows, time))


def _judged(state: State, question: Question, rows: Rows, time: _Time) -> Certificate:
    taken = np.isin(question.rows, rows)
    does = int(taken.sum()) == len(rows) and lawful(state, question, rows)
    value = _value(question, taken)
    found = solve(state, question, seconds=time.next(), chosen=rows if does else None)
    bound = found.bound if math.isfinite(found.bound) else None
    if does and bound is not None and found.proven and found.value is not None and value <= found.value:
        bound = value
    better: tuple[str, ...] = ()
    if found.rows is not None and found.value is not None and found.value < value and does and not question.relaxed:
        better = tuple(sorted(state.work_names[row] for row in found.rows.tolist()))
    scale = question.scale
    return Certificate(
        question.objective,
        question.unit,
        value / scale,
        None if bound is None else bound / scale,
        optimal=does and bound is not None and bound >= value,
        better=better,
        best=found.value / scale if better and found.value is not None else None,
        relaxed=question.relaxed,
        lawful=does,
    )


def _value(question: Question, taken: Bools) -> float:
    weights = question.weights[taken].tolist()
    return max(weights, default=0.0) if question.by_order else math.fsum(weights)
