"""How many workloads of one owner may have room at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cede.engine.drive.facts import Cancel, Resume, SetNode, SetTerms, Suspend
from cede.engine.drive.terms import RunningCap, Terms
from cede.model.lifecycle import WAITING
from tests.drive_world import World
from tests.unit.drive.lattice_worlds import lattice
from tests.unit.drive.worlds import WORLDS, kueue, nodes, survives_restart, terms
from tests.unit.drive.ytsaurus_worlds import pools

TWO = (RunningCap("user", 2, "caps.user.running"),)
ONE = (RunningCap("user", 1, "caps.user.running"),)
WORLDS_OF_ALL = {**WORLDS, "lattice": lambda: lattice("a", None), "ytsaurus": lambda: pools(nodes=2)}


def under(caps: tuple[RunningCap, ...] = TWO, **more: Any) -> Terms:
    return replace(terms(**more), running=caps)


def submit(world: World, *names: str, user: str = "ann", caps: tuple[RunningCap, ...] = TWO, **more: Any) -> None:
    for name in names:
        world.submit(name, user=user, terms=under(caps), **{"cpu": 1} | more)
        world.seconds += 0.001


def has_room(world: World) -> set[str]:
    return {name for name, job in world.driver.jobs.items() if job.phase not in WAITING}


def test_no_more_run_than_the_cap_says_and_the_next_one_follows() -> None:
    world = nodes(8)
    submit(world, "a", "b", "c", "d")
    submit(world, "other", user="bob")
    assert has_room(world) == {"a", "b", "other"}
    assert "2 workloads of the user ann may run at once (caps.user.running)" in world.job("c").why
    world.begin("a")
    world.exit("a", 0)
    assert has_room(world) == {"b", "c", "other"}
    world.feed(Cancel("d"))
    world.exit("b", 0)

    assert has_room(world) == {"c", "other"}


@pytest.mark.parametrize("which", sorted(WORLDS_OF_ALL))
def test_under_every_doctrine_several_that_come_at_once_are_no_more_than_that(which: str) -> None:
    world = WORLDS_OF_ALL[which]()
    queue: dict[str, Any] = {"queue": "a"} if which == "ytsaurus" else {}
    submit(world, *(f"job-{number}" for number in range(5)), **queue)
    world.wait(60)

    assert len(has_room(world)) <= 2
    survives_restart(world)
    assert len(has_room(world)) <= 2


def test_the_most_urgent_then_the_oldest_come_first() -> None:
    world = nodes(8)
    submit(world, "first", "second", "third", "fourth", priority=1)
    submit(world, "urgent", priority=5)
    world.exit("first", 0)
    assert has_room(world) == {"second", "urgent"}
    world.exit("second", 0)

    assert has_room(world) == {"third", "urgent"}


def test_a_project_is_capped_over_all_its_users() -> None:
    world = nodes(8)
    both = (*TWO, RunningCap("project", 3, "caps.project.running"))
    submit(world, "a1", "a2", "a3", caps=both, project="ml")
    submit(world, "b1", "b2", user="bob", caps=both, project="ml")
    assert has_room(world) == {"a1", "a2", "b1"}
    assert "of the project ml" in world.job("b2").why
    world.exit("a1", 0)

    assert len(has_room(world)) == 3


def test_who_has_room_held_counts_and_so_does_who_is_leaving() -> None:
    world = kueue(4, quota=4)
    world.run("old", cpu=4, user="bob", terms=terms(), checkpoint={"mode": "auto"})
    submit(world, "new", caps=ONE, cpu=4, priority=9)
    submit(world, "next", caps=ONE, cpu=1, priority=8)
    assert (world.phase("new"), world.phase("next")) == ("held", "pending")
    world.save("old")
    world.exit("old")
    world.begin("new")
    world.feed(Suspend("new", "ann", force=True))
    assert world.phase("next") == "pending"
    world.exit("new")

    assert "next" in has_room(world)


def test_one_that_somebody_suspended_makes_way_and_waits_its_turn_when_it_is_resumed() -> None:
    world = nodes(8)
    submit(world, "a", "b", "c", caps=ONE)
    world.feed(Suspend("b", "ann"))
    world.exit("a", 0)
    assert has_room(world) == {"c"}
    world.feed(Resume("b", "ann"))
    assert has_room(world) == {"c"}
    world.exit("c", 0)

    assert has_room(world) == {"b"}


@pytest.mark.parametrize(("caps", "run"), [((), 4), ((RunningCap("user", 3, "x"),), 3), (ONE, 2)])
def test_another_cap_holds_for_those_that_wait_already(caps: tuple[RunningCap, ...], run: int) -> None:
    world = nodes(8)
    submit(world, "a", "b", "c", "d")
    world.feed(*(SetTerms(name, under(caps), "") for name in ("a", "b", "c", "d")))
    assert len(has_room(world)) == run
    survives_restart(world)

    assert not any(one.signal == "clamp" for step in world.steps for one in step.transitions)


def test_one_that_fails_and_comes_back_takes_no_more_than_its_own_turn() -> None:
    world = nodes(8)
    world.submit("a", user="ann", cpu=1, terms=under(ONE, requeue="always"))
    submit(world, "b", caps=ONE)
    world.begin("a")
    world.exit("a", 3)
    world.wait(60)
    assert len(has_room(world)) == 1
    world.feed(SetNode("n1", "down"))
    world.wait(1)

    assert len(has_room(world)) <= 1
