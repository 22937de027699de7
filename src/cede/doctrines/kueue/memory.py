"""What is remembered from cycle to cycle: who waits for its victims, where a search for flavors goes on, and who waits
and runs, as far as somebody follows that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.doctrines.kueue.flavors import Tried
from cede.doctrines.kueue.nominate import Entry
from cede.doctrines.kueue.quota import quotas_of
from cede.doctrines.kueue.running import Running
from cede.doctrines.kueue.waiting import Waiting
from cede.doctrines.parts.doctrine import Cycle
from cede.state.state import State

START, PREEMPT, PARK, SKIP, DEFER, AWAIT = "start", "preempt", "park", "skip", "defer", "await"
"""What becomes of a head."""
Place = frozenset[tuple[tuple[int, int], int]]
"""The flavors last tried, by pod set and resource group."""


@dataclass(slots=True)
class Memory:
    """`tried`: where a head that stopped before its last flavors goes on. `rounds`: from where it went on before, in
    which state: as long as that is the same, going on from there again would lead nowhere new. `turned`: who became
    sticky, or is so no more, since the lines were last put in order.
    """

    sticky: set[str] = field(default_factory=set)
    tried: dict[str, Tried] = field(default_factory=dict)
    rounds: dict[str, tuple[int, set[Place]]] = field(default_factory=dict)
    turned: set[str] = field(default_factory=set)
    following: Following | None = None

    def note(self, cycle: Cycle, entry: Entry, outcome: str, *, refused: bool) -> None:
        """A head was decided. One that has flavors left to try is tried again though nothing happens."""
        name, version = entry.claimant.name, cycle.state.version
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
        known, places = self.rounds.get(name, (version, set()))
        if known != version:
            places = set()
        place = frozenset(tried.items())
        if place not in places:
            self.tried[name] = tried
            cycle.wake(cycle.state.now)
        places.add(place)
        self.rounds[name] = (version, places)

    def forget(self, name: str) -> None:
        """This one ended. Nothing is lost by it: who comes later under its name is somebody else."""
        self.sticky.discard(name)
        self.tried.pop(name, None)
        self.rounds.pop(name, None)

    def copy(self) -> Memory:
        """The same, for somebody who only asks what would be."""
        rounds = {name: (version, set(places)) for name, (version, places) in self.rounds.items()}
        return Memory(set(self.sticky), dict(self.tried), rounds)


@dataclass(slots=True)
class Following:
    """Who waits and who runs, as the journal tells it; `reshaped` nodes and queues are another cluster."""

    waiting: Waiting
    running: Running
    reshaped: int

    def ended(self, rows: Iterable[int]) -> Iterator[str]:
        """The names that were at these journal rows when somebody last followed, of those that ended since.

        What is remembered was noted in a plan, so that its row was one of those then, or is since it holds room.
        """
        for row in rows:
            if row < 0:
                name = self.waiting.name(~row) or self.running.name(~row)
                if name is not None and _is_gone(self.waiting.state, name):
                    yield name


MOST_KINDS = 20_000
"""With more kinds than this, most of which are gone, all is made anew."""


def followed(cycle: Cycle, memory: Memory) -> Following:
    """Who waits and who runs now: brought up to date by the journal, or made anew where that cannot tell."""
    state, journal = cycle.state, cycle.state.journal
    if cycle.words:
        memory.following = None
        _forget_ended(memory, state)
        quotas = quotas_of(state)
        return Following(Waiting(state, quotas, memory.sticky), Running(state, quotas), journal.reshaped)
    found = memory.following
    quotas = quotas_of(state)
    if (
        found is None
        or found.reshaped != journal.reshaped
        or found.running.quotas is not quotas
        or found.running.state is not state
        or len(found.waiting.kinds) > MOST_KINDS
    ):
        _forget_ended(memory, state)
        found = Following(Waiting(state, quotas, memory.sticky), Running(state, quotas), journal.reshaped)
        found.running.watch()
        journal.follows = True
    else:
        for name in found.ended(journal.rows):
            memory.forget(name)
        rows = {row if row >= 0 else ~row for row in journal.rows}
        found.waiting.follow(rows, memory.sticky)
        found.running.follow(rows)
        if memory.turned:
            found.waiting.turn(memory.turned, memory.sticky)
    memory.turned.clear()
    journal.rows.clear()
    memory.following = found
    return found


def _is_gone(state: State, name: str) -> bool:
    """Whether it is gone for good, and not only out of the line for a while."""
    return name not in state.work_index and name not in state.away


def _forget_ended(memory: Memory, state: State) -> None:
    """Where nobody followed, or everything is made anew: all that is remembered is looked through."""
    for name in [name for name in (*memory.sticky, *memory.tried, *memory.rounds) if _is_gone(state, name)]:
        memory.forget(name)


def copied(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Who waits for its victims, and where searches go on, once more."""
    found = memory.get("kueue")
    return {"kueue": found.copy()} if isinstance(found, Memory) else {}


def memory_of(cycle: Cycle) -> Memory:
    """The memory of a run of cycles; of a single plan, an empty one."""
    found = cycle.memory.get("kueue")
    if not isinstance(found, Memory):
        found = cycle.memory["kueue"] = Memory()
    return found
