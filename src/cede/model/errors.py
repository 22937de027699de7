"""What a user is told when something given to Cede is wrong."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Loc = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN_CHARACTERS = 60
_MANY_NAMES = 2000


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, the place where it is, and what may help."""

    path: str
    message: str
    hint: str | None = None
    steps: Loc = field(default=(), compare=False, repr=False)
    """The path as steps, where it leads through a value."""

    @classmethod
    def at(cls, loc: Loc, message: str, hint: str | None = None) -> Problem:
        return cls(path_of(loc), message, hint, loc)

    def __str__(self) -> str:
        text = f"{self.path}: {self.message}" if self.path else self.message
        return f"{text} ({self.hint})" if self.hint else text


class CedeError(Exception):
    """Anything that may be shown to a user as it stands."""


class DoctrineError(CedeError):
    """A doctrine that is no part of Cede failed; the cause is what it raised."""


class InputError(CedeError, ValueError):
    """What was given cannot be used; `problems` says everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name most like `word`, if one is like it at all; the order of `known` does not matter."""
    names = set(known)
    folded = word.casefold()
    if same := [name for name in names if name.casefold() == folded]:
        return min(same)
    if len(names) > _MANY_NAMES:
        names = _plausible(word, names)
    close = difflib.get_close_matches(word[:_SHOWN_CHARACTERS], names, n=1)
    return close[0] if close else None


def _plausible(word: str, names: set[str]) -> set[str]:
    """Of very many names those that begin or end like `word` and are about as long: comparing all takes minutes."""
    alike = (n for n in names if abs(len(n) - len(word)) <= 2 and (n[:3] == word[:3] or n[-3:] == word[-3:]))
    return set(sorted(alike)[:_MANY_NAMES])


def did_you_mean(word: object, known: Iterable[str]) -> str | None:
    """The hint that offers the nearest known name, or none."""
    name = nearest(word, known) if isinstance(word, str) else None
    return None if name is None else f"did you mean '{name}'?"


def path_of(loc: Sequence[str | int]) -> str:
    """A place as people write it: `workloads[3].requests["nvidia.com/gpu"]`."""
    text = ""
    for step in loc:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f'["{shown_text(step)}"]'
    return text


def shown(raw: object) -> str:
    """A value as it may stand in a message: short, on one line, and never a failure of its own."""
    if raw is None:
        return "null"
    if raw is True or raw is False:
        return "true" if raw else "false"
    if isinstance(raw, str):
        return f"'{shown_text(raw)}'"
    if isinstance(raw, int):
        # Python refuses to print integers of thousands of digits.
        return str(raw) if raw.bit_length() < 200 else "a number of very many digits"
    if isinstance(raw, dict):
        return "an object"
    if isinstance(raw, list | tuple):
        return "a list"
    return shown_text(str(raw))


def shown_text(text: str) -> str:
    """Text as it may stand in a message: printable and not too long."""
    short = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode("ascii") for c in short)
