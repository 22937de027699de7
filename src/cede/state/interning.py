"""One object for equal values: kinds of work are few, and a copy for each workload would cost too much."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from cede.model.workloads import PodSet

T = TypeVar("T")

MOST_KEPT = 4096


class Shared:
    """Values seen lately; more than MOST_KEPT are forgotten, and then kept anew."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, object] = {}

    def amounts(self, amounts: Mapping[str, int]) -> Mapping[str, int]:
        return self.one(tuple(amounts.items()), amounts)

    def parts(self, parts: tuple[PodSet, ...]) -> tuple[PodSet, ...]:
        return self.one(key_of(parts), parts)

    def one(self, key: Hashable, value: T) -> T:
        """The first of the values of this type that were given with this key."""
        found = self._seen.get((type(value), key))
        if isinstance(found, type(value)):
            return found
        if len(self._seen) >= MOST_KEPT:
            self._seen.clear()
        self._seen[type(value), key] = value
        return value


def key_of(parts: tuple[PodSet, ...]) -> Hashable:
    """Equal for equal pod sets."""
    return tuple((part.name, part.count, part.min_count, tuple(part.requests.items())) for part in parts)
