"""The queues of one preemption attempt, copied whole for every trial, and what each of them is still owed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.referees.yunikorn_19_vectors import Maybe, Vector, add, fill, least, sub, sub_existing
from tests.referees.yunikorn_reading import STAYS, Board


@dataclass(frozen=True)
class Level:
    """One queue; a root has no parent."""

    parent: str | None
    guaranteed: Maybe
    usage: Vector
    leaving: Vector


@dataclass
class Snapshots:
    """All queues by their path; `asking` is the leaf of the ask."""

    levels: dict[str, Level]
    asking: str

    def copy(self) -> Snapshots:
        return Snapshots(dict(self.levels), self.asking)

    def charge(self, queue: str, amounts: Vector) -> None:
        """Add to the queue and to all above it."""
        for name in self._path(queue):
            self.levels[name] = replace(self.levels[name], usage=add(self.levels[name].usage, amounts))

    def release(self, queue: str, amounts: Vector) -> None:
        for name in self._path(queue):
            self.levels[name] = replace(self.levels[name], usage=sub(self.levels[name].usage, amounts))

    def _path(self, queue: str) -> list[str]:
        found = [queue]
        while (parent := self.levels[found[-1]].parent) is not None:
            found.append(parent)
        return found

    def remaining(self, queue: str) -> Maybe:
        """`rem(q)` of section 1.5, by the names that quirk Q3 compares."""
        level = self.levels[queue]
        above = None if level.parent is None else self.remaining(level.parent)
        if not above and not level.guaranteed:
            return None
        own = sub_existing(level.guaranteed, sub_existing(level.usage, level.leaving))
        if level.parent is not None:
            if queue == self.asking and own:
                return fill(own, above)
            if own and self.asking.startswith(queue) and self.levels[self.asking].guaranteed:
                return None
        return least(own, above)


def snapshots(board: Board, asking: str) -> Snapshots:
    """The queues as they stand."""
    levels: dict[str, Level] = {}
    for name in board.queues:
        path = board.path(name)
        parent = path[1] if len(path) > 1 else None
        guaranteed = board.guaranteed(name) or None
        leaving = board.usage(name, states=("preempting",))
        usage = add(board.usage(name, states=STAYS), leaving)
        levels[name] = Level(parent, None if parent is None else guaranteed, usage, leaving)
    return Snapshots(levels, asking)
