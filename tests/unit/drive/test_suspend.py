"""Suspending and resuming by users, in every phase."""

from __future__ import annotations

from typing import Any

import pytest

from cede.engine.drive.facts import Cancel, Resume, Suspend
from cede.engine.drive.orders import Hint, Terminate
from cede.model.times import SECOND
from tests.drive_world import World
from tests.unit.drive.worlds import WORLDS, claimed, nodes, run_victim, survives_restart, terms

PARK = Suspend("old", "ann")


def parked(world: World | None = None) -> World:
    """`old` was suspended by ann, and left with its checkpoint."""
    found = world or nodes(4)
    run_victim(found)
    found.feed(PARK, after=10)
    found.save("old", after=5)
    found.exit("old")
    return found


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_running_workload_saves_leaves_and_stays_away_until_it_is_resumed(which: str) -> None:
    world = WORLDS[which]()
    run_victim(world)

    step = world.feed(PARK, after=10)
    assert step.orders == [Hint("old", 1, 1, leaving=True, deadline=1610 * SECOND)]
    step = world.save("old", after=5)
    assert step.orders == [Terminate("old", 1, "suspend", 30 * SECOND)]
    world.exit("old")
    assert (world.phase("old"), world.job("old").parked, world.job("old").preempted) == ("suspended", "ann", 0)
    world.wait(1000)
    assert world.phase("old") == "suspended"

    step = world.feed(Resume("old", "ann"))
    assert world.process("old").resume is True
    assert world.job("old").parked == ""


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_parked_workload_holds_no_room(which: str) -> None:
    world = parked(WORLDS[which]())
    survives_restart(world)
    world.submit("next", cpu=4, priority=0)

    assert (world.phase("old"), world.phase("next")) == ("suspended", "starting")
    assert "old" not in world.driver.state.work_index


def test_a_workload_that_no_checkpoint_would_save_is_not_suspended_unless_forced() -> None:
    world = nodes(4)
    run_victim(world, mode="none")
    step = world.feed(PARK)
    assert [one.rule for one in step.refusals] == ["live.would-lose-work"]
    assert (world.phase("old"), world.job("old").parked, step.orders) == ("running", "", [])

    world.feed(Suspend("old", "ann", force=True))
    assert world.phase("old") == "preempting"
    world.exit("old")

    assert (world.phase("old"), world.job("old").parked) == ("pending", "ann")


def test_one_that_says_it_saves_but_would_not_answer_is_not_suspended_unless_forced() -> None:
    world = nodes(4)
    run_victim(world, terms=terms(answers=False))

    assert [one.rule for one in world.feed(PARK).refusals] == ["live.would-lose-work"]


def test_one_that_did_not_begin_has_nothing_to_lose() -> None:
    world = nodes(4)
    world.submit("old", cpu=4, terms=terms(answers=False))

    assert world.feed(PARK).refusals == []
    world.exit("old")
    assert (world.phase("old"), world.job("old").parked) == ("pending", "ann")


def test_a_waiting_workload_is_parked_at_once_and_queues_when_it_is_resumed() -> None:
    world = nodes(4)
    run_victim(world, "other", priority=5)
    world.submit("old", cpu=4, priority=1)
    submitted = world.job("old").workload.submitted
    world.feed(PARK)
    assert (world.phase("old"), world.job("old").rule) == ("pending", "live.parked")

    world.exit("other")
    assert world.phase("old") == "pending"
    survives_restart(world)
    world.feed(Resume("old", "ann"), after=100)

    assert world.phase("old") == "starting"
    assert world.job("old").workload.submitted == submitted


def test_a_victim_that_was_asked_stays_away_after_it_left() -> None:
    world = claimed()
    world.feed(PARK)
    world.save("old")
    world.exit("old")
    world.begin("new")
    world.exit("new")

    assert (world.phase("old"), world.job("old").preempted) == ("suspended", 1)


def test_a_victim_that_was_told_stays_away_after_it_left() -> None:
    world = claimed(mode="none")
    world.feed(PARK)
    world.exit("old")
    world.begin("new")
    world.exit("new")

    assert world.phase("old") == "pending"
    assert not world.processes


def test_a_suspended_victim_is_parked_where_it_is() -> None:
    world = claimed()
    world.save("old")
    world.exit("old")
    world.feed(PARK)
    world.begin("new")
    world.exit("new")

    assert world.phase("old") == "suspended"


def test_suspending_twice_is_suspending_once() -> None:
    world = nodes(4)
    run_victim(world)
    world.feed(PARK)
    step = world.feed(Suspend("old", "bob"))

    assert (step.orders, step.refusals, step.transitions) == ([], [], [])
    assert world.job("old").parked == "ann"


def test_one_that_is_ending_for_good_is_not_suspended() -> None:
    world = nodes(4)
    run_victim(world)
    world.feed(Cancel("old"))

    assert [one.rule for one in world.feed(PARK).refusals] == ["live.not-now"]


def test_one_over_its_walltime_is_not_suspended() -> None:
    world = nodes(4)
    run_victim(world, walltime=50)
    world.wait(50)

    assert [one.rule for one in world.feed(PARK).refusals] == ["live.not-now"]


def test_one_that_is_resumed_while_it_leaves_queues_as_soon_as_it_left() -> None:
    world = nodes(4)
    run_victim(world)
    world.feed(PARK)
    world.save("old")
    world.feed(Resume("old", "ann"))
    assert world.phase("old") == "preempting"
    world.exit("old")

    assert world.process("old").attempt == 2
    assert world.process("old").resume is True


@pytest.mark.parametrize("name", ["old", "nobody"])
def test_who_was_not_suspended_is_not_resumed(name: str) -> None:
    world = nodes(4)
    run_victim(world)
    (refusal,) = world.feed(Resume(name, "ann")).refusals

    assert refusal.rule == ("live.not-now" if name == "old" else "live.unknown")
    assert refusal.unknown == (name == "nobody")


def test_a_suspended_victim_that_nobody_parked_needs_no_resuming() -> None:
    world = claimed()
    world.save("old")
    world.exit("old")

    assert "nobody suspended it" in world.feed(Resume("old", "ann")).refusals[0].why


def test_one_that_completes_while_it_is_asked_has_completed() -> None:
    world = nodes(4)
    run_victim(world)
    world.feed(PARK)
    world.exit("old", 0)

    assert world.phase("old") == "completed"


def test_parked_and_parked_again_after_every_attempt() -> None:
    world = parked()
    world.feed(Resume("old", "ann"))
    world.begin("old")
    world.feed(PARK)
    world.save("old")
    world.exit("old")

    assert (world.phase("old"), world.job("old").attempt) == ("suspended", 2)


def test_a_lost_workload_that_was_being_suspended_stays_away() -> None:
    world = nodes(4)
    run_victim(world)
    world.feed(PARK)
    world.exit("old", None, lost=True, told=False, signal=None)

    assert (world.phase("old"), world.job("old").parked) == ("pending", "ann")
    assert not world.processes


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_one_that_comes_suspended_goes_on_from_its_checkpoint(which: str) -> None:
    world = WORLDS[which]()
    known: dict[str, Any] = {
        "state": "suspended",
        "submitted": 900,
        "preempted": 2,
        "checkpoint": {"mode": "auto", "last": 950},
    }
    world.run("first", cpu=4)
    world.submit("old", cpu=4, terms=terms(), **known)
    assert (world.phase("old"), world.job("old").preempted) == ("suspended", 2)
    survives_restart(world)
    world.exit("first")

    assert world.process("old").resume is True
    assert world.job("old").checkpoint == 950 * SECOND
