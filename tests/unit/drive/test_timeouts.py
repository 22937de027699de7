"""The timeout table: slow, silent, deferring; and what comes of each."""

from __future__ import annotations

from typing import Any

import pytest

from cede.engine.drive.facts import Checkpointed, Deferral
from cede.engine.drive.terms import Requeue
from cede.model.times import SECOND
from tests.drive_world import World
from tests.unit.drive.worlds import WORLDS, claimed, survives_restart, terms


def silent(**more: Any) -> World:
    """`old` was asked for its checkpoint, said nothing, and is gone after SIGKILL."""
    world = claimed(terms=terms(**more))
    world.wait(600)
    world.wait(30)
    world.exit("old", after=1)
    return world


def test_a_silent_victim_is_told_after_its_timeout_and_killed_after_its_grace() -> None:
    world = claimed()

    world.wait(599)
    assert world.phase("old") == "checkpointing"
    world.wait(1)
    assert world.phase("old") == "preempting"
    world.wait(29)
    assert world.orders("old") == ["Launch", "Hint", "Terminate"]
    world.wait(1)
    assert world.orders("old") == ["Launch", "Hint", "Terminate", "Kill"]


@pytest.mark.parametrize(
    ("requeue", "phase"), [("never", "failed"), ("on_node_failure", "pending"), ("always", "pending")]
)
def test_a_silent_victim_has_failed_and_queues_again_only_by_its_policy(requeue: Requeue, phase: str) -> None:
    world = silent(requeue=requeue)

    assert world.phase("old") == phase
    assert "fail" in world.told("old")
    assert "suspend" not in world.told("old")
    assert world.phase("new") == "starting"
    assert world.job("old").preempted == 1


@pytest.mark.parametrize(("requeue", "fate"), [("never", "ended"), ("on_node_failure", "requeued")])
def test_the_decision_says_what_becomes_of_a_victim_by_its_own_policy(requeue: Requeue, fate: str) -> None:
    world = claimed(terms=terms(requeue=requeue))

    assert [victim.fate for step in world.steps for made in step.decisions for victim in made.decision.victims] == [
        fate
    ]


@pytest.mark.parametrize(("most", "warned"), [(0, True), (1, False)])
def test_the_decision_says_so_if_a_silent_victim_has_no_way_back_left(most: int, warned: bool) -> None:
    world = silent(max_requeues=most)

    victims = [victim for step in world.steps for made in step.decisions for victim in made.decision.victims]
    said = "; if it does not, it fails for good: it has queued again 0 of at most 0 times"
    assert [victim.fate for victim in victims] == ["requeued"]
    assert victims[0].saving.endswith(said) == warned
    assert (world.phase("old") == "failed") == warned


def test_a_silent_victim_goes_on_from_the_checkpoint_it_has() -> None:
    world = claimed()
    world.feed(Checkpointed("old", 1))
    world.wait(600)
    world.wait(30)
    world.exit("old", after=1)

    assert world.phase("old") == "pending"
    assert any("from its checkpoint of" in one.why for one in world.steps[-1].transitions)
    assert world.job("old").resumes


def test_a_silent_victim_queues_again_no_more_often_than_its_cap() -> None:
    world = silent(requeue="always", max_requeues=0)

    assert world.phase("old") == "failed"


def test_who_answers_slowly_has_half_as_long_again_but_once() -> None:
    world = claimed()

    world.heard("old", 0.4, after=300)
    step = world.wait(300)
    assert world.phase("old") == "checkpointing"
    assert [str(one.signal) for one in step.transitions] == ["extend"]
    world.heard("old", 0.8, after=299)
    assert world.phase("old") == "checkpointing"
    world.wait(1)
    assert world.phase("old") == "preempting"


def test_the_slow_one_that_makes_it_in_its_extension_is_suspended() -> None:
    world = claimed()
    world.heard("old", after=300)
    world.wait(300)

    world.save("old", after=299)
    world.exit("old")

    assert world.phases() == {"new": "starting", "old": "suspended"}


def test_an_extension_can_be_switched_off_and_sized() -> None:
    world = claimed(terms=terms(timeout_extension=0))
    world.heard("old", after=1)
    world.wait(599)
    assert world.phase("old") == "preempting"

    world = claimed(terms=terms(checkpoint_timeout=100, timeout_extension=2))
    world.heard("old", after=1)
    world.wait(99)
    assert world.job("old").deadline == (1200 + 200) * SECOND


