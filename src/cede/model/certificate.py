"""How near a victim set is to the best there is, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DIGITS = 6


@dataclass(frozen=True, slots=True)
class Certificate:
    """The value of the set that was taken, and what no lawful set can be better than.

    `optimal` only if that is proven. `bound` is None where nothing is known of it. `better` names a set that is lawful
    and better, if one was found, and `best` is its value. `relaxed` says which of the doctrine's rules the bound leaves
    out: it is a bound all the same, but a set as good as that need not be lawful. `lawful`: the set does what it was
    taken for; if not, the bound is of those that would. A decision's own objective has the `cost` beside it.
    """

    objective: str
    unit: str
    value: float
    bound: float | None
    optimal: bool
    better: tuple[str, ...] = ()
    best: float | None = None
    relaxed: tuple[str, ...] = ()
    lawful: bool = True
    cost: Certificate | None = None

    @property
    def gap(self) -> float | None:
        """By how much of its value the set may be worse than the best; none where that cannot be said."""
        if self.optimal:
            return 0.0
        if self.bound is None or not self.lawful:
            return None
        return round(max(0.0, self.value - self.bound) / self.value, DIGITS) if self.value > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {"objective": self.objective}
        if self.unit:
            result["unit"] = self.unit
        result |= {
            "value": _plain(self.value),
            "bound": None if self.bound is None else _plain(self.bound),
            "gap": self.gap,
            "optimal": self.optimal,
        }
        if self.better:
            result |= {"better": list(self.better), "best": None if self.best is None else _plain(self.best)}
        if self.relaxed:
            result["relaxed"] = list(self.relaxed)
        if not self.lawful:
            result["lawful"] = False
        if self.cost is not None:
            result["cost"] = self.cost.to_dict()
        return result

    @classmethod
    def from_dict(cls, answer: Mapping[str, Any]) -> Certificate:
        """The certificate that `to_dict` wrote."""
        cost = answer.get("cost")
        return cls(
            answer["objective"],
            answer.get("unit", ""),
            answer["value"],
            answer["bound"],
            answer["optimal"],
            tuple(answer.get("better", ())),
            answer.get("best"),
            tuple(answer.get("relaxed", ())),
            answer.get("lawful", True),
            None if cost is None else cls.from_dict(cost),
        )


def _plain(value: float) -> int | float:
    """Whole numbers as such, others to six decimals."""
    rounded = round(value, DIGITS)
    return int(rounded) if rounded == int(rounded) else rounded
