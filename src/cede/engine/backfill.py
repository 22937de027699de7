"""Who may pass a workload that waits for room at the head of its line, under any doctrine.

`strict`: nobody. `easy`: who does not delay it, as far as walltimes tell (parts/reservation.py); those whom the
doctrine would start are held back if they would, and those whom it keeps only because of their place are asked for one
by one.
A workload that would fit on nodes waits for something else, and holds nobody back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from cede.doctrines.parts.claim import Claim, claim_of
from cede.doctrines.parts.doctrine import BRISK, Doctrine
from cede.doctrines.parts.fit import fits
from cede.doctrines.parts.reservation import Reservation, ends_of, reserve
from cede.engine.cycle import choice_of, plan_state
from cede.model.plan import Decision, Plan
from cede.state.state import State


@dataclass(slots=True)
class Head:
    """Who waits for room, and from when on it will have it; none where that cannot be told."""

    name: str
    reservation: Reservation | None


@dataclass(slots=True)
class Restrained:
    """What is left of a plan. `again`: it was cut short before a head, and the rest must be planned anew."""

    decisions: list[Decision]
    held_back: list[tuple[Decision, Head]] = field(default_factory=list)
    again: bool = False


Heads = dict[int, Head]
"""The heads of one step, by partition: what was left beside one, and who took of it, holds until somebody must go."""


def restrain(
    state: State, doctrine: Doctrine, plan: Plan, backfill: str, known: Heads, memory: dict[str, Any] | None = None
) -> Restrained:
    """The plan as far as nobody passes a head that must not; with one that may pass, if the doctrine kept it back.

    For those after one that is held back the plan counts it as started, so that they are asked for alone, and a
    preemption is decided anew as if nobody who is held back waited.
    """
    heads: dict[int, Head | None] = {}
    doubtful: set[int] = set()
    kept = Restrained([])
    started: set[int] = set()
    behind: list[tuple[Decision, Head]] = []
    whole = plan.edition in doctrine.traits.transactional
    for made in plan.decisions:
        row = None if made.workload is None else state.work_index[made.workload]
        partition = -1 if row is None else int(state.work.partition[row])
        head = heads.get(partition)
        if made.victims and kept.held_back:
            if started:
                kept.again = True
                return kept
            return _without(state, doctrine, backfill, known, memory, kept.held_back)
        if row is None or made.victims:
            kept.decisions.append(made)
            if made.victims and not whole:
                return kept
            if made.victims:
                started.add(partition)
        elif made.action == "start" and partition in doubtful and head is not None:
            kept.held_back.append((made, head))
            behind.append((made, head))
        elif made.action == "start":
            if head is None or _passes(state, head, made, backfill):
                kept.decisions.append(made)
                started.add(partition)
            else:
                kept.held_back.append((made, head))
                doubtful.add(partition)
        else:
            if made.action == "wait" and partition not in heads:
                if partition in started:  # whether it waits for room is seen when those ahead of it have theirs
                    kept.again = True
                    return kept
                claim = _claim(state, doctrine, row)
                if not fits(state, claim):
                    found = known.get(partition)
                    if found is None or found.name != claim.name:
                        found = _head(state, claim, backfill)
                    heads[partition] = found
                    if found is not None:
                        known[partition] = found
            elif made.action == "wait" and head is not None:
                behind.append((made, head))
            kept.decisions.append(made)
    if backfill == "easy" and behind and started:
        kept.again = True  # they are asked for when those ahead of them have their room
    elif backfill == "easy" and behind:
        passing = next((found for found in (_asked(state, doctrine, *one) for one in behind) if found), None)
        if passing is not None:
            others = [made for made in kept.decisions if made.workload != passing.workload]
            return Restrained([*others, passing], kept.held_back, again=True)
    return kept


def _without(
    state: State,
    doctrine: Doctrine,
    backfill: str,
    known: Heads,
    memory: dict[str, Any] | None,
    held_back: list[tuple[Decision, Head]],
) -> Restrained:
    """The same as if those who are held back did not wait; nothing of the plan was kept yet that takes room."""
    names = {made.workload for made, _ in held_back}
    everybody = state.pending
    state.pending = {row for row in everybody if state.work_names[row] not in names}
    try:
        other = plan_state(state, doctrine, misses=False, memory=memory, whole=False, effort=BRISK)
        found = restrain(state, doctrine, other, backfill, known, memory)
    finally:
        state.pending = everybody
    return Restrained(found.decisions, [*held_back, *found.held_back], found.again)


def _claim(state: State, doctrine: Doctrine, row: int) -> Claim:
    """Its claim on the nodes that the doctrine lets it use."""
    claim = claim_of(state, row)
    usable = None if doctrine.usable is None else doctrine.usable(state, choice_of(state).edition, row)
    return claim if usable is None else replace(claim, allowed=claim.allowed & usable)


def _head(state: State, claim: Claim, backfill: str) -> Head | None:
    if backfill == "strict":
        return Head(claim.name, None)
    reservation = reserve(state, claim, ends_of(state))
    return None if reservation is None else Head(claim.name, reservation)


def _passes(state: State, head: Head, made: Decision, backfill: str) -> bool:
    """Whether this start delays nobody; if so, it is taken out of what is left beside the head."""
    if backfill == "strict" or head.reservation is None or made.workload is None:
        return False
    row = state.work_index[made.workload]
    claim = claim_of(state, row)
    nodes = [state.node_index[name] for name in made.nodes]
    walltime = int(state.work.walltime[row])
    if not head.reservation.allows(claim, nodes, state.now, walltime):
        return False
    head.reservation.take(claim, nodes, state.now, walltime)
    return True


def _asked(state: State, doctrine: Doctrine, waiting: Decision, head: Head) -> Decision | None:
    """The doctrine's start of one that stands behind the head, as if nobody else waited; none if it must wait."""
    assert waiting.workload is not None
    row = state.work_index[waiting.workload]
    walltime = int(state.work.walltime[row])
    if head.reservation is None or head.reservation.passes(state, _claim(state, doctrine, row), walltime) is None:
        return None
    everybody = state.pending
    state.pending = {row}
    try:
        alone = plan_state(state, doctrine, misses=False, effort=BRISK).decisions
    finally:
        state.pending = everybody
    made = next((made for made in alone if made.workload == waiting.workload and made.action == "start"), None)
    return made if made is not None and _passes(state, head, made, "easy") else None