def test_a_deferral_is_granted_up_to_the_most_in_one_ask() -> None:
    world = claimed()

    assert world.defer("old", 9999) == 300
    assert world.job("old").deadline == (1100 + 600 + 300) * SECOND


def test_a_deferral_is_granted_up_to_the_most_in_several_asks() -> None:
    world = claimed()

    assert [world.defer("old", 200, after=1) for _ in range(3)] == [200, 100, 0]
    assert world.job("old").deadline == (1100 + 600 + 300) * SECOND


def test_after_its_deferral_a_victim_is_forced_and_not_given_an_extension_too() -> None:
    world = claimed()
    world.defer("old", 300)
    world.heard("old", after=10)

    world.wait(889)
    assert world.phase("old") == "checkpointing"
    world.wait(1)
    assert world.phase("old") == "preempting"


def test_a_deferral_tells_the_application_its_new_deadline() -> None:
    world = claimed()
    world.defer("old", 60)

    (order,) = world.steps[-1].orders

    assert (order.hint, order.deadline) == (1, (1100 + 660) * SECOND)  # type: ignore[union-attr]


def test_no_deferral_is_granted_where_none_may_be() -> None:
    world = claimed(terms=terms(max_deferral=0))

    assert world.defer("old", 60) == 0
    assert world.job("old").deadline == 1700 * SECOND


def test_a_deferral_below_nothing_takes_no_time_away() -> None:
    world = claimed()

    assert world.defer("old", -60) == 0
    assert world.job("old").deadline == 1700 * SECOND


def test_a_deferral_of_an_earlier_hint_is_not_heard() -> None:
    world = claimed()

    step = world.feed(Deferral("old", 1, 0, 60 * SECOND))

    assert step.granted == {}
    assert world.job("old").deadline == 1700 * SECOND


def test_no_deferral_is_granted_to_one_that_was_told_to_go() -> None:
    world = claimed()
    world.wait(600)

    assert world.defer("old", 60) == 0
    assert world.job("old").deadline == 1730 * SECOND


def test_one_that_says_it_cannot_save_is_told_at_once_and_has_failed() -> None:
    world = claimed(terms=terms(requeue="never"))

    world.cannot_save("old", "disk full", after=5)
    assert world.phase("old") == "preempting"
    world.exit("old", after=1)

    assert world.phase("old") == "failed"
    assert "disk full" in world.job("old").why
    assert world.phase("new") == "starting"


def test_one_that_cannot_save_queues_again() -> None:
    world = claimed()
    world.cannot_save("old")
    world.exit("old")

    assert world.phase("old") == "pending"
    assert not world.job("old").resumes


def test_one_that_cannot_save_now_but_has_an_older_checkpoint_is_suspended_with_that() -> None:
    world = claimed()
    world.feed(Checkpointed("old", 1, 0), after=1)
    world.cannot_save("old", after=10)
    world.exit("old", after=1)

    assert world.phase("old") == "suspended"
    assert world.job("old").checkpoint == 1101 * SECOND


def test_a_late_answer_during_the_grace_period_counts() -> None:
    world = claimed()
    world.wait(600)

    world.save("old", after=10)
    world.exit("old", after=10)

    assert world.phases() == {"new": "starting", "old": "suspended"}


def test_who_is_killed_is_killed_again_until_it_is_gone() -> None:
    world = claimed(mode="none")
    world.wait(30)

    for _ in range(3):
        world.wait(10)

    assert world.orders("old") == ["Launch", "Terminate"] + ["Kill"] * 4


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_restart_keeps_every_deadline_of_the_sequence(which: str) -> None:
    world = claimed(WORLDS[which]())
    survives_restart(world)
    world.wait(300)
    world.defer("old", 60)
    survives_restart(world)
    world.wait(359)
    assert world.phase("old") == "checkpointing"
    world.wait(1)
    assert world.phase("old") == "preempting"
    survives_restart(world)
    world.wait(30)
    survives_restart(world)

    assert world.orders("old")[-1] == "Kill"
    world.exit("old", after=1)
    assert world.phase("new") == "starting"
