"""Nodes that work without a record fills in part."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import Occupied, PutNode, Restarted, SetNode
from cede.model.cluster import Node
from cede.model.quantities import NANO
from tests.drive_world import World
from tests.unit.drive.worlds import WORLDS, nodes, run_victim, survives_restart

MOST = Occupied("n1", {"cpu": 3 * NANO})


def filled(*facts: Occupied) -> World:
    world = nodes(4)
    world.feed(*(facts or (MOST,)))
    return world


def test_nobody_is_given_room_that_is_filled() -> None:
    world = filled()
    world.submit("large", cpu=2)
    world.submit("small", cpu=1)

    assert world.phases() == {"large": "pending", "small": "starting"}


def test_room_is_given_away_once_it_is_no_longer_filled() -> None:
    world = filled()
    world.submit("large", cpu=2)
    world.feed(Occupied("n1"))

    assert world.phase("large") == "starting"


def test_a_node_that_is_filled_whole_has_no_room_at_all() -> None:
    world = filled(Occupied("n1", {"cpu": NANO}, whole=True))
    world.submit("small", cpu=1)

    assert world.phase("small") == "pending"


def test_who_runs_there_already_stays_and_its_room_is_given_to_nobody_when_it_ends() -> None:
    world = nodes(4)
    run_victim(world, cpu=4)
    world.feed(MOST)
    assert world.phase("old") == "running"
    world.exit("old", 0)
    world.submit("next", cpu=4)

    assert world.phase("next") == "pending"


def test_nobody_is_sent_away_for_room_that_would_still_be_filled() -> None:
    world = filled()
    run_victim(world, cpu=1)
    world.submit("urgent", cpu=2, priority=9)

    assert world.phases() == {"old": "running", "urgent": "pending"}


def test_the_moment_says_what_is_filled_and_what_the_node_is() -> None:
    world = filled()
    world.feed(SetNode("n1", "cordoned"))
    world.feed(Occupied("n1", {"cpu": 2 * NANO}))
    (node,) = world.driver.snapshot().nodes

    assert (node.occupied, node.state) == ({"cpu": 2 * NANO}, "cordoned")


def test_what_the_entry_of_the_node_says_is_occupied_counts_too_and_stays_when_it_changes() -> None:
    world = filled()
    entry = Node.model_validate({"name": "n1", "capacity": {"cpu": 8}, "occupied": {"cpu": 4}})
    world.feed(PutNode(entry))
    world.submit("large", cpu=2)
    assert world.phase("large") == "pending"
    world.feed(Occupied("n1"))

    assert world.phase("large") == "starting"


def test_a_driver_that_was_made_again_knows_nothing_of_it_until_it_is_told() -> None:
    world = filled()
    world.submit("large", cpu=2)
    world.feed(Restarted(), MOST)
    assert world.phase("large") == "pending"
    survives_restart(filled(Occupied("n1")))
    world.feed(Restarted())

    assert world.phase("large") == "starting"


def test_a_node_that_is_not_there_is_refused() -> None:
    world = nodes(4)
    step = world.feed(Occupied("n9", {"cpu": NANO}))

    assert [one.rule for one in step.refusals] == ["live.unknown"]


@pytest.mark.parametrize("which", sorted(WORLDS))
def test_every_doctrine_leaves_it_alone(which: str) -> None:
    world = WORLDS[which]()
    names = sorted(world.driver.state.node_index)
    world.feed(*(Occupied(name, {}, whole=True) for name in names))
    world.submit("any", cpu=1)

    assert world.phase("any") == ("pending" if names else "starting")
