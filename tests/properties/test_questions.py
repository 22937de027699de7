"""What YuniKorn and YTsaurus ask of the exact solver, against what they decide themselves."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

import cede
from cede.doctrines.catalog import find
from cede.doctrines.parts.exact import solve
from cede.doctrines.parts.exact.check import lawful
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.question import Question
from cede.doctrines.parts.selection import by_cost, total_cost
from cede.model.plan import Decision
from cede.state.state import State
from cede.state.trial import Trial
from tests.properties.documents import DOCTRINES, YTSAURUS, YUNIKORN, documents
from tests.sampling import examples

Document = dict[str, Any]

FEW = examples(30)
asked_of = pytest.mark.parametrize("edition", [*YUNIKORN, *YTSAURUS])


def asked(document: Document) -> Iterator[tuple[State, Decision, Question, Rows]]:
    """Of each preemption of a plan its question, in the state that it found, and the victims it took."""
    cluster = cede.load({**document, "selection": "doctrine"})
    plan = cede.plan(cluster)
    ask = find(plan.doctrine).question
    assert ask is not None
    state = cluster.state
    with Trial(state) as trial:
        for made in plan.decisions:
            if made.victims:
                question = ask(state, plan.edition, made, {})
                rows = np.array([state.work_index[one.workload] for one in made.victims], np.intp)
                if question is not None:
                    yield state, made, question, rows
            follow(state, trial, made)


def follow(state: State, trial: Trial, made: Decision) -> None:
    for victim in made.victims:
        trial.evict(state.work_index[victim.workload])
    if made.workload is not None and made.action in ("start", "preempt"):
        trial.book(state.work_index[made.workload], [state.node_index[name] for name in made.nodes])


@asked_of
@FEW
@given(data=st.data())
def test_the_doctrines_own_victims_answer_the_question(edition: str, data: DataObject) -> None:
    """So that the best answer bounds them: nothing is asked that the doctrine does not keep to."""
    for state, made, question, rows in asked(data.draw(documents(edition))):
        assert np.isin(rows, question.rows).all(), made
        assert lawful(state, question, rows), made


@asked_of
@FEW
@given(data=st.data())
def test_no_victims_cost_less_than_the_bound(edition: str, data: DataObject) -> None:
    for state, made, question, rows in asked(data.draw(documents(edition))):
        solved = solve(state, by_cost(state, question))
        assert solved.proven, made
        assert solved.value is not None
        assert solved.value <= int(total_cost(state, rows).sum()), made


@FEW
@given(data=st.data())
def test_the_laws_find_the_set_that_the_solver_proves_best(data: DataObject) -> None:
    """Two searches that share no line: counts on one node after the other, and a programme over all of them."""
    for state, made, question, rows in asked(data.draw(documents("laws"))):
        solved = solve(state, question)
        assert solved.proven
        assert question.weights[np.isin(question.rows, rows)].sum() == solved.value, made


@FEW
@given(data=st.data())
def test_a_heartbeat_goes_no_further_in_its_order_than_it_must(data: DataObject) -> None:
    for state, made, question, rows in asked(data.draw(documents("docs"))):
        solved = solve(state, question)
        assert solved.proven
        last = question.weights[np.isin(question.rows, rows)].max()
        assert last == solved.value or question.relaxed, made


def test_the_editions_are_those_of_two_doctrines() -> None:
    assert {DOCTRINES[edition] for edition in (*YUNIKORN, *YTSAURUS)} == {"yunikorn", "ytsaurus"}
