"""Storms: who fails again and again is tried later each time, and who evicts each other in a circle is slowed down."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import cede
from cede.engine.drive.breaker import BreakerLimits
from cede.engine.drive.facts import Cancel, Resume, SetNode, Suspend
from cede.engine.drive.options import Backoff, DriverOptions
from cede.model.times import SECOND
from tests.drive_world import World
from tests.unit.drive.worlds import nodes, nodes_file, run_victim, terms


def test_one_that_fails_is_tried_later_each_time() -> None:
    world = nodes(4)
    world.submit("broken", cpu=1, terms=terms(requeue="always", max_requeues=50))
    waits = []
    for _ in range(12):
        world.begin("broken")
        world.exit("broken", 1)
        job = world.job("broken")
        assert (job.phase, job.rule) == ("pending", "live.backoff")
        assert job.retry_at is not None
        waits.append(job.retry_at // SECOND - int(world.seconds))
        world.wait(waits[-1] - 1)
        assert world.phase("broken") == "pending"
        world.wait(1)
        assert world.phase("broken") == "starting"

    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]


def test_one_whose_node_went_away_is_tried_at_once_but_not_for_ever() -> None:
    world = nodes(4)
    world.submit("unlucky", cpu=1, terms=terms())
    phases = []
    for _ in range(3):
        world.begin("unlucky")
        world.exit("unlucky", None, lost=True)
        phases.append(str(world.phase("unlucky")))
        world.wait(10)

    assert phases == ["starting", "pending", "pending"]


def test_a_wait_after_a_failure_survives_a_restart_and_can_be_cancelled() -> None:
    world = nodes(4)
    world.submit("broken", cpu=1, terms=terms(requeue="always"))
    world.begin("broken")
    world.exit("broken", 1)
    world.restart()

    assert world.phase("broken") == "pending"
    world.wait(1)
    assert world.phase("broken") == "starting"
    world.begin("broken")
    world.exit("broken", 1)
    world.feed(Cancel("broken"))
    assert world.ended["broken"].phase == "cancelled"


def test_one_that_is_resumed_still_waits_for_its_time() -> None:
    world = nodes(4)
    world.submit("broken", cpu=1, terms=terms(requeue="always"))
    world.begin("broken")
    world.exit("broken", 1)
    world.feed(Suspend("broken"))
    world.feed(Resume("broken"))

    assert world.phase("broken") == "pending"
    world.wait(1)
    assert world.phase("broken") == "starting"


def test_a_plan_of_a_snapshot_knows_nothing_of_the_wait() -> None:
    world = nodes(4)
    world.submit("broken", cpu=1, terms=terms(requeue="always"))
    world.begin("broken")
    world.exit("broken", 1)

    plan = cede.plan(cede.Cluster(world.driver.snapshot()))
    assert [(one.workload, one.action) for one in plan.decisions] == [("broken", "start")]


QUEUES = {
    "guaranteed": {"cpu": 0},
    "parent": "lab",
    "settings": {"withinClusterQueue": "LowerOrNewerEqualPriority", "reclaimWithinCohort": "Any"},
}


def looping(apps: bool = False, **ways: Any) -> World:
    """Kueue's published loop: `detect` and `asr` evict each other for ever, by fair sharing."""
    document = cede.load(
        {
            "cede": 1,
            "doctrine": {"name": "kueue", "preemption": "FairSharing"},
            "queues": [
                {"name": "lab", "guaranteed": {"cpu": 100}},
                *({"name": name, **QUEUES} for name in ("vision", "speech")),
            ],
        }
    ).document
    world = World(document, ways=DriverOptions(**ways))
    for name, queue, members in (("asr", "speech", 70), ("detect", "vision", 60), ("label", "vision", 30)):
        more: dict[str, Any] = {"app": queue} if apps else {}
        world.submit(name, queue=queue, cpu=1, members=members, after=1, **more)
    return world


def evictions(world: World, seconds: int) -> list[tuple[int, str, str]]:
    """Second after second whoever was told to go has gone; who is evicted when, and for whom."""
    made: list[tuple[int, str, str]] = []
    for _ in range(seconds):
        world.wait(1)
        for process in [*world.processes.values()]:
            if not process.began and not process.told:
                world.begin(process.name)
        for process in [*world.processes.values()]:
            if process.told:
                world.exit(process.name)
    for step in world.steps:
        for one in step.decisions:
            at = step.at // SECOND
            made += [(at, victim.workload, one.decision.workload or "") for victim in one.decision.victims]
    return made


