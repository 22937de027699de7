"""YTsaurus as a competent person writes it first: who starves, and one heartbeat, over plain objects.

It knows what the drawn pool trees have in them: no disks, graceful operations, checkpoints or nodes that hold too much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.naive.ytsaurus_lines import Number, Vector
from bench.naive.ytsaurus_tree import TINY, Element, Forest, Work

INFINITE = 1e9
NOT, STARVING, AGGRESSIVE = range(3)
PROTECTED, AGGRESSIVELY, PREEMPTIBLE = range(3)
TOLERANCE, COVERED = 0.8, 1e-4
STARVES_S, AGGRESSIVE_S = 30, 120
LOW, HIGH = 0.2, 1.0
SPARE = {"cpu": 1, "user_slots": 1, "memory": 2**28}

Did = tuple[str, list[str]]
"""Who starts, and who goes for it, in the order of taking."""


def dominates(more: Vector, less: Vector, fair: Vector, demand: Vector) -> bool:
    """Whether one vector is above the other in every resource whose demand is not covered; if all is, in any."""
    above = [a > b + TINY for a, b in zip(more, less, strict=True)]
    blocked = [a >= b - TINY for a, b in zip(fair, demand, strict=True)]
    return any(above) if all(blocked) else all(a or b for a, b in zip(above, blocked, strict=True))


def satisfaction(used: Vector, fair: Vector, demand: Vector) -> Number:
    """Usage by fair share as one number."""
    if all(one <= TINY for one in fair):
        return INFINITE
    ratio = [a / b if b > 0 else INFINITE if a > TINY else 0 for a, b in zip(used, fair, strict=True)]
    if any(a > b + TINY for a, b in zip(used, fair, strict=True)):
        return min(max(ratio), INFINITE)
    open_ = [r for r, (a, b) in enumerate(zip(fair, demand, strict=True)) if a < b - TINY]
    if not open_:
        return min(one if b > 0 else 1 for one, b in zip(ratio, fair, strict=True))
    return max((ratio[r] for r in open_ if fair[r] > 0), default=0)


def _count(work: Work, sign: int) -> None:
    for element in work.owner.path():
        element.usage = [a + sign * b for a, b in zip(element.usage, work.need, strict=True)]


@dataclass(slots=True)
class Machine:
    name: str
    capacity: list[int]
    running: list[Work] = field(default_factory=list)


class Scheduler:
    """A cluster whose shares are known: what every operation may do, and what a heartbeat does."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.forest = Forest(document)
        names = self.forest.names
        self.nodes = {
            entry["name"]: Machine(entry["name"], [entry["capacity"].get(name, 0) for name in names])
            for entry in document["nodes"]
        }
        self.operations = [one for one in self.forest.root.below() if not one.is_pool]
        for operation in self.operations:
            for work in operation.running:
                assert work.node is not None
                self.nodes[work.node].running.append(work)
        self.spare = [SPARE.get(name, 0) for name in names]
        self.demand: dict[Element, Vector] = {}
        self.starvation: dict[Element, int] = {}
        self.priority: dict[Element, int] = {}

    def update(self) -> None:
        """Shares, and who starves by them, everything anew."""
        self.forest.update()
        self.demand = {one: self.forest.demand(one) for one in self.forest.root.below()}
        self.starvation = {one: self._starvation(one) for one in self.demand}
        self.priority = {
            one: max(self.starvation[above] for above in one.path()) if one.pending else NOT for one in self.operations
        }

    def _starvation(self, element: Element) -> int:
        since = element.settings.get("below_fair_share_since")
        if since is None or element.parent is None or not (element.is_pool or element.pending):
            return NOT
        fair, demand, used = element.share, self.demand[element], self.forest.used(element)
        covered = not element.is_pool and all(a + COVERED >= b for a, b in zip(fair, demand, strict=True))
        tolerance = 1 if covered else TOLERANCE
        bound = [min(a * tolerance, b) for a, b in zip(fair, demand, strict=True)]
        if not dominates(bound, used, fair, demand):
            return NOT
        flags = (one.settings.get("enable_aggressive_starvation") for one in element.path() if one.is_pool)
        aggressive = next((flag for flag in flags if flag is not None), False)
        return AGGRESSIVE if aggressive and -since > AGGRESSIVE_S else STARVING if -since > STARVES_S else NOT

    # -- one heartbeat -----------------------------------------------------------------------------------------------

    def heartbeat(self, name: str) -> list[Did]:
        """What a node's heartbeat does; the cluster stays as it is."""
        with self._trial() as move:
            return list(self._beat(self.nodes[name], move))

    @contextmanager
    def _trial(self) -> Iterator[Callable[[Work, int], None]]:
        """A way to count work in or out, which is taken back at the end."""
        moved: list[tuple[Work, int]] = []

        def move(work: Work, sign: int) -> None:
            moved.append((work, sign))
            _count(work, sign)

        try:
            yield move
        finally:
            for work, sign in moved:
                _count(work, -sign)

    def _beat(self, node: Machine, move: Callable[[Work, int], None]) -> Iterator[Did]:
        started: set[Work] = set()
        free = self._free(node)
        while (found := self._choose(free, started, lambda _: True)) is not None:
            started.add(found)
            move(found, 1)
            free = [a - b for a, b in zip(free, found.need, strict=True)]
            yield found.name, []
        groups = {work: self._group(work) for work in node.running}
        for target, least in ((AGGRESSIVE, AGGRESSIVELY), (STARVING, PREEMPTIBLE)):
            open_ = [one for one in node.running if groups[one] >= least and self.starvation[one.owner] == NOT]
            open_.sort(key=lambda one: (groups[one], one.started, one.name), reverse=True)
            room = [*map(sum, zip(free, *(one.need for one in open_), strict=True))]
            found = self._choose(room, started, lambda one, wanted=target: self.priority[one] == wanted)  # type: ignore[misc]
            if found is not None:
                yield found.name, self._victims(found, open_, free)
                return

    def _free(self, node: Machine) -> list[int]:
        return [a - sum(one.need[r] for one in node.running) for r, a in enumerate(node.capacity)]

    def _victims(self, claimant: Work, open_: list[Work], free: list[int]) -> list[str]:
        """Newest first until it fits."""
        found: list[str] = []
        for victim in open_:
            if all(a >= b for a, b in zip(free, claimant.need, strict=True)):
                break
            found.append(victim.name)
            free = [a + b for a, b in zip(free, victim.need, strict=True)]
        return found

    def _choose(self, room: list[int], started: set[Work], may: Callable[[Element], bool]) -> Work | None:
        """The workload that starts next: of the least satisfied operation that has one that fits."""
        if any(a < b for a, b in zip(room, self.spare, strict=True)):
            return None
        best: tuple[tuple[float, int], Work] | None = None
        for operation in self.operations:
            if not operation.pending or not may(operation):
                continue
            exact = satisfaction(self.forest.used(operation), operation.share, self.demand[operation])
            key = round(float(exact), 9)
            if best is None or (key, operation.order) < best[0]:
                fits = (one for one in operation.pending if one not in started and self._fits(one, room))
                first = next(fits, None)
                if first is not None:
                    best = (key, operation.order), first
        return None if best is None else best[1]

    def _fits(self, work: Work, room: list[int]) -> bool:
        if any(a > b for a, b in zip(work.need, room, strict=True)):
            return False
        for element in work.owner.path():
            given = element.entry.get("max", {}) if element.is_pool else element.settings.get("resource_limits", {})
            for r, name in enumerate(self.forest.names):
                if name in given and element.usage[r] + work.need[r] > given[name]:
                    return False
        return True

    def _group(self, work: Work) -> int:
        """How well an allocation is protected: by what its operation uses before it, against its share."""
        operation = work.owner
        fair, demand = operation.share, self.demand[operation]
        before = [0] * len(work.need)
        for other in operation.running:
            if other is work:
                break
            before = [a + b for a, b in zip(before, other.need, strict=True)]
        share = self.forest.shares(before)
        if dominates([LOW * one for one in fair], share, fair, demand):
            return PROTECTED
        whole = all(-TINY <= a - b <= TINY for a, b in zip(fair, demand, strict=True)) and max(demand) > TINY
        return AGGRESSIVELY if whole or dominates([HIGH * one for one in fair], share, fair, demand) else PREEMPTIBLE
