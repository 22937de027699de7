"""Holds that come to nothing: by their deadline, by their node, by their claimant."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import Cancel, PutNode, Resume, SetNode, Suspend
from cede.engine.drive.orders import Hint
from cede.model.nodes import Node
from tests.drive_world import World
from tests.unit.drive.worlds import WORLDS, claimed, kueue, nodes, run_victim, state_of, survives_restart, terms


def test_a_hold_ends_at_its_deadline_though_its_victims_did_not_leave() -> None:
    world = claimed(mode="none", terms=terms(answers=False))
    for _ in range(9):
        world.wait(10)

    assert "live.hold-expired" in {one.rule for one in world.steps[-1].transitions}


def test_after_its_deadline_a_claimant_waits_again_with_its_old_submission_time() -> None:
    world = nodes(4)
    run_victim(world)
    world.submit("new", cpu=4, priority=9, terms=terms(hold_timeout=20))
    submitted = world.job("new").workload.submitted
    world.feed(Cancel("old"), after=5)
    world.wait(15)

    assert world.phase("new") == "held" or world.phase("new") == "pending"
    assert world.job("new").workload.submitted == submitted
    assert world.job("new").attempt == 0


def test_a_claimant_with_a_checkpoint_whose_hold_is_lost_is_suspended_again() -> None:
    world = nodes(4)
    run_victim(world, "mid", priority=4)
    world.submit("top", cpu=4, priority=9)
    world.save("mid")
    world.exit("mid")
    world.begin("top")
    world.exit("top")
    world.begin("mid")
    world.feed(Suspend("mid", "ann"))
    world.save("mid")
    world.exit("mid")
    run_victim(world, "low", priority=1)
    world.feed(Resume("mid", "ann"))
    assert world.phase("mid") == "held"
    world.feed(SetNode("n1", "cordoned"))

    assert world.phase("mid") == "suspended"


@pytest.mark.parametrize("word", ["cordoned", "down"])
def test_a_hold_is_lost_with_its_node(word: str) -> None:
    world = claimed()
    world.feed(SetNode("n1", word, "ann"))

    assert world.phase("new") == "pending"
    assert world.job("new").nodes == ()
    assert world.job("new").deadline is None


def test_a_victim_on_a_cordoned_node_goes_on_when_the_hold_there_is_lost() -> None:
    world = claimed()
    world.feed(SetNode("n1", "cordoned", "ann"))
    world.save("old")

    assert world.phase("old") == "running"
    assert world.job("old").preempted == 0


@pytest.mark.parametrize("names", [("a", "z"), ("z", "a")])
def test_a_victim_leaves_a_drained_node_though_the_hold_there_is_lost(names: tuple[str, str]) -> None:
    victim, claimant = names
    world = nodes(4)
    run_victim(world, victim)
    world.submit(claimant, cpu=4, priority=9)

    world.feed(SetNode("n1", "cordoned", "ann", evict=True))
    assert world.phase(claimant) == "pending"
    assert world.phase(victim) == "checkpointing"
    world.save(victim)
    assert world.phase(victim) == "preempting"
    world.exit(victim)

    assert world.phase(victim) == "suspended"


def test_a_victim_on_a_drained_node_leaves_though_its_claimant_elsewhere_is_cancelled() -> None:
    world = nodes(4, 4)
    run_victim(world, "gang", members=2)
    world.submit("new", cpu=4, priority=9)
    (node,) = world.job("new").nodes
    other = {"n1": "n2", "n2": "n1"}[node]

    world.feed(SetNode(other, "cordoned", "ann", evict=True))
    assert world.phase("new") == "held"
    world.feed(Cancel("new"))
    world.save("gang")

    assert world.phase("gang") == "preempting"


def test_a_claimant_with_a_new_hold_elsewhere_has_no_more_to_do_with_its_old_victim() -> None:
    world = nodes(4, 4)
    run_victim(world, "a", mode="none")
    run_victim(world, "b", mode="none")
    world.submit("new", cpu=4, priority=9, terms=terms(hold_timeout=20))
    (first,) = world.job("new").waits_for
    world.wait(20)
    (second,) = world.job("new").waits_for

    assert {first, second} == {"a", "b"}
    assert (state_of(world, first), state_of(world, second)) == ("checkpointing", "preempting")
    survives_restart(world)
    world.exit(first)
    assert world.phase("new") == "held"
    world.exit(second)
    assert world.phase("new") == "starting"


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_victim_that_was_only_asked_goes_on_when_its_claimant_is_cancelled(which: str) -> None:
    world = claimed(WORLDS[which]())

    step = world.feed(Cancel("new"))
    assert (world.phase("new"), world.phase("old")) == ("cancelled", "checkpointing")
    assert step.orders == [Hint("old", 1, 1, leaving=False, deadline=world.job("old").deadline)]
    survives_restart(world)
    world.save("old")

    assert (world.phase("old"), world.job("old").preempted) == ("running", 0)
    assert "Terminate" not in world.orders("old")


def test_a_victim_that_was_only_asked_goes_on_without_an_answer_too() -> None:
    world = claimed()
    world.feed(Cancel("new"))
    world.wait(600)

    assert world.phase("old") == "running"
    assert "Terminate" not in world.orders("old")


def test_a_victim_that_was_told_leaves_though_its_claimant_is_cancelled() -> None:
    world = claimed()
    world.save("old")
    world.feed(Cancel("new"))
    assert world.phase("old") == "preempting"
    world.exit("old")

    assert world.job("old").attempt == 2
    assert world.processes["old", 2].resume is True


def test_the_room_of_a_cancelled_claimant_is_others_to_take() -> None:
    world = nodes(4)
    run_victim(world, cpu=2)
    world.submit("new", cpu=4, priority=9)
    world.submit("late", cpu=2, priority=0)
    assert world.phase("late") == "pending"

    world.feed(Cancel("new"))

    assert world.phase("late") == "starting"


def test_a_suspended_claimant_gives_its_hold_back() -> None:
    world = claimed()
    world.feed(Suspend("new", "ann"))

    assert (world.phase("new"), world.job("new").parked) == ("pending", "ann")
    world.save("old")
    assert world.phase("old") == "running"


def test_a_victim_that_a_user_suspends_leaves_though_its_claimant_is_cancelled() -> None:
    world = claimed()
    world.feed(Suspend("old", "ann"))
    world.feed(Cancel("new"))
    world.save("old")
    assert world.phase("old") == "preempting"
    world.exit("old")

    assert (world.phase("old"), world.job("old").parked) == ("suspended", "ann")


def test_one_that_a_user_suspended_first_leaves_though_its_claimant_is_cancelled() -> None:
    """It was on its way out when a claimant came to count on its room."""
    for world in (nodes(4), kueue(4, quota=4), kueue(quota=4)):
        run_victim(world)
        world.feed(Suspend("old", "ann"))
        world.submit("new", cpu=4, priority=9)
        world.feed(Cancel("new"))
        world.save("old")
        assert world.phase("old") == "preempting"
        world.exit("old")

        assert (world.phase("old"), world.job("old").parked) == ("suspended", "ann")


def shared() -> World:
    """`x` waits for `old`, and `y` for `old` and `other`."""
    world = kueue(6, quota=6)
    run_victim(world, "old", cpu=4, priority=1)
    run_victim(world, "other", cpu=2, priority=2)
    world.submit("x", cpu=2, priority=9)
    world.submit("y", cpu=4, priority=9)
    assert world.job("x").waits_for == ("old",)
    assert world.job("y").waits_for == ("old", "other")
    return world


def test_the_victim_of_two_goes_though_one_of_them_is_cancelled() -> None:
    for cancelled in ("x", "y"):
        world = shared()
        world.feed(Cancel(cancelled))
        survives_restart(world)
        world.save("old")

        assert world.phase("old") == "preempting"
        assert world.phase("other") == "checkpointing"
        world.save("other")
        assert world.phase("other") == ("preempting" if cancelled == "x" else "running")


@pytest.mark.parametrize("names", [("x", "y"), ("y", "x")])
def test_the_victim_of_two_stays_when_both_are_cancelled(names: tuple[str, str]) -> None:
    world = shared()
    for name in names:
        world.feed(Cancel(name))
    world.save("old")
    world.save("other")

    assert world.phases() == {"old": "running", "other": "running"}


def test_whoever_waits_for_the_same_victim_starts_when_all_its_own_have_left() -> None:
    world = shared()
    world.save("old")
    world.exit("old")
    assert (world.phase("x"), world.phase("y")) == ("starting", "held")
    world.save("other")
    world.exit("other")

    assert world.phase("y") == "starting"
    assert (world.job("old").preempted, world.job("other").preempted) == (1, 1)


def test_a_hold_on_a_node_that_shrank_is_given_up_when_it_is_free() -> None:
    world = claimed()
    world.save("old")
    world.feed(PutNode(Node.model_validate({"name": "n1", "capacity": {"cpu": 2}})))
    world.exit("old")

    assert world.phase("new") == "pending"
