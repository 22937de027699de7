"""Nodes as Cypress has them, with attributes, in each of the forms in which they are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cede.imports.fields import Fields
from cede.imports.report import Place, Report
from cede.imports.ytsaurus.yson import Attributed
from cede.model.errors import Loc, shown

VALUE, ATTRIBUTES, TYPE = "$value", "$attributes", "$type"
POOLS = "pools"
INNER = "attributes of an attribute are not carried over"
NO_POOL = "the attributes of a pool stand before it, as in <weight=2>{}"


@dataclass(frozen=True, slots=True)
class Element:
    """A pool tree or a pool: its attributes, and the pools below it as they were read."""

    fields: Fields
    pools: Mapping[str, Any]


def opened(data: Any) -> Any:
    """The same with values that have attributes as such, where JSON writes `$attributes` and `$value`."""
    if isinstance(data, list):
        return [opened(item) for item in data]
    if not isinstance(data, dict):
        return data
    if VALUE in data and data.keys() <= {VALUE, ATTRIBUTES, TYPE}:
        attributes = data.get(ATTRIBUTES)
        return Attributed(opened(data[VALUE]), opened(attributes) if isinstance(attributes, dict) else {})
    # JSON doubles a $ at the beginning of a key that is not one of these.
    return {key[1:] if key.startswith("$$") else key: opened(item) for key, item in data.items()}


def value_of(raw: Any) -> Any:
    """The value without its attributes."""
    return raw.value if isinstance(raw, Attributed) else raw


def attributes_of(raw: Any) -> Mapping[str, Any]:
    return raw.attributes if isinstance(raw, Attributed) else {}


def element(raw: Any, place: Place, report: Report, *, plainly: bool) -> Element:
    """The node; `plainly`: its attributes and `pools` stand side by side, and not as Cypress has them."""
    value = value_of(raw)
    if value is not None and not isinstance(value, dict):
        report.wrong(place, (), f"{shown(value)} is no {place.kind}", None if plainly else NO_POOL)
        value = {}
    below = (value or {}).get(POOLS) if plainly else value
    if not isinstance(below, dict | None):
        report.wrong(place, (POOLS,), f"{shown(below)} is no object of pools")
        below = {}
    given = {key: item for key, item in (value or {}).items() if key != POOLS} if plainly else attributes_of(raw)
    return Element(fields_of(given, place, report), below or {})


def fields_of(attributes: Mapping[str, Any], place: Place, report: Report) -> Fields:
    """The attributes as plain data; attributes of their values are noted."""
    for loc in _inner(attributes, ()):
        report.note(place, loc, INNER)
    return Fields({key: _plain(item) for key, item in attributes.items()}, place, report)


def _plain(raw: Any) -> Any:
    raw = value_of(raw)
    if isinstance(raw, list):
        return [_plain(item) for item in raw]
    return {key: _plain(item) for key, item in raw.items()} if isinstance(raw, dict) else raw


def _inner(raw: Any, loc: Loc) -> Iterator[Loc]:
    """Where values have attributes of their own."""
    if isinstance(raw, Attributed):
        if raw.attributes:
            yield loc
        raw = raw.value
    items = raw.items() if isinstance(raw, Mapping) else enumerate(raw) if isinstance(raw, list) else ()
    for key, item in items:
        yield from _inner(item, (*loc, key))
