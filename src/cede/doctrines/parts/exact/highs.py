"""A mixed-integer programme as it is written down: variables and rows, sparse."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cede.doctrines.parts.question import Floats

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


INFEASIBLE = 2
LARGEST = 1e4
"""Costs are scaled so that the largest is about this: the solver's tolerances are absolute."""
UNSURE = 1e-4
"""By so much of scaled costs a bound of the solver may be too high."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Values of the variables if there are any, and what no others can be better than: endless if there are none."""

    values: Floats | None
    bound: float


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The programme without wholeness: values, least cost, and what each variable would add to it at the least."""

    values: Floats
    bound: float
    adds: Floats


def run(programme: Programme, seconds: float | None, nodes: int | None) -> Answer:
    """The programme's least cost, or what is known of it when the time or the branches are used up."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped] # noqa: PLC0415

    cost, scale = _scaled(programme)
    options: dict[str, Any] = {"mip_rel_gap": 0.0}
    if seconds is not None:
        options["time_limit"] = max(seconds, 0.0)
    if nodes is not None:
        options["node_limit"] = nodes
    result = milp(
        cost,
        integrality=np.array(programme.whole, np.int8),
        bounds=Bounds(np.zeros(len(cost)), np.array(programme.most)),
        constraints=LinearConstraint(_matrix(programme), np.array(programme.low), np.array(programme.high)),
        options=options,
    )
    if result.status == INFEASIBLE:
        return Answer(None, np.inf)
    bound = result.mip_dual_bound
    known = bound is not None and np.isfinite(bound)
    return Answer(None if result.x is None else np.asarray(result.x), _sure(float(bound), scale) if known else 0.0)


def relax(programme: Programme, seconds: float | None) -> Relaxed | Answer:
    """The relaxed programme; an answer without values if it has none, or none was found in time."""
    from scipy.optimize import linprog  # noqa: PLC0415

    cost, scale = _scaled(programme)
    matrix, low, high = _matrix(programme), np.array(programme.low), np.array(programme.high)
    same = low == high
    above, below = np.flatnonzero(np.isfinite(low) & ~same), np.flatnonzero(np.isfinite(high) & ~same)
    upper = _stacked(-matrix[above], matrix[below])
    result = linprog(
        cost,
        A_ub=upper,
        b_ub=np.concatenate((-low[above], high[below])),
        A_eq=matrix[np.flatnonzero(same)] if same.any() else None,
        b_eq=low[same] if same.any() else None,
        bounds=np.column_stack((np.zeros(len(cost)), programme.most)),
        method="highs",
        options={} if seconds is None else {"time_limit": max(seconds, 0.0)},
    )
    if result.status == INFEASIBLE:
        return Answer(None, np.inf)
    if result.status != 0:
        return Answer(None, 0.0)
    return Relaxed(np.asarray(result.x), _sure(float(result.fun), scale), np.asarray(result.lower.marginals) / scale)


def _scaled(programme: Programme) -> tuple[Floats, float]:
    cost = np.array(programme.cost)
    largest = float(np.abs(cost).max(initial=0.0))
    scale = LARGEST / largest if largest else 1.0
    return cost * scale, scale


def _sure(bound: float, scale: float) -> float:
    return max(bound - UNSURE, 0.0) / scale


def _matrix(programme: Programme) -> Any:
    from scipy.sparse import csr_array  # type: ignore[import-untyped] # noqa: PLC0415

    shape = (len(programme.low), len(programme.cost))
    return csr_array((programme.value, (programme.row, programme.column)), shape=shape, dtype=np.float64)


def _stacked(first: Any, second: Any) -> Any:
    from scipy.sparse import vstack  # noqa: PLC0415

    return vstack((first, second), format="csr")
