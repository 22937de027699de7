"""Attempts that their records do not know, as after a store was restored."""

from __future__ import annotations

from typing import Any

import pytest

from cede.engine.drive.facts import Began, Cancel, Exited, Fact, Restarted, Resume, Suspend, Unrecorded
from cede.engine.drive.replay import replay
from cede.model.quantities import NANO
from tests.drive_world import Process, World
from tests.unit.drive.lattice_worlds import lattice
from tests.unit.drive.worlds import WORLDS, nodes, survives_restart
from tests.unit.drive.ytsaurus_worlds import pools

WORLDS_OF_ALL = {**WORLDS, "lattice": lambda: lattice("a", None), "ytsaurus": lambda: pools(nodes=2)}


def runs(world: World, name: str, *places: str, attempt: int = 1, cpu: int = 3) -> Unrecorded:
    """The machine has an attempt of it there."""
    world.launched.add((name, attempt))
    world.processes[name, attempt] = Process(name, attempt, places, resume=False, began=True)
    return Unrecorded(name, attempt, places, {"cpu": cpu * NANO})


def ended(name: str, attempt: int = 1, code: int = 0, **values: Any) -> Unrecorded:
    end = Exited(name, attempt, code, at=1_002_000_000, **values)
    return Unrecorded(name, attempt, ("n1",), began=1_001_000_000, end=end)


def crowded(*sizes: int) -> World:
    """`old` has what there is of n1; `large` and, behind it, `job` wait for that."""
    world = nodes(*sizes)
    world.run("old", cpu=4)
    world.submit("large", cpu=4, priority=9, preempts=False)
    world.submit("job", cpu=3, priority=7, preempts=False)
    del world.processes["old", 1]
    return world


GONE = Exited("old", 1, 0)


def test_who_is_found_running_has_its_room_before_that_is_given_to_others() -> None:
    world = crowded(4)
    world.feed(runs(world, "job", "n1"), GONE)
    assert world.phases() == {"job": "starting", "large": "pending"}
    assert world.job("job").rule == "live.found"
    world.feed(Began("job", 1))

    assert (world.phase("job"), world.job("job").attempt) == ("running", 1)
    survives_restart(world)
    world.exit("job", 0)
    assert world.phases() == {"large": "starting"}


def test_it_has_its_room_where_it_runs_and_as_the_attempt_it_is() -> None:
    world = nodes(1, 4)
    world.run("old", cpu=4)
    world.submit("job", cpu=2)
    world.feed(runs(world, "job", "n2", attempt=3, cpu=2))
    assert world.phase("job") == "pending"
    world.exit("old")

    assert (world.job("job").nodes, world.job("job").attempt) == (("n2",), 3)


def test_while_its_room_is_others_by_the_records_it_fills_it_all_the_same_and_is_started_nowhere_else() -> None:
    world = nodes(4, 4)
    world.run("old", cpu=4)
    world.run("other", cpu=4)
    world.submit("job", cpu=3)
    world.feed(runs(world, "job", world.job("old").nodes[0]))
    world.exit("other")
    assert world.phase("job") == "pending"
    assert world.job("job").rule == "live.found-waits"
    world.exit("old")

    assert world.phase("job") == "starting"
    assert world.job("job").nodes == ("n1",)


def test_its_room_is_counted_though_somebody_keeps_it_from_the_line() -> None:
    world = crowded(4)
    world.feed(Suspend("job"))
    world.feed(runs(world, "job", "n1"), GONE)
    assert world.phases() == {"job": "pending", "large": "pending"}
    world.feed(Resume("job"))

    assert world.phases() == {"job": "starting", "large": "pending"}


def test_its_room_is_free_when_it_runs_no_more() -> None:
    world = crowded(4)
    world.feed(Suspend("job"))
    found = runs(world, "job", "n1")
    world.feed(found, GONE)
    del world.processes["job", 1]
    world.feed(Unrecorded("job"))

    assert world.phases() == {"job": "pending", "large": "starting"}


def test_who_is_cancelled_fills_its_room_until_it_is_gone() -> None:
    world = crowded(4)
    world.feed(Suspend("job"))
    world.feed(runs(world, "job", "n1"), GONE)
    world.feed(Cancel("job"))
    assert world.phases() == {"large": "pending"}
    world.feed(Unrecorded("job"))

    assert world.phases() == {"large": "starting"}


def test_whose_unknown_attempt_has_ended_has_that_end_without_any_room() -> None:
    world = crowded(4)
    step = world.feed(ended("job"), after=10)

    assert world.phases() == {"large": "pending", "old": "running"}
    job = world.ended["job"]
    assert (job.phase, job.attempt, job.exit_code) == ("completed", 1, 0)
    assert (job.began, job.ended) == (1_001_000_000, 1_002_000_000)
    assert [told.signal for told in step.transitions if told.name == "job"] == ["start", "began", "complete"]
    assert not step.orders


