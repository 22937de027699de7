"""Cancelling in every phase: it ends for good, and never queues again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cede.engine.drive.facts import AskCheckpoint, Cancel, Submit, Suspend
from cede.engine.drive.orders import Terminate
from cede.engine.drive.terms import Requeue
from cede.model.times import SECOND
from tests.drive_world import World, workload
from tests.unit.drive.worlds import WORLDS, claimed, nodes, run_victim, state_of, survives_restart, terms


def pending() -> World:
    world = nodes(4)
    run_victim(world, "other", priority=5)
    world.submit("w", cpu=4, priority=1)
    return world


def held() -> World:
    world = nodes(4)
    run_victim(world, "other", priority=1)
    world.submit("w", cpu=4, priority=5)
    return world


def starting() -> World:
    world = nodes(4)
    world.submit("w", cpu=4, priority=1, terms=terms(requeue="always"))
    return world


def late() -> World:
    world = starting()
    world.wait(60)
    return world


def running() -> World:
    world = nodes(4)
    run_victim(world, "w", terms=terms(requeue="always"))
    return world


def checkpointing() -> World:
    world = running()
    world.feed(AskCheckpoint("w"))
    return world


def hinted() -> World:
    world = running()
    world.submit("other", cpu=4, priority=9)
    return world


def preempting() -> World:
    world = hinted()
    world.wait(600)
    return world


def killed() -> World:
    world = preempting()
    world.wait(30)
    return world


def expired() -> World:
    world = nodes(4)
    run_victim(world, "w", walltime=50, terms=terms(requeue="always"))
    world.wait(50)
    return world


def suspended() -> World:
    world = hinted()
    world.save("w")
    world.exit("w")
    return world


def parked() -> World:
    world = running()
    world.feed(Suspend("w", "bob"))
    world.save("w")
    world.exit("w")
    return world


WAITING = {"pending": pending, "held": held, "suspended": suspended, "parked": parked}
PRESENT = {
    "starting": starting,
    "starting, but too late": late,
    "running": running,
    "checkpointing": checkpointing,
    "hinted": hinted,
    "preempting": preempting,
    "killed": killed,
    "over its walltime": expired,
}


@pytest.mark.parametrize("where", WAITING)
def test_one_that_waits_is_cancelled_at_once(where: str) -> None:
    world = WAITING[where]()
    world.feed(Cancel("w", "ann"))

    job = world.job("w")
    assert (job.phase, job.deadline, job.ended) == ("cancelled", None, int(world.seconds) * SECOND)
    assert "ann" in job.why
    assert "w" not in world.driver.jobs
    assert "w" not in world.driver.state.work_index


@pytest.mark.parametrize("where", PRESENT)
def test_one_that_runs_is_told_and_cancelled_when_it_is_gone(where: str) -> None:
    world = PRESENT[where]()
    world.feed(Cancel("w", "ann"))
    assert world.phase("w") == "cancelling"
    assert state_of(world, "w") in ("checkpointing", "preempting")
    survives_restart(world)
    world.wait(31)
    assert world.orders("w")[-1] == "Kill"
    world.exit("w")

    assert (world.phase("w"), world.job("w").preempted) == ("cancelled", 0)
    assert "w" not in world.driver.jobs


HOW: dict[str, Callable[[World], object]] = {
    "told": lambda world: world.exit("w"),
    "told, with code 0": lambda world: world.exit("w", 0, signal=None, told=True),
    "lost": lambda world: world.exit("w", None, lost=True, told=False, signal=None),
    "lost, no trace of its start": lambda world: world.exit("w", None, lost=True, told=True, signal=None),
    "could not be started": lambda world: world.exit("w", None, told=False, signal=None, error="no such program"),
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("where", PRESENT)
@pytest.mark.parametrize("requeue", ["on_node_failure", "always"])
def test_a_cancelled_workload_never_queues_again(where: str, how: str, requeue: Requeue) -> None:
    world = PRESENT[where]()
    world.feed(Cancel("w", "ann"))
    world.job("w").terms = terms(requeue=requeue)
    HOW[how](world)

    assert world.phase("w") == "cancelled"
    assert not [process for process in world.processes.values() if process.name == "w"]


def test_one_that_failed_by_itself_while_it_was_cancelled_has_failed_and_does_not_queue_again() -> None:
    world = running()
    world.feed(Cancel("w"))
    world.exit("w", 3, signal=None, told=False)

    assert world.phase("w") == "failed"
    assert "w" not in world.driver.jobs


def test_one_that_completed_by_itself_while_it_was_cancelled_has_completed() -> None:
    world = running()
    world.feed(Cancel("w"))
    world.exit("w", 0, signal=None, told=False)

    assert world.phase("w") == "completed"


def test_one_that_saved_as_it_was_asked_is_cancelled_all_the_same() -> None:
    world = hinted()
    world.save("w")
    world.feed(Cancel("w"))
    world.exit("w")

    assert world.phase("w") == "cancelled"


def test_cancelling_twice_is_cancelling_once() -> None:
    world = running()
    world.feed(Cancel("w"))
    step = world.feed(Cancel("w"), after=10)

    assert (step.orders, step.transitions, step.refusals) == ([], [], [])
    assert world.job("w").deadline == 1030 * SECOND


def test_cancelling_one_that_was_told_gives_it_no_more_time() -> None:
    world = preempting()
    deadline = world.job("w").deadline
    step = world.feed(Cancel("w"), after=20)

    assert world.job("w").deadline == deadline
    assert step.orders == [Terminate("w", 1, "cancel", 30 * SECOND)]


def test_cancelling_one_that_was_killed_sends_no_gentler_signal() -> None:
    world = killed()
    step = world.feed(Cancel("w"))

    assert step.orders == []


def test_nobody_can_cancel_what_is_not_there_or_ended() -> None:
    world = running()
    step = world.feed(Cancel("nobody"))
    assert [(one.fact, one.rule, one.unknown) for one in step.refusals] == [(0, "live.unknown", True)]

    world.exit("w", 0)
    step = world.feed(Cancel("w"))
    assert step.refusals[0].unknown


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_cancelled_victim_makes_way_for_its_claimant(which: str) -> None:
    world = claimed(WORLDS[which]())
    world.feed(Cancel("old"))
    assert world.phase("new") == "held"
    world.exit("old")

    assert (world.phase("old"), world.phase("new")) == ("cancelled", "starting")


def test_a_workload_submitted_and_cancelled_in_one_step_is_cancelled() -> None:
    world = nodes(4)
    world.feed(Submit(workload(world.document, "w", cpu=1)), Cancel("w"))

    assert world.phase("w") == "cancelled"
    assert not world.processes
