"""Sets that come near the best one: candidates in a likely order until the claimant fits, then spared."""

from __future__ import annotations

import numpy as np

from cede.doctrines.parts.exact.check import lawful
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.question import Floats, Question
from cede.state.columns import Bools
from cede.state.state import State

MOST_SPARED = 300
"""From a longer prefix than this nobody is spared."""


def rounded(state: State, question: Question, open_: Bools, *likely: Floats) -> list[Rows]:
    """For each key, one number a candidate, the shortest prefix in its order that is lawful, spared; positions."""
    found: list[Rows] = []
    for key in likely:
        order = np.lexsort((question.weights, key))
        prefix = _prefix(state, question, order[open_[order]])
        if prefix is not None:
            found.append(_spared(state, question, prefix))
    return found


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
    """Whoever is not needed stays, the costliest first."""
    if len(prefix) > MOST_SPARED:
        return prefix
    kept = prefix
    for at in prefix[np.argsort(-question.weights[prefix], kind="stable")].tolist():
        fewer = kept[kept != at]
        if lawful(state, question, question.rows[fewer]):
            kept = fewer
    return kept
