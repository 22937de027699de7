"""Tables as Markdown writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return lines + [f"| {' | '.join(map(cell, row))} |" for row in rows]


def cell(text: str) -> str:
    """The text as one cell can hold it."""
    return " ".join(text.split()).replace("|", "\\|")


def anchor(title: str) -> str:
    """What a heading is linked by."""
    return "".join(one for one in title.lower().replace(" ", "-") if one.isalnum() or one in "-_")
