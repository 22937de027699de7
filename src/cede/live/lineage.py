"""Which store this is and how far it has come: stamps on the folders of jobs, and whether a store remembers one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Stamp(NamedTuple):
    """`identity` is the store's for all its life, and that of its copies. A store that was set back to an older copy of
    itself begins a new `generation`, and counts its versions on from there."""

    identity: str
    generation: int
    version: int


class Fork(NamedTuple):
    """A generation began when the store, set back, was at this version."""

    generation: int
    version: int


def remembers(now: Stamp, forks: Sequence[Fork], then: Stamp) -> bool:
    """Whether the store as it is `now` knows all that it knew `then`: it is the same, and was not set back since to
    before that."""
    if then.identity != now.identity or then.generation > now.generation:
        return False
    if any(fork.generation > then.generation and fork.version < then.version for fork in forks):
        return False
    return then.version <= now.version


@dataclass(frozen=True, slots=True)
class Lineage:
    """Which store this is, and how far it has come; where it was set back, and what is missing since."""

    stamp: Stamp
    forks: tuple[Fork, ...] = ()
    loss: str = ""
    """In a sentence, until an admin has acknowledged it."""

    def remembers(self, then: Stamp | None) -> bool:
        """Whether it knows all that it knew then; of what has no stamp that is taken for granted."""
        return then is None or remembers(self.stamp, self.forks, then)
