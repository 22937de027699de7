"""Limits of pools and operations: what they keep from starting, and what goes when they are exceeded."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, decided, pending, running
from tests.unit.ytsaurus.small import docs, hungry, node, op, pool, starving

N8 = node("n1", cpu=8)
INFINITE = {"use_precommit_for_preemption": True, "enable_infinite_resource_limits_overcommit": True}


def held(count: int, queue: str = "a", app: str = "old", **keys: Any) -> list[Entry]:
    return [running(f"{app}{at}", queue=queue, app=app, cpu=1, started=at - 100, **keys) for at in range(count)]


def made_of(cluster: cede.Cluster) -> list[tuple[str | None, str, list[str]]]:
    """Workload, rule and victims of everything that happens."""
    return [
        (made.workload, made.rule.partition(".")[2], [one.workload for one in made.victims])
        for made in cede.plan(cluster).decisions
    ]


def test_a_lowered_limit_leaves_the_allocation_that_crosses_it() -> None:
    """Four of 1 cpu below a limit of 1.5: the share is 1.5 too, the second begins at 1 and is protected. Two are left,
    which is half a cpu above the limit."""
    cluster = docs(N8, pool("a", max={"cpu": "1500m"}), *held(4))

    assert made_of(cluster) == [(None, "limits", ["old3", "old2"])]
    assert {one.reason for one in cede.plan(cluster).decisions[0].victims} == {"limits"}
    assert sorted(cede.settle(cluster).running) == ["old0", "old1"]


def test_an_operation_that_exceeds_its_own_limit_gives_back_too() -> None:
    cluster = docs(N8, pool("a"), op("old", resource_limits={"cpu": 2}), *held(4))

    assert made_of(cluster) == [(None, "limits", ["old3", "old2"])]
    assert "operation old holds 4 cpu, above its limit of 2" in cede.plan(cluster).decisions[0].why


def test_every_pool_above_its_limit_gives_back_by_a_decision_of_its_own() -> None:
    pools = (pool("a", max={"cpu": 1}), pool("b", max={"cpu": 2}))

    found = made_of(docs(N8, *pools, *held(2), *held(3, "b", "other")))

    assert sorted(victims for _, _, victims in found) == [["old1"], ["other2"]]


def test_a_limit_of_a_pool_above_counts_for_all_below_it() -> None:
    tree = (pool("p", max={"cpu": 1}), pool("a", "p"), pool("b", "p"))

    [(_, rule, victims)] = made_of(docs(N8, *tree, *held(1), *held(2, "b", "other")))

    assert (rule, victims) == ("limits", ["other1"])


def test_a_node_that_rests_enforces_no_limit() -> None:
    resting = node("n1", cpu=8, last_preemptive_attempt=-2)

    assert made_of(docs(resting, pool("a", max={"cpu": 1}), *held(4))) == []


def test_who_asks_not_to_be_preempted_stays_above_a_limit() -> None:
    assert made_of(docs(N8, pool("a", max={"cpu": 1}), *held(4, preemptible=False))) == []


# -- what starts -------------------------------------------------------------------------------------------------------


def test_what_fits_waits_at_a_limit() -> None:
    cluster = docs(N8, pool("a", max={"cpu": 3}), *held(2), pending("in", queue="a", cpu=2))

    assert decided(cluster, "in").rule == "ytsaurus.at-limit"


def test_a_limit_binds_in_resources_that_are_not_asked_for_too() -> None:
    """The pool holds 3 memory of 2, and `in` asks for cpu alone."""
    big = running("old", queue="a", cpu=1, memory=3, preemptible=False)
    nodes = node("n1", cpu=8, memory=8)
    spare: dict[str, Any] = {"min_spare_allocation_resources_on_node": {"cpu": 1}}

    cluster = docs(nodes, pool("a", max={"memory": 2}), big, pending("in", queue="a", cpu=1), **spare)

    assert decided(cluster, "in").rule == "ytsaurus.at-limit"


SIBLINGS = (*held(2), hungry("in"), pending("in", queue="a", cpu=1))


def test_inside_a_pool_at_its_limit_nobody_is_displaced_without_a_tolerance() -> None:
    """`in` is owed 1 of the 2 cpu of its pool and starves; `old` has both."""
    assert decided(docs(N8, pool("a", max={"cpu": 2}), *SIBLINGS), "in").rule == "ytsaurus.at-limit"


def test_with_a_tolerance_it_starts_and_the_pool_gives_back() -> None:
    """The node has room, so that `in` starts at once, 1 above the limit; then the pool's newest goes."""
    tolerant = pool("a", max={"cpu": 2}, resource_limits_overcommit_tolerance={"cpu": 1})

    assert made_of(docs(N8, tolerant, *SIBLINGS)) == [("in", "starts", []), (None, "limits", ["old1"])]


def test_a_tolerance_that_is_too_small_is_none() -> None:
    tolerant = pool("a", max={"cpu": 2}, resource_limits_overcommit_tolerance={"cpu": "500m"})

    assert decided(docs(N8, tolerant, *SIBLINGS), "in").rule == "ytsaurus.at-limit"


def test_a_tolerance_is_for_those_who_may_preempt() -> None:
    tolerant = pool("a", max={"cpu": 2}, resource_limits_overcommit_tolerance={"cpu": 1})
    cluster = docs(N8, tolerant, *held(2), pending("in", queue="a", cpu=1))

    assert decided(cluster, "in").rule == "ytsaurus.at-limit"


def test_every_pool_above_needs_its_own_tolerance() -> None:
    tree = (pool("p", max={"cpu": 2}), pool("a", "p", resource_limits_overcommit_tolerance={"cpu": 1}))

    assert decided(docs(N8, *tree, *SIBLINGS), "in").rule == "ytsaurus.at-limit"


def test_infinite_overcommit_knows_no_limits_of_pools() -> None:
    """The pool has its limit of 2 and wants one of 3: for the time of a heartbeat it holds 5."""
    cluster = docs(N8, pool("a", max={"cpu": 2}), *held(2), hungry("in"), pending("in", queue="a", cpu=1), **INFINITE)

    assert made_of(cluster) == [("in", "starts", []), (None, "limits", ["old1"])]


def test_infinite_overcommit_leaves_the_limit_of_an_operation() -> None:
    limited = hungry("in", resource_limits={"cpu": 0})
    cluster = docs(N8, pool("a", max={"cpu": 2}), *held(2), limited, pending("in", queue="a", cpu=1), **INFINITE)

    assert decided(cluster, "in").rule == "ytsaurus.above-limit"


def test_room_on_the_node_and_below_the_limit_is_made_by_the_same_victim() -> None:
    """The node is full of `old`, whose pool has its limit of 4: the one that goes for room brings it below that too."""
    tolerant = starving("a", max={"cpu": 4}, resource_limits_overcommit_tolerance={"cpu": 1})
    cluster = docs(node("n1", cpu=4), tolerant, *held(4), hungry("in"), pending("in", queue="a", cpu=1))

    assert made_of(cluster) == [("in", "starving", ["old3"])]


@pytest.mark.parametrize(("most", "action"), [(1, "refuse"), (2, "start")])
def test_what_a_limit_can_never_hold_is_refused(most: int, action: str) -> None:
    assert decided(docs(N8, pool("a", max={"cpu": most}), pending("in", cpu=2)), "in").action == action


def test_what_a_tolerance_could_hold_is_not_refused() -> None:
    tolerant = pool("a", max={"cpu": 1}, resource_limits_overcommit_tolerance={"cpu": 1})

    assert decided(docs(N8, tolerant, pending("in", cpu=2)), "in").rule == "ytsaurus.at-limit"
