"""Victims whose claimant lost interest after they were asked to leave."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import AskCheckpoint, Cancel, Checkpointed, Suspend
from cede.model.times import SECOND
from tests.drive_world import World
from tests.unit.drive.worlds import claimed, kueue, nodes, run_victim, survives_restart


def let_off() -> World:
    """`old` was asked to leave for `new`, which was then cancelled; it answered, and runs."""
    world = claimed()
    world.feed(Cancel("new"), after=1)
    world.save("old", after=1)
    assert world.phase("old") == "running"
    return world


@pytest.mark.parametrize("code", [0, 1])
def test_one_that_leaves_all_the_same_left_with_its_checkpoint(code: int) -> None:
    """A program that saves and exits when it is asked to leave did not complete its work."""
    world = let_off()
    world.exit("old", code, after=1)

    assert world.told("old")[-3:] == ["evict", "suspend", "start"]
    assert (world.job("old").attempt, world.job("old").preempted) == (2, 1)
    assert world.processes["old", 2].resume is True


def test_one_that_goes_on_and_ends_later_has_completed() -> None:
    world = let_off()
    world.exit("old", 0, after=31)

    assert (world.phase("old"), world.job("old").preempted) == ("completed", 0)


def test_one_that_ends_before_it_answered_has_completed() -> None:
    world = claimed()
    world.feed(Cancel("new"), after=1)
    world.exit("old", 0, after=1)

    assert world.phase("old") == "completed"


def test_a_dump_that_ended_its_processes_is_no_failure() -> None:
    world = claimed()
    world.feed(Cancel("new"), after=1)
    world.feed(Checkpointed("old", 1, 1, leaves=True), after=1)
    assert world.phase("old") == "checkpointing"
    survives_restart(world)
    world.exit("old", None, signal=9, told=False, after=1)

    assert "fail" not in world.told("old")
    assert world.processes["old", 2].resume is True


def test_one_that_leaves_all_the_same_after_a_restart_left_too() -> None:
    world = let_off()
    survives_restart(world)
    world.exit("old", 0, after=1)

    assert world.processes["old", 2].resume is True


def test_one_that_is_asked_again_while_it_leaves_left_with_its_first_answer() -> None:
    world = let_off()
    world.submit("again", cpu=4, priority=9)
    assert world.phase("old") == "checkpointing"
    world.exit("old", 0)

    assert (world.phase("old"), world.phase("again")) == ("suspended", "starting")


def test_one_that_is_cancelled_while_it_leaves_is_cancelled() -> None:
    world = let_off()
    world.feed(Cancel("old"))
    world.exit("old", 0, signal=None, told=False)

    assert world.phase("old") == "cancelled"


def test_the_next_attempt_is_not_bound_by_what_the_last_was_asked() -> None:
    world = let_off()
    world.exit("old", 0, after=1)
    world.begin("old")
    world.exit("old", 0)

    assert world.phase("old") == "completed"


def test_an_answer_to_a_checkpoint_for_later_does_not_count_as_leaving() -> None:
    world = nodes(4)
    run_victim(world)
    world.feed(AskCheckpoint("old"))
    world.save("old", after=1)
    world.exit("old", 0, after=1)

    assert world.phase("old") == "completed"


def test_a_claimant_that_comes_and_goes_does_not_let_its_victim_defer_for_ever() -> None:
    world = claimed(kueue(4, quota=4))
    assert world.defer("old", 300) == 300
    for name in ("second", "third"):
        world.feed(Cancel("new" if name == "second" else "second"))
        world.submit(name, cpu=4, priority=9)
        assert world.phase(name) == "held"
        assert world.defer("old", 300) == 0

    assert world.job("old").deadline == (1100 + 600 + 300) * SECOND


def test_a_claimant_that_comes_and_goes_does_not_extend_the_time_twice() -> None:
    world = claimed(kueue(4, quota=4))
    world.heard("old", after=1)
    world.wait(599)
    assert world.job("old").deadline == (1700 + 300) * SECOND
    world.feed(Cancel("new"))
    world.submit("second", cpu=4, priority=9)
    world.heard("old", after=1)
    world.wait(299)

    assert world.phase("old") == "preempting"


def wanted_too() -> World:
    """`old` is on its way out because somebody suspended it; now `new` waits for its room."""
    world = kueue(4, quota=4)
    run_victim(world)
    world.feed(Suspend("old", "ann"), after=1)
    world.submit("new", cpu=4, priority=9)
    assert world.phase("new") == "held"
    return world


def test_one_that_leaves_anyway_and_makes_way_for_somebody_says_by_which_decision() -> None:
    world = wanted_too()
    step = world.save("old", after=1)

    [made] = [made for one in world.steps for made in one.decisions if made.decision.victims]
    told = {(one.signal, one.claimant, one.decision) for one in step.transitions if one.name == "old"}
    assert told == {("saved", "new", made.number), ("evict", "new", made.number)}


def test_one_that_leaves_anyway_says_so_no_longer_when_that_one_is_gone() -> None:
    world = wanted_too()
    world.feed(Cancel("new"), after=1)
    step = world.save("old", after=1)

    told = {(one.signal, one.claimant, one.decision) for one in step.transitions if one.name == "old"}
    assert told == {("saved", None, None), ("evict", None, None)}
