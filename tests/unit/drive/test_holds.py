"""Room that is held: it is there for the claimant when the last victim has left, and for nobody else."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import Cancel, Exited
from cede.model.times import SECOND
from tests.unit.drive.worlds import WORLDS, claimed, kueue, nodes, run_victim, survives_restart, terms


@pytest.mark.parametrize("which", sorted(WORLDS))
@pytest.mark.parametrize("priority", [0, 9, 10])
def test_nobody_slips_into_room_that_is_held(which: str, priority: int) -> None:
    world = claimed(WORLDS[which]())

    world.submit("late", cpu=1, priority=priority)
    assert world.phase("late") == "pending"
    world.save("old")
    world.submit("later", cpu=4, priority=priority)
    assert world.phase("later") == "pending"
    world.exit("old")

    assert world.launched == {("old", 1), ("new", 1)}


@pytest.mark.parametrize("priority", [0, 9, 10])
def test_nobody_takes_the_free_part_of_room_that_is_held(priority: int) -> None:
    world = nodes(4)
    run_victim(world, cpu=2)
    world.submit("new", cpu=4, priority=9)
    assert world.phase("new") == "held"

    world.submit("late", cpu=2, priority=priority)

    assert world.phase("late") == "pending"


def test_a_claimant_smaller_than_its_victim_leaves_the_rest_to_others_but_not_before_it_is_free() -> None:
    world = nodes(4)
    run_victim(world, cpu=4)
    world.submit("new", cpu=2, priority=9)
    world.submit("late", cpu=2, priority=0)
    assert world.phases() == {"late": "pending", "new": "held", "old": "checkpointing"}

    world.save("old")
    assert world.phase("late") == "pending"
    world.exit("old")

    assert world.phase("new") == "starting"
    assert len(world.processes) == 2


def test_backfill_beside_a_hold_starts_at_once() -> None:
    world = claimed(nodes(4, 2))

    world.submit("small", cpu=2, priority=0)

    assert world.phase("small") == "starting"
    assert world.phase("new") == "held"


def test_a_hold_is_visible_with_its_room_whom_it_waits_for_and_until_when() -> None:
    world = claimed()
    job = world.job("new")

    assert (job.nodes, job.waits_for) == (("n1",), ("old",))
    assert job.deadline == (1100 + 600 + 300 + 300 + 30 + 60) * SECOND
    assert "n1" in job.why
    assert "old" in job.why
    (entry,) = (one for one in world.driver.snapshot().workloads if one.name == "new")
    assert (entry.state, entry.nodes) == ("reserved", ["n1"])


def test_the_limit_of_a_hold_covers_the_longest_that_a_victim_may_take() -> None:
    world = claimed()
    world.heard("old", after=1)
    world.defer("old", 300)
    world.wait(899)
    world.wait(30)
    assert world.orders("old")[-1] == "Kill"

    assert world.phase("new") == "held"


def test_the_hold_of_one_whose_victims_do_not_save_is_short() -> None:
    world = claimed(mode="none", terms=terms(answers=False))

    assert world.job("new").deadline == (1100 + 30 + 60) * SECOND


def test_a_hold_with_a_limit_of_its_own_keeps_to_it() -> None:
    world = nodes(4)
    run_victim(world)
    world.submit("new", cpu=4, priority=9, terms=terms(hold_timeout=20))

    assert world.job("new").deadline == 1020 * SECOND
    assert world.steps[-1].wakes_at == 1020 * SECOND


def test_the_last_victim_to_leave_may_leave_in_the_same_step_as_the_first() -> None:
    world = nodes(4)
    run_victim(world, "a", cpu=2, mode="none")
    run_victim(world, "b", cpu=2, mode="none")
    world.submit("new", cpu=4, priority=9)
    world.processes.clear()

    world.feed(Exited("a", 1, signal=15, told=True), Exited("b", 1, signal=15, told=True))

    assert world.phases() == {"a": "pending", "b": "pending", "new": "starting"}


def test_two_holds_at_once_have_their_own_room_and_their_own_victims() -> None:
    world = nodes(4, 4)
    run_victim(world, "a", cpu=4)
    run_victim(world, "b", cpu=4)
    world.submit("x", cpu=4, priority=9)
    world.submit("y", cpu=4, priority=9)
    assert {world.phase("x"), world.phase("y")} == {"held"}
    first, second = world.job("x").waits_for[0], world.job("y").waits_for[0]
    assert {first, second} == {"a", "b"}

    world.save(second)
    world.exit(second)
    assert (world.phase("x"), world.phase("y")) == ("held", "starting")
    world.save(first)
    world.exit(first)

    assert (world.phase("x"), world.phase("y")) == ("starting", "starting")


def test_two_claimants_may_share_one_victim_and_both_start_when_it_left() -> None:
    for world in (nodes(4), kueue(4, quota=4), kueue(quota=4)):
        run_victim(world, cpu=4)
        world.submit("x", cpu=2, priority=9)
        world.submit("y", cpu=2, priority=9)

        world.save("old")
        assert len(world.launched) == 1
        world.exit("old")

        assert {world.phase("x"), world.phase("y")} == {"starting"}
        assert world.job("old").preempted == 1


def test_a_higher_claimant_does_not_take_a_hold_away() -> None:
    world = claimed()
    world.submit("higher", cpu=4, priority=10)

    world.save("old")
    world.exit("old")

    assert (world.phase("new"), world.phase("higher")) == ("starting", "pending")


def test_kueue_holds_quota_without_nodes() -> None:
    world = kueue(quota=4)
    run_victim(world, cpu=3)
    world.submit("new", cpu=3, priority=9)
    assert (world.phase("new"), world.job("new").nodes) == ("held", ())
    world.submit("late", cpu=1, priority=0)

    survives_restart(world)
    world.save("old")
    world.exit("old")

    assert world.phase("new") == "starting"


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_hold_survives_a_restart_at_every_stage(which: str) -> None:
    world = claimed(WORLDS[which]())
    survives_restart(world)
    world.submit("late", cpu=1, priority=9)
    assert world.phase("late") == "pending"
    world.save("old")
    survives_restart(world)
    world.exit("old")
    survives_restart(world)

    assert world.phase("new") == "starting"
    assert world.processes["new", 1].began is False


def test_no_plan_ever_starts_what_another_is_still_leaving() -> None:
    """One that is cancelled fills its room until it is gone."""
    world = nodes(4)
    run_victim(world, cpu=4)
    world.feed(Cancel("old"))
    world.submit("next", cpu=4, priority=1)
    assert world.phase("next") == "pending"

    world.exit("old")

    assert world.phase("next") == "starting"


@pytest.mark.parametrize("sizes", [(), (8,)])
def test_a_large_victim_of_a_small_claimant_does_not_make_way_for_anothers_hold(sizes: tuple[int, ...]) -> None:
    """`x` waits for `v`, which is larger. What `a` and `b` leave is for `y`, and `v` has not left yet."""
    world = kueue(*sizes, quota=8)
    run_victim(world, "v", cpu=4, priority=4)
    run_victim(world, "a", cpu=2)
    run_victim(world, "b", cpu=2)
    world.submit("y", cpu=4, priority=9)
    world.submit("x", cpu=2, priority=9)
    assert (world.job("y").waits_for, world.job("x").waits_for) == (("a", "b"), ("v",))
    world.submit("z", cpu=2, priority=0)

    world.save("b")
    world.exit("b")
    assert world.phase("z") == "pending"
    world.save("a")
    world.exit("a")
    assert (world.phase("y"), world.phase("z")) == ("starting", "pending")
    world.save("v")
    world.exit("v")

    assert (world.phase("x"), len(world.processes)) == ("starting", 3)
