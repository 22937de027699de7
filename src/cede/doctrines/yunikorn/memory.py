"""What release 1.9 remembers from pass to pass: asks that preempted once, and when each was looked at last."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.yunikorn.quota_preemption import TIMERS, Timers
from cede.state.columns import PENDING, RESERVED, RUNNING, SUSPENDED
from cede.state.state import State


@dataclass(frozen=True, slots=True)
class Checked:
    """When an ask was looked at, on which version of the state, and the rule that came of it."""

    at: int
    version: int
    rule: str


@dataclass(slots=True)
class Memory:
    """By name of the ask. `meant` are those that preempt by a plan of which nobody knows yet whether it was carried
    out, with their victims.
    """

    triggered: set[str] = field(default_factory=set)
    meant: dict[str, tuple[str, ...]] = field(default_factory=dict)
    checked: dict[str, Checked] = field(default_factory=dict)

    def catch_up(self, state: State, moved: Iterable[str] | None) -> None:
        """A plan was carried out if one of its victims runs no more. An ask that was served is gone; if it is preempted
        later, what comes back is another one. `moved`: nobody else came, went or changed; none: that is not known.
        """
        for name, victims in self.meant.items():
            if any(not _runs(state, victim) for victim in victims):
                self.triggered.add(name)
        self.meant.clear()
        for name in (*self.triggered, *self.checked) if moved is None else moved:
            if (name in self.checked or name in self.triggered) and not _waits(state, name):
                self.triggered.discard(name)
                self.checked.pop(name, None)


def _waits(state: State, name: str) -> bool:
    row = state.work_index.get(name)
    return row is not None and state.work.state[row] in (PENDING, SUSPENDED, RESERVED)


def _runs(state: State, name: str) -> bool:
    row = state.work_index.get(name)
    return row is not None and bool(state.work.state[row] == RUNNING)


def copied(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Asks that preempted or were looked at, and timers of quotas, once more."""
    asks, timers = memory.get("yunikorn"), memory.get(TIMERS)
    copies: dict[str, Any] = {}
    if isinstance(asks, Memory):
        copies["yunikorn"] = Memory(set(asks.triggered), dict(asks.meant), dict(asks.checked))
    if isinstance(timers, Timers):
        copies[TIMERS] = Timers(dict(timers.by_queue))
    return copies


def lasting(memory: Mapping[str, Any]) -> Hashable:
    """Who preempted once and never will again."""
    asks = memory.get("yunikorn")
    return frozenset({*asks.triggered, *asks.meant}) if isinstance(asks, Memory) else frozenset()


def memory_of(cycle: Cycle, moved: Iterable[str] | None) -> Memory:
    """The memory of a run of cycles, brought up to date; of a single plan, an empty one. `moved` as in `catch_up`."""
    asks = cycle.memory.get("yunikorn")
    if not isinstance(asks, Memory):
        asks = cycle.memory["yunikorn"] = Memory()
    asks.catch_up(cycle.state, moved)
    return asks
