"""Amounts by resource, in nano-units, as importers add them up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from cede.imports.report import Place, Report
from cede.model.errors import Loc, did_you_mean, shown
from cede.model.times import Instant, parse_time

Amounts = dict[str, int]


def total(amounts: Iterable[Mapping[str, int]]) -> Amounts:
    """All of them together."""
    sums: Amounts = {}
    for one in amounts:
        for name, nano in one.items():
            sums[name] = sums.get(name, 0) + nano
    return sums


UNKNOWN = "Cede does not know this field"

T = TypeVar("T")


class Fields:
    """An object and its place. A wrong value is reported, and then counts as not given; so does null, as in Go."""

    __slots__ = ("_asked", "_open", "_parts", "_taken", "data", "loc", "place", "report")

    def __init__(self, data: Mapping[str, Any], place: Place, report: Report, loc: Loc = ()) -> None:
        self.data = data
        self.place = place
        self.report = report
        self.loc = loc
        self._taken: set[str] = set()
        self._asked: set[str] = set()
        self._parts: list[Fields] = []
        self._open = True

    def has(self, key: str) -> bool:
        """Whether the field is given, be it empty."""
        self._asked.add(key)
        return self.data.get(key) is not None

    def raw(self, key: str) -> Any:
        self._taken.add(key)
        return self.data.get(key)

    def text(self, key: str) -> str | None:
        return self._of(key, str, "no text") or None

    def whole(self, key: str) -> int | None:
        value = self.raw(key)
        if value is None or type(value) is int:
            return value
        self.wrong((key,), f"{shown(value)} is no whole number")
        return None

    def truth(self, key: str) -> bool | None:
        return self._of(key, bool, "neither true nor false")

    def choice(self, key: str, words: Mapping[str, str] | Collection[str]) -> str | None:
        """One of the words, or what it maps to."""
        value = self.text(key)
        if value is None or value in words:
            return words[value] if isinstance(words, Mapping) and value is not None else value
        self.wrong((key,), f"{shown(value)} is none of {', '.join(words)}", did_you_mean(value, words))
        return None

    def time(self, key: str) -> int | None:
        value = self.text(key)
        if value is None:
            return None
        try:
            return Instant(parse_time(value))
        except ValueError as error:
            self.wrong((key,), str(error))
            return None

    def labels(self, key: str) -> dict[str, str]:
        """Names and texts."""
        pairs = self._of(key, dict, "no object") or {}
        for name, value in pairs.items():
            if not isinstance(value, str):
                self.wrong((key, name), f"{shown(value)} is no text", "write it in quotes")
        return {name: value for name, value in pairs.items() if isinstance(value, str)}

    def texts(self, key: str) -> list[str]:
        items = self._of(key, list, "no list") or []
        for index, value in enumerate(items):
            if not isinstance(value, str):
                self.wrong((key, index), f"{shown(value)} is no text")
        return [value for value in items if isinstance(value, str)]

    def part(self, key: str) -> Fields:
        """The object below the key, an empty one if there is none."""
        return self._below(self._of(key, dict, "no object") or {}, (key,))

    def parts(self, key: str) -> list[Fields]:
        """The objects of a list."""
        items = self._of(key, list, "no list") or []
        for index, value in enumerate(items):
            if not isinstance(value, dict):
                self.wrong((key, index), f"{shown(value)} is no object")
        return [self._below(value, (key, index)) for index, value in enumerate(items) if isinstance(value, dict)]

    def skip(self, *keys: str) -> None:
        """These fields mean nothing to a plan."""
        self._taken.update(keys)

    def skip_rest(self, known: Collection[str] | None = None) -> None:
        """Neither does any other field here; or none of these, where it is known which there are."""
        if known is None:
            self._open = False
        else:
            self._taken.update(known)

    def note(self, why: str, *keys: str) -> None:
        """Say of those fields that are given, and not empty, why they are not carried over."""
        for key in keys:
            if self.raw(key) not in (None, "", [], {}, False):
                self.report.note(self.place, (*self.loc, key), why)

    def remark(self, why: str, *steps: str | int) -> None:
        self.report.note(self.place, (*self.loc, *steps), why)

    def wrong(self, steps: Loc, message: str, hint: str | None = None) -> None:
        self.report.wrong(self.place, (*self.loc, *steps), message, hint)

    def need(self, key: str) -> str:
        """A text that must be there."""
        before = len(self.report.problems)
        value = self.text(key)
        if value is None and len(self.report.problems) == before:
            self.wrong((key,), "this key is required and missing")
        return value or ""

    def close(self, known: Mapping[str, str] | None = None) -> None:
        """Note every field that was not taken, here and below, with the name that was perhaps meant; `known` has
        reasons for some of them."""
        for key, value in self.data.items():
            if self._open and key not in self._taken and value is not None:
                meant = did_you_mean(key, self._taken | self._asked)
                self.remark((known or {}).get(key, f"{UNKNOWN} ({meant})" if meant else UNKNOWN), key)
        for part in self._parts:
            part.close(known)

    def _of(self, key: str, kind: type[T], else_it: str) -> T | None:
        value = self.raw(key)
        if value is None or isinstance(value, kind):
            return value
        self.wrong((key,), f"{shown(value)} is {else_it}")
        return None

    def _below(self, data: Mapping[str, Any], steps: Loc) -> Fields:
        part = Fields(data, self.place, self.report, (*self.loc, *steps))
        self._parts.append(part)
        return part
