"""What was recorded of a run is enough to have it again, restarts and all."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import cede
from cede.engine.drive.facts import Fact, Restarted
from cede.engine.drive.replay import replay
from cede.engine.drive.step import Step
from tests.drive_world import World
from tests.unit.drive.story import CLUSTERS, tell

ROUND_ROBIN = {
    "cede": 1,
    "doctrine": {"name": "backendai", "edition": "26.8"},
    "nodes": [{"name": name, "capacity": {"cpu": 4}} for name in ("n1", "n2", "n3")],
    "queues": [{"name": "q", "settings": {"agent_selection_strategy": "roundrobin"}}],
}


def recorded(world: World) -> tuple[list[tuple[int, Sequence[Fact]]], list[Step]]:
    """What a controller keeps of it: not the steps in which nothing was told and nothing happened."""
    pairs = [
        (fed, step)
        for fed, step in zip(world.inputs, world.steps, strict=True)
        if fed[1] or step.changed or step.decisions
    ]
    return [fed for fed, _ in pairs], [step for _, step in pairs]


def assert_same(world: World) -> None:
    fed, steps = recorded(world)
    again = list(replay(world.document, fed))
    assert len(again) == len(steps) > 0
    for one, other in zip(again, steps, strict=True):
        assert (one.at, one.transitions, one.orders) == (other.at, other.transitions, other.orders)
        assert (one.decisions, one.refusals) == (other.decisions, other.refusals)


@pytest.mark.parametrize("which", CLUSTERS)
def test_a_recorded_run_is_had_again(which: str) -> None:
    world = CLUSTERS[which]()
    tell(world)

    assert_same(world)


@pytest.mark.parametrize("which", CLUSTERS)
def test_so_is_one_with_restarts(which: str) -> None:
    world = CLUSTERS[which]()

    def again(one: World) -> None:
        one.restart()
        one.feed(Restarted())

    tell(world, between=again)

    assert_same(world)


def test_what_a_doctrine_remembers_outlives_a_restart_in_both() -> None:
    """The next node in turn is the third."""
    world = World(cede.load(ROUND_ROBIN).document)
    for name in ("a", "b"):
        world.run(name, cpu=1)
    world.restart()
    world.feed(Restarted())
    world.run("c", cpu=1)

    assert [world.job(name).nodes for name in "abc"] == [("n1",), ("n2",), ("n3",)]
    assert_same(world)
