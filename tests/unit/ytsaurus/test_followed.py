"""A cluster that is followed for long is decided on as its file would be: what ended leaves nothing behind."""

from __future__ import annotations

from typing import Any

import cede
from tests.drive_world import World


def world(**pool: Any) -> World:
    """Pool `a` with these settings, and another."""
    data = {
        "cede": 1,
        "doctrine": "ytsaurus",
        "nodes": [{"name": "n1", "capacity": {"cpu": 4}}],
        "queues": [{"name": "a", "settings": pool}, {"name": "b"}],
    }
    return World(cede.load(data).document)


def test_operations_that_ended_do_not_count() -> None:
    found = world(max_operation_count=2, max_running_operation_count=1)
    for number in range(5):
        found.run(f"short-{number}", queue="a", cpu=1)
        found.exit(f"short-{number}", after=1)
    found.run("one", queue="a", cpu=1)
    found.submit("two", queue="a", cpu=1, after=1)
    step = found.submit("three", queue="a", cpu=1, after=1)
    found.ask_why()

    assert found.phases() == {"one": "running", "two": "pending", "three": "pending"}
    assert found.job("two").rule == "ytsaurus.operation-waits"
    assert found.job("three").rule == "ytsaurus.too-many-operations"
    assert step.refusals == []


def test_one_operation_too_many_waits_until_another_ends_but_what_never_fits_is_turned_away() -> None:
    found = world(max_operation_count=1)
    found.run("one", queue="a", cpu=1)
    found.submit("two", queue="a", cpu=1, after=1)
    step = found.submit("large", queue="a", cpu=5, after=1)
    before = found.phases()
    found.exit("one", after=1)

    assert before == {"one": "running", "two": "pending"}
    assert [refusal.rule for refusal in step.refusals] == ["ytsaurus.too-big"]
    assert found.phases() == {"two": "starting"}


def test_an_operation_starts_with_the_first_of_its_workloads_that_is_left() -> None:
    found = world(mode="fifo")
    found.run("early", queue="a", app="x", cpu=4)
    found.submit("middle", queue="a", app="y", cpu=4, after=1)
    found.submit("late", queue="a", app="x", cpu=4, after=1)
    found.exit("early", after=1)

    assert found.phases() == {"late": "pending", "middle": "starting"}


def test_amounts_in_finer_units_and_of_new_resources_change_no_volume() -> None:
    settings = {"integral_guarantees": {"guarantee_type": "relaxed", "resource_flow": {"cpu": 1}}}
    found = world(**settings, accumulated_resource_volume={"cpu": 10})
    amounts: list[dict[str, Any]] = [{"cpu": 1}, {"cpu": "100m"}, {"cpu": "100m", "memory": "1Gi"}, {"cpu": "1m"}]
    for number, amount in enumerate(amounts):
        found.submit(f"more-{number}", queue="b", after=1, **amount)
    [pool, _] = found.driver.snapshot().queues

    assert pool.settings["accumulated_resource_volume"]["cpu"] == 13
