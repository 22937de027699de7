"""What would let a workload run: the conditions that could end its wait, in words, the most direct one first.

The rule by which it waits says of which kinds they are; the numbers are those of the state that it was decided on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.doctrine import Doctrine
from cede.doctrines.parts.fit import fits
from cede.doctrines.parts.shortage import shortage
from cede.model.plan import Decision, Until
from cede.model.times import about, format_time
from cede.state.state import State

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
    assert made.workload is not None, "whoever waits has a name"
    for kind in doctrine.rules[made.rule.removeprefix(f"{doctrine.name}.")].until:
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
