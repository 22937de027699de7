"""The start of an attempt: begun, late, lost, impossible."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import Began
from cede.engine.drive.orders import Kill, Launch
from cede.engine.drive.terms import Requeue
from cede.model.times import SECOND
from tests.unit.drive.worlds import WORLDS, nodes, survives_restart, terms


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_workload_that_fits_is_launched_in_the_step_that_submits_it(which: str) -> None:
    world = WORLDS[which]()
    step = world.submit("w", cpu=1)

    places = () if which == "kueue with quota alone" else ("n1",)
    assert step.orders == [Launch("w", 1, places, resume=False)]
    assert world.phase("w") == "starting"
    world.begin("w", after=2)
    assert (world.phase("w"), world.job("w").deadline) == ("running", None)
    assert (world.job("w").started, world.job("w").began) == (1000 * SECOND, 1002 * SECOND)


def test_a_launch_is_ordered_again_after_a_restart_until_it_began() -> None:
    world = nodes(4)
    world.submit("w", cpu=1)
    survives_restart(world)
    assert world.driver.outstanding() == [Launch("w", 1, ("n1",), resume=False)]
    world.begin("w")
    survives_restart(world)

    assert world.driver.outstanding() == []


def test_a_workload_begins_once() -> None:
    world = nodes(4)
    world.submit("w", cpu=1)
    world.begin("w")
    step = world.begin("w", after=5)

    assert step.transitions == []
    assert world.job("w").began == 1000 * SECOND


@pytest.mark.parametrize(
    ("requeue", "phase"), [("never", "failed"), ("on_node_failure", "starting"), ("always", "starting")]
)
def test_one_that_does_not_begin_in_time_is_killed_and_has_failed_as_by_its_node(requeue: Requeue, phase: str) -> None:
    world = nodes(4)
    world.submit("w", cpu=1, terms=terms(requeue=requeue, start_timeout=60))
    assert world.wait(59).orders == []

    assert world.wait(1).orders == [Kill("w", 1, "start")]
    assert world.phase("w") == "starting"
    survives_restart(world)
    assert world.driver.outstanding() == [Kill("w", 1, "start")]
    world.exit("w", None, signal=9, told=True)

    assert world.phase("w") == phase
    assert "live.start-timeout" in {one.rule for one in world.steps[-1].transitions}


def test_one_that_begins_after_it_was_given_up_does_not_run_on() -> None:
    world = nodes(4)
    world.submit("w", cpu=1, terms=terms(requeue="never"))
    world.wait(60)
    world.begin("w", after=1)
    assert world.phase("w") == "starting"
    assert world.wait(9).orders == [Kill("w", 1, "start")]
    world.exit("w")

    assert (world.phase("w"), world.job("w").rule) == ("failed", "live.start-timeout")


def test_one_whose_start_left_no_trace_has_failed_in_time() -> None:
    world = nodes(4)
    world.submit("w", cpu=1, terms=terms(requeue="never"))
    world.wait(60)
    world.exit("w", None, lost=True, told=True, signal=None)

    assert (world.phase("w"), world.job("w").rule) == ("failed", "live.start-timeout")


@pytest.mark.parametrize(
    ("requeue", "phase"), [("never", "failed"), ("on_node_failure", "failed"), ("always", "pending")]
)
def test_one_that_could_not_be_started_has_failed_and_says_why(requeue: Requeue, phase: str) -> None:
    world = nodes(4)
    world.submit("w", cpu=1, terms=terms(requeue=requeue))
    world.exit("w", None, error="no such program: trian")

    assert world.phase("w") == phase
    assert any("no such program: trian" in one.why for one in world.steps[-1].transitions)


def test_one_that_was_lost_before_it_began_runs_again() -> None:
    world = nodes(4)
    world.submit("w", cpu=1)
    world.exit("w", None, lost=True)

    assert world.process("w").attempt == 2
    assert world.job("w").requeues == 1


def test_one_that_was_sent_away_before_it_was_ever_started_only_queues_again() -> None:
    """The server died between the record and the act: the executor knows nothing of it."""
    world = nodes(4)
    world.submit("old", cpu=4, priority=1, terms=terms(requeue="on_node_failure"))
    world.submit("new", cpu=4, priority=9)
    world.exit("old", None, lost=True, told=True, signal=None)

    assert (world.phase("old"), world.phase("new")) == ("pending", "starting")
    assert world.job("old").requeues == 0


def test_began_of_another_attempt_is_not_believed() -> None:
    world = nodes(4)
    world.submit("w", cpu=1, terms=terms(requeue="always"))
    world.exit("w", 1)
    world.retry("w")
    world.feed(Began("w", 1))

    assert (world.phase("w"), world.job("w").attempt) == ("starting", 2)
