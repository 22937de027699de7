"""A claimant whose room is held is looked at again after a restart, whatever happened to its victims meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import Checkpointed, Exited, Fact, Restarted, Submit
from cede.engine.drive.orders import Launch
from cede.model.times import SECOND
from tests.drive_world import World, copy_of, workload
from tests.unit.drive.worlds import WORLDS, claimed, nodes, run_victim, terms

STAGES: dict[str, Callable[[World], object]] = {
    "asked for a checkpoint": lambda world: world.wait(1),
    "told to go": lambda world: world.save("old"),
    "killed": lambda world: (world.save("old"), world.wait(30)),
}


def stored(world: World, *facts: Fact) -> None:
    """A step that was stored, and of which nothing was carried out: the server died between the two."""
    step = world.driver.feed(int(world.seconds * SECOND), facts)
    world.steps.append(step)
    world.stored |= {name: copy_of(job) for name, job in step.changed.items()}


def restarted(world: World) -> None:
    """Another server has read what was stored, given the orders in force, and made its first step."""
    world.restart()
    world.feed(Restarted())


@pytest.mark.parametrize("which", sorted(WORLDS))
@pytest.mark.parametrize("stage", STAGES)
def test_a_victim_that_left_while_nobody_looked_is_waited_for_no_longer(which: str, stage: str) -> None:
    world = claimed(WORLDS[which]())
    STAGES[stage](world)
    restarted(world)
    world.exit("old", told=True)

    assert world.phase("new") == "starting"
    assert world.process("new").attempt == 1


@pytest.mark.parametrize("which", sorted(WORLDS))
@pytest.mark.parametrize("code", [0, 1])
def test_so_is_one_that_ended_by_itself_while_nobody_looked(which: str, code: int) -> None:
    world = claimed(WORLDS[which]())
    restarted(world)
    world.exit("old", code, told=False)

    assert world.phase("new") == "starting"


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_preemption_that_was_stored_and_not_carried_out_is_carried_out_by_the_next(which: str) -> None:
    world = WORLDS[which]()
    run_victim(world)
    stored(world, Submit(workload(world.document, "new", cpu=4, priority=9)))
    assert not world.process("old").hint
    restarted(world)

    assert world.process("old").hint == 1
    world.save("old")
    world.exit("old")
    assert world.phase("new") == "starting"


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_word_to_go_that_was_stored_and_not_given_is_given_by_the_next(which: str) -> None:
    world = claimed(WORLDS[which]())
    stored(world, Checkpointed("old", 1, 1))
    assert not world.process("old").told
    restarted(world)

    assert world.process("old").told


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_start_that_was_stored_and_not_carried_out_is_carried_out_by_the_next(which: str) -> None:
    world = claimed(WORLDS[which]())
    world.save("old")
    world.processes.clear()
    stored(world, Exited("old", 1, signal=15, told=True))
    assert world.phase("new") == "starting"
    restarted(world)

    assert world.process("new").attempt == 1


def test_a_victim_whose_start_was_stored_and_never_carried_out_has_left() -> None:
    world = nodes(4)
    for name, priority in (("old", 1), ("new", 9)):
        stored(world, Submit(workload(world.document, name, cpu=4, priority=priority)))
    assert world.phases() == {"new": "held", "old": "preempting"}
    restarted(world)
    assert world.processes == {}
    world.feed(Exited("old", 1, told=True, lost=True))

    assert world.phases() == {"new": "starting", "old": "pending"}


@pytest.mark.parametrize("which", sorted(WORLDS))
@pytest.mark.parametrize("stage", STAGES)
def test_every_deadline_is_kept_over_a_restart(which: str, stage: str) -> None:
    world = claimed(WORLDS[which]())
    STAGES[stage](world)
    before = world.steps[-1].wakes_at
    assert before is not None
    restarted(world)

    assert world.steps[-1].wakes_at == before
    orders = len(world.orders("old"))
    world.wait(before / SECOND - world.seconds)
    assert len(world.orders("old")) == orders + 1


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_hold_that_nobody_leaves_ends_at_its_deadline_after_a_restart_too(which: str) -> None:
    world = WORLDS[which]()
    run_victim(world)
    world.submit("new", cpu=4, priority=9, terms=terms(hold_timeout=20))
    restarted(world)
    world.wait(20)

    assert "live.hold-expired" in {one.rule for one in world.steps[-1].transitions}


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_deadline_that_passed_while_nobody_looked_is_seen_by_the_first_step(which: str) -> None:
    world = claimed(WORLDS[which]())
    world.seconds += 600
    restarted(world)

    assert world.process("old").told


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_record_that_waits_for_one_who_is_no_longer_there_waits_for_nobody(which: str) -> None:
    world = claimed(WORLDS[which]())
    held = copy_of(world.stored["new"])
    world.driver = Driver.restore(world.document, int(world.seconds * SECOND), [held], next_decision=2)
    step = world.feed(Restarted())

    assert [order for order in step.orders if isinstance(order, Launch)] == [Launch("new", 1, held.nodes, resume=False)]
