"""Checkpoints for later: asked for while a workload goes on, or of its own accord."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import (
    AskCheckpoint,
    Cancel,
    Checkpointed,
    CheckpointFailed,
    Estimated,
    Fact,
    Heard,
    SetNode,
    Suspend,
)
from cede.engine.drive.orders import Hint
from cede.model.times import SECOND
from tests.drive_world import World
from tests.unit.drive.worlds import kueue, nodes, run_victim, survives_restart, terms


def asked() -> World:
    world = nodes(4)
    run_victim(world)
    world.feed(AskCheckpoint("old", "ann"), after=10)
    return world


def test_a_workload_is_asked_saves_and_runs_on() -> None:
    world = asked()
    assert world.steps[-1].orders == [Hint("old", 1, 1, leaving=False, deadline=1610 * SECOND)]
    assert world.phase("old") == "checkpointing"
    survives_restart(world)
    step = world.save("old", after=5)

    assert (world.phase("old"), world.job("old").checkpoint, step.orders) == ("running", 1015 * SECOND, [])
    assert world.job("old").deadline is None


def test_a_workload_that_does_not_answer_runs_on_after_its_timeout() -> None:
    world = asked()
    step = world.wait(600)

    assert (world.phase("old"), world.job("old").checkpoint, step.orders) == ("running", None, [])


def test_a_workload_that_cannot_save_runs_on() -> None:
    world = asked()
    world.cannot_save("old", "disk full")

    assert (world.phase("old"), world.job("old").checkpoint) == ("running", None)
    assert "disk full" in world.job("old").why


def test_it_can_be_asked_again_with_the_next_number() -> None:
    world = asked()
    world.save("old")
    step = world.feed(AskCheckpoint("old"))

    assert step.orders == [Hint("old", 1, 2, leaving=False, deadline=1610 * SECOND)]


def test_an_answer_to_an_earlier_hint_does_not_answer_this_one() -> None:
    world = asked()
    world.wait(600)
    world.feed(AskCheckpoint("old"))
    world.feed(CheckpointFailed("old", 1, 1, "late"), Heard("old", 1, 1))
    assert world.phase("old") == "checkpointing"
    world.feed(Checkpointed("old", 1, 1))

    assert world.phase("old") == "checkpointing"
    assert world.job("old").checkpoint == 1610 * SECOND


def test_a_late_answer_is_still_a_checkpoint() -> None:
    world = asked()
    world.wait(600)
    world.save("old", after=5)

    assert (world.phase("old"), world.job("old").checkpoint) == ("running", 1615 * SECOND)


def test_who_does_not_answer_or_does_not_run_is_not_asked() -> None:
    world = nodes(4)
    run_victim(world, "deaf", cpu=1, terms=terms(answers=False))
    world.submit("begins", cpu=1, terms=terms())
    run_victim(world, "old", cpu=1)
    world.feed(AskCheckpoint("old"))
    step = world.feed(*(AskCheckpoint(name) for name in ("deaf", "begins", "old", "nobody")))

    assert [one.rule for one in step.refusals] == ["live.not-now"] * 3 + ["live.unknown"]
    assert step.orders == []


def test_a_victim_that_is_saving_for_later_leaves_when_it_has_saved() -> None:
    world = kueue(4, quota=4)
    run_victim(world)
    world.feed(AskCheckpoint("old"))
    world.submit("new", cpu=4, priority=9, after=100)
    assert world.phases() == {"new": "held", "old": "checkpointing"}
    assert world.job("old").deadline == 1600 * SECOND
    survives_restart(world)
    world.save("old")
    assert world.orders("old") == ["Launch", "Hint", "Terminate"]
    world.exit("old")

    assert world.phases() == {"new": "starting", "old": "suspended"}


@pytest.mark.parametrize(("code", "phase"), [(0, "completed"), (3, "failed")])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_victim_that_saved_for_later_and_ended_before_it_was_told_ended_by_itself(
    code: int, phase: str, restarted: bool
) -> None:
    world = kueue(4, quota=4)
    run_victim(world)
    world.feed(AskCheckpoint("old"))
    world.submit("new", cpu=4, priority=9, after=100)
    if restarted:
        survives_restart(world)
    world.save("old")
    world.exit("old", code, signal=None, told=False)

    assert (world.phase("old"), world.job("old").preempted) == (phase, 0)
    assert world.phase("new") == "starting"


def test_a_victim_that_saved_for_later_and_was_lost_goes_on_from_there() -> None:
    world = kueue(4, quota=4)
    run_victim(world)
    world.feed(AskCheckpoint("old"))
    world.submit("new", cpu=4, priority=9, after=100)
    world.save("old")
    world.exit("old", None, signal=None, told=False, lost=True)

    assert (world.phase("old"), world.phase("new")) == ("suspended", "starting")


@pytest.mark.parametrize("also", [Cancel("old"), Suspend("old"), SetNode("n1", "cordoned", evict=True)])
def test_one_that_saved_for_later_and_completes_before_it_hears_that_it_must_go_has_completed(also: Fact) -> None:
    world = asked()
    world.feed(also)
    world.save("old")
    world.exit("old", 0, signal=None, told=False)

    assert world.phase("old") == "completed"


def test_a_hint_keeps_its_meaning_though_the_room_is_wanted_too() -> None:
    world = kueue(4, quota=4)
    run_victim(world)
    world.feed(AskCheckpoint("old"))
    world.submit("new", cpu=4, priority=9, after=100)

    assert [order.leaving for order in world.driver.outstanding() if isinstance(order, Hint)] == [False]
    world.defer("old", 60)
    assert [order.leaving for order in world.steps[-1].orders if isinstance(order, Hint)] == [False]


def test_a_victim_that_does_not_finish_what_it_was_asked_for_before_is_forced() -> None:
    world = kueue(4, quota=4)
    run_victim(world)
    world.feed(AskCheckpoint("old"))
    world.submit("new", cpu=4, priority=9, after=100)
    world.wait(500)

    assert world.phase("old") == "preempting"


def test_a_checkpoint_of_its_own_accord_is_kept_over_attempts() -> None:
    world = nodes(4)
    run_victim(world, terms=terms(requeue="always"))
    world.feed(Checkpointed("old", 1, 0), after=7)
    assert world.phase("old") == "running"
    world.exit("old", 1)
    world.retry("old")

    assert world.process("old").resume is True
    (entry,) = world.driver.snapshot().workloads
    assert entry.checkpoint is not None
    assert entry.checkpoint.last == 1007 * SECOND


@pytest.mark.parametrize("progress", [None, 0.25])
def test_progress_is_remembered(progress: float | None) -> None:
    world = asked()
    world.heard("old", progress)

    assert world.job("old").progress == progress
    assert "old" in world.steps[-1].changed


def test_a_deferral_of_a_checkpoint_for_later_is_not_granted_for_nobody_is_forced() -> None:
    world = asked()

    assert world.defer("old", 60) == 0
    assert "old" in world.steps[-1].changed


def test_how_long_a_checkpoint_takes_is_what_it_said_or_what_was_seen_last() -> None:
    world = nodes(4)
    run_victim(world)
    world.feed(Estimated("old", 1, 90 * SECOND))
    assert world.job("old").takes == 90 * SECOND
    survives_restart(world)
    (entry,) = world.driver.snapshot().workloads
    assert entry.checkpoint is not None
    assert entry.checkpoint.time == 90 * SECOND

    world.feed(AskCheckpoint("old"))
    world.save("old", after=5)
    assert world.job("old").takes == 5 * SECOND


def test_an_estimate_of_another_attempt_is_not_heard() -> None:
    world = nodes(4)
    run_victim(world)
    world.feed(Estimated("old", 2, 90 * SECOND))

    assert world.job("old").takes is None


def test_saving_for_later_keeps_nobody_from_a_workloads_room() -> None:
    world = asked()
    world.submit("urgent", cpu=4, priority=9)

    assert (world.phase("urgent"), world.phase("old")) == ("held", "checkpointing")
    survives_restart(world)
    world.save("old")
    world.exit("old")
    assert (world.phase("urgent"), world.phase("old")) == ("starting", "suspended")
