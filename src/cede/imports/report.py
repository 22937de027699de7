"""What an import has to say: notes of what could not be carried over, and problems of what could not be read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cede.model.errors import Loc, Problem, path_of

MOST_NAMES = 3

_INDEX = re.compile(r"\[[0-9]+\]")


@dataclass(frozen=True, slots=True)
class Place:
    """An object, and the file it came from; an object without a name is known by its kind."""

    source: str
    kind: str
    name: str = ""

    @property
    def label(self) -> str:
        return f"{self.kind} {self.name}" if self.name else self.kind

    def problem(self, loc: Loc, message: str, hint: str | None = None) -> Problem:
        parts = (self.source, self.label, path_of(loc))
        return Problem(": ".join(part for part in parts if part), message, hint)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that has a meaning where it came from and no place in a cluster file."""

    place: Place
    path: str
    why: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place.label, self.path, self.why) if part)

    def to_dict(self) -> dict[str, str]:
        place = self.place
        return {"file": place.source, "kind": place.kind, "name": place.name, "path": self.path, "why": self.why}


@dataclass(slots=True)
class Report:
    """Notes and problems in the order in which they were found, each once."""

    notes: dict[Note, None] = field(default_factory=dict)
    problems: dict[Problem, None] = field(default_factory=dict)

    def note(self, place: Place, loc: Loc, why: str) -> None:
        self.notes[Note(place, path_of(loc), why)] = None

    def wrong(self, place: Place, loc: Loc, message: str, hint: str | None = None) -> None:
        self.problems[place.problem(loc, message, hint)] = None


@dataclass(frozen=True, slots=True)
class Imported:
    """A cluster file as plain data, and what it does not hold."""

    document: dict[str, Any]
    notes: tuple[Note, ...] = ()
    left_out: frozenset[Place] = frozenset()
    """Workloads that are not in the file though they have not finished; a note says why."""
    finished: frozenset[Place] = frozenset()

    def other_notes(self) -> list[Note]:
        """What was lost beside whole workloads."""
        return [note for note in self.notes if note.place not in self.left_out | self.finished]


def grouped(notes: Iterable[Note]) -> list[str]:
    """A line for each thing that is to say, with the objects it is said of."""
    names: dict[tuple[str, str, str], dict[str, None]] = {}
    for note in notes:
        key = (note.place.kind, _INDEX.sub("[]", note.path), note.why)
        names.setdefault(key, {})[note.place.name] = None
    return [_line(kind, list(named), path, why) for (kind, path, why), named in names.items()]


def _line(kind: str, names: list[str], path: str, why: str) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    who = f"{kind} {', '.join(names[:MOST_NAMES])}".rstrip() + more
    return ": ".join(part for part in (who, path, why) if part)
