"""The kinds of value that a key of the document may have, each with how it is read and how the schema describes it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import core_schema

from cede.model.errors import InputError, Loc, Problem, shown
from cede.model.resources import parse_quotas, parse_resources
from cede.model.times import parse_duration, parse_time

if TYPE_CHECKING:
    T = TypeVar("T")
    Maybe: TypeAlias = T | None
else:

    class Maybe:
        """A key that may be left out and then is None; None itself is not a value one can give."""

        def __class_getitem__(cls, item: Any) -> Any:
            return item


DEEPEST = 64


class Part(BaseModel):
    """A part of the document: exactly the keys it names, and nothing changes after reading."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


@dataclass(frozen=True)
class Reads:
    """Marks a field that `parse` reads from the raw value; `schema` says which raw values those are."""

    parse: Callable[..., Any]
    schema: dict[str, Any]
    in_context: bool = False
    """Whether `parse` is also given the context of the validation."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        if self.in_context:
            return core_schema.with_info_plain_validator_function(lambda raw, info: self.parse(raw, info.context))
        return core_schema.no_info_plain_validator_function(self.parse)

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        return dict(self.schema)


def refers_to(definition: str) -> dict[str, Any]:
    """A piece of schema that stands for a definition shared by many keys."""
    return {"definition": definition}


def whole(least: int | None = None, most: int | None = None) -> Reads:
    """Reads a whole number within bounds; 2.0 is one, as in JSON Schema."""

    def parse(raw: object) -> int:
        if type(raw) is not int:
            raw = _as_whole(raw)
        if least is not None and raw < least:
            raise ValueError(f"{shown(raw)} is too small; the least is {least}")
        if most is not None and raw > most:
            raise ValueError(f"{shown(raw)} is too large; the most is {most}")
        return raw

    bounds = {"minimum": least, "maximum": most}
    return Reads(parse, {"type": "integer"} | {key: value for key, value in bounds.items() if value is not None})


def _as_whole(raw: object) -> int:
    if isinstance(raw, float | Decimal):
        plain = plain_number(raw)
        if type(plain) is int:
            return plain
    raise ValueError(f"{shown(raw)} is no whole number")


def number(most: int | None = None) -> Reads:
    """Reads a finite number of 0 or more as a float."""

    def parse(raw: object) -> float:
        if type(raw) is bool or not isinstance(raw, int | float | Decimal):
            raise ValueError(f"{shown(raw)} is no number")
        try:
            value = float(raw)
        except (OverflowError, ValueError):
            value = math.inf
        if not math.isfinite(value):
            raise ValueError(f"{shown(raw)} is no finite number")
        if value < 0:
            raise ValueError(f"{shown(raw)} is negative; 0 is the least")
        if most is not None and value > most:
            raise ValueError(f"{shown(raw)} is too large; the most is {most}")
        return value

    return Reads(parse, {"type": "number", "minimum": 0} | ({} if most is None else {"maximum": most}))


def plain_number(raw: float | Decimal) -> int | float:
    """The number as JSON has it: an int where it is whole, else a float."""
    value = math.nan if isinstance(raw, Decimal) and raw.is_nan() else float(raw)
    if not math.isfinite(value):
        raise ValueError(f"{shown(raw)} is no finite number")
    return int(raw) if raw == int(raw) else value


def parse_object(raw: object) -> dict[str, Any]:
    """An object of any keys, as plain JSON values; an InputError says which value is none."""
    if not isinstance(raw, dict):
        raise ValueError(f"{shown(raw)} is no object")
    plain, problems = plain_parts(raw)
    if problems:
        raise InputError(problems)
    return plain


def plain_parts(raw: dict[Any, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Those keys of an object whose values are plain JSON, and what is wrong with the others."""
    problems = _keys_that_are_no_text(raw, ())
    plain: dict[str, Any] = {}
    for key, item in raw.items():
        before = len(problems)
        value = _plain(item, (key,), problems) if isinstance(key, str) else None
        if isinstance(key, str) and len(problems) == before:
            plain[key] = value
    return plain, problems


def _keys_that_are_no_text(raw: dict[Any, Any], loc: Loc) -> list[Problem]:
    return [Problem.at(loc, f"the key {shown(key)} is not text") for key in raw if not isinstance(key, str)]


def _plain(raw: object, loc: Loc, problems: list[Problem]) -> Any:
    if raw is None or type(raw) in (bool, int, str):
        return raw
    if len(loc) > DEEPEST:
        problems.append(Problem.at(loc[:4], f"nested more than {DEEPEST} deep"))
        return None
    if isinstance(raw, float | Decimal):
        try:
            return plain_number(raw)
        except (ValueError, OverflowError):
            problems.append(Problem.at(loc, f"{shown(raw)} is no finite number"))
    elif isinstance(raw, list | tuple):
        return [_plain(item, (*loc, index), problems) for index, item in enumerate(raw)]
    elif isinstance(raw, dict):
        problems += _keys_that_are_no_text(raw, loc)
        return {key: _plain(item, (*loc, key), problems) for key, item in raw.items() if isinstance(key, str)}
    else:
        problems.append(Problem.at(loc, f"{shown(raw)} is no value of a document"))
    return None


def _each_once(names: list[str]) -> list[str]:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(f"{shown(name)} stands here twice")
    return names


EACH_ONCE = (Field(min_length=1, json_schema_extra={"uniqueItems": True}), AfterValidator(_each_once))
"""Marks a list of texts that has at least one and none twice."""

Name = Annotated[str, Field(min_length=1)]
Labels = Annotated[dict[str, str], Field(json_schema_extra=refers_to("labels"))]
Resources = Annotated[dict[str, int], Reads(parse_resources, refers_to("resources"))]
Quotas = Annotated[dict[str, int], Reads(parse_quotas, refers_to("resources"))]
Time = Annotated[int, Reads(parse_time, refers_to("time"))]
Duration = Annotated[int, Reads(parse_duration, refers_to("duration"))]
Settings = Annotated[dict[str, Any], Reads(parse_object, {"type": "object"})]
Integer = Annotated[int, whole()]
Count = Annotated[int, whole(least=1)]
Amount = Annotated[int, whole(least=0)]
Number = Annotated[float, number()]
