"""What a doctrine remembers outlives the driver: clocks of YTsaurus through restarts and in replays."""

from __future__ import annotations

from typing import Any

import pytest

from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import Restarted, SetNode
from cede.engine.drive.replay import replay
from cede.model.times import SECOND
from tests.drive_world import World
from tests.unit.drive.worlds import nodes
from tests.unit.drive.ytsaurus_worlds import claimed, filled, pools, preempted


def restarted(world: World) -> None:
    world.restart()
    world.feed(Restarted())


def test_a_clock_runs_on_through_a_restart() -> None:
    world = claimed()
    world.wait(6)
    restarted(world)

    world.wait(3.9)
    assert preempted(world) == []
    world.wait(0.2)
    assert preempted(world) == [("new", ["old-2"], "ytsaurus.starving")]


def test_it_runs_while_nobody_is_there() -> None:
    world = claimed()
    world.seconds += 11
    restarted(world)

    assert preempted(world) == [("new", ["old-2"], "ytsaurus.starving")]


def test_a_clock_that_stopped_is_not_started_by_a_restart() -> None:
    world = claimed()
    world.wait(6)
    world.exit("old-2")  # it has its share
    world.submit("more", queue="a", app="exp", cpu=4, after=1)
    world.exit("new")
    world.submit("new-2", queue="b", cpu=4, after=2)
    restarted(world)

    world.wait(9.8)
    assert preempted(world) == []
    world.wait(0.3)
    assert preempted(world) == [("new-2", ["more"], "ytsaurus.starving")]


def test_a_node_that_tried_waits_out_its_backoff_through_a_restart() -> None:
    world = claimed(filled(pools(options={"preemptive_scheduling_backoff": 50})))
    at = world.seconds
    world.wait(11)
    restarted(world)

    assert preempted(world) == []
    world.wait(50 - (world.seconds - at) - 0.1)
    assert preempted(world) == []
    world.wait(0.2)
    assert preempted(world) == [("new", ["old-2"], "ytsaurus.starving")]


def test_a_step_says_what_is_kept_only_when_that_changed() -> None:
    world = claimed()
    assert world.steps[-1].kept == {
        "ytsaurus": {
            "apps": [{"name": "new", "queue": "b", "below_fair_share_since": 1_000_002_000}],
            "queues": [{"name": "b", "below_fair_share_since": 1_000_002_000}],
            "nodes": {"last_preemptive_attempt": [[1_000_000_000, ["n1"]]]},
        }
    }
    for seconds in (1, 1, 1):
        assert world.wait(seconds).kept is None
    step = world.wait(8)  # it starves
    assert step.kept is not None
    assert not world.kept["ytsaurus"].get("apps")  # and has its room held: it is below its share no more


def follow(world: World) -> int:
    """How often the driver wants to be called until nothing is left to do; everybody does as told."""
    for count in range(20):
        wakes = world.steps[-1].wakes_at
        if wakes is None:
            return count
        world.feed(after=wakes / SECOND - world.seconds + 1e-6)
        for process in list(world.processes.values()):
            if process.told:
                world.exit(process.name)
            elif process.hint:
                world.save(process.name)
            elif not process.began:
                world.begin(process.name)
    raise AssertionError("it never comes to rest")


def test_a_cluster_comes_to_rest() -> None:
    world = filled(pools())
    assert follow(world) == 1  # a clock that began as somebody was submitted, who started at once
    claimed(world)
    follow(world)
    assert preempted(world) == [("new", ["old-2"], "ytsaurus.starving")]
    world.submit("other", queue="a", app="exp", cpu=4)
    world.submit("another", queue="b", app="new", cpu=4)
    follow(world)
    assert len(preempted(world)) == 1


@pytest.mark.parametrize("edition", ["docs", "25.4"])
def test_what_was_recorded_gives_the_same_again_restarts_and_all(edition: str) -> None:
    world = filled(pools(options={"edition": edition}, nodes=2), cpu=2)
    for number in range(3):
        world.submit(f"new-{number}", queue="b", app="claims", cpu=2, after=1)
        restarted(world)
    for seconds in (4, 4, 4, 2, 2, 2, 5):
        world.wait(seconds)
        for process in list(world.processes.values()):
            if process.told:
                world.exit(process.name, after=0.5)
                restarted(world)
            elif process.hint:
                world.save(process.name, after=0.1)
            elif not process.began:
                world.begin(process.name)
    assert len(preempted(world)) > 1
    recorded = [
        (fed, step)
        for fed, step in zip(world.inputs, world.steps, strict=True)
        if fed[1] or step.changed or step.decisions or step.kept is not None
    ]
    for again, (_, step) in zip(replay(world.document, [fed for fed, _ in recorded]), recorded, strict=True):
        assert (again.transitions, again.orders, again.decisions) == (step.transitions, step.orders, step.decisions)


def test_a_file_that_lost_a_node_and_a_pool_goes_on_with_the_clocks_of_the_others() -> None:
    world = claimed(filled(pools(nodes=2)))
    world.feed(SetNode("n2", "ready"), after=1)
    changed = pools(queues=[{"name": "b"}, {"name": "c"}]).document
    jobs = [job for job in world.stored.values() if job.name == "new"]

    driver = Driver.restore(changed, int(world.seconds * SECOND), jobs, kept=world.kept)

    entries = {app.name: app.settings for app in driver.snapshot().apps}
    assert list(entries) == ["new"]
    step = driver.feed(int(world.seconds * SECOND) + 1, [Restarted()])
    assert [made.decision.action for made in step.decisions] == ["start"]


def test_a_file_of_another_doctrine_forgets_and_says_so() -> None:
    world = claimed()
    other = nodes(8).document

    driver = Driver.restore(other, int(world.seconds * SECOND), [], kept=world.kept)

    assert driver.feed(int(world.seconds * SECOND) + 1, [Restarted()]).kept == {}


def test_volumes_are_collected_while_nobody_is_there() -> None:
    integral = {"guarantee_type": "relaxed", "resource_flow": {"cpu": 2}}
    queues: list[dict[str, Any]] = [{"name": "a", "settings": {"integral_guarantees": integral}}, {"name": "b"}]
    world = pools(queues=queues)
    world.submit("one", queue="b", cpu=1)
    world.seconds += 100
    restarted(world)

    [pool, _] = world.driver.snapshot().queues
    assert pool.settings["accumulated_resource_volume"] == {"cpu": 200}
    world.seconds += 50
    [pool, _] = world.driver.snapshot(int(world.seconds * SECOND)).queues
    assert pool.settings["accumulated_resource_volume"] == {"cpu": 300}
