"""A question with its candidates by uid, so that the answer does not depend on how a file lists them."""

from __future__ import annotations

from dataclasses import replace

from cede.doctrines.parts.orders import Rows, order_of
from cede.doctrines.parts.question import Linear, Over, Question
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
