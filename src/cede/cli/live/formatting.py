"""What a server answers, as people read it: times, amounts, states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cede.cli.output import counted, text

if TYPE_CHECKING:
    from rich.text import Text

NOTHING = "-"
STATE_STYLES = {
    "pending": "cyan",
    "held": "magenta",
    "starting": "green",
    "running": "bold green",
    "checkpointing": "yellow",
    "preempting": "bold yellow",
    "suspended": "blue",
    "cancelling": "yellow",
    "completed": "dim",
    "failed": "bold red",
    "cancelled": "dim",
    "preempted": "yellow",
    "ready": "green",
    "cordoned": "yellow",
    "down": "bold red",
}
_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_STEP = 1024


def shortened(name: str, most: int) -> str:
    """The name in at most `most` letters; its end stays, which tells apart names that begin alike."""
    if len(name) <= most:
        return name
    end = most // 2
    return f"{name[: most - 1 - end]}…{name[len(name) - end :]}"


def now() -> int:
    """Microseconds since 1970."""
    from cede.engine.clock import WallClock

    return WallClock().now()


def instant(moment: str) -> int:
    """The time that the API writes, in microseconds."""
    from cede.model.times import parse_time

    return int(parse_time(moment))


def span(us: int) -> str:
    """A length of time in its two largest units: `2h14m`, `3m05s`, `1.2s`."""
    if us < 10_000_000:
        return f"{max(0, us) / 1e6:.1f}s"
    left = us // 1_000_000
    parts: list[tuple[int, str]] = []
    for suffix, seconds in _UNITS:
        count, left = divmod(left, seconds)
        parts.append((count, suffix))
    first = next(index for index, (count, _) in enumerate(parts) if count)
    (count, suffix), *rest = parts[first : first + 2]
    return f"{count}{suffix}" + "".join(f"{more:02d}{unit}" for more, unit in rest)


def since(moment: str | None, at: int) -> str:
    """How long ago, without the word: for a column that says so."""
    return span(at - instant(moment)) if moment else NOTHING


def ago(moment: str | None, at: int) -> str:
    """How long ago, or in how long."""
    if not moment:
        return NOTHING
    us = at - instant(moment)
    return f"{span(us)} ago" if us >= 0 else f"in {span(-us)}"


def clock(moment: str) -> str:
    """The time of day, in the time zone of whoever looks."""
    from datetime import datetime

    local = datetime.fromisoformat(moment).astimezone()
    return f"{local:%H:%M:%S}.{local.microsecond // 1000:03d}"


def amount(resource: str, raw: int | str | float) -> str:
    """An amount short enough for a table: 16Gi, 23.5Gi, 0.5."""
    from cede.model.quantities import NANO, parse_quantity, show_quantity

    nano = parse_quantity(raw)
    exact = show_quantity(resource, nano)
    if exact.endswith("i") and len(exact) > len("1023Gi"):
        return _rounded(nano // NANO)
    if resource in ("memory", "storage") and exact.isdigit() and len(exact) > 5:
        return _rounded(nano // NANO)
    return f"{nano / NANO:g}" if exact.endswith("m") else exact


def _rounded(count: float) -> str:
    """A number of bytes, to three figures."""
    step = 0
    while count >= _STEP and step < len(_BINARY) - 1:
        count, step = count / _STEP, step + 1
    return f"{count:.3g}{_BINARY[step]}" if count < 1000 else f"{count:.0f}{_BINARY[step]}"


def amounts(resources: Mapping[str, Any]) -> str:
    """Resources in one line: `cpu 2, memory 4Gi`."""
    return ", ".join(f"{name} {amount(name, raw)}" for name, raw in resources.items() if raw not in (0, "0")) or NOTHING


def state(word: str) -> Text:
    """A state in its colour."""
    return text(word, STATE_STYLES.get(word, ""))


def where(nodes: Iterable[str]) -> str:
    """Nodes, each once, with how many members stand there."""
    return counted(nodes) or NOTHING


def maybe(value: object) -> str:
    """The value, or a dash for none."""
    return NOTHING if value in (None, "", [], ()) else str(value)
