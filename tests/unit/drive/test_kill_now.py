"""Killed at once because somebody says so: no grace, in whatever phase it is."""

from __future__ import annotations

from typing import Any

import pytest

from cede.engine.drive.facts import Cancel, SetTerms, Suspend
from cede.engine.drive.orders import Kill
from cede.engine.drive.terms import Terms
from cede.model.times import SECOND
from tests.drive_world import World
from tests.unit.drive.worlds import claimed, nodes, run_victim, survives_restart, terms

HOURS = 590 * 3600


def stubborn(mode: str = "auto", **more: Any) -> World:
    """`w` runs with a grace of weeks."""
    world = nodes(4)
    run_victim(world, "w", mode=mode, terms=terms(grace_period=HOURS, **more))
    return world


def killed(world: World, name: str = "w") -> bool:
    return any(isinstance(order, Kill) and order.name == name for order in world.steps[-1].orders)


@pytest.mark.parametrize("before", [(), (Cancel("w"),), (Suspend("w", force=True),), (Suspend("w"), Cancel("w"))])
def test_who_is_cancelled_now_is_killed_at_once_and_never_queues_again(before: tuple[Cancel | Suspend, ...]) -> None:
    world = stubborn()
    for fact in before:
        world.feed(fact, after=1)
        assert not killed(world)

    world.feed(Cancel("w", "ann", now=True), after=1)
    assert killed(world)
    assert world.phase("w") == "cancelling"
    survives_restart(world)
    world.exit("w", after=1)
    assert world.phase("w") == "cancelled"


@pytest.mark.parametrize("mode", ["auto", "none"])
@pytest.mark.parametrize("before", [(), (Suspend("w", force=True),)])
def test_who_is_suspended_now_is_killed_at_once_and_waits_to_be_resumed(mode: str, before: tuple[Suspend, ...]) -> None:
    world = stubborn(mode)
    for fact in before:
        world.feed(fact, after=1)

    world.feed(Suspend("w", "ann", now=True), after=1)
    assert killed(world)
    survives_restart(world)
    world.exit("w", after=1)
    assert world.phase("w") == "pending"
    assert world.job("w").parked
    assert "killed-now" in " ".join(move.rule for step in world.steps for move in step.transitions)


def test_one_that_waits_and_one_that_is_starting_are_ended_now_too() -> None:
    world = nodes(4)
    world.submit("starts", cpu=4, priority=1)
    world.submit("waits", cpu=4, priority=1)

    world.feed(Cancel("waits", now=True), Cancel("starts", now=True))
    assert world.phase("waits") == "cancelled"
    assert killed(world, "starts")


def test_a_victim_of_a_claimant_is_killed_now_for_its_owner_and_the_claimant_starts() -> None:
    world = claimed(terms=terms(grace_period=HOURS))

    world.feed(Cancel("old", now=True), after=1)
    assert killed(world, "old")
    world.exit("old", after=1)
    assert (world.phase("old"), world.phase("new")) == ("cancelled", "starting")


# -- less than it was submitted with -----------------------------------------------------------------------------------


def less(**seconds: Any) -> Terms:
    return terms(**{"grace_period": 600, **seconds})


def test_who_is_told_to_go_has_the_grace_of_its_new_terms() -> None:
    world = stubborn("none")
    world.feed(SetTerms("w", less(), "grace_period 590h is 10m from now on"))
    assert world.steps[-1].transitions[-1].rule == "live.clamped"
    survives_restart(world)

    world.feed(Cancel("w"))
    world.wait(599)
    assert not killed(world)
    world.wait(1)
    assert killed(world)


def test_who_was_told_to_go_before_has_no_more_than_that_left() -> None:
    world = stubborn("none")
    world.feed(Cancel("w"))
    world.wait(5)
    world.feed(SetTerms("w", less(), "less"))

    world.wait(599)
    assert not killed(world)
    world.wait(1)
    assert killed(world)


def test_who_was_asked_for_a_checkpoint_has_no_more_time_than_its_new_timeout() -> None:
    world = claimed(terms=terms(checkpoint_timeout=HOURS, grace_period=HOURS))
    world.feed(SetTerms("old", less(checkpoint_timeout=60), "less"))

    world.wait(60)
    assert world.phase("old") == "preempting"
    world.wait(600)
    assert killed(world, "old")


def test_terms_that_give_more_do_not_give_more_to_who_is_on_its_way() -> None:
    world = stubborn("none")
    world.feed(SetTerms("w", less(grace_period=10), "less"))
    world.feed(Cancel("w"))
    world.feed(SetTerms("w", less(), "more"))

    assert world.job("w").deadline == int((world.seconds + 10) * SECOND)


def test_a_shorter_timeout_also_bounds_what_saving_is_expected_to_cost() -> None:
    world = nodes(4)
    slow = {"mode": "auto", "time": 3600}
    world.run("w", terms=terms(checkpoint_timeout=HOURS), cpu=4, priority=1, checkpoint=slow)
    world.feed(SetTerms("w", less(checkpoint_timeout=60), "less"))

    (entry,) = world.driver.snapshot().workloads
    assert entry.checkpoint is not None
    assert entry.checkpoint.time == 60 * SECOND
    survives_restart(world)