def test_attempts_are_told_of_in_order_and_the_last_of_them_runs() -> None:
    """The first left with a checkpoint: the second goes on from that, and so does whichever comes after it."""
    world = crowded(4)
    left = Exited("job", 1, 143, told=True, cause="preempt", at=1_002_000_000)
    past = Unrecorded("job", 1, ("n1",), began=1_001_000_000, saved=1_001_500_000, end=left)
    world.feed(runs(world, "job", "n1", attempt=2), GONE, past)

    job = world.job("job")
    assert (job.phase, job.attempt, job.checkpoint) == ("starting", 2, 1_001_500_000)
    assert job.preempted == 1
    world.feed(Began("job", 2))
    survives_restart(world)


def test_who_waits_again_after_its_end_stands_in_the_line() -> None:
    world = crowded(4)
    world.feed(Unrecorded("job", 1, ("n1",), end=Exited("job", 1, told=True, cause="drain")))
    assert world.phase("job") == "pending"
    world.feed(Cancel("large"))
    world.feed(GONE)

    assert (world.phase("job"), world.job("job").attempt) == ("starting", 2)


def test_what_is_found_twice_is_taken_in_once() -> None:
    world = crowded(4)
    found = runs(world, "job", "n1")
    world.feed(GONE, found)
    world.feed(found, ended("job"))

    assert world.phases() == {"job": "starting", "large": "pending"}
    assert not world.driver.state.nodes.occupied[:, 0].any()


def test_a_driver_that_is_made_again_hears_of_it_anew_and_replays_to_the_same() -> None:
    world = crowded(4)
    world.feed(Suspend("job"))
    found = runs(world, "job", "n1")
    world.feed(found, GONE)
    world.restart()
    world.feed(Restarted(), found)
    assert world.phases() == {"job": "pending", "large": "pending"}

    steps = list(replay(world.document, world.inputs))
    assert [told for step in steps for told in step.transitions] == [
        told for step in world.steps for told in step.transitions
    ]


IMPOSSIBLE: list[Fact] = [
    Unrecorded("job", 1, ("n9",), {"cpu": NANO}),
    Unrecorded("job", 1, ("n1", "n1"), {"cpu": NANO}),
    Unrecorded("gone", 1, ("n1",), {"cpu": NANO}),
    Unrecorded("old", 1, ("n1",), {"cpu": NANO}),
    Unrecorded("nobody"),
]


@pytest.mark.parametrize("found", IMPOSSIBLE)
def test_what_cannot_be_is_no_reason_to_fail(found: Unrecorded) -> None:
    world = crowded(4)
    world.feed(found)

    assert world.phase("job") == "pending"


def full(which: str) -> World:
    """`old` has all there is, and `job` waits for that."""
    world = WORLDS_OF_ALL[which]()
    queue: dict[str, Any] = {"queue": "a"} if which == "ytsaurus" else {}
    number = 0
    while f"old-{number - 1}" not in world.driver.jobs or world.phase(f"old-{number - 1}") == "running":
        world.submit(f"old-{number}", cpu=4, preempts=False, **queue)
        if world.phase(f"old-{number}") != "starting":
            break
        world.begin(f"old-{number}")
        number += 1
    world.feed(Cancel(f"old-{number}"))
    world.submit("job", cpu=4, preempts=False, **queue)
    assert world.phase("job") == "pending"
    return world


@pytest.mark.parametrize("which", sorted(WORLDS_OF_ALL.keys() - {"kueue with quota alone"}))
def test_under_every_doctrine_what_runs_has_its_room(which: str) -> None:
    """Where quota is by flavor nobody knows which flavors it uses: it fills its nodes, and is not started again."""
    world = full(which)
    expected = ("pending", "live.found-waits") if which == "kueue on nodes" else ("starting", "live.found")
    del world.processes["old-0", 1]
    world.feed(runs(world, "job", *world.job("old-0").nodes, cpu=4), Exited("old-0", 1, 0))

    assert (world.phase("job"), world.job("job").rule) == expected


@pytest.mark.parametrize("which", sorted(WORLDS_OF_ALL))
def test_under_every_doctrine_what_ended_has_its_end(which: str) -> None:
    world = full(which)
    before = world.phases()
    world.feed(ended("job"), after=10)

    assert world.ended["job"].phase == "completed"
    assert world.phases() == {name: phase for name, phase in before.items() if name != "job"}
