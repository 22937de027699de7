"""The best set by a doctrine's own order: the one whose last victim comes earliest."""

from __future__ import annotations

import math

import numpy as np

from cede.doctrines.parts.exact.areas import areas_of, candidates_on
from cede.doctrines.parts.exact.check import certainly_no_room, grows, keeps, lawful
from cede.doctrines.parts.exact.highs import run
from cede.doctrines.parts.exact.model import model_of
from cede.doctrines.parts.exact.solution import Seconds, Solution
from cede.doctrines.parts.exact.space import Space, space_of
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.question import Question
from cede.state.columns import Bools
from cede.state.state import State

MANY = 400
"""Of more than so many nothing is spared: the place of the last is what counts."""


def solve_by_order(
    state: State, question: Question, *, seconds: Seconds | None, nodes: int | None, chosen: Rows | None
) -> Solution:
    """The least place such that those up to it suffice."""
    nobody = question.rows[:0]
    if lawful(state, question, nobody):
        return Solution(0.0, 0.0, nobody, proven=True)
    places = np.unique(question.weights)
    best: Rows | None = None
    high = len(places)
    if chosen is not None and len(chosen) and lawful(state, question, chosen):
        best = chosen
        high = int(np.searchsorted(places, _last(question, chosen)))
    prefixes = _Prefixes(state, question, seconds, nodes)
    low = sure = -1
    while high - low > 1:
        middle = (low + high) // 2
        works, rows = prefixes.works(float(places[middle]))
        if works:
            assert rows is not None
            best, high = rows, int(np.searchsorted(places, _last(question, rows)))
        else:
            low = middle
            sure = max(sure, middle) if works is False else sure
    if best is None:
        proven = sure == len(places) - 1
        return Solution(None, math.inf if proven else float(places[sure + 1]), None, proven)
    value, bound = float(places[high]), float(places[sure + 1])
    return Solution(value, bound, best, proven=sure + 1 == high)


def _last(question: Question, rows: Rows) -> float:
    return float(question.weights[np.isin(question.rows, rows)].max())


class _Prefixes:
    """Whether those up to a place suffice: yes with a set, no, or not known."""

    def __init__(self, state: State, question: Question, seconds: Seconds | None, nodes: int | None) -> None:
        self.state, self.question = state, question
        self.seconds, self.nodes = seconds, nodes
        self.more_is_better = all(grows(condition) for condition in question.conditions)
        self._space: Space | None = None

    @property
    def space(self) -> Space:
        if self._space is None:
            self._space = space_of(self.state, self.question)
        return self._space

    def works(self, place: float) -> tuple[bool | None, Rows | None]:
        question = self.question
        open_ = question.weights <= place
        if not self.more_is_better or question.one_node:
            return self._searched(open_)
        rows = question.rows[open_]
        if lawful(self.state, question, rows):
            return True, self._spared(rows)
        if not keeps(question, rows) or certainly_no_room(self.state, question, rows):
            return False, None
        return None, None

    def _spared(self, rows: Rows) -> Rows:
        """Of these, latest first, what is not needed stays; only for as many as that is quickly asked."""
        weights = self.question.weights[np.isin(self.question.rows, rows)]
        kept = rows[np.argsort(weights, kind="stable")]
        if len(kept) > MANY:
            return kept
        for row in kept[::-1].tolist():
            fewer = kept[kept != row]
            if lawful(self.state, self.question, fewer):
                kept = fewer
        return kept

    def _searched(self, open_: Bools) -> tuple[bool | None, Rows | None]:
        known = True
        areas = areas_of(self.space)
        for at, area in enumerate(areas):
            here = candidates_on(self.space, area) & open_
            seconds = self._left(len(areas) - at)
            if seconds is not None and seconds <= 0:
                return None, None
            model = model_of(self.space, area.nodes, here, [], free=True)
            if model is None:
                continue
            solution = run(model.programme, seconds, self.nodes)
            if solution.values is None:
                known &= math.isinf(solution.bound)
                continue
            rows = self.question.rows[model.chosen(solution.values)]
            if lawful(self.state, self.question, rows):
                return True, rows
            known = False
        return (False if known else None), None

    def _left(self, areas: int) -> float | None:
        if self.seconds is None:
            return None
        return self.seconds() if callable(self.seconds) else self.seconds / areas
