"""Amounts by resource, in nano-units, as importers add them up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Amounts = dict[str, int]


def total(amounts: Iterable[Mapping[str, int]]) -> Amounts:
    """All of them together."""
    found: Amounts = {}
    for one in amounts:
        for name, nano in one.items():
            found[name] = found.get(name, 0) + nano
    return found
