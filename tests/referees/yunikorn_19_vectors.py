"""The operators on sparse vectors that YuniKorn's page lists; None is a vector that is not set."""

from __future__ import annotations

from collections.abc import Mapping

Vector = Mapping[str, int]
Maybe = Vector | None


def add(a: Maybe, b: Maybe) -> Vector:
    a, b = a or {}, b or {}
    return {key: a.get(key, 0) + b.get(key, 0) for key in {**a, **b}}


def sub(a: Maybe, b: Maybe) -> Vector:
    a, b = a or {}, b or {}
    return {key: a.get(key, 0) - b.get(key, 0) for key in {**a, **b}}


def sub_existing(a: Maybe, b: Maybe) -> Maybe:
    """The types of `a` only."""
    if a is None:
        return None
    return {key: amount - (b or {}).get(key, 0) for key, amount in a.items()}


def clip(a: Vector) -> Vector:
    return {key: max(0, amount) for key, amount in a.items()}


def least(a: Maybe, b: Maybe) -> Maybe:
    """A type that one side lacks is not limited by it."""
    if a is None or b is None:
        return b if a is None else a
    return {key: min(side[key] for side in (a, b) if key in side) for key in {**a, **b}}


def fill(a: Vector, b: Maybe) -> Vector:
    return {**(b or {}), **a}


def fits(big: Vector, small: Vector) -> bool:
    return all(amount <= max(0, big.get(key, 0)) for key, amount in small.items())


def fits_undef(big: Vector, small: Vector) -> bool:
    return all(amount <= max(0, big[key]) for key, amount in small.items() if key in big)


def fits_actual(big: Vector, small: Vector) -> bool:
    return all(amount <= big[key] for key, amount in small.items() if key in big)


def touches(a: Vector, b: Vector) -> bool:
    return bool(a.keys() & b.keys())


def same(a: Maybe, b: Maybe) -> bool:
    return not any(sub(a, b).values())


def covers(a: Vector, b: Vector) -> bool:
    """`cover(a, b, eq=false)` of the page: what is in both is nowhere more in `b`, and somewhere less."""
    common = a.keys() & b.keys()
    if any(b[key] > a[key] for key in common):
        return False
    if a and not b:
        return all(amount > 0 for amount in a.values())
    if a and b and not common:
        return True
    return any(a[key] != b[key] for key in common)


def under(ask: Vector, remaining: Vector) -> bool:
    return all(remaining.get(key, 0) >= 0 for key in ask)


def over(ask: Vector, remaining: Vector) -> bool:
    return any(remaining.get(key, 0) < 0 for key in ask)
