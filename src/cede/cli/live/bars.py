"""How full something is, as a bar: used, leaving, held and free are told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cede.cli.live.shown import amount
from cede.cli.output import text

if TYPE_CHECKING:
    from rich.text import Text

USED, LEAVING, PROMISED, HELD, FREE = "#", "-", "=", "+", "."
LEGEND = f"{USED} used, {LEAVING} leaving, {PROMISED} leaving and held for another, {HELD} held, {FREE} free"
STYLES = {USED: "green", LEAVING: "yellow", PROMISED: "magenta", HELD: "magenta", FREE: "dim"}


def nano(amounts: Mapping[str, Any], resource: str) -> int:
    """The amount of a resource, none if it is not named."""
    from cede.model.quantities import parse_quantity

    return parse_quantity(amounts.get(resource, 0))


def bar(total: int, used: int, leaving: int, held: int, cells: int) -> Text:
    """What is used, then what is being left, part of it for another, then what is held beyond that."""
    if total <= 0:
        return text(FREE * cells, STYLES[FREE])
    promised = min(leaving, held)
    sizes = _cells([used, leaving - promised, promised, held - promised], total, cells)
    made = text("")
    for sign, size in zip((USED, LEAVING, PROMISED, HELD), sizes, strict=True):
        made += text(sign * size, STYLES[sign])
    return made + text(FREE * (cells - sum(sizes)), STYLES[FREE])


def _cells(amounts: list[int], total: int, cells: int) -> list[int]:
    """How many cells each takes; what there is has at least one, and all together no more than there are."""
    sizes: list[int] = []
    left = cells
    for one in amounts:
        size = 0 if one <= 0 else max(1, round(one * cells / total))
        sizes.append(min(size, left))
        left -= sizes[-1]
    return sizes


def level(resource: str, total: int, used: int) -> str:
    """`used/total` as people read it."""
    from cede.model.quantities import format_quantity

    return f"{amount(resource, format_quantity(used))}/{amount(resource, format_quantity(total))}"
