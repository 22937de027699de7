"""Numbers as people read them: one unit and one number of decimals in a row, so that its figures line up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

DURATIONS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
MOST_DECIMALS = 3
MISSING = "–"


@dataclass(frozen=True, slots=True)
class Scale:
    """How the numbers of a row are written: divided by `divisor`, rounded to `decimals`, then the unit."""

    divisor: float
    unit: str
    decimals: int

    def number(self, value: float | None) -> str:
        """The number without its unit."""
        if value is None or math.isnan(value):
            return MISSING
        if math.isinf(value):
            return "∞"
        return grouped(value / self.divisor, self.decimals)


def scale_of(unit: str, values: Iterable[float | None]) -> Scale:
    """The scale in which the values are short and the smallest of them still shows.

    Units are those of the measures: seconds become minutes, hours or days, a share becomes per cent.
    """
    sizes = sorted(abs(value) for value in values if value is not None and math.isfinite(value) and value != 0)
    divisor, shown = 1.0, unit
    if unit == "s":
        middle = sizes[len(sizes) // 2] if sizes else 0.0
        divisor, shown = next((pair for pair in DURATIONS if middle >= 2 * pair[0]), DURATIONS[-1])
    elif unit == "money":
        shown = ""
    elif unit == "share":
        divisor, shown = 0.01, "%"
    elif all(size == round(size) for size in sizes):
        return Scale(divisor, shown, 0)
    return Scale(divisor, shown, decimals_for([size / divisor for size in sizes]))


def decimals_for(sizes: list[float]) -> int:
    """The number of decimals that gives the middle one three figures and the smallest at least one, within reason."""
    if not sizes:
        return 0
    middle, smallest = sizes[len(sizes) // 2], sizes[0]
    wanted = max(2 - math.floor(math.log10(middle)), -math.floor(math.log10(smallest)))
    return min(max(wanted, 0), MOST_DECIMALS)


def grouped(value: float, decimals: int) -> str:
    """With thin spaces between thousands, and a true minus."""
    text = f"{value:,.{decimals}f}".replace(",", "\u202f")
    if text.startswith("-"):
        text = text[1:] if not text.strip("-0.\u202f") else f"\u2212{text[1:]}"
    return text


def hours(value: float) -> str:
    """Resource-hours with three figures or none after the point."""
    return grouped(value, decimals_for([abs(value)] if value else []))


def amount(value: float) -> str:
    """A size: whole where it is whole, else with the decimals it needs."""
    return grouped(value, 0) if value == round(value) else f"{value:.3f}".rstrip("0").rstrip(".")


def duration(seconds: float) -> str:
    """Two units of time at most, so that it reads at a glance."""
    whole = round(seconds)
    if whole < 1 and seconds > 0:
        return f"{seconds:.2f} s"
    days, rest = divmod(whole, 86_400)
    hour, rest = divmod(rest, 3_600)
    minute, second = divmod(rest, 60)
    parts = [(days, "d"), (hour, "h"), (minute, "min"), (second, "s")]
    first = next((place for place, (number, _) in enumerate(parts) if number), 3)
    return " ".join(f"{number} {unit}" for number, unit in parts[first : first + 2] if number or first == 3)


def moment(seconds: float) -> str:
    """A time of the replay: the day and the time of that day, counted from the begin."""
    sign = "\u2212" if seconds < 0 else ""
    days, rest = divmod(abs(round(seconds)), 86_400)
    hour, rest = divmod(rest, 3_600)
    minute, second = divmod(rest, 60)
    return f"{sign}{days} d {hour:02}:{minute:02}:{second:02}"
