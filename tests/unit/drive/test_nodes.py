"""Nodes that are drained, go down, come back, join and change."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import Began, PutNode, PutQueue, SetNode
from cede.engine.drive.orders import Hint, Kill, Terminate
from cede.engine.drive.terms import Requeue
from cede.model.nodes import Node
from cede.model.queues import Queue
from cede.model.times import SECOND
from tests.unit.drive.worlds import claimed, kueue, nodes, run_victim, survives_restart, terms


def test_a_cordoned_node_keeps_what_runs_there_and_takes_nothing_new() -> None:
    world = nodes(4)
    run_victim(world, cpu=2)
    step = world.feed(SetNode("n1", "cordoned", "ann"))
    assert step.orders == []
    world.submit("next", cpu=2)

    assert (world.phase("old"), world.phase("next")) == ("running", "pending")
    world.feed(SetNode("n1", "ready", "ann"))
    assert world.phase("next") == "starting"


def test_a_drained_node_sends_away_whatever_has_its_room_there() -> None:
    world = nodes(4, 4)
    run_victim(world, "saves", cpu=2, constraints={"nodes": ["n1"]})
    run_victim(world, "loses", cpu=1, mode="none", constraints={"nodes": ["n1"]})
    world.submit("begins", cpu=1, constraints={"nodes": ["n1"]})
    run_victim(world, "elsewhere", cpu=4, constraints={"nodes": ["n2"]})

    step = world.feed(SetNode("n1", "cordoned", "ann", evict=True))

    assert {(order.name, type(order)) for order in step.orders} == {
        ("saves", Hint),
        ("loses", Terminate),
        ("begins", Terminate),
    }
    assert {order.cause for order in step.orders if isinstance(order, Terminate)} == {"drain"}


def test_one_that_was_drained_resumes_elsewhere() -> None:
    world = nodes(4, 4)
    run_victim(world)
    (node,) = world.job("old").nodes
    world.feed(SetNode(node, "cordoned", "ann", evict=True))
    world.save("old")
    survives_restart(world)
    world.exit("old")

    assert world.process("old").resume is True
    assert world.process("old").nodes != (node,)


def test_draining_a_drained_node_again_changes_nothing() -> None:
    world = nodes(4)
    run_victim(world)
    world.feed(SetNode("n1", "cordoned", evict=True))
    step = world.feed(SetNode("n1", "cordoned", evict=True))

    assert step.orders == []


def test_a_drain_may_follow_a_cordon() -> None:
    world = nodes(4)
    run_victim(world)
    world.feed(SetNode("n1", "cordoned"))
    step = world.feed(SetNode("n1", "cordoned", evict=True))

    assert [type(order) for order in step.orders] == [Hint]


@pytest.mark.parametrize(
    ("requeue", "phase"), [("never", "failed"), ("on_node_failure", "starting"), ("always", "starting")]
)
def test_what_runs_on_a_node_that_goes_down_is_killed_and_runs_elsewhere_by_its_policy(
    requeue: Requeue, phase: str
) -> None:
    world = nodes(4, 4)
    run_victim(world, terms=terms(requeue=requeue))
    (node,) = world.job("old").nodes
    step = world.feed(SetNode(node, "down"))
    assert step.orders[-1] == Kill("old", 1, "node")
    world.exit("old")

    assert world.phase("old") == phase
    assert world.job("old").preempted == 0


def test_the_room_on_a_node_that_is_down_is_not_given_away_before_its_processes_are_known_to_be_gone() -> None:
    world = nodes(4)
    run_victim(world)
    world.feed(SetNode("n1", "down"))
    world.feed(SetNode("n1", "ready"))
    world.submit("next", cpu=4, priority=1)
    assert world.phase("next") == "pending"
    world.exit("old", None, lost=True, signal=None)

    assert len(world.processes) == 1


def test_a_victim_on_a_node_that_goes_down_is_lost_and_its_claimant_waits() -> None:
    world = claimed()
    world.feed(SetNode("n1", "down"))
    assert world.phases() == {"new": "pending", "old": "preempting"}
    world.exit("old", None, lost=True, signal=None)

    assert world.phase("old") == "pending"
    assert world.job("old").preempted == 0


def test_a_victim_that_saved_before_its_node_went_down_has_its_checkpoint() -> None:
    world = claimed()
    world.save("old")
    world.feed(SetNode("n1", "down"))
    world.exit("old", None, lost=True, signal=None)

    assert world.phase("old") == "suspended"


def test_a_node_that_is_down_is_killed_on_again_until_its_processes_are_gone() -> None:
    world = nodes(4)
    run_victim(world)
    world.feed(SetNode("n1", "down"))
    survives_restart(world)
    step = world.wait(10)

    assert step.orders == [Kill("old", 1, "node")]


@pytest.mark.parametrize("word", ["cordoned", "down"])
def test_the_state_of_a_node_survives_a_restart(word: str) -> None:
    world = nodes(4)
    world.feed(SetNode("n1", word))
    survives_restart(world)
    world.submit("w", cpu=1)

    assert world.phase("w") == "pending"


def test_there_is_no_other_state_and_no_unknown_node() -> None:
    world = nodes(4)
    step = world.feed(SetNode("n9", "ready"), SetNode("n1", "broken"))

    assert [(one.fact, one.rule, one.unknown) for one in step.refusals] == [
        (0, "live.unknown", True),
        (1, "live.impossible", False),
    ]


def test_a_node_that_joins_takes_what_waits() -> None:
    world = nodes(4)
    run_victim(world, priority=9)
    world.submit("next", cpu=4)
    assert world.phase("next") == "pending"
    world.feed(PutNode(Node.model_validate({"name": "n2", "capacity": {"cpu": 4}})))

    assert world.process("next").nodes == ("n2",)


def test_a_queue_that_grows_takes_what_waits() -> None:
    world = kueue(quota=4)
    run_victim(world)
    world.submit("next", cpu=4, priority=1)
    assert world.phase("next") == "pending"
    world.feed(PutQueue(Queue.model_validate({"name": "q", "guaranteed": {"cpu": 8}})))

    assert world.phase("next") == "starting"


def test_a_queue_that_would_stand_below_itself_is_refused() -> None:
    world = kueue(quota=4)
    step = world.feed(PutQueue(Queue.model_validate({"name": "q", "parent": "q"})))

    assert [one.rule for one in step.refusals] == ["live.impossible"]


def test_a_node_of_a_queue_that_does_not_exist_is_refused() -> None:
    world = nodes(4)
    step = world.feed(PutNode(Node.model_validate({"name": "n2", "capacity": {"cpu": 4}, "home": "nowhere"})))

    assert [one.rule for one in step.refusals] == ["live.impossible"]
    assert "n2" not in world.driver.state.node_index


def test_a_late_began_on_a_drained_node_does_not_bring_it_back() -> None:
    world = nodes(4)
    world.submit("w", cpu=1)
    world.feed(SetNode("n1", "cordoned", evict=True))
    world.feed(Began("w", 1))

    assert world.phase("w") == "preempting"
    assert world.job("w").deadline == 1030 * SECOND
