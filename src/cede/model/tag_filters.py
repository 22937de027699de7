"""Formulas over tags: which nodes one may use, by the keys of their labels."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from cede.model.errors import shown

_TOKEN = re.compile(r"\s*(?:(%true|%false)(?![A-Za-z0-9_./:-])|([A-Za-z0-9_./:-]+)|([&|!()]))")
_BLANK = re.compile(r"\s*")
_MOST_CHARACTERS = 10_000
_DEEPEST = 64

_Node = str | bool | tuple[str, tuple["_Node", ...]]
"""A tag, a constant, or `!`, `&` and `|` of further ones."""


@dataclass(frozen=True, slots=True)
class TagFilter:
    """A formula that was read; what it says depends on the keys of a node's labels alone."""

    text: str
    formula: _Node

    def matches(self, tags: Collection[str]) -> bool:
        """Whether the formula holds where exactly these tags are set."""
        return _holds(self.formula, tags)


@lru_cache(maxsize=1024)
def parse_tag_filter(text: str) -> TagFilter:
    """The filter that a text like `a & (b | !c)` stands for; an empty one is true. A ValueError says what is wrong."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"a tag filter has at most {_MOST_CHARACTERS} characters, but this has {len(text)}")
    if not text.strip():
        return TagFilter(text, formula=True)
    reading = _Reading(text)
    formula = reading.either(0)
    reading.end()
    return TagFilter(text, formula)


class _Reading:
    """A formula read from left to right; `!` binds closest, then `&`, then `|`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def either(self, depth: int) -> _Node:
        return self._several("|", depth)

    def end(self) -> None:
        if self._peek() is not None:
            raise self._wrong("the formula should end, or go on with & or |")

    def _several(self, sign: str, depth: int) -> _Node:
        """Parts joined by the sign; the parts of an `|` are joined by `&`."""
        parts = []
        while True:
            parts.append(self._several("&", depth) if sign == "|" else self._one(depth))
            if self._peek() != sign:
                return parts[0] if len(parts) == 1 else (sign, tuple(parts))
            self._next()

    def _one(self, depth: int) -> _Node:
        if depth > _DEEPEST:
            raise self._wrong(f"the formula is nested more than {_DEEPEST} deep")
        token = self._peek()
        if token == "!":
            self._next()
            return ("!", (self._one(depth + 1),))
        if token == "(":
            self._next()
            inner = self.either(depth + 1)
            if self._peek() != ")":
                raise self._wrong("a ) is missing")
            self._next()
            return inner
        if token is None or token in "&|)":
            raise self._wrong("a tag is missing")
        self._next()
        return token == "%true" if token.startswith("%") else token

    def _peek(self) -> str | None:
        match = _TOKEN.match(self.text, self.at)
        if match is not None:
            return match[1] or match[2] or match[3]
        if self._place() == len(self.text):
            return None
        raise self._wrong("this stands for nothing; a formula has tags, & | ! ( ), %true and %false")

    def _next(self) -> None:
        match = _TOKEN.match(self.text, self.at)
        self.at = len(self.text) if match is None else match.end()

    def _place(self) -> int:
        """Where the next token begins."""
        blank = _BLANK.match(self.text, self.at)
        return self.at if blank is None else blank.end()

    def _wrong(self, message: str) -> ValueError:
        place = self._place()
        here = "at the end" if place == len(self.text) else f"at {shown(self.text[place : place + 10])}"
        return ValueError(f"character {place + 1}, {here}: {message}")


def _holds(formula: _Node, tags: Collection[str]) -> bool:
    if isinstance(formula, bool):
        return formula
    if isinstance(formula, str):
        return formula in tags
    sign, parts = formula
    if sign == "!":
        return not _holds(parts[0], tags)
    held = (_holds(part, tags) for part in parts)
    return all(held) if sign == "&" else any(held)
