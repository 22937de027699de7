"""One search for victims: what both ways of preempting share. Only who is taken, and in what order, differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cede.doctrines.kueue.node_room import Room
from cede.doctrines.kueue.quota import Asked
from cede.doctrines.kueue.snapshot import Claimant, Snapshot
from cede.doctrines.kueue.usage import Book
from cede.model.rules import Rule

OWN = "InClusterQueue"
RECLAIM = "InCohortReclamation"
BORROW = "InCohortReclaimWhileBorrowing"
FAIR = "InCohortFairSharing"


@dataclass(slots=True)
class Notes:
    """Why each workload that was looked at was taken or left; only kept when somebody will read it."""

    found: dict[int, tuple[Rule, Mapping[str, object]]] = field(default_factory=dict)

    def put(self, row: int, rule: Rule, **facts: object) -> None:
        self.found[row] = (rule, facts)

    def stays(self, row: int, rule: Rule, **facts: object) -> None:
        """One that was taken stays after all; what admitted it is told too."""
        before, known = self.found[row]
        self.put(row, rule, how=known["how"] if "how" in known else before.because(**known), **facts)


@dataclass(slots=True)
class Taken:
    """A victim under consideration; `turn` tells which share rule admitted it."""

    row: int
    queue: int
    reason: str
    amounts: Asked
    strategy: str | None = None


class Search:
    """A claimant, what it asks for, and a private copy of the usage to try things on."""

    def __init__(
        self,
        snapshot: Snapshot,
        claimant: Claimant,
        asked: Asked,
        contested: list[int],
        room: Room | None,
        notes: Notes | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.claimant = claimant
        self.asked = asked
        self.contested = contested
        self.room = room
        self.notes = notes
        self.book: Book = snapshot.book.copy()
        self.pairs = tuple(pair for pair, _ in asked)
        self.tried: list[Taken] = []
        """Those who were taken in vain, and are to be put back before somebody tries again."""

    def restore(self) -> None:
        """Everybody who was taken in vain is there again."""
        for victim in reversed(self.tried):
            self.put_back(victim)
        self.tried = []

    @property
    def queue(self) -> int:
        return self.claimant.queue

    def fits(self, borrowing: bool = True) -> bool:
        """Whether the claimant has quota and, where there are nodes, a place."""
        return (self.room is None or self.room.fits()) and self.book.fits(self.queue, self.asked, borrowing)

    def take(self, victim: Taken) -> None:
        self.book.remove_all(victim.queue, victim.amounts, self.snapshot.code(victim.row))
        if self.room is not None:
            self.room.take(victim.row)

    def put_back(self, victim: Taken) -> None:
        self.book.add_all(victim.queue, victim.amounts, self.snapshot.code(victim.row))
        if self.room is not None:
            self.room.put_back(victim.row)

    def spare(self, taken: list[Taken], borrowing: bool) -> list[Taken]:
        """Put back, latest but the last first, whom the claimant does not need; the last one always goes."""
        kept = [taken[-1]]
        for victim in reversed(taken[:-1]):
            self.put_back(victim)
            if not self.fits(borrowing):
                self.take(victim)
                kept.append(victim)
        return kept[::-1]


Found = list[Taken]
"""Victims in the order of taking."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search found; no victims means that there is no way.

    `breach` says which share rule the victims break now that others were spared. They are `unlawful` victims, and
    not victims, where that is checked. `within_quota`: the claimant's queue had to end within its quota.
    """

    victims: Found
    breach: str = ""
    unlawful: Found = field(default_factory=list)
    within_quota: bool = False


NOBODY = Outcome([])
