"""Sparse amounts by resource type, where unset, empty and zero are three different things, as YuniKorn compares them.

An unset vector is None. Types are whatever the caller counts in: columns, or names.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

T = TypeVar("T", bound=Hashable)
Vector = Mapping[T, int] | None


def least(a: Vector[T], b: Vector[T]) -> Vector[T]:
    """The smaller of the two for every type; a type that only one names is not limited by the other."""
    if a is None or b is None:
        return b if a is None else a
    smaller = dict(a)
    for kind, amount in b.items():
        smaller[kind] = min(amount, smaller[kind]) if kind in smaller else amount
    return smaller


def filled(a: Vector[T], b: Vector[T]) -> Vector[T]:
    """`a`, and the types of `b` that `a` lacks."""
    if a is None or b is None:
        return b if a is None else a
    return {**b, **a}


def within(big: Vector[T], small: Mapping[T, int]) -> bool:
    """Whether no type of `small` is above `big`, compared as it is; types that `big` lacks are not looked at."""
    return big is None or all(amount <= big[kind] for kind, amount in small.items() if kind in big)


def fits(big: Mapping[T, int], small: Mapping[T, int]) -> bool:
    """Whether every type of `small` finds as much in `big`; what `big` lacks, or has below zero, is nothing."""
    return all(amount <= max(0, big.get(kind, 0)) for kind, amount in small.items())


def under(ask: Mapping[T, int], rest: Vector[T]) -> bool:
    """Whether no type of the ask is below zero in what remains of the guarantee."""
    return rest is None or all(rest.get(kind, 0) >= 0 for kind in ask)


def over(ask: Mapping[T, int], rest: Vector[T]) -> bool:
    """Whether some type of the ask is below zero in what remains of the guarantee."""
    return rest is not None and any(rest.get(kind, 0) < 0 for kind in ask)


def covers(a: Mapping[T, int], b: Mapping[T, int], *, equal: bool) -> bool:
    """Whether `a` is at least `b` in the types of both; without `equal`, above it in one of them.

    One type in which `b` is larger is enough to make it false.
    """
    common = [kind for kind in a if kind in b]
    if any(b[kind] > a[kind] for kind in common):
        return False
    if a and not b:
        return all(amount > 0 for amount in a.values())
    if not common:
        return bool(a and b) or equal
    return equal or any(a[kind] != b[kind] for kind in common)
