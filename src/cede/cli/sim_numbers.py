"""Numbers of measures as a person reads them: few digits, in a unit that suits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NOTHING = "–"
TIMES = ((1.0, "s"), (60.0, "min"), (3600.0, "h"), (86400.0, "d"))
TURNS = 2
"""A larger unit is used from two of it on."""
COUNTS = ("jobs", "times", "loops")
SHORT = {"resource-h": "h", "GPU-h": "h", "ratio": "", "index": "", "share": "%"}


@dataclass(frozen=True, slots=True)
class Scale:
    """How the numbers of one row are written: over `size`, in `unit`, with so many decimals."""

    size: float
    unit: str
    decimals: int

    def number(self, value: float) -> str:
        """The number without its unit."""
        return f"{value / self.size:,.{self.decimals}f}"


def scale_of(values: Sequence[float | None], unit: str) -> Scale:
    """One scale for numbers that are read side by side: the middle one decides, so that one that is a thousand times as
    large does not make nothing of the others."""
    sizes = sorted(abs(value) for value in values if value)
    middle = sizes[len(sizes) // 2] if sizes else 0.0
    if unit == "s":
        size, unit = next((one for one in reversed(TIMES) if middle >= TURNS * one[0]), TIMES[0])
        return Scale(size, unit, _decimals(middle / size))
    if unit in COUNTS:
        whole = all(value is None or value == int(value) for value in values)
        return Scale(1.0, "", 0 if whole else _decimals(middle))
    if unit == "money":
        return Scale(1.0, "", _decimals(middle))
    if unit == "share":
        return Scale(0.01, "%", _decimals(middle * 100))
    return Scale(1.0, SHORT.get(unit, unit), _decimals(middle))


def shown(value: float | None, unit: str) -> str:
    """One number with its unit."""
    if value is None:
        return NOTHING
    scale = scale_of([value], unit)
    return f"{scale.number(value)} {scale.unit}".rstrip()


def _decimals(size: float) -> int:
    """So that it has three digits or more; small ones keep what tells them apart."""
    return 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 or not size else 3
