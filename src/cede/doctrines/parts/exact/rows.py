"""A mixed-integer programme as it is written down: variables and rows, sparse."""

from __future__ import annotations

from dataclasses import dataclass, field

Term = tuple[int, float]


@dataclass(slots=True)
class Programme:
    """Variables with their cost, most and wholeness, all of them from nothing up; rows between two bounds."""

    cost: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    def variable(self, most: float, *, whole: bool, cost: float = 0.0) -> int:
        self.cost.append(cost)
        self.most.append(most)
        self.whole.append(whole)
        return len(self.cost) - 1

    def add(self, terms: list[Term], low: float, high: float) -> None:
        """The sum of the terms is between the two."""
        at = len(self.low)
        self.low.append(low)
        self.high.append(high)
        for column, value in terms:
            self.row.append(at)
            self.column.append(column)
            self.value.append(value)

    def at_least(self, terms: list[Term], low: float) -> None:
        self.add(terms, low, float("inf"))

    def at_most(self, terms: list[Term], high: float) -> None:
        self.add(terms, float("-inf"), high)
