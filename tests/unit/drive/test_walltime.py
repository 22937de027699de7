"""Walltime wins over checkpointing."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import AskCheckpoint, Checkpointed, Suspend
from cede.engine.drive.orders import Terminate
from cede.model.times import SECOND
from tests.unit.drive.worlds import claimed, nodes, run_victim, survives_restart, terms


def test_one_that_runs_into_its_walltime_is_told_killed_and_has_failed() -> None:
    world = nodes(4)
    run_victim(world, walltime=50)

    step = world.wait(50)
    assert step.orders == [Terminate("old", 1, "walltime", 30 * SECOND)]
    assert world.phase("old") == "cancelling"
    world.wait(30)
    assert world.orders("old")[-1] == "Kill"
    world.exit("old", walltime=True, after=1)

    assert world.phase("old") == "failed"
    assert world.job("old").rule == "live.walltime"


def test_the_driver_wants_to_be_called_when_a_walltime_is_over() -> None:
    world = nodes(4)
    run_victim(world, walltime=50)

    assert world.steps[-1].wakes_at == 1050 * SECOND
    world.wait(50)
    assert world.steps[-1].wakes_at == 1080 * SECOND


def test_walltime_is_counted_from_when_it_began_and_anew_in_every_attempt() -> None:
    world = nodes(4)
    world.submit("w", cpu=1, walltime=50, terms=terms(requeue="always"))
    world.begin("w", after=20)

    world.wait(49)
    assert world.phase("w") == "running"
    world.exit("w", 3)
    world.retry("w")
    world.begin("w", after=20)
    world.wait(49)
    assert world.phase("w") == "running"
    world.wait(1)
    assert world.phase("w") == "cancelling"


def test_a_victim_whose_walltime_ends_while_it_saves_is_told_at_once() -> None:
    world = claimed(walltime=300)

    step = world.wait(200)

    assert step.orders == [Terminate("old", 1, "walltime", 30 * SECOND)]
    assert world.phase("old") == "cancelling"


def test_a_victim_that_saves_within_the_grace_after_its_walltime_is_suspended() -> None:
    world = claimed(walltime=300)
    world.wait(200)

    world.save("old", after=20)
    world.exit("old", after=1)

    assert world.phases() == {"new": "starting", "old": "suspended"}
    assert world.job("old").preempted == 1


def test_a_victim_that_does_not_save_within_the_grace_has_failed_by_its_walltime() -> None:
    world = claimed(walltime=300)
    world.wait(200)
    world.wait(30)
    world.exit("old", after=1)

    assert (world.phase("old"), world.job("old").rule) == ("failed", "live.walltime")
    assert world.phase("new") == "starting"


def test_a_checkpoint_before_it_was_a_victim_does_not_save_it_from_its_walltime() -> None:
    world = claimed(walltime=300)
    world.feed(Checkpointed("old", 1, 0))
    world.wait(200)
    world.exit("old", after=1)

    assert world.phase("old") == "failed"


def test_the_supervisor_that_ended_it_at_its_walltime_while_nobody_listened_is_believed() -> None:
    """The server was away: no order was given, and the attempt is over."""
    world = nodes(4)
    run_victim(world, walltime=50)
    world.exit("old", None, signal=15, told=True, walltime=True, after=70)

    assert (world.phase("old"), world.job("old").rule) == ("failed", "live.walltime")


@pytest.mark.parametrize("mode", ["auto", "none"])
def test_the_supervisor_is_believed_of_a_victim_too(mode: str) -> None:
    world = claimed(mode=mode, walltime=300)
    world.exit("old", None, signal=15, told=True, walltime=True, after=700)

    assert (world.phase("old"), world.job("old").rule) == ("failed", "live.walltime")
    assert world.phase("new") == "starting"


def test_a_walltime_that_ends_while_a_told_victim_leaves_changes_nothing() -> None:
    world = claimed(mode="none", walltime=110)
    world.wait(15)
    assert world.phase("old") == "preempting"
    world.exit("old")

    assert world.phase("old") == "pending"


def test_a_walltime_that_ends_during_a_checkpoint_for_later_ends_it_all_the_same() -> None:
    world = nodes(4)
    run_victim(world, walltime=50)
    world.feed(AskCheckpoint("old"), after=40)

    world.wait(10)
    assert world.phase("old") == "cancelling"
    world.save("old", after=5)
    world.exit("old", after=1)

    assert world.phase("old") == "failed"
    assert world.job("old").checkpoint == 1055 * SECOND


def test_one_that_a_user_suspends_and_that_saves_within_the_grace_is_suspended() -> None:
    world = nodes(4)
    run_victim(world, walltime=50)
    world.feed(Suspend("old", "ann"), after=40)
    world.wait(10)
    world.save("old", after=5)
    world.exit("old", after=1)

    assert (world.phase("old"), world.job("old").parked) == ("suspended", "ann")


def test_one_over_its_walltime_runs_again_only_if_its_policy_is_always() -> None:
    world = nodes(4)
    run_victim(world, walltime=50, terms=terms(requeue="always", max_requeues=1))

    for attempt in (1, 2):
        assert world.job("old").attempt == attempt
        world.wait(50)
        world.exit("old", after=1)
        if attempt == 1:
            world.retry("old")
            world.begin("old")

    assert world.phase("old") == "failed"


def test_one_lost_after_its_walltime_was_over_is_not_started_again_for_that() -> None:
    world = nodes(4)
    run_victim(world, walltime=50)
    world.wait(50)
    world.exit("old", None, lost=True, told=False, signal=None)

    assert (world.phase("old"), world.job("old").rule) == ("failed", "live.walltime")


def test_a_restart_keeps_the_walltime() -> None:
    world = nodes(4)
    run_victim(world, walltime=50)
    world.wait(20)
    survives_restart(world)
    assert world.wait(0).wakes_at == 1050 * SECOND

    world.wait(30)
    assert world.phase("old") == "cancelling"
    survives_restart(world)
    assert [type(order).__name__ for order in world.driver.outstanding()] == ["Terminate"]
