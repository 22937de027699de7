"""What cannot be is refused in the same step, and leaves no trace."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cede.engine.drive.facts import (
    Began,
    Cancel,
    Checkpointed,
    CheckpointFailed,
    Deferral,
    Exited,
    Fact,
    Heard,
    Resume,
    Submit,
    Suspend,
)
from cede.model.document import dump_document
from cede.model.times import SECOND
from tests.drive_world import World, workload
from tests.unit.drive.worlds import WORLDS, claimed, kueue, nodes, run_victim, survives_restart

SEEN: dict[str, Callable[[str, int], Fact]] = {
    "began": Began,
    "exited": lambda name, attempt: Exited(name, attempt, 0),
    "lost": lambda name, attempt: Exited(name, attempt, lost=True),
    "heard": lambda name, attempt: Heard(name, attempt, 1, 0.5),
    "checkpointed": lambda name, attempt: Checkpointed(name, attempt, 1),
    "checkpoint failed": lambda name, attempt: CheckpointFailed(name, attempt, 1, "late"),
    "deferral": lambda name, attempt: Deferral(name, attempt, 1, 60 * SECOND),
}


def second_attempt() -> World:
    """`old` was preempted once, and is asked to leave once more in its second attempt."""
    world = claimed()
    world.save("old")
    world.exit("old")
    world.begin("new")
    world.exit("new")
    world.begin("old")
    world.submit("again", cpu=4, priority=9)
    assert world.phase("old") == "checkpointing"
    return world


def changes_nothing(world: World, fact: Fact) -> None:
    before = dump_document(world.driver.snapshot())
    records = {name: (job.version, job.deadline, job.checkpoint) for name, job in world.driver.jobs.items()}
    step = world.feed(fact)
    assert (step.transitions, step.orders, step.granted, step.refusals, step.changed) == ([], [], {}, [], {})
    assert dump_document(world.driver.snapshot()) == before
    assert {name: (job.version, job.deadline, job.checkpoint) for name, job in world.driver.jobs.items()} == records


@pytest.mark.parametrize("what", SEEN)
@pytest.mark.parametrize("attempt", [0, 1, 3])
def test_what_was_seen_of_another_attempt_changes_nothing(what: str, attempt: int) -> None:
    changes_nothing(second_attempt(), SEEN[what]("old", attempt))


@pytest.mark.parametrize("what", SEEN)
def test_what_was_seen_of_one_that_nobody_knows_changes_nothing(what: str) -> None:
    changes_nothing(second_attempt(), SEEN[what]("nobody", 1))


@pytest.mark.parametrize("what", SEEN)
def test_what_was_seen_of_one_that_waits_changes_nothing(what: str) -> None:
    world = claimed()
    world.save("old")
    world.exit("old")
    assert world.phase("old") == "suspended"
    changes_nothing(world, SEEN[what]("old", 1))


@pytest.mark.parametrize("what", SEEN)
def test_what_was_seen_of_one_whose_room_is_held_changes_nothing(what: str) -> None:
    changes_nothing(claimed(), SEEN[what]("new", 0))


@pytest.mark.parametrize("which", ["backendai", "kueue on nodes"])
def test_one_that_can_never_run_is_refused_and_leaves_no_trace(which: str) -> None:
    world = WORLDS[which]()
    run_victim(world, cpu=2)
    before = dump_document(world.driver.snapshot())
    step = world.submit("huge", cpu=400)

    if step.refusals:
        assert [one.fact for one in step.refusals] == [0]
        assert (step.changed, step.transitions, step.orders) == ({}, [], [])
        assert "huge" not in world.driver.jobs
        assert dump_document(world.driver.snapshot()) == before
        survives_restart(world)
    else:
        assert world.phase("huge") == "pending"
    assert which == "kueue on nodes" or step.refusals


def test_of_several_submissions_only_the_impossible_are_refused() -> None:
    world = nodes(4)
    facts = [Submit(workload(world.document, name, cpu=cpu)) for name, cpu in (("a", 1), ("huge", 400), ("b", 1))]
    step = world.feed(*facts)

    assert [one.fact for one in step.refusals] == [1]
    assert set(step.changed) == set(world.driver.jobs) == {"a", "b"}
    assert {one.name for one in step.transitions} == {"a", "b"}


def test_the_name_of_one_that_was_refused_can_be_used_again() -> None:
    world = nodes(4)
    world.submit("w", cpu=400)
    step = world.submit("w", cpu=1)

    assert step.refusals == []
    assert world.phase("w") == "starting"


def test_a_name_is_used_by_one_workload_at_a_time() -> None:
    world = nodes(4)
    world.submit("w", cpu=1)
    step = world.submit("w", cpu=2)

    assert [one.rule for one in step.refusals] == ["live.name-taken"]
    assert step.orders == []
    assert world.job("w").workload.requests["cpu"] == 10**9


def test_a_name_twice_in_one_step_is_taken_once() -> None:
    world = nodes(4)
    entry = workload(world.document, "w", cpu=1)
    step = world.feed(Submit(entry), Submit(entry))

    assert [(one.fact, one.rule) for one in step.refusals] == [(1, "live.name-taken")]
    assert len(world.processes) == 1


def test_an_unknown_queue_is_refused() -> None:
    world = kueue(quota=4)
    entry = workload(world.document, "w", cpu=1).model_copy(update={"queue": "nowhere"})
    step = world.feed(Submit(entry))

    assert [one.rule for one in step.refusals] == ["live.impossible"]
    assert "nowhere" in step.refusals[0].why
    assert (world.driver.jobs, step.changed) == ({}, {})


@pytest.mark.parametrize("ask", [Cancel, Suspend, Resume])
def test_nothing_can_be_asked_of_one_that_nobody_knows(ask: type[Cancel | Suspend | Resume]) -> None:
    step = nodes(4).feed(ask("nobody", "ann"))

    assert [(one.rule, one.unknown) for one in step.refusals] == [("live.unknown", True)]


def test_a_refusal_names_its_fact_among_others() -> None:
    world = nodes(4)
    run_victim(world)
    step = world.feed(Cancel("nobody"), Exited("old", 1, 0), Resume("nobody"))

    assert [one.fact for one in step.refusals] == [0, 2]
    assert world.phase("old") == "completed"


def test_time_that_goes_back_counts_as_the_time_of_the_last_step() -> None:
    world = nodes(4)
    world.wait(100)
    step = world.driver.feed(1, [])

    assert step.at == 1100 * SECOND
