"""Starvation: the clocks of pools and operations below their fair share, and of nodes that preempt."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import floor
from typing import Self

import numpy as np

from cede.doctrines.ytsaurus.curves import Floats
from cede.state.columns import CHECKPOINTING, NEVER, READY, RUNNING, Bools, Int8s, Int64s
from cede.state.state import State

NOT, STARVING, AGGRESSIVE = range(3)
STARVATION = ("non_starving", "starving", "aggressively_starving")
UNSET_CLOCK = -(1 << 62)

MOST_QUIET = 1024
"""Plans without preemption that are noted before they are worked out."""

Key = tuple[str, ...]
"""An operation: its pool and its name; a pool: its name."""


@dataclass(slots=True)
class Memory:
    """What lasts from cycle to cycle: clocks by key, what nodes remember by row, volumes by pool."""

    since: dict[Key, int] = field(default_factory=dict)
    starvation: dict[Key, int] = field(default_factory=dict)
    known: set[Key] = field(default_factory=set)
    nodes: NodeClocks | None = None
    volumes: dict[str, list[float]] = field(default_factory=dict)
    spent: dict[str, list[float]] = field(default_factory=dict)
    resources: dict[str, int] = field(default_factory=dict)
    """What volumes and shares spent are of, in their order: resources and the nano-units that one count of each is."""
    historic: dict[Key, float] = field(default_factory=dict)
    updated: int | None = None

    def copy(self) -> Self:
        """The same clocks, for a plan that only asks what would be."""
        return replace(
            self,
            since=dict(self.since),
            starvation=dict(self.starvation),
            known=set(self.known),
            volumes=dict(self.volumes),
            spent=dict(self.spent),
            historic=dict(self.historic),
        )

    def forget_others(self, keys: set[Key], listed: Container[str]) -> None:
        """Clocks of elements that exist no more. Of operations that the file lists it is known for ever that they were
        there: the clock that it gives them counts once, and not again when they come back."""
        self.known = {key for key in self.known if key in keys or key[-1] in listed}
        for kept in (self.since, self.starvation, self.historic):
            for key in kept.keys() - keys:
                del kept[key]


class NodeClocks:
    """The clocks of nodes: when preemption was last tried there, since when it holds more than it has.

    A plan is only a plan: what it tries counts once time has gone on, or once a preemption is known to have been
    carried out. Until then the same moment may be planned again.
    """

    def __init__(self, state: State) -> None:
        self.tried: Int64s = np.zeros(0, np.int64)
        self.over: Int64s = np.zeros(0, np.int64)
        self.some_over = True
        """Whether some node may hold more than it has."""
        self.seen: Int64s = np.zeros(0, np.int64)
        """Which state of things it was last tried on, as a number."""
        self.trying: Bools = np.zeros(0, np.bool_)
        """Nodes that tried at the moment of the last plan, `at`."""
        self._trying_before = self.trying
        self.at = UNSET_CLOCK
        self.meant: dict[int, tuple[str, str]] = {}
        """The claimant that a node preempts for by that plan, and one of its victims."""
        self.things: object = None
        self.number = 0
        self._quiet: list[int] = []
        """Times of plans since, on which every ready node tried that might, and none found a claimant."""
        self._ready: Bools = np.zeros(0, np.bool_)
        self._all_ready = self._ready
        """The same, whether a workload waits there for room or not."""
        self._reshaped = -1
        self._waits = b""
        """Nodes held in them, as bytes, if any."""
        self._backoff = 0
        self.catch_up(state)

    def pass_quietly(self, state: State, backoff: int, held: Bools | None = None) -> None:
        """A plan at this time by which every ready node that may try does, without a claimant; noted, and worked out
        later. On those `held` a workload waits for room."""
        if self._backoff != backoff or len(self._quiet) >= MOST_QUIET:
            self.work_out()
        if self.meant or len(self.tried) != len(state.node_names):
            self.catch_up(state)
        if self._reshaped != state.journal.reshaped or self._waits != (b"" if held is None else held.tobytes()):
            self.work_out()
            if self._reshaped != state.journal.reshaped:
                self._all_ready = state.nodes.state[: state.nodes.size] == READY
            self._ready = self._all_ready if held is None else self._all_ready & ~held
            self._reshaped, self._backoff = state.journal.reshaped, backoff
            self._waits = b"" if held is None else held.tobytes()
        self.things = None
        if not self._quiet or self._quiet[-1] != state.now:
            self._quiet.append(state.now)

    def work_out(self) -> None:
        """What was noted of plans without preemption. Nodes that tried at the same time go on alike."""
        if not self._quiet:
            return
        times, self._quiet = self._quiet, []
        alike = list(zip(self.tried.tolist(), self.trying.tolist(), self._ready.tolist(), strict=True))
        after = {one: self._passed(*one, times) for one in set(alike)}
        self.tried = np.array([after[one][0] for one in alike], np.int64)
        self.trying = np.array([after[one][1] for one in alike], np.bool_)
        self.at = times[-1]

    def _passed(self, tried: int, trying: bool, ready: bool, times: list[int]) -> tuple[int, bool]:
        """When such a node last tried after plans at these times, and whether it did by the last of them."""
        at = self.at
        for now in times:
            if trying and now > at:
                tried, trying = at, False
            trying |= ready and (tried == NEVER or now > tried + self._backoff)
            at = now
        return tried, trying

    def catch_up(self, state: State) -> None:
        """Nodes that joined; and plans that were carried out."""
        self.work_out()
        size, known = len(state.node_names), len(self.tried)
        if size > known:
            self.tried = np.concatenate((self.tried, state.nodes.last_preemptive_attempt[known:size]))
            self.over = np.concatenate((self.over, state.nodes.overcommitted_since[known:size]))
            self.some_over = True
            self.seen = np.concatenate((self.seen, np.full(size - known, -1)))
            self.trying = np.concatenate((self.trying, np.zeros(size - known, np.bool_)))
        self.tried, self.trying = self.settled(state, state.now)
        self.meant.clear()

    def settled(self, state: State, now: int | None) -> tuple[Int64s, Bools]:
        """When preemption was last tried, as it counts at a time or ever after; and which nodes did by a mere plan."""
        self.work_out()
        tried, trying = self.tried.copy(), self.trying.copy()
        later = now is None or now > self.at
        for node, (claimant, victim) in self.meant.items():
            if _carried_out(state, claimant, victim):
                tried[node], trying[node] = self.at, False
            elif later:
                trying[node] = False
        if later:
            tried[trying] = self.at
            trying[:] = False
        return tried, trying

    def none_over(self) -> None:
        """No node holds more than it has."""
        if self.some_over:
            self.over = np.full_like(self.over, NEVER)
            self.some_over = False

    def attempt(self, nodes: Bools, now: int) -> None:
        """These try to preempt now, by a plan."""
        self.at = now
        self._trying_before, self.trying = self.trying, self.trying | nodes
        self.seen[nodes] = self.number

    def did_not_attempt(self, nodes: Bools) -> None:
        """Of what these were to try by that plan nothing is carried out."""
        self.trying[nodes] = self._trying_before[nodes]

    def ready(self, now: int, backoff: int) -> Bools:
        """Nodes that may try again."""
        again: Bools = now > np.where(self.tried == NEVER, now, self.tried) + backoff
        again |= self.tried == NEVER
        return again

    def look_at(self, things: object) -> int:
        """A number for this state of things, the same as long as nothing changes."""
        if things != self.things:
            self.things = things
            self.number += 1
        return self.number


def _carried_out(state: State, claimant: str, victim: str) -> bool:
    """Whether a preemption was more than a plan: the claimant waits no more, or the victim does not go on."""
    row, other = state.work_index.get(claimant), state.work_index.get(victim)
    return row not in state.pending or other is None or state.work.state[other] not in (RUNNING, CHECKPOINTING)


class StarvationClocks:
    """The clocks of pools, or of operations, as columns; memory is told of what changes."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.keys: list[Key] = []
        self._since: Int64s = np.zeros(0, np.int64)
        self._level: Int8s = np.zeros(0, np.int8)
        self.since, self.level = self._since, self._level
        self.ticking: set[int] = set()
        """Those whose clock runs."""
        self.raised: set[int] = set()
        """Those that starve,"""
        self.aggressive: set[int] = set()
        """and those of them that do aggressively."""
        self._due: list[tuple[int, int]] = []
        self._due_at: dict[int, int] = {}
        """When each one's level may change next; what `_due` has beside is out of date."""

    def extend(self, keys: list[Key], given: list[int | None]) -> None:
        """These too: with the clocks that memory has of them, or, if it never saw them, those of the file."""
        memory = self.memory
        since = [
            memory.since.get(key, UNSET_CLOCK) if key in memory.known or first is None else first
            for key, first in zip(keys, given, strict=True)
        ]
        known = len(self.keys)
        self.keys += keys
        if len(self.keys) > len(self._since):  # room for as many again, so that it is seldom made
            more = np.zeros(2 * len(self.keys) - len(self._since), np.int64)
            self._since = np.concatenate((self._since, more))
            self._level = np.concatenate((self._level, more.astype(np.int8)))
        self._since[known : len(self.keys)] = since
        self._level[known : len(self.keys)] = [memory.starvation.get(key, NOT) for key in keys]
        self.since, self.level = self._since[: len(self.keys)], self._level[: len(self.keys)]
        for at, (key, clock) in enumerate(zip(keys, since, strict=True), len(self.keys) - len(keys)):
            if clock != UNSET_CLOCK:
                memory.since[key] = clock
                self.ticking.add(at)
            self._rank(at)
        memory.known.update(keys)

    def step(self, below: Bools, now: int, timeout: Floats, aggressive_timeout: Floats, enabled: Bools) -> None:
        """An update: what is not below its share stops starving at once; the others starve when their time is over."""
        before, level = self.since, self.level
        running = below & (before != UNSET_CLOCK)
        waited = now - np.where(running, before, now)
        self.since = self._since = np.where(below, np.where(running, before, now), UNSET_CLOCK)
        self.level = self._level = np.where(below, level, NOT).astype(np.int8)
        self.level[running & (waited > timeout)] = STARVING
        self.level[running & enabled & (waited > aggressive_timeout)] = AGGRESSIVE
        changed = np.flatnonzero((self.since != before) | (self.level != level) | (below & (before == UNSET_CLOCK)))
        for at in changed.tolist():
            self._tell(at)

    def step_one(self, at: int, *, below: bool, now: int, timeout: float, aggressive_timeout: float | None) -> None:
        """The same of one; without an aggressive timeout it never starves aggressively."""
        before, level = self.since.item(at), self.level.item(at)
        running = below and before != UNSET_CLOCK
        since = (before if running else now) if below else UNSET_CLOCK
        new_level = level if below else NOT
        if running and now - before > timeout:
            new_level = STARVING
        if running and aggressive_timeout is not None and now - before > aggressive_timeout:
            new_level = AGGRESSIVE
        if since != before or new_level != level:
            self.since[at], self.level[at] = since, new_level
            self._tell(at)

    def next_level_at(self, at: int, now: int, timeout: float, aggressive_timeout: float | None) -> int | None:
        """When this one would starve, or starve aggressively, if that is ahead."""
        since, level = self.since.item(at), self.level.item(at)
        first: int | None = None
        if level < STARVING and (time := since + floor(timeout) + 1) > now:
            first = time
        if aggressive_timeout is not None and level < AGGRESSIVE:
            time = since + floor(aggressive_timeout) + 1
            if time > now and (first is None or time < first):
                first = time
        return first

    def watch(self, at: int, time: int | None) -> None:
        """The level of this one may change at this time, and not before."""
        if time is None:
            self._due_at.pop(at, None)
        elif self._due_at.get(at) != time:
            self._due_at[at] = time
            heappush(self._due, (time, at))

    def watch_none(self) -> None:
        self._due.clear()
        self._due_at.clear()

    def next_due(self) -> int | None:
        """When the first level may change."""
        due = self._due
        while due and self._due_at.get(due[0][1]) != due[0][0]:
            heappop(due)
        return due[0][0] if due else None

    def dues(self) -> Iterable[tuple[int, int]]:
        """Whose level may change at which time."""
        return self._due_at.items()

    def due(self, now: int) -> list[int]:
        """Those whose level may have changed by now."""
        due: list[int] = []
        while (time := self.next_due()) is not None and time <= now:
            at = heappop(self._due)[1]
            del self._due_at[at]
            due.append(at)
        return due

    @property
    def strongest(self) -> int:
        """The highest level of all."""
        if self.aggressive:
            return AGGRESSIVE
        return STARVING if self.raised else NOT

    def _rank(self, at: int) -> None:
        level = self.level[at]
        self.raised.add(at) if level != NOT else self.raised.discard(at)
        self.aggressive.add(at) if level == AGGRESSIVE else self.aggressive.discard(at)

    def _tell(self, at: int) -> None:
        self._rank(at)
        key, memory = self.keys[at], self.memory
        if self.since[at] == UNSET_CLOCK:
            self.ticking.discard(at)
            memory.since.pop(key, None)
            memory.starvation.pop(key, None)
        else:
            self.ticking.add(at)
            memory.since[key], memory.starvation[key] = int(self.since[at]), int(self.level[at])
