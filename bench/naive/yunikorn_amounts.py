"""The arithmetic of YuniKorn's resource maps on plain dicts, where a map that is unset (None) is not an empty one."""

from __future__ import annotations

from typing import Any

Amounts = dict[str, int]


def amounts(raw: dict[str, Any] | None) -> Amounts | None:
    """A limit as configured: one without a positive value is unset."""
    found = {kind: int(value) for kind, value in (raw or {}).items()}
    return found if any(value > 0 for value in found.values()) else None


def add(a: Amounts, b: Amounts) -> Amounts:
    return {kind: a.get(kind, 0) + b.get(kind, 0) for kind in a.keys() | b.keys()}


def sub(a: Amounts, b: Amounts) -> Amounts:
    return {kind: a.get(kind, 0) - b.get(kind, 0) for kind in a.keys() | b.keys()}


def sub_existing(a: Amounts | None, b: Amounts | None) -> Amounts | None:
    """Only the types of `a`."""
    if a is None:
        return None
    return {kind: value - (b or {}).get(kind, 0) for kind, value in a.items()}


def clip(a: Amounts) -> Amounts:
    return {kind: max(0, value) for kind, value in a.items()}


def least(a: Amounts | None, b: Amounts | None) -> Amounts | None:
    """A type that only one side names keeps its value."""
    if a is None or b is None:
        return dict(a) if a is not None else dict(b) if b is not None else None
    return {kind: min(a.get(kind, b.get(kind, 0)), b.get(kind, a.get(kind, 0))) for kind in a.keys() | b.keys()}


def fill(a: Amounts, b: Amounts | None) -> Amounts:
    """`a`, and the types of `b` that it lacks."""
    return {**(b or {}), **a}


def fits(big: Amounts, small: Amounts) -> bool:
    return all(value <= max(0, big.get(kind, 0)) for kind, value in small.items())


def fits_undefined(big: Amounts | None, small: Amounts) -> bool:
    """As `fits`, but what `big` does not name is no limit."""
    return all(value <= max(0, big[kind]) for kind, value in small.items() if kind in big) if big else True


def fits_actual(big: Amounts, small: Amounts) -> bool:
    """As `fits_undefined`, but less than nothing is compared as it is."""
    return all(value <= big[kind] for kind, value in small.items() if kind in big)


def same(a: Amounts | None, b: Amounts | None) -> bool:
    a, b = a or {}, b or {}
    return all(a.get(kind, 0) == b.get(kind, 0) for kind in a.keys() | b.keys())


def covers(a: Amounts, b: Amounts) -> bool:
    """Whether `a` is more than `b`, among the types that both name."""
    common = a.keys() & b.keys()
    if any(b[kind] > a[kind] for kind in common):
        return False
    if a and not b:
        return all(value > 0 for value in a.values())
    if a and not common:
        return True
    return any(a[kind] != b[kind] for kind in common)


def under(ask: Amounts, rest: Amounts) -> bool:
    """No type of the ask is below nothing."""
    return all(rest.get(kind, 0) >= 0 for kind in ask)


def over(ask: Amounts, rest: Amounts) -> bool:
    """Some type of the ask is below nothing."""
    return any(rest.get(kind, 0) < 0 for kind in ask)
