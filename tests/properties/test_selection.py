"""What holds for every plan of a file that says `selection: optimal`, in every edition."""

import json
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn

import cede
from cede.doctrines.backendai.settings import settings_of
from cede.doctrines.backendai.victims import weigher_of
from cede.doctrines.catalog import find
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.selection import Weigh, total_cost
from cede.model.plan import Decision
from cede.state.state import State
from cede.state.trial import Trial
from tests.properties.documents import DOCTRINES, EVERY, documents, shuffled
from tests.sampling import examples

Document = dict[str, Any]

every_doctrine = pytest.mark.parametrize("edition", EVERY)
FEW = examples(20)

CHECKPOINTS: tuple[Document, ...] = (
    {},
    {"mode": "auto", "time": 90},
    {"mode": "auto", "time": 1200},
    {"mode": "manual"},
)


@st.composite
def costly(draw: DrawFn, edition: str) -> Document:
    """A cluster in which victims cost differently, some of them little."""
    document = draw(documents(edition))
    random = draw(st.randoms(use_true_random=False))
    for workload in document["workloads"]:
        if workload.get("state", "pending") not in ("pending", "suspended"):
            workload["checkpoint"] = random.choice(CHECKPOINTS)
            workload["walltime"] = random.choice((60, 600, 6000, 60_000))
    return {**document, "selection": "optimal"}


def decided(document: Document, *, effort: int | None = None) -> tuple[State, list[Decision]]:
    """The decisions of one cycle; with the least effort none is spent on a proof."""
    state = cede.load(document).state
    choice = state.static.doctrine
    assert choice is not None
    with Trial(state) as trial:
        cycle = Cycle(state, trial, choice.edition, misses=False)
        if effort is not None:
            cycle.effort = effort
        made = list(find(choice.name).decide(cycle))
    return state, made


def cost_of(state: State, made: Decision) -> int:
    """What the set is judged by: its cost, or what release 26.8 counts itself."""
    rows = np.array([state.work_index[victim.workload] for victim in made.victims], np.intp)
    choice = state.static.doctrine
    weigh: Weigh = total_cost
    if choice is not None and choice.edition == "26.8":
        queue = int(state.work.queue[state.work_index[str(made.workload)]])
        weigh = weigher_of(settings_of(state.tree.settings(queue), "26.8"))
    return sum(weigh(state, rows).tolist())


def first_preemption(document: Document, **effort: int) -> tuple[int, int, list[Decision]] | None:
    """Where the first one is that preempts for somebody, what that costs, and everything before it."""
    state, made = decided(document, **effort)
    for at, one in enumerate(made):
        if one.workload is not None and one.victims:
            return at, cost_of(state, one), made[:at]
    return None


@every_doctrine
@FEW
@given(data=st.data())
def test_the_plan_is_lawful(edition: str, data: DataObject) -> None:
    cluster = cede.load(data.draw(costly(edition)))

    assert cede.verify(cluster, cede.plan(cluster)) == []


@every_doctrine
@FEW
@given(data=st.data())
def test_the_same_file_in_another_order_has_the_same_plan(edition: str, data: DataObject) -> None:
    document = data.draw(costly(edition))
    mixed = shuffled(document, Random(data.draw(st.integers(0, 1000))))

    plans = [json.dumps(cede.plan(cede.load(one), explain=True).to_dict()) for one in (document, document, mixed)]

    assert plans[0] == plans[1] == plans[2]


@every_doctrine
@pytest.mark.parametrize("effort", [0, 1_000])
@FEW
@given(data=st.data())
def test_a_preemption_costs_no_more_than_the_doctrines_own(edition: str, effort: int, data: DataObject) -> None:
    document = data.draw(costly(edition))

    own = first_preemption({**document, "selection": "doctrine"})
    cheaper = first_preemption(document, effort=effort)

    assert (own is None) == (cheaper is None)
    if own is not None and cheaper is not None:
        assert (cheaper[0], cheaper[2]) == (own[0], own[2])
        assert cheaper[1] <= own[1]


@every_doctrine
@FEW
@given(data=st.data())
def test_the_candidates_that_are_told_to_be_victims_are_the_victims(edition: str, data: DataObject) -> None:
    plan = cede.plan(cede.load(data.draw(costly(edition))), explain=True)

    for made in plan.decisions:
        told = {one.workload for one in made.candidates or () if one.verdict == "victim"}
        goes = {victim.workload for victim in made.victims}
        stay = {victim.workload for victim in made.victims if victim.leaving}  # no second eviction
        assert told | stay == goes or made.workload is None


def test_every_edition_is_tried() -> None:
    assert {*EVERY} == {edition for name in {*DOCTRINES.values()} for edition in find(name).editions}
