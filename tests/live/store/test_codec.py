import dataclasses
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cede.doctrines.document import parse_document
from cede.engine.drive.facts import Fact
from cede.engine.drive.job import Job, Leaving
from cede.engine.drive.step import Refusal, Transition
from cede.live.store import codec
from cede.live.store.codec import Shape
from cede.live.store.tables import column
from cede.live.task import Task
from cede.model.document import dump_part
from cede.model.lifecycle import Phase
from cede.model.plan import Decision
from cede.model.times import Instant
from tests.live.store.entries import job
from tests.live.store.strategies import DECISIONS, FACTS, JOBS, TASKS, TEXTS, TRANSITIONS
from tests.strategies import clusters


@given(JOBS)
def test_a_job_is_read_as_it_was_written(one: Job) -> None:
    read = codec.parse_job(codec.dump_job(one))

    assert read == one
    assert dump_part(read.workload) == dump_part(one.workload)
    assert isinstance(read.workload.submitted, Instant)
    assert isinstance(read.phase, Phase)


@given(st.lists(FACTS, max_size=4))
def test_facts_are_read_as_they_were_written(facts: list[Fact]) -> None:
    read = codec.parse_facts(codec.dump_facts(facts))

    assert read == facts
    for kept, fact in zip(read, facts, strict=True):
        assert getattr(kept, "at", None) == getattr(fact, "at", None)
        assert getattr(kept, "cause", None) == getattr(fact, "cause", None)
    assert [type(fact) for fact in read] == [type(fact) for fact in facts]


@given(TRANSITIONS)
def test_a_transition_is_read_as_it_was_written(one: Transition) -> None:
    read = codec.parse_transition(codec.dump_transition(one))

    assert read == one
    assert type(read.signal) is type(one.signal)


@given(DECISIONS)
def test_a_decision_is_read_as_it_was_written(one: Decision) -> None:
    read = codec.parse_decision(codec.dump_decision(one))

    assert read == one
    assert read.to_dict() == one.to_dict()


@given(TASKS)
def test_a_task_is_read_as_it_was_written(one: Task) -> None:
    assert codec.parse_task(codec.dump_task(one)) == one


@given(clusters(None, tidy=False))
def test_a_document_is_read_as_it_was_written(data: dict[str, Any]) -> None:
    document = parse_document(data)

    assert codec.parse_cluster(codec.dump_cluster(document)) == document


def test_refusals_are_read_as_they_were_written() -> None:
    refusals = [Refusal(0, "a.b", "no such thing", unknown=True), Refusal(3, "c.d", "too late")]

    assert codec.parse_refusals(codec.dump_refusals(refusals)) == refusals


@pytest.mark.parametrize("cls", [*get_args(Fact), Job, Leaving, Transition, Decision], ids=lambda cls: cls.__name__)
def test_every_field_has_a_form(cls: type) -> None:
    Shape(cls)


def test_a_field_of_an_unknown_type_is_an_error_before_anything_is_stored() -> None:
    odd = dataclasses.make_dataclass("odd", [("items", set[int])])

    with pytest.raises(TypeError, match="does not know how to keep"):
        Shape(odd)


def test_what_has_its_default_takes_no_room() -> None:
    assert codec.dump_job(job("a")).count(":") < 15


@given(TEXTS)
def test_any_text_fits_into_a_column(text: str) -> None:
    held = column(text)

    assert "\0" not in held
    assert held.encode().decode() == held
