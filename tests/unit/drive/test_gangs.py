"""Gangs over several nodes are held, started and preempted whole."""

from __future__ import annotations

from cede.engine.drive.facts import SetNode
from cede.engine.drive.orders import Hint, Launch
from tests.unit.drive.worlds import kueue, nodes, run_victim, survives_restart, terms


def test_a_gang_is_launched_with_one_node_a_member_in_order() -> None:
    world = nodes(4, 4)
    step = world.submit("gang", cpu=2, members=4, priority=1)

    (order,) = step.orders
    assert isinstance(order, Launch)
    assert sorted(order.nodes) == ["n1", "n1", "n2", "n2"]
    assert order.nodes == world.job("gang").nodes


def test_a_gang_is_preempted_whole_for_room_on_one_of_its_nodes() -> None:
    for world in (nodes(4, 4), kueue(4, 4, quota=8)):
        run_victim(world, "gang", cpu=4, members=2)
        step = world.submit("new", cpu=4, priority=9)
        assert [order for order in step.orders if isinstance(order, Hint)] == [
            Hint("gang", 1, 1, leaving=True, deadline=world.job("gang").deadline)
        ]

        world.save("gang")
        world.exit("gang")

        assert world.phases() == {"gang": "suspended", "new": "starting"}


def test_a_gang_waits_for_victims_on_all_its_nodes() -> None:
    world = nodes(4, 4, 4, 4)
    for at in range(4):
        run_victim(world, f"v{at}", cpu=4)
    world.submit("gang", cpu=4, members=4, priority=9)

    for at in range(4):
        assert world.phase("gang") == "held"
        survives_restart(world)
        world.save(f"v{at}")
        world.exit(f"v{at}")

    assert world.phase("gang") == "starting"
    assert sorted(world.process("gang").nodes) == ["n1", "n2", "n3", "n4"]


def test_a_gangs_hold_is_lost_whole_with_one_of_its_nodes() -> None:
    world = nodes(4, 4)
    run_victim(world, "a", cpu=4)
    run_victim(world, "b", cpu=4)
    world.submit("gang", cpu=4, members=2, priority=9)
    world.feed(SetNode("n2", "cordoned"))
    world.save("a")
    world.save("b")

    assert world.phases() == {"a": "running", "b": "running", "gang": "pending"}


def test_a_gang_is_lost_whole_when_one_of_its_nodes_goes_down() -> None:
    world = nodes(4, 4)
    run_victim(world, "gang", cpu=4, members=2, terms=terms(requeue="on_node_failure"))
    world.feed(SetNode("n1", "down"))
    assert world.orders("gang")[-1] == "Kill"
    world.exit("gang", None, lost=True, signal=None)

    assert world.phase("gang") == "pending"
    assert not world.processes


def test_a_gang_leaves_a_drained_node_whole() -> None:
    world = nodes(4, 4, 4)
    run_victim(world, "gang", cpu=4, members=2)
    world.feed(SetNode("n1", "cordoned", evict=True))
    world.save("gang")
    world.exit("gang")

    assert sorted(world.process("gang").nodes) == ["n2", "n3"]
    assert world.process("gang").resume is True
