"""What a victim set must do and what it is judged by, in a form that an exact solver can answer.

A doctrine asks a question about one of its decisions. Whatever of its legality a question leaves out is named: the
solver's bound is a bound all the same, only not so near.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.orders import Rows

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Over:
    """By how much a sum is above zero, or nothing: `base`, what each victim adds, and what is over of others."""

    base: float
    adds: Floats
    others: tuple[Over, ...] = ()


@dataclass(frozen=True, slots=True)
class Linear:
    """A condition on a victim set: the sum of what each victim adds is at least `low` and at most `high`.

    `adds` has one entry a candidate. `what` says what is kept, for people. What is `over` of other sums is added to
    this one, which has no `low` then.
    """

    what: str
    adds: Floats
    low: float = -np.inf
    high: float = np.inf
    over: tuple[Over, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """Of the candidates `rows`, each of whom may go by itself, which set is best?

    The claimant fits, as its placement says, in what is free and what the victims leave; none of the conditions is
    broken; on `one_node` all that leave and all that come stand on the same one. The best set has the least sum of
    `weights`, or, if `by_order`, the least last one: then weights are places in the doctrine's own order.
    `unit` is what one of the objective is called; `scale` is how many of the weights' units make one.
    """

    claim: Claim
    rows: Rows
    objective: str
    weights: Floats
    unit: str = ""
    scale: float = 1.0
    by_order: bool = False
    conditions: tuple[Linear, ...] = ()
    one_node: bool = False
    places: bool = True
    """Whether the claimant must find room on nodes; not where only quota is decided."""
    relaxed: tuple[str, ...] = ()
