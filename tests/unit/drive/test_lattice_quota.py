"""Hard quotas of tenants: the first to come has the last of it, the other is refused for now and tried again."""

from __future__ import annotations

import random

import pytest

from cede.engine.drive.facts import Cancel, Submit
from cede.engine.drive.terms import Terms
from tests.drive_world import World, workload
from tests.unit.drive.lattice_worlds import given, lattice, nodes_of
from tests.unit.drive.lives import one_thing
from tests.unit.drive.worlds import survives_restart

RULE = "lattice.tenant-quota"
LIMITS = {"workloads": {"max_workloads": 1}, "nodes": {"max_nodes": 1}, "both": {"max_workloads": 1, "max_nodes": 1}}


def quota(*homes: str | None, **limits: int) -> World:
    return lattice(*homes, tenants=[{"name": "acme", **limits}, {"name": "other"}])


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())
def test_of_two_at_once_for_the_last_quota_one_starts_and_the_other_is_refused_and_stays(
    limits: dict[str, int],
) -> None:
    world = quota(None, None, **limits)
    both = [Submit(workload(world.document, name, queue="a", tenant="acme", cpu=4), Terms()) for name in ("x", "y")]
    step = world.feed(*both)

    assert step.refusals == []
    assert (world.phase("x"), world.phase("y")) == ("starting", "pending")
    assert (world.job("y").rule, world.told("y")) == (RULE, ["submit", "refuse"])
    assert "of at most 1" in world.job("y").why
    survives_restart(world)
    world.begin("x")
    assert world.phase("y") == "pending"
    world.exit("x")
    assert (world.phase("y"), nodes_of(world, "acme")) == ("starting", 1)


def test_who_is_refused_for_now_is_told_so_once() -> None:
    world = quota(None, None, max_nodes=1)
    for name in ("x", "y"):
        world.submit(name, queue="a", tenant="acme", cpu=4)
    for _ in range(5):
        world.wait(10)
    world.submit("else", queue="a", tenant="other", cpu=4)

    assert world.told("y") == ["submit", "refuse"]


def test_what_can_never_be_within_its_quota_is_turned_away() -> None:
    world = quota(None, None, max_nodes=1)
    step = world.submit("gang", queue="a", tenant="acme", cpu=4, members=2)

    assert [refusal.rule for refusal in step.refusals] != []
    assert "gang" not in world.driver.jobs


def test_nobody_is_preempted_for_quota() -> None:
    world = quota(None, None, max_nodes=1)
    world.run("low", queue="a", tenant="acme", cpu=4, priority=0)
    world.submit("high", queue="a", tenant="acme", cpu=4, priority=9, after=60)

    assert (world.phase("low"), world.phase("high")) == ("running", "pending")
    assert world.job("high").rule == RULE


def test_room_that_is_held_counts_to_the_tenant_and_so_does_who_leaves() -> None:
    world = quota(None, max_nodes=1)
    world.run("low", queue="a", tenant="other", cpu=4, priority=0, checkpoint={"mode": "auto"}, terms=given())
    world.submit("first", queue="a", tenant="acme", cpu=4, priority=5, after=60)
    assert world.phase("first") == "held"
    world.submit("second", queue="b", tenant="acme", cpu=1, priority=10)
    assert (world.phase("second"), world.job("second").rule) == ("pending", RULE)
    survives_restart(world)
    world.feed(Cancel("first"))
    assert world.phase("second") != "pending"
    assert nodes_of(world, "acme") == 1


@pytest.mark.parametrize("seed", range(30))
def test_no_tenant_ever_has_more_than_its_quota(seed: int) -> None:
    chance = random.Random(seed)
    world = lattice(
        *("a", "b", None, None),
        tenants=[{"name": "acme", "max_nodes": 2, "max_workloads": 3}, {"name": "other", "max_workloads": 4}],
    )
    most = {"acme": (2, 3), "other": (8, 4)}
    for number in range(60):
        one_thing(world, chance, number, "abc", given())
        assert world.steps[-1].problems == []
        if not number % 10:
            world.restart()
        for tenant, (nodes, workloads) in most.items():
            present = [job for job in world.driver.jobs.values() if job.nodes and job.workload.tenant == tenant]
            assert (len(present) <= workloads, nodes_of(world, tenant) <= nodes) == (True, True), (seed, number)
    assert {process.name for process in world.processes.values()} <= set(world.driver.jobs)
