"""Who starves: the clocks of elements below their fair share, and what was remembered from cycle to cycle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.ytsaurus.curves import Floats
from cede.state.columns import NEVER, Bools, Int8s, Int64s
from cede.state.state import State

if TYPE_CHECKING:
    from cede.doctrines.ytsaurus.update import Update

NOT, STARVING, AGGRESSIVE = range(3)
STARVATION = ("non_starving", "starving", "aggressively_starving")
UNSET_CLOCK = -(1 << 62)

Key = tuple[str, ...]
"""An operation: its pool and its name; a pool: its name."""


@dataclass(slots=True)
class Memory:
    """What lasts from cycle to cycle: clocks by key, what nodes remember by row, volumes by pool."""

    since: dict[Key, int] = field(default_factory=dict)
    starvation: dict[Key, int] = field(default_factory=dict)
    known: set[Key] = field(default_factory=set)
    nodes: Nodes | None = None
    volumes: dict[str, list[float]] = field(default_factory=dict)
    spent: dict[str, list[float]] = field(default_factory=dict)
    historic: dict[Key, float] = field(default_factory=dict)
    updated: int | None = None
    update: Update | None = None
    following: bool = False


class Nodes:
    """The clocks of nodes: when preemption was last tried there, since when it holds more than it has."""

    def __init__(self, state: State) -> None:
        self.tried: Int64s = np.zeros(0, np.int64)
        self.over: Int64s = np.zeros(0, np.int64)
        self.seen: Int64s = np.zeros(0, np.int64)
        """Which state of things it was last tried on, as a number."""
        self.served: dict[int, int] = {}
        """When a node last preempted for somebody, if that was carried out."""
        self.meant: dict[int, str] = {}
        """Claimants that nodes preempt for by a plan of which nobody knows yet whether it was carried out."""
        self.things: object = None
        self.number = 0
        self.catch_up(state)

    def catch_up(self, state: State) -> None:
        """Nodes that joined; and plans that were carried out."""
        size, known = state.nodes.size, len(self.tried)
        if size > known:
            self.tried = np.concatenate((self.tried, state.nodes.last_preemptive_attempt[known:size]))
            self.over = np.concatenate((self.over, state.nodes.overcommitted_since[known:size]))
            self.seen = np.concatenate((self.seen, np.full(size - known, -1)))
        for node, name in self.meant.items():
            row = state.work_index.get(name)
            if row is None or row not in state.pending:
                self.served[node] = int(self.tried[node])
        self.meant.clear()

    def ready(self, now: int, backoff: int) -> Bools:
        """Nodes that may try again. What was tried at this very moment and served nobody was only a plan."""
        again: Bools = (self.tried == NEVER) | (self.tried == now)
        again |= now > np.where(self.tried == NEVER, now, self.tried) + backoff
        for node, at in self.served.items():
            if at == now:
                again[node] = False
        return again

    def look_at(self, things: object) -> int:
        """A number for this state of things, the same as long as nothing changes."""
        if things != self.things:
            self.things = things
            self.number += 1
        return self.number


def memory_of(cycle: Cycle) -> Memory:
    """The memory of a run of cycles; of a single plan, an empty one."""
    found = cycle.memory.get("ytsaurus")
    if not isinstance(found, Memory):
        found = cycle.memory["ytsaurus"] = Memory()
    return found


def starve(
    below: Bools, since: Int64s, before: Int8s, now: int, timeout: Floats, aggressive_timeout: Floats, enabled: Bools
) -> tuple[Int64s, Int8s]:
    """Clocks and states after an update. Whoever is not below its share starves no more, at once."""
    started = np.where(below & (since == UNSET_CLOCK), now, np.where(below, since, UNSET_CLOCK))
    running = below & (since != UNSET_CLOCK)
    waited = now - np.where(running, since, now)
    state = np.where(below, before, NOT).astype(np.int8)
    state[running & (waited > timeout)] = STARVING
    state[running & enabled & (waited > aggressive_timeout)] = AGGRESSIVE
    return started, state
