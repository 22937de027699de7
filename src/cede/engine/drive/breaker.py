"""The breaker: workloads that evict each other in a circle are slowed down, and said to do so.

A doctrine that lets A evict B and then B evict A is carried out as it says, a few times. After that the next eviction
of the circle waits, each time twice as long. What the doctrine would decide is not touched: no plan sees the breaker.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cede.engine.drive.job import Job
from cede.model.times import SECOND

MOST_REMEMBERED = 1000
"""Evictions that are remembered at most, the latest."""


@dataclass(frozen=True, slots=True)
class BreakerLimits:
    """When the breaker acts, and for how long; times in microseconds."""

    enabled: bool = True
    turns: int = 3
    """Evictions back within the window that are let pass, between the same workloads."""
    app_turns: int = 10
    """The same, between apps: they may have reasons of their own to take turns."""
    window: int = 3600 * SECOND
    delay: int = 10 * SECOND
    """How long the first eviction waits that is held back; each further one twice as long."""
    max_delay: int = 1800 * SECOND


@dataclass(frozen=True, slots=True)
class Circle:
    """Who evicts whom in a circle, how often one was evicted back, and until when the next eviction waits."""

    members: tuple[str, ...]
    turns: int
    since: int
    until: int

    def __str__(self) -> str:
        return " -> ".join((*self.members, self.members[0]))


@dataclass(frozen=True, slots=True)
class _Eviction:
    at: int
    claimant: str
    victim: str
    back: bool
    """The victim had a part in evicting the claimant before."""


class Breaker:
    """The evictions of the last hour or so, and the circles among them."""

    def __init__(self, limits: BreakerLimits) -> None:
        self.limits = limits
        self._evictions: deque[_Eviction] = deque()
        self._evicted: dict[str, Counter[str]] = {}
        """How often whom, by claimant."""

    def record(self, at: int, claimant: Job, victims: Iterable[Job]) -> None:
        """These evictions were decided."""
        self._forget_before(at - self.limits.window)
        for victim in victims:
            for taker, taken in _pairs(claimant, victim):
                self._add(_Eviction(at, taker, taken, self._path(taken, taker) is not None))
        while len(self._evictions) > MOST_REMEMBERED:
            self._drop(self._evictions.popleft())

    def circle(self, at: int, claimant: Job, victims: Iterable[Job]) -> Circle | None:
        """The circle that these evictions would go round once more before it may; none if they may be."""
        if not self.limits.enabled:
            return None
        self._forget_before(at - self.limits.window)
        circles = [
            circle
            for victim in victims
            for taker, taken in _pairs(claimant, victim)
            if (circle := self._closed(taker, taken)) is not None and circle.until > at
        ]
        return max(circles, key=lambda one: (one.until, one.members), default=None)

    def _closed(self, claimant: str, victim: str) -> Circle | None:
        path = self._path(victim, claimant)
        if path is None:
            return None
        members = set(path)
        back = [one for one in self._evictions if one.back and {one.claimant, one.victim} <= members]
        limits = self.limits
        allowed = limits.app_turns if claimant.startswith(_APP) else limits.turns
        if len(back) < allowed:
            return None
        # Doubling ends where it is longer than any delay, so that no number grows without end.
        delay = min(limits.max_delay, limits.delay << min(len(back) - allowed, 40))
        names = tuple(_name(member) for member in [path[-1], *path[:-1]])
        return Circle(names, len(back), back[0].at, back[-1].at + delay)

    def _path(self, victim: str, claimant: str) -> list[str] | None:
        """From the victim to the claimant by evictions: a shortest one, the same each time."""
        came_from: dict[str, str | None] = {victim: None}
        line = deque([victim])
        while line:
            here = line.popleft()
            if here == claimant:
                path = [here]
                while (before := came_from[path[-1]]) is not None:
                    path.append(before)
                return path[::-1]
            for other in sorted(self._evicted.get(here, ())):
                if other not in came_from:
                    came_from[other] = here
                    line.append(other)
        return None

    def _add(self, eviction: _Eviction) -> None:
        self._evictions.append(eviction)
        self._evicted.setdefault(eviction.claimant, Counter())[eviction.victim] += 1

    def _drop(self, eviction: _Eviction) -> None:
        evicted = self._evicted[eviction.claimant]
        evicted[eviction.victim] -= 1
        if not evicted[eviction.victim]:
            del evicted[eviction.victim]
        if not evicted:
            del self._evicted[eviction.claimant]

    def _forget_before(self, time: int) -> None:
        while self._evictions and self._evictions[0].at < time:
            self._drop(self._evictions.popleft())

    # -- what outlives a restart -------------------------------------------------------------------------------

    def kept(self) -> list[list[int | str | bool]]:
        """All that is remembered, as plain JSON."""
        return [[one.at, one.claimant, one.victim, one.back] for one in self._evictions]

    def recall(self, kept: Sequence[Sequence[int | str | bool]]) -> None:
        """Remember this, and nothing else."""
        self._evictions.clear()
        self._evicted.clear()
        for at, claimant, victim, back in kept:
            self._add(_Eviction(int(at), str(claimant), str(victim), bool(back)))


_WORKLOAD, _APP = "workload ", "app "


def _pairs(claimant: Job, victim: Job) -> list[tuple[str, str]]:
    """The two as workloads, and as apps if both are of one and not of the same."""
    pairs = [(_WORKLOAD + claimant.name, _WORKLOAD + victim.name)]
    taker, taken = claimant.workload.app, victim.workload.app
    if taker is not None and taken is not None and taker != taken:
        pairs.append((_APP + taker, _APP + taken))
    return pairs


def _name(member: str) -> str:
    return member if member.startswith(_APP) else member.removeprefix(_WORKLOAD)
