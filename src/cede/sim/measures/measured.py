"""The measures of one replay, by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

GROUPINGS = ("all", "priority", "queue", "size")
ALL = ("all", "all")


@dataclass(frozen=True, slots=True)
class Stranded:
    """Jobs that still waited when nothing could happen any more: nobody would ever have run them. How many, what they
    asked for in resource-hours, and its share of what all jobs did."""

    jobs: int = 0
    hours: float = 0.0
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """`values[by, group][key]` is a number, or none where the measure says nothing there.

    Groups are in the order to show them in: all; priorities, highest first; queues by name; sizes, smallest first. A
    group has only the keys that can be asked of it: Jain's index is one of `all` alone.
    """

    doctrine: str
    edition: str
    resource: str
    """The resource that hours and shares are of."""
    window: tuple[int, int]
    """What was measured: from, until, in microseconds on the trace's clock."""
    values: Mapping[tuple[str, str], Mapping[str, float | None]]
    stated: tuple[str, ...]
    """Sentences that must stand beside the numbers."""
    stranded: Stranded = Stranded()

    def value(self, key: str, by: str = "all", group: str = "all") -> float | None:
        """One number; none where there is none."""
        return self.values.get((by, group), {}).get(key)
