"""A question with its candidates by uid, so that the answer does not depend on how a file lists them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from cede.doctrines.parts.exact.areas import Area, areas_of, candidates_on
from cede.doctrines.parts.exact.by_order import solve_by_order
from cede.doctrines.parts.exact.check import lawful, never_enough
from cede.doctrines.parts.exact.highs import Answer, relax, run
from cede.doctrines.parts.exact.model import model_of
from cede.doctrines.parts.exact.solution import TOLERANCE, Seconds, Solution
from cede.doctrines.parts.exact.space import Space, space_of
from cede.doctrines.parts.orders import Rows, order_of
from cede.doctrines.parts.question import Floats, Linear, Over, Question
from cede.state.columns import Bools
from cede.state.state import State


def in_turn(state: State, question: Question) -> Question:
    """The same question; of sets that are equally good the solver takes the same one, whoever was entered first."""
    turn = order_of(state, question.rows)
    return replace(
        question,
        rows=question.rows[turn],
        weights=question.weights[turn],
        conditions=tuple(_condition(one, turn) for one in question.conditions),
    )


def _condition(one: Linear, turn: Rows) -> Linear:
    return replace(one, adds=one.adds[turn], over=tuple(_over(over, turn) for over in one.over))


def _over(one: Over, turn: Rows) -> Over:
    return replace(one, adds=one.adds[turn], others=tuple(_over(other, turn) for other in one.others))


MOST_SPARED = 300
"""From a longer prefix than this nothing is spared."""


def rounded(state: State, question: Question, open_: Bools, *likely: Floats) -> list[Rows]:
    """For each key, one number a candidate, the shortest prefix in its order that is lawful, spared; positions."""
    covers: list[Rows] = []
    for key in likely:
        order = np.lexsort((question.weights, key))
        prefix = _prefix(state, question, order[open_[order]])
        if prefix is not None:
            covers.append(_spared(state, question, prefix))
    return covers


def _prefix(state: State, question: Question, order: Rows) -> Rows | None:
    """The shortest prefix that is lawful, if more is never worse; else one that is, if the search meets it."""
    if not lawful(state, question, question.rows[order]):
        return None
    low, high = 0, len(order)
    while high - low > 1:
        middle = (low + high) // 2
        if lawful(state, question, question.rows[order[:middle]]):
            high = middle
        else:
            low = middle
    return order[:high]


def _spared(state: State, question: Question, prefix: Rows) -> Rows:
    """What is not needed stays, the costliest first."""
    if len(prefix) > MOST_SPARED:
        return prefix
    kept = prefix
    for at in prefix[np.argsort(-question.weights[prefix], kind="stable")].tolist():
        fewer = kept[kept != at]
        if lawful(state, question, question.rows[fewer]):
            kept = fewer
    return kept


TRIES = 20
"""How often a set that the solver took for enough, and that is not, may be cut off."""

MANY = 1000
"""How many areas are looked at in a first round, and taken up again in the order of their bounds."""
TINY = 32
"""With so few candidates the solver is asked at once."""


def solve(
    state: State,
    question: Question,
    *,
    seconds: Seconds | None = None,
    nodes: int | None = None,
    chosen: Rows | None = None,
) -> Solution:
    """The best answer to a question. `chosen` is a set that is known: what is not better than it is not looked for.

    With `seconds` or `nodes`, which limits how far each search may branch, it may end before anything is proven.
    """
    question = in_turn(state, question)
    if question.by_order:
        return solve_by_order(state, question, seconds=seconds, nodes=nodes, chosen=chosen)
    return _Search(state, question, seconds, nodes, chosen).solve()


class _Search:
    """Area by area, with the best set so far."""

    def __init__(
        self, state: State, question: Question, seconds: Seconds | None, nodes: int | None, chosen: Rows | None
    ) -> None:
        self.state, self.question = state, question
        self.seconds, self.nodes = seconds, nodes
        self.space: Space = space_of(state, question)
        self.step = step_of(question.weights)
        self.best: Rows | None = None
        self.value = math.inf
        self.relaxed: dict[int, tuple[float, float, Floats | None]] = {}
        if chosen is not None and lawful(state, question, chosen):
            self._better(np.flatnonzero(np.isin(question.rows, chosen)))

    def solve(self) -> Solution:
        bounds: list[float] = []
        areas = areas_of(self.space)
        if lawful(self.state, self.question, self.question.rows[:0]):
            return Solution(0.0, 0.0, self.question.rows[:0], proven=True)
        if 1 < len(areas) <= MANY and any(len(area.nodes) > 1 for area in areas):
            areas = self._likely_first(areas)
        for at, area in enumerate(areas):
            least = rounded_up(area.bound, self.step)
            if self._no_better(least):
                break  # those that come after have bounds that are no less
            bounds.append(max(least, self._in(area, len(areas) - at)))
        bound = min([self.value, *bounds])
        if self.best is None:
            return Solution(None, bound, None, proven=math.isinf(bound))
        proven = self._no_better(bound)
        return Solution(self.value, self.value if proven else bound, self.question.rows[self.best], proven)

    def _likely_first(self, areas: list[Area]) -> list[Area]:
        """The areas by the bounds that the relaxed programme has for each; sets that it comes upon count already."""
        relaxed: list[Area] = []
        for at, area in enumerate(areas):
            if self._no_better(rounded_up(area.bound, self.step)):
                relaxed += areas[at:]
                break
            bound, _ = self._narrowed(area, candidates_on(self.space, area), 2 * len(areas) - at)
            relaxed.append(replace(area, bound=max(area.bound, bound)))
        return sorted(relaxed, key=lambda area: area.bound)

    def _in(self, area: Area, left: int) -> float:
        """What no set that makes room in this area is better than; the best so far is updated."""
        open_ = candidates_on(self.space, area)
        bound, open_ = self._narrowed(area, open_, left)
        cuts: list[Rows] = []
        for _ in range(TRIES):
            seconds = self._left(left)
            if self._no_better(bound) or (seconds is not None and seconds <= 0):
                return bound
            open_ = open_ & (self.question.weights <= self.value)
            model = model_of(self.space, area.nodes, open_, cuts)
            if model is None:
                return self.value
            solution = run(model.programme, seconds, self.nodes)
            bound = max(bound, min(self.value, rounded_up(solution.bound, self.step)))
            if solution.values is None:
                return bound
            chosen = model.chosen(solution.values)
            rows = self.question.rows[chosen]
            if lawful(self.state, self.question, rows):
                self._better(chosen)
                if (self.question.weights[model.works] <= self.value).all():
                    return bound
                continue  # without those who cost more than all of the best together, the solver counts finer
            if not never_enough(self.state, self.question, rows):
                return bound
            cuts.append(chosen)
        return bound

    def _narrowed(self, area: Area, open_: Bools, left: int) -> tuple[float, Bools]:
        """A first bound, and the candidates of whom a set better than the best so far can have any.

        It comes from the programme without wholeness. What that takes is rounded to a set, which may be the best so
        far; who alone would add so much that nothing better is possible is left out.
        """
        first = int(area.nodes[0]) if len(area.nodes) else -1
        if first not in self.relaxed:
            self.relaxed[first] = self._relaxed(area, open_, left)
        bound, least, adds = self.relaxed[first]
        return bound, open_ if adds is None else open_ & (least + adds <= self.value * (1 + TOLERANCE))

    def _relaxed(self, area: Area, open_: Bools, left: int) -> tuple[float, float, Floats | None]:
        """The bound, what it is before it is rounded, and what each candidate would add to that at the least."""
        seconds = self._left(left)
        if seconds is not None and seconds <= 0:
            return 0.0, 0.0, None
        model = model_of(self.space, area.nodes, open_, [])
        if model is None:
            return math.inf, math.inf, None
        if len(model.works) <= TINY:
            return 0.0, 0.0, None
        solution = relax(model.programme, seconds)
        if isinstance(solution, Answer):
            return solution.bound, solution.bound, None
        bound = rounded_up(solution.bound, self.step)
        works, columns = np.array(model.works, np.intp), np.array([model.at[work] for work in model.works], np.intp)
        values, adds = np.zeros(len(open_)), np.full(len(open_), np.inf)
        values[works], adds[works] = solution.values[columns], solution.adds[columns]
        if not self._no_better(bound):
            for chosen in rounded(self.state, self.question, open_, -values, adds):
                self._better(chosen)
        return bound, solution.bound, adds

    def _better(self, chosen: Rows) -> None:
        value = total(self.question.weights, chosen)
        if value < self.value:
            self.value, self.best = value, chosen

    def _no_better(self, bound: float) -> bool:
        return bound >= self.value or (self.best is not None and self.value - bound <= TOLERANCE * self.value)

    def _left(self, areas: int) -> float | None:
        if self.seconds is None:
            return None
        return self.seconds() if callable(self.seconds) else self.seconds / areas


def total(weights: Floats, chosen: Rows) -> float:
    """The sum of the weights, whatever their order."""
    return math.fsum(weights[chosen].tolist())


def step_of(weights: Floats) -> float:
    """What all weights are whole multiples of; nothing if they are not whole numbers."""
    whole = bool(len(weights)) and bool((weights == np.rint(weights)).all()) and float(np.abs(weights).max()) < 2**53
    return float(math.gcd(*weights.astype(np.int64).tolist())) if whole else 0.0


def rounded_up(bound: float, step: float) -> float:
    """The bound less half of the tolerance, up to the next value that a sum can have."""
    if not math.isfinite(bound):
        return bound
    sure = bound - TOLERANCE / 2 * max(abs(bound), min(step, 1.0))
    return math.ceil(sure / step) * step if step else sure
