"""Priorities of a trace as a doctrine with a range of its own takes them."""

from __future__ import annotations

from collections.abc import Iterable


def classes_of(values: Iterable[int], allowed: tuple[int, int]) -> dict[int, int] | None:
    """What each priority becomes in the range from the lowest to the highest that is allowed, in the same order: itself
    where all are within it.

    Else they are spread over the range: each is the middle of a band, and the bands are equal. None where there are
    more priorities than the range has.
    """
    known = sorted(set(values))
    low, high = allowed
    if not known or (low <= known[0] and known[-1] <= high):
        return {value: value for value in known}
    width = high - low + 1
    if len(known) > width:
        return None
    return {value: low + (2 * place + 1) * width // (2 * len(known)) for place, value in enumerate(known)}
