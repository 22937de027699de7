"""Work that needs a certain node under the driver that the simulator and the live scheduler share, by release 1.9."""

from __future__ import annotations

from cede.engine.drive.facts import SetNode
from tests.drive_world import World
from tests.unit.drive.worlds import terms
from tests.unit.yunikorn.fact_files import load

NODES = [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2")]


def world() -> World:
    """Both nodes are there, n1 is full and cordoned."""
    queues = [{"name": "root"}, {"name": "root.a", "parent": "root"}, {"name": "root.b", "parent": "root"}]
    found = World(load(queues, [], NODES).document)
    found.run("old", queue="root.b", cpu=4, terms=terms(requeue="always"), constraints={"nodes": ["n1"]})
    found.feed(SetNode("n1", "cordoned"))
    return found


def test_room_on_a_cordoned_node_is_held_for_who_needs_that_node() -> None:
    found = world()
    found.submit("agent", queue="root.a", cpu=2, required_node="n1")

    assert found.phases() == {"old": "preempting", "agent": "held"}
    found.feed(SetNode("n1", "cordoned"))
    found.exit("old")
    assert (found.phases()["agent"], found.driver.jobs["agent"].nodes) == ("starting", ("n1",))
    assert not [problem for step in found.steps for problem in step.problems]


def test_on_a_node_that_is_down_it_is_lost() -> None:
    found = world()
    found.submit("agent", queue="root.a", cpu=2, required_node="n1")

    found.feed(SetNode("n1", "down"))

    assert found.phases()["agent"] == "pending"
