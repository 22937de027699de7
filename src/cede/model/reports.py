"""What pydantic found wrong with a document, in our words and in the order of the file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from cede.model.errors import InputError, Loc, Problem, did_you_mean, path_of, shown

_QUOTED = re.compile(r"'([^']*)'")
_MOST_LOOKED_AT = 3_000_000
_QUOTE = "write it in quotes"
_WORDS = {
    "missing": "this key is required and missing",
    "string_type": "{} is no text",
    "string_too_short": "must not be empty",
    "string_unicode": "is no valid Unicode text",
    "bool_type": "{} is neither true nor false",
    "list_type": "{} is no list",
    "dict_type": "{} is no object",
    "model_type": "{} is no object",
    "too_short": "must not be empty",
    "int_parsing": "{} is no whole number",
    "int_parsing_size": "{} is no whole number of this size",
    "float_parsing": "{} is no number",
    "finite_number": "{} is no finite number",
    "bool_parsing": "{} is neither true nor false",
    "string_too_long": "has {actual_length} characters; the most is {max_length}",
    "too_long": "has {actual_length} entries; the most is {max_length}",
    "greater_than_equal": "{} is too small; the least is {ge}",
    "less_than_equal": "{} is too large; the most is {le}",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem whose place is still a list of steps, so that it can be sorted into the order of the file."""

    loc: Loc
    message: str
    hint: str | None = None

    def problem(self) -> Problem:
        return Problem.at(self.loc, self.message, self.hint)


@dataclass
class Hints:
    """Offers nearest names, but not without end: a file may be wrong in 100,000 places and know a million names."""

    found: dict[tuple[str, str], str | None] = field(default_factory=dict)
    looked_at: int = 0

    def near(self, word: str, known: Collection[str], kind: str = "") -> str | None:
        """The hint for a word that is none of the known names of its kind."""
        key = (kind, word)
        if key not in self.found:
            if self.looked_at > _MOST_LOOKED_AT:
                return None
            self.looked_at += 1000 + len(known)
            self.found[key] = did_you_mean(word, known)
        return self.found[key]


def findings_of(error: ValidationError, model: type[BaseModel], hints: Hints, prefix: Loc = ()) -> list[Finding]:
    """Everything that a validation of `model` found, below `prefix`."""
    findings: list[Finding] = []
    for one in error.errors(include_url=False):
        loc, kind, raw = one["loc"], one["type"], one["input"]
        cause = one.get("ctx", {}).get("error")
        if kind == "extra_forbidden":
            parent = path_of([step for step in loc[:-1] if isinstance(step, str)])
            hint = hints.near(str(loc[-1]), keys_at(model, loc[:-1]), parent)
            findings.append(Finding((*prefix, *loc), f"there is no key {shown(loc[-1])}", hint))
        elif kind == "invalid_key":
            findings.append(Finding((*prefix, *loc[:-1]), f"the key {shown(loc[-1])} is not text"))
        elif loc[-1:] == ("[key]",):
            findings.append(Finding((*prefix, *loc[:-2]), f"the key {shown(raw)} is not text"))
        elif isinstance(cause, InputError):
            findings += [Finding((*prefix, *loc, *p.steps), p.message, p.hint) for p in cause.problems]
        else:
            message, hint = _words(kind, raw, one)
            if raw is None and _is_optional(model, loc):
                hint = "leave the key out to mean its default"
            findings.append(Finding((*prefix, *loc), message, hint))
    return findings


def _words(kind: str, raw: object, one: Any) -> tuple[str, str | None]:
    if kind == "value_error":
        return str(one["ctx"]["error"]), None
    if kind == "literal_error":
        known = _QUOTED.findall(one["ctx"]["expected"])
        return f"{shown(raw)} is none of {', '.join(known)}", did_you_mean(raw, known)
    if kind not in _WORDS:
        return str(one["msg"]), None
    hint = _QUOTE if kind == "string_type" and not isinstance(raw, dict | list | None) else None
    numbers = {"actual_length": len(raw) if isinstance(raw, str) else 0} | one.get("ctx", {})
    return _WORDS[kind].format(shown(raw), **numbers), hint


def keys_at(model: type[BaseModel], loc: Loc) -> list[str]:
    """The keys that the part of a document at `loc` may have."""
    return list(_fields_at(model, loc))


def _is_optional(model: type[BaseModel], loc: Loc) -> bool:
    info = _fields_at(model, loc[:-1]).get(str(loc[-1])) if loc else None
    return info is not None and not info.is_required()


def _fields_at(model: type[BaseModel], loc: Loc) -> dict[str, FieldInfo]:
    """The fields, by key, of the part of a document at `loc`; none where there is no part of ours."""
    at: Any = model
    for step in loc:
        if isinstance(step, str):
            at = part_in(fields_of(at)[step])
    return fields_of(at)


def part_in(info: FieldInfo) -> Any:
    """The kind of part that a field holds, or holds a list of."""
    return next(iter(get_args(info.annotation)), info.annotation)


def fields_of(model: Any) -> dict[str, FieldInfo]:
    """The fields, by key, of a kind of part; none of what is no part of ours."""
    kind = model.__origin__ if get_origin(model) is Annotated else model  # what it is marked with may have no hash
    return _fields(kind) if isinstance(kind, type) else {}


@cache
def _fields(model: type) -> dict[str, FieldInfo]:
    return {info.alias or name: info for name, info in getattr(model, "model_fields", {}).items()}


def in_file_order(findings: Iterable[Finding], data: object) -> list[Problem]:
    """The findings as problems, sorted by where the file has them."""
    numbered: dict[Loc, dict[Any, int]] = {}
    return [f.problem() for f in sorted(findings, key=lambda finding: _place(data, finding.loc, numbered))]


def _place(data: object, loc: Loc, numbered: dict[Loc, dict[Any, int]]) -> tuple[int, ...]:
    """Which key of which entry it is, counted; what the file lacks comes before what it has.

    `numbered` keeps the numbers of the keys of each object by its place: an object may have 100,000 that are wrong.
    """
    at, steps = data, []
    for depth, step in enumerate(loc):
        if isinstance(at, dict) and isinstance(step, str):
            if (keys := numbered.get(loc[:depth])) is None:
                keys = numbered[loc[:depth]] = {key: index for index, key in enumerate(at)}
            steps.append(keys.get(step, -1))
            at = at.get(step)
        elif isinstance(at, list) and isinstance(step, int) and step < len(at):
            steps.append(step)
            at = at[step]
    return tuple(steps)
