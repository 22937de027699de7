"""What an exact search found out about a question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cede.doctrines.parts.orders import Rows

TOLERANCE = 1e-6
"""A bound is certain up to this part of it: the solver counts in floating point."""

Seconds = float | Callable[[], float]
"""How long a search may take, or a function that tells how long it may still take."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The best set that was found, and what no set can be better than; in the units of the question's weights.

    `rows` is lawful by the question, checked with whole numbers; none if no set is known. `proven`: nothing is better
    than `value`, or, without `rows`, there is no lawful set at all, and the bound is endless.
    """

    value: float | None
    bound: float
    rows: Rows | None
    proven: bool
