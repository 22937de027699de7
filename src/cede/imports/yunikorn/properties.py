"""The properties of a queue as its settings, with the values that YuniKorn goes by."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from cede.imports.fields import Fields
from cede.model.errors import shown
from cede.model.go_durations import parse_go_duration
from cede.model.times import format_duration

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
    found = {}
    for name, value in part.data.items():
        if isinstance(value, dict | list):
            part.wrong((name,), f"{shown(value)} is no text")
        else:
            found[name] = _text(value)
    return found


def settings_of(properties: Mapping[str, str], fields: Fields, key: str = "properties") -> Settings:
    """The settings that the properties make; of a wrong value, and of what is not carried over, there is a note."""
    found: Settings = {}
    for name, text in properties.items():
        if name in READ:
            value, wrong = READ[name](text)
            found[name] = value
            if wrong is not None:
                fields.remark(f"{wrong}; YuniKorn then takes {value}", key, name)
        elif text:
            fields.remark(OTHERS.get(name, "Cede does not know this property"), key, name)
    return {name: found[name] for name in READ if name in found}


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
