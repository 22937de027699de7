"""Amounts as YuniKorn writes them: with its few suffixes in a configuration, as plain integers in a state dump."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from cede.imports.fields import Amounts, Fields
from cede.model.errors import Loc, did_you_mean, shown
from cede.model.quantities import LARGEST, NANO, format_quantity
from cede.model.resources import parse_resources

VCORE = "vcore"
MILLI = NANO // 1000
MOST = 2**63 - 1
"""YuniKorn counts no further; a quota of more is unlimited."""
SUFFIXES = {
    "": 1,
    **{suffix: 10 ** (3 * power) for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": 2 ** (10 * power) for power, suffix in enumerate("KMGTPE", 1)},
}

_QUANTITY = re.compile(r"([+-]?[0-9]+)([A-Za-z]*)")
_BLANKS = re.compile(r"\s+")
_MOST_DIGITS = 40


def configured(fields: Fields, key: str) -> Amounts | None:
    """The amounts below the key of a configuration; None if there is no such key."""
    if not fields.has(key):
        return None
    part = fields.part(key)
    amounts = {}
    for name, raw in part.data.items():
        if raw is None:
            part.wrong((name,), "null is no quantity")
        elif _is_named(part, name) and (amount := _configured(part, name, raw)) is not None:
            amounts[name] = amount
    return amounts


def counted(fields: Fields, *keys: str) -> Amounts:
    """The amounts of a state dump, below the first of the keys that is there: whole units, of vcore thousandths."""
    key = next((key for key in keys if fields.has(key)), keys[0])
    part = fields.part(key)
    part.skip_rest()
    amounts = {}
    for name, raw in part.data.items():
        if type(raw) is not int:
            part.wrong((name,), f"{shown(raw)} is no whole number")
        elif raw < 0:
            part.wrong((name,), f"{raw} is negative")
        elif _is_named(part, name):
            amounts[name] = raw * (MILLI if name == VCORE else NANO)
    return amounts


def written(amounts: Mapping[str, int]) -> dict[str, int | str]:
    """The amounts as a cluster file has them."""
    return {name: format_quantity(nano) for name, nano in amounts.items()}


def is_set(amounts: Mapping[str, int] | None) -> bool:
    """Whether they limit or promise anything; all zero means the same as none."""
    return amounts is not None and any(amounts.values())


def smaller(one: Mapping[str, int], other: Mapping[str, int]) -> Amounts:
    """Of each resource the smaller amount; what one of them does not name does not limit."""
    return {name: min(one.get(name, nano), nano) for name, nano in {**one, **other}.items()}


def excess(limit: Mapping[str, int], amounts: Mapping[str, int]) -> list[str]:
    """The resources of which there is more than the limit, where it names them."""
    return [name for name, nano in amounts.items() if name in limit and nano > limit[name]]


def _is_named(fields: Fields, name: str) -> bool:
    """Whether a cluster file can name such a resource; if not, that is reported."""
    wrong = _wrong_name(name)
    if wrong is not None:
        fields.wrong((name,), wrong)
    return wrong is None


@lru_cache(maxsize=1000)
def _wrong_name(name: str) -> str | None:
    try:
        parse_resources({name: 0})
    except ValueError:
        return "this is no name of a resource"
    return "a resource with an @ in its name would mean a flavor in a cluster file" if "@" in name else None


def _configured(fields: Fields, name: str, raw: object) -> int | None:
    loc: Loc = (name,)
    text = _BLANKS.sub("", str(raw)) if type(raw) is int or isinstance(raw, str) else ""
    match = _QUANTITY.fullmatch(text)
    if match is None or len(match[1]) > _MOST_DIGITS:
        fields.wrong(loc, f"{shown(raw)} is no quantity; write a whole number, and a suffix like k, M, Ki or Mi")
        return None
    number, suffix = int(match[1]), match[2]
    if suffix == "m" and name == VCORE:
        scale, unit = 1, MILLI
    elif suffix in SUFFIXES:
        scale, unit = SUFFIXES[suffix] * (1000 if name == VCORE else 1), MILLI if name == VCORE else NANO
    else:
        only = f"; m is for {VCORE} only" if suffix == "m" else ""
        fields.wrong(
            loc, f"{shown(raw)} has a suffix that YuniKorn does not know{only}", did_you_mean(suffix, SUFFIXES)
        )
        return None
    if number < 0:
        fields.wrong(loc, f"{shown(raw)} is negative")
        return None
    return LARGEST if number * scale >= MOST else number * scale * unit
