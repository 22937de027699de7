"""What is remembered from cycle to cycle: workloads that wait for their victims, where a search for flavors goes on.

Where the journal is followed, what waits and what runs is kept here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.doctrines.kueue.flavors import Tried
from cede.doctrines.kueue.nominate import Entry
from cede.doctrines.kueue.quota import quotas_of
from cede.doctrines.kueue.running_usage import RunningUsage
from cede.doctrines.kueue.waiting_line import WaitingLines
from cede.doctrines.parts.doctrine import Cycle
from cede.state.columns import RUNNING
from cede.state.state import State

START, PREEMPT, PARK, SKIP, DEFER, AWAIT = "start", "preempt", "park", "skip", "defer", "await"
"""What becomes of a head."""
FlavorsTried = frozenset[tuple[tuple[int, int], int]]
"""The flavors last tried, by pod set and resource group."""


@dataclass(slots=True)
class Memory:
    """`tried`: where a head that stopped before its last flavors goes on. `rounds`: from where it went on before, in a
    state of this `version`: as long as that is the same, going on from there again would lead nowhere new. `turned`:
    names that became sticky, or are so no more, since the lines were last put in order.
    """

    sticky: set[str] = field(default_factory=set)
    tried: dict[str, Tried] = field(default_factory=dict)
    rounds: dict[str, set[FlavorsTried]] = field(default_factory=dict)
    version: int = -1
    turned: set[str] = field(default_factory=set)
    view: JournalView | None = None

    def note(self, cycle: Cycle, entry: Entry, outcome: str, *, refused: bool) -> None:
        """A head was decided. One that has flavors left to try is tried again though nothing happens."""
        name = entry.claimant.name
        if self.version != cycle.state.version:
            self.version = cycle.state.version
            self.rounds.clear()
        sticks = outcome in (PREEMPT, AWAIT, DEFER) and not entry.claimant.settings.strict
        if sticks != (name in self.sticky):
            self.turned.add(name)
            (self.sticky.add if sticks else self.sticky.discard)(name)
        self.tried.pop(name, None)
        if outcome not in (PARK, SKIP) or refused:
            self.rounds.pop(name, None)
            return
        tried = entry.assignment.tried
        if max(tried.values(), default=-1) < 0:  # nowhere to go on from
            return
        places = self.rounds.setdefault(name, set())
        place = frozenset(tried.items())
        if place not in places:
            self.tried[name] = tried
            cycle.wake(cycle.state.now)
        places.add(place)

    def forget(self, state: State) -> None:
        """Names that are gone for good, and not only out of the line for a while, are forgotten: a workload that comes
        later under the same name is another one. One that runs waits for no victims any more; one with reserved room
        does, and stands in front of its line again if it loses that. There are few names to look at.
        """
        there, away = state.work_index, state.away
        for name in [name for name in (*self.sticky, *self.tried) if name not in there and name not in away]:
            self.sticky.discard(name)
            self.tried.pop(name, None)
        if self.sticky:
            states = state.work.state
            self.sticky -= {name for name in self.sticky if name in there and states[there[name]] >= RUNNING}

    def copy(self) -> Memory:
        """The same, for a plan that only asks what would be."""
        rounds = {name: set(places) for name, places in self.rounds.items()}
        return Memory(set(self.sticky), dict(self.tried), rounds, self.version)


@dataclass(slots=True)
class JournalView:
    """What waits and what runs, as the journal tells it; `reshaped` nodes and queues are another cluster."""

    waiting: WaitingLines
    running: RunningUsage
    reshaped: int


MOST_KINDS = 20_000
"""With more kinds than this, most of which are gone, all is made anew."""


def view_of(cycle: Cycle, memory: Memory) -> JournalView:
    """What waits and what runs now: brought up to date by the journal, or made anew where that cannot tell."""
    state, journal = cycle.state, cycle.state.journal
    memory.forget(state)
    if cycle.words:
        memory.view = None
        quotas = quotas_of(state)
        return JournalView(WaitingLines(state, quotas, memory.sticky), RunningUsage(state, quotas), journal.reshaped)
    view = memory.view
    quotas = quotas_of(state)
    if (
        view is None
        or view.reshaped != journal.reshaped
        or view.running.quotas is not quotas
        or view.running.state is not state
        or len(view.waiting.kinds) > MOST_KINDS
    ):
        view = JournalView(WaitingLines(state, quotas, memory.sticky), RunningUsage(state, quotas), journal.reshaped)
        view.running.watch()
        journal.follows = True
    else:
        rows = {row if row >= 0 else ~row for row in journal.rows}
        view.waiting.follow(rows, memory.sticky)
        view.running.follow(rows)
        if memory.turned:
            view.waiting.turn(memory.turned, memory.sticky)
    memory.turned.clear()
    journal.rows.clear()
    memory.view = view
    return view


def copied(memory: Mapping[str, Any]) -> dict[str, Any]:
    """A copy for a plan that only asks what would be."""
    kept = memory.get("kueue")
    return {"kueue": kept.copy()} if isinstance(kept, Memory) else {}


def memory_of(cycle: Cycle) -> Memory:
    """The memory of a run of cycles; of a single plan, an empty one."""
    memory = cycle.memory.get("kueue")
    if not isinstance(memory, Memory):
        memory = cycle.memory["kueue"] = Memory()
    return memory