def test_without_a_breaker_two_evict_each_other_every_second() -> None:
    assert len(evictions(looping(slows=False), 300)) > 250


def test_the_breaker_lets_a_few_pass_and_holds_the_next_back_for_longer_each_time() -> None:
    world = looping()
    times = [at for at, _, _ in evictions(world, 600)]
    pauses = [later - before for before, later in pairwise(times)]

    assert max(pauses[:3]) <= 2
    assert pauses[3:8] == sorted(pauses[3:8])
    assert pauses[3] >= 10
    assert pauses[4] >= 20
    assert len(times) < 12


def test_who_is_held_back_is_told_the_circle_and_what_to_ask() -> None:
    world = looping()
    evictions(world, 8)
    (held,) = [job for job in world.driver.jobs.values() if job.rule == "live.breaker"]

    assert held.phase == "pending"
    assert "detect -> asr -> detect" in held.why or "asr -> detect -> asr" in held.why
    assert "cede settle" in held.why


def test_what_the_breaker_knows_survives_a_restart() -> None:
    world = looping()
    evictions(world, 5)
    before = len(evictions(world, 1))
    world.restart()

    assert len(evictions(world, 8)) <= before + 1


def test_a_plan_of_a_snapshot_knows_nothing_of_the_breaker() -> None:
    world = looping()
    evictions(world, 8)
    (held,) = [job.name for job in world.driver.jobs.values() if job.rule == "live.breaker"]

    plan = cede.plan(cede.Cluster(world.driver.snapshot()))
    assert [one.workload for one in plan.decisions if one.victims] == [held]


def test_one_who_is_held_back_starts_in_room_that_becomes_free() -> None:
    world = looping()
    evictions(world, 8)
    (held,) = [job.name for job in world.driver.jobs.values() if job.rule == "live.breaker"]
    (other,) = {"asr", "detect"} - {held}
    world.exit(other)

    assert world.phase(held) == "starting"
    assert world.job(held).evicts_after is None


def test_apps_that_evict_each_other_are_seen_though_their_workloads_have_new_names() -> None:
    world = looping(apps=True, breaker=BreakerLimits(turns=1000, app_turns=4))
    times = evictions(world, 120)

    assert len(times) < 20
    assert any("app " in one.why for step in world.steps for one in step.transitions if one.rule == "live.breaker")


def test_a_replay_of_the_doctrine_says_where_the_breaker_would_act() -> None:
    world = looping(slows=False)
    evictions(world, 30)

    assert {rule for step in world.steps for rule in step.slowed.values()} == {"live.breaker"}


def test_one_that_is_preempted_again_and_again_is_said_to_thrash() -> None:
    world = looping(slows=False, thrashing=3)
    evictions(world, 20)
    told = [one for step in world.steps for one in step.transitions if one.rule == "live.thrashing"]

    assert told
    assert "preempted 4 times" in told[0].why


def test_drains_are_no_thrashing_though_they_count_as_evictions() -> None:
    world = World(nodes_file(4), ways=DriverOptions(thrashing=2))
    run_victim(world, "job")
    for state in ("cordoned", "ready") * 3:
        world.feed(SetNode("n1", state, "ann", evict=state == "cordoned"))
        if state == "cordoned":
            world.save("job")
            world.exit("job")
        else:
            world.begin("job")
    told = [one.rule for step in world.steps for one in step.transitions]

    assert (world.job("job").preempted, world.job("job").thrashes) == (3, False)
    assert "live.thrashing" not in told

    world.restart()
    for number in range(3):
        world.submit(f"urgent-{number}", cpu=4, priority=9, preemptible=False)
        world.save("job")
        world.exit("job")
        world.begin(f"urgent-{number}")
        world.exit(f"urgent-{number}")
        world.begin("job")

    (why,) = [one.why for step in world.steps for one in step.transitions if one.rule == "live.thrashing"]
    assert why.startswith("it was preempted 3 times")
    assert world.job("job").preempted == 6


def test_no_delay_is_too_long_to_count_with() -> None:
    assert Backoff().after(10**9) == 300 * SECOND
    assert Backoff().after(0) == 0
