"""Quota preemption under the driver that the simulator and the live scheduler share."""

from __future__ import annotations

from typing import Any

from cede.engine.drive.facts import PutQueue
from cede.model.cluster import Queue
from cede.model.times import SECOND
from tests.drive_world import World
from tests.unit.drive.worlds import terms
from tests.unit.yunikorn.fact_files import load
from tests.unit.yunikorn.quota_files import ON, queue

NAMES = ("a", "b")


def world() -> World:
    """Two queues of 8 cpus, each full of two workloads."""
    queues = [queue(f"root.{name}", max={"cpu": 8}, delay="60s") for name in NAMES]
    found = World(load(queues, [], [{"name": "n", "capacity": {"cpu": 16}}], **ON).document)
    for name in NAMES:
        for number in (1, 2):
            found.run(f"{name}{number}", queue=f"root.{name}", cpu=4, terms=terms(requeue="always"))
    return found


def lowered(*names: str, **change: Any) -> list[PutQueue]:
    entries = [queue(f"root.{name}", **({"max": {"cpu": 4}, "delay": "60s"} | change)) for name in names]
    return [PutQueue(Queue.model_validate(entry)) for entry in entries]


def leaving(found: World) -> set[str]:
    return {process.name for process in found.processes.values() if process.told or process.hint}


def test_a_lowered_max_takes_effect_after_its_delay() -> None:
    found = world()

    found.feed(*lowered("a"), after=10)
    found.wait(59)
    assert leaving(found) == set()
    found.wait(1)
    assert leaving(found) == {"a2"}


def test_the_driver_asks_to_be_woken_when_the_delay_is_over() -> None:
    found = world()

    step = found.feed(*lowered("a"), after=10)

    assert step.wakes_at == int((found.seconds + 60) * SECOND)


def test_queues_that_are_due_together_are_all_cut_back() -> None:
    """Of each plan the driver carries out one preemption and asks again; what it dropped is not forgotten."""
    found = world()

    found.feed(*lowered(*NAMES), after=10)
    found.wait(60)
    found.wait(2)

    assert leaving(found) == {"a2", "b2"}


def test_while_its_victims_leave_a_queue_takes_no_others() -> None:
    found = world()
    found.feed(*lowered("a"), after=10)
    found.wait(60)

    for _ in range(3):
        found.wait(1)
    assert leaving(found) == {"a2"}
    found.exit("a2")
    found.wait(100)
    assert found.phases()["a1"] == "running"
    assert found.phases()["a2"] == "pending"
    assert not [problem for step in found.steps for problem in step.problems]
