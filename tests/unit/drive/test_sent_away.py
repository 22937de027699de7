"""Victims that serve no claimant, and victims that must be gone in time: as YTsaurus interrupts them."""

from __future__ import annotations

from typing import Any

from cede.engine.drive.facts import Checkpointed, PutNode, PutQueue, Restarted, SetNode
from cede.model.cluster import Node, Queue
from cede.state.columns import STATES
from tests.drive_world import World
from tests.unit.drive.worlds import terms
from tests.unit.drive.ytsaurus_worlds import filled, pools, preempted

LOWER = Queue.model_validate({"name": "a", "max": {"cpu": 4}})


def word(world: World, name: str) -> str:
    state = world.driver.state
    return STATES[state.work.state[state.work_index[name]]]


def test_who_is_above_a_limit_is_sent_away_once_and_counts_for_nothing_from_then_on() -> None:
    world = filled(pools())
    world.feed(PutQueue(LOWER), after=5)

    assert preempted(world) == [(None, ["old-2"], "ytsaurus.limits")]
    assert (world.phase("old-2"), word(world, "old-2")) == ("checkpointing", "preempting")
    for seconds in (1, 5, 20):
        world.wait(seconds)
    world.document = world.document.model_copy(update={"queues": [LOWER, world.document.queues[1]]})
    world.restart()
    world.feed(Restarted())
    assert word(world, "old-2") == "preempting"
    assert len(preempted(world)) == 1
    world.save("old-2")
    assert "ytsaurus.limits sends it away" in world.job("old-2").why
    world.exit("old-2", after=1)
    assert world.phase("old-2") == "suspended"


def test_a_node_that_holds_too_much_for_too_long_sends_away_whoever_does_not_fit_once() -> None:
    world = filled(pools())
    world.feed(PutNode(Node.model_validate({"name": "n1", "capacity": {"cpu": 6}})), after=5)
    world.wait(14.9)
    assert preempted(world) == []
    world.wait(0.2)

    assert preempted(world) == [(None, ["old-2"], "ytsaurus.overcommit-abort")]
    world.wait(30)
    assert len(preempted(world)) == 1


def test_so_does_one_that_is_leaving_already() -> None:
    world = filled(pools())
    world.feed(SetNode("n1", "cordoned", evict=True), after=5)
    world.feed(SetNode("n1", "ready"), after=1)
    world.feed(PutNode(Node.model_validate({"name": "n1", "capacity": {"cpu": 6}})), after=1)
    world.wait(16)

    assert preempted(world) == [(None, ["old-2"], "ytsaurus.overcommit-abort")]
    assert (word(world, "old-1"), word(world, "old-2")) == ("checkpointing", "preempting")


def test_a_graceful_operation_is_asked_to_shrink_and_others_take_what_it_leaves() -> None:
    world = filled(pools(apps=[{"name": "soft", "settings": {"preemption_mode": "graceful"}}]), app="soft")
    world.submit("new", queue="b", cpu=4, after=5)

    assert preempted(world) == [(None, ["old-2"], "ytsaurus.graceful")]
    assert world.phase("new") == "pending"
    world.save("old-2")
    world.exit("old-2", after=1)
    assert world.phase("new") == "starting"


# -- in time -----------------------------------------------------------------------------------------------------------


def limited() -> World:
    """old-2 is asked for its checkpoint, and must be gone within 30 s of that."""
    world = pools()
    for name in ("old-1", "old-2"):
        times: dict[str, Any] = {"checkpoint_timeout": 30, "max_deferral": 0, "grace_period": 20, "gone_within": 30}
        asked = terms(timeout_extension=0, **times)
        world.run(name, queue="a", app="exp", cpu=4, checkpoint={"mode": "auto"}, terms=asked)
        world.seconds += 1
    world.feed(PutQueue(LOWER), after=5)
    assert world.phase("old-2") == "checkpointing"
    return world


def test_one_that_says_nothing_is_killed_when_its_time_is_over() -> None:
    world = limited()
    world.heard("old-2", after=10)
    world.wait(19.9)
    assert "Terminate" not in world.orders("old-2")
    world.wait(0.1)
    world.wait(0)

    assert world.orders("old-2")[-2:] == ["Terminate", "Kill"]


def test_one_that_saves_late_has_what_is_left_of_its_time() -> None:
    world = limited()
    world.save("old-2", after=25)
    world.wait(4.9)
    assert "Kill" not in world.orders("old-2")
    world.wait(0.2)

    assert "Kill" in world.orders("old-2")


def test_one_that_saves_early_has_its_grace() -> None:
    world = limited()
    world.save("old-2", after=1)
    world.wait(19.9)
    assert "Kill" not in world.orders("old-2")
    world.wait(0.2)

    assert "Kill" in world.orders("old-2")


def test_one_that_only_leaves_by_itself_has_no_more_time() -> None:
    world = limited()
    process = world.process("old-2")
    world.feed(Checkpointed("old-2", process.attempt, process.hint, leaves=True), after=25)
    world.wait(5.1)

    assert "Terminate" in world.orders("old-2")
