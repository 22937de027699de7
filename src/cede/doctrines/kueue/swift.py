"""The decisions of a plan that act, without words; and nobody looked at twice who has no way, while nothing changes.

As long as nobody starts, leaves or changes how it holds its room, every pass begins on the same usage and the same
nodes. Who had no way at all then has none now, whatever its place in line: it parks, and what it holds back is free
again when the pass ends. So only those that came since are asked, and if none of them has a way, nothing acts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cede.doctrines.kueue.answers import no_fit
from cede.doctrines.kueue.check import HOLDING
from cede.doctrines.kueue.decide import Lines, in_passes, refused_at_once
from cede.doctrines.kueue.flavors import NO_FIT
from cede.doctrines.kueue.known import Known
from cede.doctrines.kueue.memory import Memory, memory_of
from cede.doctrines.kueue.nominate import nominate
from cede.doctrines.kueue.snapshot import claimant_of, snapshot_of
from cede.doctrines.parts.doctrine import Cycle
from cede.model.plan import Decision
from cede.state.columns import SUSPENDED
from cede.state.state import State

STILL = "kueue.still"
ACTS = ("start", "preempt")
Turn = tuple[int, int, tuple[str, str]]


@dataclass(slots=True)
class Still:
    """A moment at which nobody who got a turn had any way. `heads` are the turns of those that block their queue."""

    grown: int
    reshaped: int
    waiting: set[int]
    heads: dict[int, Turn] = field(default_factory=dict)


def swift(cycle: Cycle) -> Iterator[Decision] | None:
    """What `decide` decides that acts, up to the first preemption; none under backfill, which must know who waits."""
    if cycle.backfill != "off":
        cycle.memory.pop(STILL, None)
        return None
    return iter(_acts(cycle))


def _acts(cycle: Cycle) -> list[Decision]:
    state, memory = cycle.state, memory_of(cycle)
    still = cycle.memory.pop(STILL, None)
    came = _came(state, still) if isinstance(still, Still) else None
    state.journal.follows = True
    state.journal.rows.clear()
    if isinstance(still, Still) and came is not None:
        found = _newcomers(cycle, still, came, memory)
        if found is not None:
            cycle.memory[STILL] = still
            return found
    return _everybody(cycle, memory)


def _came(state: State, still: Still) -> list[int] | None:
    """Those that came since; None if anything else happened."""
    journal = state.journal
    if (journal.grown, journal.reshaped) != (still.grown, still.reshaped):
        return None
    codes = state.work.state
    if any(row < 0 or row in still.waiting or codes[row] > SUSPENDED for row in journal.rows):
        return None
    return sorted(set(journal.rows), key=state.work_names.__getitem__)


def _newcomers(cycle: Cycle, still: Still, came: list[int], memory: Memory) -> list[Decision] | None:
    """The refusals of newcomers that have no way; None if one of them may have one."""
    snapshot = snapshot_of(cycle, silent=True)
    found: list[Decision] = []
    for row in came:
        still.waiting.add(row)
        refused = refused_at_once(snapshot, row)
        if refused is not None:
            found.append(refused)
            continue
        claimant = claimant_of(snapshot, row)
        if claimant.name in memory.sticky or claimant.name in memory.tried:
            return None
        if claimant.settings.strict and claimant.queue in still.heads:
            if claimant.turn < still.heads[claimant.queue]:
                return None
            continue
        entry = nominate(snapshot, claimant)
        if not entry.parks or max(entry.assignment.tried.values(), default=-1) >= 0:
            return None
        if claimant.settings.strict:
            still.heads[claimant.queue] = claimant.turn
        if entry.mode == NO_FIT:
            decision = no_fit(snapshot, entry)
            if decision.action == "refuse":
                found.append(decision)
    return found


def _everybody(cycle: Cycle, memory: Memory) -> list[Decision]:
    """A whole plan without words; all of it is made, for what is remembered of those after a preemption."""
    snapshot = snapshot_of(cycle, silent=True)
    lines, known = Lines(), Known(snapshot)
    made = list(in_passes(snapshot, lines, known, memory))
    if lines.settled and not _goes_on(cycle.state, memory):
        journal, waiting = cycle.state.journal, set(cycle.state.pending)
        heads = {queue: head.turn for queue, (head, _, _) in lines.blocked.items()}
        cycle.memory[STILL] = Still(journal.grown, journal.reshaped, waiting, heads)
    if cycle.wakes_at is not None:
        return made
    if not any(decision.action in ACTS for decision in made):
        return [decision for decision in made if decision.action == "refuse"]
    first = next((at for at, decision in enumerate(made) if decision.victims), len(made))
    return [decision for decision in made[: first + 1] if decision.action != "wait" or decision.rule in HOLDING]


def _goes_on(state: State, memory: Memory) -> bool:
    """Whether somebody who waits is remembered, so that its next turn may go otherwise than its last."""
    if not (memory.sticky or memory.tried or memory.rounds):
        return False
    names = {state.work_names[row] for row in state.pending}
    return not names.isdisjoint(memory.sticky | memory.tried.keys() | memory.rounds.keys())
