"""A workload that is set aside keeps its room, and is nobody's victim, claimant or concern until it is resumed."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import Cancel, Exited, Resume, SetAside
from tests.unit.drive.worlds import WORLDS, claimed, run_victim, survives_restart


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_one_that_runs_is_no_victim_while_it_is_set_aside(which: str) -> None:
    world = WORLDS[which]()
    run_victim(world)
    world.feed(SetAside("old", "a fault"))
    world.submit("new", cpu=4, priority=9)
    survives_restart(world)
    assert (world.phase("old"), world.phase("new")) == ("running", "pending")

    world.feed(Resume("old"))
    assert (world.phase("old"), world.phase("new")) == ("checkpointing", "held")


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_its_end_frees_its_room(which: str) -> None:
    world = WORLDS[which]()
    run_victim(world)
    world.feed(SetAside("old", "a fault"))
    world.submit("new", cpu=4, priority=9)
    world.feed(Exited("old", 1, code=0))

    assert (world.phase("old"), world.phase("new")) == ("completed", "starting")


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_a_claimant_that_is_set_aside_gives_its_hold_back(which: str) -> None:
    world = claimed(WORLDS[which]())
    world.feed(SetAside("new", "a fault"))
    survives_restart(world)

    assert world.phase("new") == "pending"
    world.save("old")
    assert world.phase("old") == "running"
    world.feed(Cancel("new"))
    assert world.phase("new") == "cancelled"


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_its_times_are_not_looked_at_until_it_is_resumed(which: str) -> None:
    world = claimed(WORLDS[which]())
    world.feed(SetAside("old", "a fault"))
    world.wait(10**6)
    assert world.phase("old") == "checkpointing"

    world.feed(Cancel("old"))
    assert world.phase("old") == "cancelling"
