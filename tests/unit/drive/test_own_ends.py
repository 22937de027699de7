"""Workloads that end by themselves, whatever was wanted of them."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import Cancel, Checkpointed, Exited
from cede.engine.drive.terms import Requeue
from tests.unit.drive.worlds import WORLDS, claimed, nodes, run_victim, terms


def test_one_that_ends_well_has_completed() -> None:
    world = nodes(4)
    run_victim(world)
    world.exit("old", 0, after=10)

    job = world.job("old")
    assert (job.phase, job.exit_code, job.exit_signal, job.preempted) == ("completed", 0, None, 0)
    assert world.driver.jobs == {}


def test_one_that_ends_before_it_was_seen_to_begin_has_completed_too() -> None:
    world = nodes(4)
    world.submit("quick", cpu=1)
    world.exit("quick", 0)

    assert world.phase("quick") == "completed"


@pytest.mark.parametrize(
    ("requeue", "phase"), [("never", "failed"), ("on_node_failure", "failed"), ("always", "pending")]
)
def test_one_that_ends_with_an_error_has_failed_and_queues_again_by_its_policy(requeue: Requeue, phase: str) -> None:
    world = nodes(4)
    run_victim(world, terms=terms(requeue=requeue))
    world.exit("old", 3, after=10)

    assert world.phase("old") == phase
    assert world.job("old").preempted == 0


def test_a_signal_that_nobody_here_sent_is_a_failure_that_says_so() -> None:
    world = nodes(4)
    run_victim(world)
    world.exit("old", None, signal=11, told=False)

    assert world.phase("old") == "failed"
    assert world.job("old").rule == "live.exit-signal"
    assert "11" in world.job("old").why


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_victim_that_completes_before_it_answers_has_completed_and_its_room_is_the_claimants(which: str) -> None:
    world = claimed(WORLDS[which]())
    world.exit("old", 0, after=5)

    assert (world.phase("old"), world.job("old").preempted) == ("completed", 0)
    assert world.phase("new") == "starting"


def test_a_victim_that_crashes_before_it_answers_has_failed_and_was_not_preempted() -> None:
    world = claimed()
    world.exit("old", 3, after=5)

    assert (world.phase("old"), world.job("old").preempted) == ("failed", 0)
    assert world.phase("new") == "starting"


def test_a_victim_that_completes_before_the_signal_reached_it_has_completed() -> None:
    world = claimed(mode="none")
    assert world.phase("old") == "preempting"
    world.exit("old", 0, told=False)

    assert (world.phase("old"), world.job("old").preempted) == ("completed", 0)


@pytest.mark.parametrize("code", [0, 1, 143])
def test_one_that_answered_and_then_ends_with_whatever_code_left_with_its_checkpoint(code: int) -> None:
    world = claimed()
    world.save("old", after=5)
    world.exit("old", code, signal=None, told=False)

    assert (world.phase("old"), world.job("old").preempted) == ("suspended", 1)


def test_one_that_was_told_and_ends_with_code_0_did_not_complete() -> None:
    world = claimed(mode="none")
    world.exit("old", 0, signal=None, told=True)

    assert (world.phase("old"), world.job("old").preempted) == ("pending", 1)


def test_one_that_answered_and_was_then_lost_has_its_checkpoint_still() -> None:
    world = claimed()
    world.save("old", after=5)
    world.exit("old", None, lost=True, told=False, signal=None)

    assert world.phase("old") == "suspended"


def test_answer_and_end_in_one_step_are_taken_in_their_order() -> None:
    world = claimed()
    del world.processes["old", 1]
    world.feed(Checkpointed("old", 1, 1), Exited("old", 1, 0))

    assert world.phase("old") == "suspended"
    assert world.phase("new") == "starting"


def test_an_answer_that_its_end_tells_of_once_more_is_measured_once() -> None:
    world = claimed()
    world.save("old", after=5)
    takes, saved = world.job("old").takes, world.job("old").checkpoint
    world.feed(Checkpointed("old", 1, 1, at=saved), after=3)

    assert world.job("old").takes == takes is not None
    world.exit("old", 0, told=False)
    assert world.phase("old") == "suspended"


def test_an_answer_that_only_its_end_tells_of_is_measured_by_when_it_was_given() -> None:
    world = claimed()
    job = world.job("old")
    assert job.hinted is not None
    del world.processes["old", 1]
    world.feed(Checkpointed("old", 1, 1, at=job.hinted + 2_000_000), Exited("old", 1, 0), after=60)

    assert (job.phase, job.takes) == ("suspended", 2_000_000)


def test_a_checkpoint_of_its_own_accord_is_no_answer() -> None:
    world = claimed()
    world.feed(Checkpointed("old", 1, 0), after=5)
    assert world.phase("old") == "checkpointing"
    world.exit("old", 0)

    assert world.phase("old") == "completed"


def test_a_signal_that_came_from_elsewhere_while_it_was_only_asked_is_a_failure() -> None:
    """Nobody told it to go yet, so it did not leave as told."""
    world = claimed()
    world.exit("old", None, signal=15, told=True)

    assert (world.phase("old"), world.job("old").preempted) == ("failed", 0)
    assert world.phase("new") == "starting"


@pytest.mark.parametrize("cause", ["cancel", ""])
def test_one_that_failed_and_was_cancelled_is_not_tried_again_though_its_record_knows_only_the_first(
    cause: str,
) -> None:
    """As a gang of which one member failed, and the others were cancelled, after a store was restored."""
    world = nodes(4)
    run_victim(world, terms=terms(requeue="always"))
    world.exit("old", 5, signal=None, told=False, cause=cause)

    if cause:
        assert (world.ended["old"].phase, world.ended["old"].exit_code) == ("failed", 5)
    else:
        assert world.phase("old") == "pending"


def test_one_that_saved_and_left_before_its_record_knew_of_it_goes_on_from_there() -> None:
    """As after a store was restored: the record is of before it was asked to leave."""
    world = nodes(4)
    run_victim(world)
    world.feed(Checkpointed("old", 1, hint=1), after=5)
    world.exit("old", 0, after=1, gave_way=1)

    assert any(one.rule == "live.told-before" for one in world.steps[-1].transitions)
    assert world.phase("old") != "completed"
    assert world.job("old").resumes


def test_one_that_was_let_off_and_ended_well_has_completed() -> None:
    """What it was asked, its record knows."""
    world = nodes(4)
    run_victim(world)
    world.job("old").hint = 1
    world.feed(Checkpointed("old", 1, hint=1), after=5)
    world.exit("old", 0, after=1, gave_way=1)

    assert world.phase("old") == "completed"


@pytest.mark.parametrize("cause", ["preempt", ""])
def test_one_that_was_told_to_go_before_it_began_and_whose_record_knows_nothing_of_it_queues_again(cause: str) -> None:
    """As after a store was restored: it has no exit code, and that is no failure of its own."""
    world = nodes(4)
    world.submit("old", cpu=1)
    step = world.exit("old", None, after=1, told=True, signal=None, cause=cause)

    assert [one.rule for one in step.transitions][:1] == ["live.told-before"]
    assert not any(one.after == "failed" for one in step.transitions)


@pytest.mark.parametrize("which", sorted(WORLDS))
@pytest.mark.parametrize("stage", ["hinted", "told"])
def test_one_that_was_cancelled_while_its_record_says_it_makes_way_is_cancelled(which: str, stage: str) -> None:
    """As after a store was restored: the record is of before somebody cancelled it."""
    world = claimed(WORLDS[which]())
    if stage == "told":
        world.save("old", after=1)
    leaving = world.job("old").leaving
    assert leaving is not None
    assert leaving.stage == stage
    world.exit("old", 143, after=1, told=True, cause="cancel")

    assert world.phase("old") == "cancelled"
    assert world.job("old").preempted == 0
    assert world.phase("new") == "starting"


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_one_that_was_told_to_go_while_its_record_says_it_was_only_asked_makes_way(which: str) -> None:
    world = claimed(WORLDS[which]())
    world.exit("old", 143, after=1, told=True, cause="preempt")

    assert (world.phase("old"), world.job("old").preempted) == ("pending", 1)
    assert world.phase("new") == "starting"


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_one_that_lost_its_supervisor_after_a_cancel_that_its_record_does_not_know_is_cancelled(which: str) -> None:
    world = WORLDS[which]()
    run_victim(world, terms=terms(requeue="always"))
    world.exit("old", after=1, lost=True, cause="cancel")

    assert world.phase("old") == "cancelled"


def test_one_that_was_cancelled_stays_so_whatever_it_was_told_for_first() -> None:
    world = claimed()
    world.feed(Cancel("old"), after=1)
    world.exit("old", 143, after=1, told=True, cause="preempt")

    assert world.phase("old") == "cancelled"
