"""A cluster that is followed for long is decided on as its file would be: what ended leaves nothing behind."""

from __future__ import annotations

from typing import Any

import cede
from cede.engine.cycle import plan
from tests.drive_world import World


def world(**queue: Any) -> World:
    data = {
        "cede": 1,
        "doctrine": "ytsaurus",
        "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
        "queues": [{"name": "a", "settings": queue}],
    }
    return World(cede.load(data).document)


def test_operations_that_ended_do_not_count() -> None:
    found = world(max_operation_count=2, max_running_operation_count=1)
    for number in range(5):
        found.run(f"short-{number}", cpu=1)
        found.exit(f"short-{number}", after=1)
    found.run("one", cpu=1)
    found.submit("two", cpu=1)
    step = found.submit("three", cpu=1)

    assert found.phases() == {"one": "running", "two": "pending"}
    assert found.job("two").rule == "ytsaurus.not-running-yet"
    assert [refusal.rule for refusal in step.refusals] == ["ytsaurus.too-many-operations"]


def test_an_operation_starts_with_the_first_of_its_workloads_that_is_left() -> None:
    found = world(mode="fifo")
    found.run("early", app="x", cpu=4)
    found.submit("middle", app="y", cpu=4, after=1)
    found.submit("late", app="x", cpu=4, after=1)
    found.exit("early", after=1)

    assert found.phases() == {"late": "pending", "middle": "starting"}
    [decision] = plan(cede.Cluster(found.driver.snapshot())).decisions
    assert decision.workload == "late"
    assert found.job("late").rule == decision.rule


def test_amounts_in_finer_units_and_of_new_resources_change_no_volume() -> None:
    settings = {"integral_guarantees": {"guarantee_type": "relaxed", "resource_flow": {"cpu": 1}}}
    found = world(**settings, accumulated_resource_volume={"cpu": 10})
    found.submit("one", cpu=5)
    for number, amounts in enumerate(({"cpu": "100m"}, {"cpu": "100m", "memory": "1Gi"}, {"cpu": "1m"})):
        found.submit(f"more-{number}", after=1, **amounts)
    [pool] = found.driver.snapshot().queues

    assert pool.settings["accumulated_resource_volume"]["cpu"] == 13
