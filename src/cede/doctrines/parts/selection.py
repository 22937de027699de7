"""The proven best victims in place of a doctrine's own choice, where a file says `selection: optimal`.

What the solver proposes is not taken as it is: the doctrine's own search runs once more with nothing else open, and
what it finds is taken if it costs less. So every set is one that the doctrine itself would take if only those were
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.cost import PARTS, assumed_by, costs_of
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.exact import solve
from cede.doctrines.parts.greedy_cover import cheapest_cover
from cede.doctrines.parts.limits import Limit
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.question import Linear, Question
from cede.state.columns import PREEMPTING, Bools, Int64s
from cede.state.state import State

MOST = 5_000
"""Among more candidates than this only the fast path looks."""

Result = TypeVar("Result")
Weigh = Callable[[State, Rows], npt.NDArray[Any]]
"""What one of each counts; whole numbers."""


def total_cost(state: State, rows: Rows) -> Int64s:
    """What the preemption of each would cost, in millionths of a minute; nothing more for those who leave already."""
    return np.where(
        state.work.state[rows] == PREEMPTING, 0, costs_of(state, rows, assumed_by(state.static.doctrine)).total
    )


def by_cost(state: State, question: Question, weigh: Weigh = total_cost) -> Question:
    """The same question, of the set that costs least."""
    weights = weigh(state, question.rows).astype(np.float64)
    return replace(question, objective="cost", weights=weights, unit="min", scale=float(PARTS), by_order=False)


def cover_of(state: State, claim: Claim, rows: Rows, limits: Sequence[Limit] = ()) -> Question:
    """Which of these go so that the claimant fits, within these limits; to be judged by what somebody says later."""
    return Question(
        claim=claim,
        rows=rows,
        objective="cost",
        weights=np.zeros(len(rows)),
        conditions=within_limits(state, limits, rows),
        places=state.nodes.size > 0,
    )


def within_limits(state: State, limits: Sequence[Limit], rows: Rows) -> tuple[Linear, ...]:
    """What must go before the claimant is within each of these limits."""
    return tuple(
        Linear(f"the {limit.what} of {limit.owner}", limit.credit(state, rows).astype(np.float64), limit.short)
        for limit in limits
    )


def best_of(
    cycle: Cycle,
    own: Result,
    rows_of: Callable[[Result], Sequence[int]],
    ask: Callable[[], Question | None],
    again: Callable[[Bools], Result | None],
    weigh: Weigh = total_cost,
) -> Result:
    """What the doctrine found, or what it finds `again` if nobody but the cheapest set may be taken; the cheaper one.

    `rows_of` are the victims of what was found. `again` gets a mask over workloads, and none is no way.
    """
    asked = ask() if cycle.optimal else None
    if asked is None:
        return own
    best, least = own, _sum(cycle.state, rows_of(own), weigh)
    for rows, last in _proposed(cycle, by_cost(cycle.state, asked, weigh), rows_of(own)):
        only = np.zeros(cycle.state.work.size, np.bool_)
        only[list(rows)] = True
        other = again(only)
        if other is None or not len(rows_of(other)):
            continue
        total = _sum(cycle.state, rows_of(other), weigh)
        if total < least:
            best, least = other, total
        if last:
            break
    return best


def _sum(state: State, rows: Sequence[int], weigh: Weigh) -> int:
    return sum(weigh(state, np.array(rows, np.intp)).tolist())


def _proposed(cycle: Cycle, asked: Question, own: Sequence[int]) -> Iterator[tuple[Sequence[int], bool]]:
    """Sets to try, and whether none after it could be better: the solver's, then the fast path's."""
    state = cycle.state
    if cycle.effort > 0 and len(asked.rows) <= MOST:
        solved = solve(state, asked, nodes=cycle.effort, chosen=np.array(own, np.intp))
        if solved.rows is not None:
            yield [int(row) for row in solved.rows], solved.proven
    yield from _fast(state, asked)


def _fast(state: State, asked: Question) -> Iterator[tuple[Sequence[int], bool]]:
    if asked.places:
        rows = cheapest_cover(state, asked.claim, asked.rows, asked.weights.astype(np.int64))
        if rows is not None:
            yield rows, True
