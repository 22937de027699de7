"""A lent node that is taken back: its borrower has at least the return grace between SIGTERM and SIGKILL."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import Cancel
from cede.engine.drive.orders import Terminate
from cede.model.times import SECOND
from tests.drive_world import World
from tests.unit.drive.lattice_worlds import given, lattice
from tests.unit.drive.worlds import survives_restart


def lent(mode: str = "none", **more: float) -> World:
    """`guest` of queue `a` stands on a node of `b`, which wants it back."""
    world = lattice("b")
    world.run("guest", queue="a", cpu=4, priority=9, checkpoint={"mode": mode}, terms=given(**more))
    world.submit("host", queue="b", cpu=4, priority=0, after=100)
    assert world.phase("host") == "held"
    return world


def grace_of(world: World, name: str) -> float:
    (order,) = (one for step in world.steps for one in step.orders if isinstance(one, Terminate) and one.name == name)
    return order.grace / SECOND


def test_a_borrower_of_a_higher_class_gives_its_node_back() -> None:
    world = lent()
    leaving = world.job("guest").leaving

    assert leaving is not None
    assert (leaving.reason, leaving.claimant, world.phase("guest")) == ("reclaim", "host", "preempting")
    assert grace_of(world, "guest") == 60


def test_it_is_not_killed_before_its_return_grace_is_over() -> None:
    world = lent()
    world.wait(59)
    assert not world.process("guest").killed
    survives_restart(world)
    world.wait(1)
    assert world.process("guest").killed
    world.exit("guest")
    assert (world.phase("guest"), world.phase("host")) == ("pending", "starting")
    assert (world.job("guest").preempted, world.job("guest").resumes) == (1, False)


def test_its_own_grace_counts_if_that_is_longer() -> None:
    world = lent(grace_period=90)
    assert grace_of(world, "guest") == 90


def test_the_grace_comes_after_the_checkpoint() -> None:
    world = lent("auto")
    assert world.phase("guest") == "checkpointing"
    survives_restart(world)
    world.save("guest", after=300)
    assert grace_of(world, "guest") == 60
    world.wait(59)
    survives_restart(world)
    assert not world.process("guest").killed
    world.exit("guest", after=0.5)
    assert (world.phase("guest"), world.phase("host")) == ("suspended", "starting")


def test_the_hold_lasts_as_long_as_the_return_may_take() -> None:
    world = lent("auto", checkpoint_timeout=100, timeout_extension=0.5, max_deferral=20)
    job = world.job("host")

    assert job.deadline is not None
    assert (job.deadline - job.since) / SECOND == 100 * 1.5 + 20 + 60 + 60


def test_who_cancels_it_does_not_wait_for_the_return() -> None:
    world = lent("auto")
    world.feed(Cancel("guest", "ann"))

    assert grace_of(world, "guest") == 30


@pytest.mark.parametrize(("priority", "victim"), [(9, "guest"), (0, "guest")])
def test_class_does_not_matter_to_who_takes_its_node_back(priority: int, victim: str) -> None:
    world = lattice("b")
    world.run("guest", queue="a", cpu=4, priority=priority, terms=given())
    world.submit("host", queue="b", cpu=4, priority=0, after=100)

    assert world.phase(victim) == "preempting"


def test_a_victim_by_class_alone_has_the_usual_grace() -> None:
    world = lattice(None)
    world.run("low", queue="a", cpu=4, priority=1, terms=given())
    world.submit("high", queue="b", cpu=4, priority=9, after=100)

    leaving = world.job("low").leaving
    assert leaving is not None
    assert (leaving.reason, grace_of(world, "low")) == ("priority", 30)


def test_who_was_sent_home_does_not_take_the_node_again_from_who_is_at_home() -> None:
    world = lattice("b")
    world.run("guest", queue="a", cpu=4, priority=9, terms=given())
    world.submit("host", queue="b", cpu=4, priority=0, after=100)
    world.exit("guest", after=1)
    world.begin("host")
    world.restart()
    world.wait(600)

    assert (world.phase("guest"), world.phase("host")) == ("pending", "running")
    world.exit("host")
    assert world.phase("guest") == "starting"


def test_another_of_a_higher_class_may_once() -> None:
    world = lattice("b")
    world.run("host", queue="b", cpu=4, priority=0)
    world.submit("guest", queue="a", cpu=4, priority=9, terms=given(), after=100)
    world.exit("host", after=1)
    assert (world.phase("guest"), world.phase("host")) == ("preempting", "held")
    world.exit("guest", after=1)
    world.begin("host")
    world.wait(600)

    assert (world.phase("guest"), world.phase("host")) == ("pending", "running")


@pytest.mark.parametrize(("queue", "switch"), [("a", "allow_borrowing"), ("b", "allow_lending")])
def test_they_do_not_where_nodes_are_not_lent(queue: str, switch: str) -> None:
    world = lattice("b", queues={queue: {switch: False}})
    world.submit("guest", queue="a", cpu=4, priority=9, terms=given())
    world.submit("host", queue="b", cpu=4, priority=0, after=100)

    assert (world.phase("host"), world.phase("guest")) == ("starting", "pending")
    world.ask_why()
    assert world.job("guest").rule == "lattice.not-lent"
