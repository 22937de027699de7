"""Options of YTsaurus as settings of a cluster file: the settings there are say which, and what kind each is of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from pydantic.fields import FieldInfo

from cede.imports.amounts import Amounts
from cede.imports.fields import Fields
from cede.imports.ytsaurus.names import OLD
from cede.model.errors import Loc, shown
from cede.model.quantities import format_quantity, parse_quantity, parse_quota
from cede.model.resources import parse_quotas, parse_resources
from cede.model.times import LONGEST, SECOND, Instant, format_duration, format_time, parse_duration, parse_time
from cede.model.values import Part, Reads, refers_to

RESOURCES = ("cpu", "user_slots", "memory", "gpu", "network")
OTHER_RESOURCE = f"pools share {', '.join(RESOURCES[:-1])} and {RESOURCES[-1]} only"
HINT = "write milliseconds, or a text like 30s or 1h30m"
MS = SECOND // 1000

_DURATION = refers_to("duration")
_LENGTH = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|ms|d|w)")
_UNITS = {"us": 1, "ms": MS, "d": 86400 * SECOND, "w": 7 * 86400 * SECOND}


def carried(fields: Fields, model: type[Part]) -> dict[str, Any]:
    """Those of the fields that the model has, under today's names and with units; the others are left untaken."""
    found: dict[str, Any] = {}
    for key, raw in fields.data.items():
        name = OLD.get(key, key)
        if name not in model.model_fields:
            continue
        fields.raw(key)
        value = None if raw is None else _value(fields, key, raw, model.model_fields[name])
        if value is None:
            continue
        if name not in found:
            found[name] = value
        elif found[name] != value:
            other = next(other for other in fields.data if other != key and OLD.get(other, other) == name)
            fields.wrong((key,), f"{other} is another name of it, and says something else", "give one of them")
    return found


def amounts(fields: Fields, key: str, parse: Callable[[object], int] = parse_quantity) -> Amounts:
    """The amounts by resource below the key, in nano-units; what no pool shares is noted and left out."""
    part = fields.part(key)
    part.skip_rest()
    found = {}
    for name, raw in part.data.items():
        if raw is None:
            continue
        if name not in RESOURCES:
            part.remark(OTHER_RESOURCE, name)
            continue
        try:
            found[name] = parse(raw)
        except ValueError as error:
            part.wrong((name,), str(error))
    return found


def written(nano: Mapping[str, int]) -> dict[str, int | str]:
    """The amounts as a cluster file has them."""
    return {name: format_quantity(amount) for name, amount in nano.items()}


def _value(fields: Fields, key: str, raw: Any, info: FieldInfo) -> Any:
    """The value as a cluster file has it; None if it is wrong, which is reported, or says nothing."""
    kind = next((mark for mark in info.metadata if isinstance(mark, Reads)), None)
    if kind is not None and kind.schema == _DURATION:
        return _duration(fields, (key,), raw)
    if kind is not None and kind.parse is parse_time:
        return _time(fields, (key,), raw)
    if kind is not None and kind.parse is parse_resources:
        return written(amounts(fields, key))
    if kind is not None and kind.parse is parse_quotas:
        return written(amounts(fields, key, parse_quota))
    if isinstance(info.annotation, type) and issubclass(info.annotation, Part):
        return carried(fields.part(key), info.annotation)
    return raw


def _duration(fields: Fields, loc: Loc, raw: Any) -> int | float | str | None:
    """Numbers are milliseconds in YTsaurus; texts have their unit."""
    try:
        return format_duration(_microseconds(raw))
    except ValueError as error:
        fields.wrong(loc, str(error))
        return None


def _time(fields: Fields, loc: Loc, raw: Any) -> int | float | str | None:
    try:
        moment = parse_time(raw)
    except ValueError as error:
        fields.wrong(loc, str(error))
        return None
    return format_time(moment, isinstance(moment, Instant))


def _microseconds(raw: Any) -> int:
    if isinstance(raw, str):
        found = _LENGTH.fullmatch(raw)
        if found is not None:
            return _within(round(Decimal(found[1]) * _UNITS[found[2]]), raw)
        try:
            return parse_duration(raw)
        except ValueError:
            raise ValueError(f"{shown(raw)} is no duration; {HINT}") from None
    if isinstance(raw, bool) or not isinstance(raw, int | float | Decimal):
        raise ValueError(f"{shown(raw)} is no duration; {HINT}")
    number = Decimal(raw)
    if not number.is_finite() or number < 0:
        raise ValueError(f"{shown(raw)} is no number of milliseconds")
    return _within(round(number * MS), raw)


def _within(duration: int, raw: Any) -> int:
    if duration > LONGEST:
        raise ValueError(f"{shown(raw)} is out of range; the longest duration is 100 years, which is 876600h")
    return duration
