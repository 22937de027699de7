"""What a preemption throws away, and for how much of it a victim is charged."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from cede.engine.drive.job import Job
from cede.engine.drive.losses import HOUR, assumed_age, charged, lost, lost_hours
from cede.engine.drive.terms import Terms
from cede.model.cluster import Workload
from cede.model.lifecycle import Phase
from tests.drive_world import workload
from tests.unit.drive.worlds import nodes_file

NOW = 1_000_000
TIMES = st.integers(0, NOW)


def job(began: int | None = 0, checkpoint: int | None = None, phase: Phase = Phase.RUNNING, **asks: Any) -> Job:
    entry: Workload = workload(nodes_file(4), "w", **(asks or {"cpu": 1}))
    return Job(entry, Terms(), phase=phase, began=began, checkpoint=checkpoint)


def jobs() -> st.SearchStrategy[list[Job]]:
    one = st.builds(job, TIMES, st.none() | TIMES, st.sampled_from([Phase.RUNNING, Phase.CHECKPOINTING, Phase.PENDING]))
    return st.lists(one, max_size=6)


@given(began=TIMES, checkpoint=TIMES, assumed=st.none() | TIMES)
def test_publishing_never_makes_a_workload_the_likelier_victim(
    began: int, checkpoint: int, assumed: int | None
) -> None:
    """Of two that are alike, the one that says when it saved costs no less than the one that says nothing."""
    silent, open_ = job(began), job(began, checkpoint)

    assert charged(open_, NOW, assumed) >= charged(silent, NOW, assumed)


@given(others=jobs(), began=TIMES, checkpoint=TIMES)
def test_nor_does_it_among_others_who_publish(others: list[Job], began: int, checkpoint: int) -> None:
    silent, open_ = job(began), job(began, checkpoint)
    assumed = assumed_age([*others, silent, open_], NOW)

    assert charged(open_, NOW, assumed) >= charged(silent, NOW, assumed)


@given(others=jobs(), began=TIMES, checkpoint=st.none() | TIMES)
def test_nobody_is_charged_for_more_than_it_worked_or_less_than_it_loses(
    others: list[Job], began: int, checkpoint: int | None
) -> None:
    one = job(began, checkpoint)
    found = charged(one, NOW, assumed_age([*others, one], NOW))

    assert 0 <= found <= NOW - began
    if checkpoint is not None:
        assert found >= min(lost(one, NOW), NOW - checkpoint)


@given(others=jobs(), one=TIMES, two=TIMES)
def test_of_two_silent_ones_the_longer_at_work_is_never_the_cheaper(others: list[Job], one: int, two: int) -> None:
    assumed = assumed_age(others, NOW)
    younger, older = job(max(one, two)), job(min(one, two))

    assert charged(older, NOW, assumed) >= charged(younger, NOW, assumed)


def test_silence_is_charged_as_if_it_had_saved_when_the_others_did() -> None:
    others = [job(0, NOW - age) for age in (10, 20, 90)]

    assert assumed_age(others, NOW) == 20
    assert charged(job(0), NOW, 20) == 20
    assert charged(job(NOW - 5), NOW, 20) == 5


def test_where_nobody_publishes_all_that_was_worked_is_charged() -> None:
    assert assumed_age([job(0), job(5)], NOW) is None
    assert charged(job(400), NOW, None) == NOW - 400


def test_the_checkpoints_of_those_who_do_not_run_say_nothing() -> None:
    assert assumed_age([job(0, 10, Phase.SUSPENDED), job(0, 10, Phase.HELD)], NOW) is None


def test_one_that_did_not_begin_loses_nothing() -> None:
    waiting = job(None)

    assert (charged(waiting, NOW, 50), lost(waiting, NOW)) == (0, 0)


@pytest.mark.parametrize(("checkpoint", "gone"), [(None, 600), (NOW - 100, 100), (NOW - 900, 600)])
def test_what_is_lost_is_what_came_after_the_last_checkpoint_of_this_attempt(checkpoint: int | None, gone: int) -> None:
    assert lost(job(NOW - 600, checkpoint), NOW) == gone


def test_lost_hours_count_every_resource_of_every_member() -> None:
    one = job(0, None, members=3, cpu=2, gpu="0.5")

    assert lost_hours(one, 2 * HOUR) == {"cpu": 12.0, "gpu": 3.0}


def test_lost_hours_count_every_pod_set() -> None:
    sets = [
        {"name": "driver", "count": 1, "requests": {"cpu": 1}},
        {"name": "work", "count": 2, "requests": {"cpu": 4}},
    ]
    one = job(0, None, pod_sets=sets)

    assert lost_hours(one, HOUR) == {"cpu": 9.0}
