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
MOST_ENTRIES = 200
INFINITE = 1e9
UNBOUNDED = 1000
"""Wide enough for any table."""
RIGHT: dict[str, object] = {"justify": "right"}
SHORT = {
    "dominant_share": "share",
    "dominant_resource": "of",
    "borrowing": "borrows",
    "potential": "at most",
    "budget_multiplier": "budget",
    "tenant_share": "tenant holds",
    "value": "worth [min]",
    "unsaved_s": "unsaved [s]",
    "topology": "topo",
    "backlog": "load",
    "checkpoint": "ckpt",
    "conformance": "conf",
}
"""Heads that are narrower than their keys."""

PARTS = {
    "usage_share": "usage",
    "fair_share": "fair share",
    "demand_share": "demand",
    "strong_guarantee_share": "strong part",
    "integral_guarantee_share": "integral part",
}
"""Parts of the whole by resource, as percent, in the order of reading."""
STANDING = {"status": "status", "starvation": "starves", "satisfaction": "satisfied", "weight": "weight"}
WORDS = {
    "below_fair_share": "below",
    "non_starving": "no",
    "starving": "yes",
    "aggressively_starving": "aggressively",
}


def print_shares(out: Console, made: Plan) -> None:
    """A table for queues, apps and workloads each, where the doctrine says something of them."""
    for section, entries in (made.shares or {}).items():
        if entries:
            first = dict(list(entries.items())[:MOST_ENTRIES])
            for shown in _tables(out, section, first):
                out.print(shown)
                out.print()
            if len(entries) > MOST_ENTRIES:
                left = len(entries) - MOST_ENTRIES
                out.print(text(f"{left:,} more not shown: --json has them all", "dim"))
                out.print()
    if not any((made.shares or {}).values()):
        out.print(text(f"{made.doctrine} {made.edition} computes no shares."))
        out.print()


def _tables(out: Console, section: str, entries: Mapping[str, Any]) -> list[Table]:
    """One table; on a narrow terminal two where there are amounts by resource besides other values."""
    if not all(isinstance(values, Mapping) for values in entries.values()):
        return [_words(section, entries)]
    if any("fair_share" in values for values in entries.values()):
        whole = _parts_table(section, entries, standing=True, parts=True)
        if _fits(out, whole):
            return [whole]
        return [
            _parts_table(section, entries, standing=True, parts=False),
            _parts_table(section, entries, standing=False, parts=True),
        ]
    scored = {name: values for name, values in entries.items() if "factors" in values}
    if scored:
        others = {name: values for name, values in entries.items() if name not in scored}
        return [*_score_tables(out, section, scored), *(_tables(out, "running", others) if others else ())]
    keys = list(dict.fromkeys(key for values in entries.values() for key in values))
    amounts = [key for key in keys if any(isinstance(values.get(key), Mapping) for values in entries.values())]
    scalars = [key for key in keys if key not in amounts]
    if out.width < NARROW and scalars and amounts:
        return [_table(section, entries, scalars, []), _table(section, entries, [], amounts)]
    return [_table(section, entries, scalars, amounts)]


def _fits(out: Console, made: Table) -> bool:
    """Whether it stands on the terminal with no line broken."""
    return out.measure(made, options=out.options.update(width=UNBOUNDED)).maximum <= out.width


def _table(section: str, entries: Entries, scalars: list[str], amounts: list[str]) -> Table:
    whole: dict[str, object] = {"no_wrap": True}
    heads = [(_head(key), RIGHT) for key in amounts]
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


def _score_tables(out: Console, section: str, entries: Entries) -> list[Table]:
    """Whose turn it is by its score, and the factors that make it: in two tables, if one is too wide."""
    turns = dict(sorted(entries.items(), key=lambda entry: entry[1]["turn"]))
    known = list(dict.fromkeys(key for values in entries.values() for key in values if key != "factors"))
    factors = {name: values["factors"] for name, values in turns.items()}
    names = list(dict.fromkeys(name for values in factors.values() for name in values))
    whole = _numbers("factor", factors, names)
    half = (len(names) + 1) // 2
    parts = [names] if _fits(out, whole) else [names[:half], names[half:]]
    return [_numbers(section, turns, known), *(_numbers("factor", factors, part) for part in parts)]


def _numbers(section: str, entries: Entries, keys: list[str]) -> Table:
    made = table(section, *((_head(key), RIGHT) for key in keys))
    for name, values in entries.items():
        made.add_row(text(name), *(text(_scalar(values.get(key))) for key in keys))
    return made


def _words(section: str, entries: Mapping[str, Any]) -> Table:
    """Things of which there is one word each."""
    made = table(section, "group")
    for name, word in entries.items():
        made.add_row(text(name), text(str(word)))
    return made


def _parts_table(section: str, entries: Entries, *, standing: bool, parts: bool) -> Table:
    """How things stand to their shares, and the shares by resource: of each the resources it has to do with."""
    known = {key for values in entries.values() for key in values}
    alike = {values.get("weight") for values in entries.values()} <= {1.0}
    words = [key for key in STANDING if standing and key in known and not (key == "weight" and alike)]
    shares = [key for key in PARTS if parts and key in known]
    of = [("resource", {"no_wrap": True})] if parts else []
    columns = [(STANDING[key], RIGHT if key in ("satisfaction", "weight") else {}) for key in words]
    made = table(section, *columns, *of, *((PARTS[key], RIGHT) for key in shares))
    for name, values in entries.items():
        first = [text(name), *(text(_scalar(WORDS.get(values.get(key, ""), values.get(key)))) for key in words)]
        if not parts:
            made.add_row(*first)
            continue
        for at, resource in enumerate(_resources(values, shares) or ["–"]):
            cells = (text(_percent(values.get(key, {}).get(resource))) for key in shares)
            made.add_row(*(first if at == 0 else [text("")] * len(first)), text(resource), *cells)
    return made


def _resources(values: Mapping[str, Any], shares: list[str]) -> list[str]:
    names = dict.fromkeys(resource for key in shares for resource in values.get(key, ()))
    return [resource for resource in names if any(values.get(key, {}).get(resource) for key in shares)]


def _percent(share: object) -> str:
    return f"{100 * share:.4g}%" if isinstance(share, int | float) else ""


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
