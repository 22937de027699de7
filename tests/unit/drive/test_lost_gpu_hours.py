"""What preemptions throw away of workloads under way, in GPU-hours: told with the decision, and when they have left."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.engine.cluster import Cluster
from cede.engine.drive.losses import at_stake
from cede.engine.drive.step import Made, Transition
from cede.live.metrics import Metrics
from cede.model.times import SECOND
from tests.drive_world import World, as_planned
from tests.unit.drive.worlds import terms

HOUR = 3600
NEVER_SAVES: dict[str, Any] = {"mode": "none"}


def world(**node: Any) -> World:
    """One node with eight GPUs, on which everybody up to priority 5 may be preempted."""
    data: dict[str, Any] = {
        "cede": 1,
        "doctrine": "backendai",
        "nodes": [{"name": "n1", "capacity": {"cpu": 8, "gpu": 8}, **node}],
        "queues": [{"name": "q", "settings": {"preemptible_priority": 5, "preemption_mode": "suspend"}}],
    }
    return World(cede.load(data).document)


def claimed(found: World, after: float = HOUR, *, starting: float = 0, **asks: Any) -> World:
    """`old` makes way for `new` after so many seconds of work."""
    found.submit("old", terms=terms(requeue="always"), priority=1, **{"gpu": 8, **asks})
    found.begin("old", after=starting)
    found.submit("new", gpu=8, priority=9, after=after)
    return found


def decision(found: World) -> Made:
    return next(made for step in found.steps for made in step.decisions if made.decision.victims)


def departures(found: World) -> list[Transition]:
    return [one for step in found.steps for one in step.transitions if one.lost_gpu_hours]


def test_the_decision_says_what_it_costs_and_a_plan_of_its_moment_says_the_same() -> None:
    made = decision(claimed(world(), checkpoint={"mode": "auto", "time": "9m"}, walltime=2 * HOUR))
    assert made.cluster is not None

    (victim,) = made.decision.victims
    assert (victim.cost, victim.lost_gpu_hours) == (59, 1.2)
    assert cede.plan(Cluster(made.cluster)).of("new") == as_planned(made.decision)


def test_one_that_cannot_save_has_lost_its_work_when_it_has_left() -> None:
    found = claimed(world(), checkpoint=NEVER_SAVES)
    assert departures(found) == []

    found.exit("old", after=18)

    (left,) = departures(found)
    assert (left.name, left.after, left.lost_gpu_hours) == ("old", "pending", 8.04)


def test_one_that_saved_has_lost_the_time_it_took_to_save_and_leave() -> None:
    found = claimed(world(), checkpoint={"mode": "auto"})
    found.save("old", after=27)
    found.exit("old", after=9)

    assert [(left.after, left.lost_gpu_hours) for left in departures(found)] == [("suspended", 0.08)]


def test_the_time_to_begin_once_more_counts() -> None:
    found = claimed(world(), checkpoint={"mode": "auto"}, starting=45)
    found.save("old", after=0)
    found.exit("old", after=0)

    assert [left.lost_gpu_hours for left in departures(found)] == [0.1]


def test_of_one_that_does_not_answer_in_time_it_is_told_once_though_it_fails_and_queues_again() -> None:
    found = claimed(world(), checkpoint={"mode": "auto"})
    found.wait(600)
    found.exit("old", after=0)

    assert found.told("old")[-2:] == ["fail", "requeue"]
    (left,) = departures(found)
    assert left.signal == "fail"
    assert left.lost_gpu_hours == pytest.approx(8 * (HOUR + 600) / HOUR, abs=1e-6)


@pytest.mark.parametrize("gpu", [0, 2])
def test_a_node_to_itself_counts_with_all_its_gpus(gpu: int) -> None:
    found = claimed(world(), checkpoint=NEVER_SAVES, exclusive=True, gpu=gpu)
    found.exit("old")

    assert decision(found).decision.victims[0].lost_gpu_hours == 8
    assert [left.lost_gpu_hours for left in departures(found)] == [8]


def test_nothing_is_lost_by_one_that_has_no_gpus_or_ended_by_itself_or_was_not_preempted() -> None:
    plain = claimed(world(), checkpoint=NEVER_SAVES, gpu=0, cpu=8, members=1)
    ended = claimed(world(), checkpoint={"mode": "auto"})
    ended.exit("old", 0, told=False)
    alone = world()
    alone.run("old", gpu=8, terms=terms(requeue="always"))
    alone.exit("old", 1, after=HOUR)

    assert departures(plain) == departures(ended) == departures(alone) == []


def test_what_is_at_stake_follows_the_time_and_counts_the_start() -> None:
    found = world()
    found.submit("old", gpu=4, priority=1, terms=terms())
    found.begin("old", after=60)
    found.wait(60)
    state, job = found.driver.state, found.job("old")
    at, before = int(found.seconds * SECOND), state.now

    now, later = (at_stake(state, job, at + more * SECOND, None) for more in (0, HOUR))

    assert state.now == before
    assert (now.lost, now.charged) == (60 * SECOND, 60 * SECOND)
    assert (later.lost, later.charged) == ((HOUR + 60) * SECOND, (HOUR + 60) * SECOND)
    # Two minutes since it has its room, times four GPUs, and one minute to start again.
    assert (now.price.cost, later.price.cost) == (2 * 4 + 1, 62 * 4 + 1)
    assert (now.price.lost_gpu_hours, later.price.lost_gpu_hours) == (0.2, 4.2)


def test_metrics_count_lost_gpu_hours_by_queue_and_rule() -> None:
    found, metrics = claimed(world(), checkpoint=NEVER_SAVES), Metrics("0")
    found.exit("old")
    for step in found.steps:
        metrics.observe(step, 0, 0)

    line = 'cede_lost_gpu_hours_total{queue="q",reason="backendai.lower-priority"} 8.0'
    assert line in metrics.exposition().decode().splitlines()


def test_metrics_that_begin_while_a_victim_leaves_know_the_rule() -> None:
    found, metrics = claimed(world(), checkpoint=NEVER_SAVES), Metrics("0")
    metrics.restore(found.driver.jobs.values())
    metrics.observe(found.exit("old"), 0, 0)

    assert 'reason="backendai.lower-priority"} 8.0' in metrics.exposition().decode()
