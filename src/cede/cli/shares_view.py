"""What a doctrine computed before deciding, as tables: one line a thing, or one for each resource it counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cede.cli.output import table, text
from cede.model.plan import Plan
from cede.model.quantities import parse_quantity, say_quantity

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Entries = Mapping[str, Mapping[str, Any]]

NARROW = 120
INFINITE = 1e9
SHORT = {"dominant_share": "share", "dominant_resource": "of", "borrowing": "borrows", "potential": "at most"}
"""Heads that are narrower than their keys."""


def print_shares(out: Console, made: Plan) -> None:
    """A table for queues, apps and workloads each, where the doctrine says something of them."""
    for section, entries in (made.shares or {}).items():
        if entries:
            for shown in _tables(section, entries, narrow=out.width < NARROW):
                out.print(shown)
                out.print()
    if not any((made.shares or {}).values()):
        out.print(text(f"{made.doctrine} {made.edition} computes no shares."))
        out.print()


def _tables(section: str, entries: Entries, *, narrow: bool) -> list[Table]:
    """One table; on a narrow terminal two where there are amounts by resource besides other values."""
    keys = list(dict.fromkeys(key for values in entries.values() for key in values))
    amounts = [key for key in keys if any(isinstance(values.get(key), Mapping) for values in entries.values())]
    scalars = [key for key in keys if key not in amounts]
    if narrow and scalars and amounts:
        return [_table(section, entries, scalars, []), _table(section, entries, [], amounts)]
    return [_table(section, entries, scalars, amounts)]


def _table(section: str, entries: Entries, scalars: list[str], amounts: list[str]) -> Table:
    right: dict[str, object] = {"justify": "right"}
    whole: dict[str, object] = {"no_wrap": True}
    heads = [(_head(key), right) for key in amounts]
    made = table(section, *map(_head, scalars), *([("resource", whole)] if amounts else []), *heads)
    for name, values in entries.items():
        first = [text(name), *(text(_scalar(values.get(key))) for key in scalars)]
        if not amounts:
            made.add_row(*first)
            continue
        resources = list(dict.fromkeys(resource for key in amounts for resource in values.get(key, ())))
        for at, resource in enumerate(resources or [""]):
            counted = (text(_amount(resource, values.get(key, {}).get(resource))) for key in amounts)
            made.add_row(*(first if at == 0 else [text("")] * len(first)), text(resource), *counted)
    return made


def _head(key: str) -> str:
    return SHORT.get(key, key.replace("_", " "))


def _scalar(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "infinite" if value >= INFINITE else f"{value:.3f}".rstrip("0").rstrip(".")
    return str(value)


def _amount(resource: str, value: object) -> str:
    if value is None:
        return ""
    sign, size = ("-", str(value)[1:]) if str(value).startswith("-") else ("", str(value))
    return sign + say_quantity(resource, parse_quantity(size))
