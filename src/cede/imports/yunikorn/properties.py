"""Lengths of time as programs in Go write them: `1h15m30.5s`, `500ms`, `2us`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from cede.imports.fields import Fields
from cede.model.errors import shown
from cede.model.times import format_duration

LONGEST_NS = 2**63 - 1
"""Go counts nanoseconds in 64 bits, which ends at about 292 years."""

_UNITS_NS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,  # the micro sign
    "\u03bcs": 10**3,  # the Greek letter, which looks the same
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)")
_EXAMPLE = "write it like 30s, 1h15m or 500ms"
_MOST_CHARACTERS = 1000


def parse_go_duration(text: str) -> int:
    """The microseconds that Go reads in the text, negative after a minus.

    What is finer is cut off towards zero, but only 0 is 0: a nanosecond counts as a microsecond, for to a rule it
    matters whether a time is positive. What Go refuses is a ValueError that says why.
    """
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest or len(text) > _MOST_CHARACTERS:
        raise ValueError(f"{shown(text)} is no duration; {_EXAMPLE}")
    total_ns = sum(_part_ns(part, text) for part in _parts(rest, text))
    if total_ns > LONGEST_NS + (sign < 0):
        raise ValueError(f"{shown(text)} is out of range; a duration in Go is shorter than 293 years")
    us = total_ns // 1000
    return sign * (us or int(total_ns > 0))


def _parts(rest: str, text: str) -> list[re.Match[str]]:
    """Each number with its unit."""
    parts = []
    at = 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None or part[1] + (part[2] or ".") == ".":
            raise ValueError(f"{shown(text)} is no duration; {_EXAMPLE}")
        parts.append(part)
        at = part.end()
    return parts


def _part_ns(part: re.Match[str], text: str) -> int:
    whole, fraction, unit = part[1] or "0", (part[2] or ".")[1:], part[3]
    if not unit:
        raise ValueError(f"{shown(text)} has a number without a unit; {_EXAMPLE}")
    if unit not in _UNITS_NS:
        raise ValueError(f"{shown(text)} has the unit {shown(unit)}; there are ns, us, ms, s, m and h")
    scale = _UNITS_NS[unit]
    return int(whole) * scale + (int(fraction) * scale // 10 ** len(fraction) if fraction else 0)


Settings = dict[str, int | float | str]

POLICY = "preemption.policy"
DELAY = "preemption.delay"
PRIORITY = "priority.policy"
OFFSET = "priority.offset"
QUOTA_DELAY = "quota.preemption.delay"
DEFAULT_DELAY = "30s"
NO_DELAY = "0s"
INT32 = range(-(2**31), 2**31)
OTHERS = {
    "application.sort.policy": "the order of applications within a queue is not carried over",
    "application.sort.priority": "the order of applications within a queue is not carried over",
    "application.unschedasks.backoff": "backing off from applications is not carried over",
    "application.unschedasks.delay": "backing off from applications is not carried over",
}

_NUMBER = re.compile(r"[+-]?[0-9]{1,20}")


def properties_of(fields: Fields, key: str = "properties") -> dict[str, str]:
    """The properties as texts, as which YuniKorn reads them."""
    part = fields.part(key)
    part.skip_rest()
    texts = {}
    for name, value in part.data.items():
        if isinstance(value, dict | list):
            part.wrong((name,), f"{shown(value)} is no text")
        else:
            texts[name] = _text(value)
    return texts


def settings_of(properties: Mapping[str, str], fields: Fields, key: str = "properties") -> Settings:
    """The settings that the properties make; of a wrong value, and of what is not carried over, there is a note."""
    settings: Settings = {}
    for name, text in properties.items():
        if name in READ:
            value, wrong = READ[name](text)
            settings[name] = value
            if wrong is not None:
                fields.remark(f"{wrong}; YuniKorn then takes {value}", key, name)
        elif text:
            fields.remark(OTHERS.get(name, "Cede does not know this property"), key, name)
    return {name: settings[name] for name in READ if name in settings}


def alone(settings: Mapping[str, int | float | str]) -> Settings:
    """The settings of a queue that was made on the fly, which takes nothing over from those above it."""
    return {POLICY: "default", DELAY: DEFAULT_DELAY, **settings, QUOTA_DELAY: NO_DELAY}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return format(value, "f") if isinstance(value, Decimal) and value.is_finite() else str(value)


def _policy(*words: str) -> Callable[[str], tuple[str, str | None]]:
    def read(text: str) -> tuple[str, str | None]:
        word = text.lower() or "default"
        return (word, None) if word in words else ("default", f"{shown(text)} is none of {', '.join(words)}")

    return read


def _duration(otherwise: str) -> Callable[[str], tuple[int | float | str, str | None]]:
    def read(text: str) -> tuple[int | float | str, str | None]:
        try:
            us = parse_go_duration(text)
        except ValueError as error:
            return otherwise, str(error)
        if us == 0 and otherwise == NO_DELAY:
            return otherwise, None
        return (format_duration(us), None) if us > 0 else (otherwise, f"{shown(text)} is not above 0")

    return read


def _offset(text: str) -> tuple[int, str | None]:
    if _NUMBER.fullmatch(text) is None or int(text) not in INT32:
        return 0, f"{shown(text)} is no whole number of 32 bits"
    return int(text), None


READ: Mapping[str, Callable[[str], tuple[int | float | str, str | None]]] = {
    POLICY: _policy("default", "fence", "disabled"),
    DELAY: _duration(DEFAULT_DELAY),
    PRIORITY: _policy("default", "fence"),
    OFFSET: _offset,
    QUOTA_DELAY: _duration(NO_DELAY),
}
"""How each is read: the value that counts, and what is wrong with the one that was given."""
