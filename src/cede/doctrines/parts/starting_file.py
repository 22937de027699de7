"""A cluster file to start from: what is known when one is written, and what a doctrine says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cede.model.quantities import format_quantity
from cede.model.resources import is_gpu
from cede.model.times import SECOND

ROOT = "root"
"""The queue that all others stand below."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What is known of a cluster and its jobs: the queues they are in, by their path from the root, each with an even
    share of all nodes in nano-units, and their priorities, rising, as the doctrine will read them."""

    queues: Mapping[str, Mapping[str, int]]
    priorities: Sequence[int] = ()
    longest_save: int = 0
    """How long the slowest of its jobs writes a checkpoint, in microseconds; 0 where none says."""

    def guarantee(self, queue: str) -> dict[str, int | str]:
        """The even share of a queue, as a file writes it."""
        return {resource: format_quantity(nano) for resource, nano in self.queues[queue].items()}

    @property
    def bar(self) -> int | None:
        """The highest priority but the top one: all but the top class may be preempted. None: there are no classes."""
        return self.priorities[-2] if len(self.priorities) > 1 else None

    @property
    def main(self) -> str | None:
        """The resource that matters most: GPUs, else CPUs, else whatever there is."""
        names = {name for share in self.queues.values() for name in share}
        return min(names, key=lambda name: (not is_gpu(name), name != "cpu", name), default=None)


@dataclass(frozen=True, slots=True)
class Starter:
    """What a doctrine says of queues that are there, by name, and of itself: their settings, and guarantees, limits and
    weights where it wants other ones than the even share. The root may be among them."""

    queues: Sequence[Mapping[str, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)


def in_seconds(us: int) -> str:
    """A length of time as a setting has it, in whole seconds and not less."""
    return f"{-(-us // SECOND)}s"


def bare(outline: Outline) -> Starter:
    """Queues by name alone."""
    return Starter([{"name": name} for name in outline.queues])
