"""Lengths of time and pairs as people type them in options."""

from __future__ import annotations

from collections.abc import Iterable

from cede.model.errors import InputError, Problem


def seconds(option: str, typed: str) -> float:
    """What was typed, in seconds: a number of them, or a text like 30s, 10m, 1h30m."""
    from cede.model.times import SECOND, parse_duration

    try:
        return parse_duration(duration(typed)) / SECOND
    except ValueError as error:
        raise InputError([Problem(option, str(error))]) from None


def duration(typed: str) -> float | str:
    """What was typed as the API takes it: a bare number is one of seconds."""
    return float(typed) if typed.replace(".", "", 1).isdigit() else typed


def pairs(option: str, typed: Iterable[str], form: str) -> dict[str, str]:
    """NAME=VALUE options as a mapping; the value may hold more of these signs."""
    values: dict[str, str] = {}
    for one in typed:
        name, sign, value = one.partition("=")
        if not sign or not name:
            raise InputError([Problem(f"{option} {one}", "gives no value", f"write {option} {form}")])
        values[name] = value
    return values
