"""What is remembered from cycle to cycle: who waits for its victims, and where a search for flavors goes on."""

from __future__ import annotations

from dataclasses import dataclass, field

from cede.doctrines.kueue.flavors import Tried
from cede.doctrines.kueue.nominate import Entry
from cede.doctrines.parts.doctrine import Cycle

START, PREEMPT, PARK, SKIP, DEFER, AWAIT = "start", "preempt", "park", "skip", "defer", "await"
"""What becomes of a head."""
Place = frozenset[tuple[tuple[int, int], int]]
"""The flavors last tried, by pod set and resource group."""


@dataclass(slots=True)
class Memory:
    """`tried`: where a head that stopped before its last flavors goes on. `rounds`: from where it went on before, in
    which state: as long as that is the same, going on from there again would lead nowhere new.
    """

    sticky: set[str] = field(default_factory=set)
    tried: dict[str, Tried] = field(default_factory=dict)
    rounds: dict[str, tuple[int, set[Place]]] = field(default_factory=dict)

    def note(self, cycle: Cycle, entry: Entry, outcome: str, *, refused: bool) -> None:
        """A head was decided. One that has flavors left to try is tried again though nothing happens."""
        name, version = entry.claimant.name, cycle.state.version
        self.sticky.discard(name)
        if outcome in (PREEMPT, AWAIT, DEFER) and not entry.claimant.settings.strict:
            self.sticky.add(name)
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


def memory_of(cycle: Cycle) -> Memory:
    """The memory of a run of cycles; of a single plan, an empty one."""
    found = cycle.memory.get("kueue")
    if not isinstance(found, Memory):
        found = cycle.memory["kueue"] = Memory()
    return found
