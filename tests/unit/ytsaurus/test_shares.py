"""Fair shares on small clusters, as `--shares` tells them."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, pending, running
from tests.unit.ytsaurus.small import docs, hungry, node, op, pool

N10 = node("n1", cpu=10)


def shares(cluster: cede.Cluster) -> dict[str, Any]:
    return cede.plan(cluster, shares=True).to_dict()


def fair(*entries: Entry, resource: str = "cpu", **tree: Any) -> dict[str, float]:
    """The fair share of one resource that pools and operations have."""
    plan = shares(docs(*entries, **tree))
    return {name: round(one["fair_share"][resource], 9) for name, one in (plan["queues"] | plan["apps"]).items()}


def wants(queue: str, cpu: int = 10, **keys: Any) -> Entry:
    return pending(f"of-{queue}", queue=queue, cpu=cpu, **keys)


def test_a_guarantee_is_an_offset_and_no_floor() -> None:
    """Of 10 cpu 6 and 2 are guaranteed, and both pools want all: the 2 that are left are shared, 7 and 3. If a
    guarantee were a floor, 6 and 4 would come out."""
    found = fair(N10, pool("a", cpu=6), pool("b", cpu=2), wants("a"), wants("b"))

    assert (found["a"], found["b"]) == (0.7, 0.3)


def test_what_is_left_goes_by_weight() -> None:
    """8 of 10 cpu are not guaranteed; weights 3 and 1: 2 + 6 and 0 + 2."""
    found = fair(N10, pool("a", cpu=2, weight=3), pool("b"), wants("a"), wants("b"))

    assert (found["a"], found["b"]) == (0.8, 0.2)


def test_nobody_has_more_than_it_wants() -> None:
    found = fair(N10, pool("a", cpu=6), pool("b"), wants("a", 1), wants("b"))

    assert (found["a"], found["b"]) == (0.1, 0.9)


def test_a_guarantee_of_the_main_resource_is_one_of_all_resources() -> None:
    """6 of 10 cpu mean 60% of the memory too: 60 and 40 percent, not half each."""
    found = fair(
        node("n1", cpu=10, memory=100),
        *(pool("a", cpu=6), pool("b"), pending("x", queue="a", memory=100), pending("y", queue="b", memory=100)),
        resource="memory",
    )

    assert (found["a"], found["b"]) == (0.8, 0.2)


def test_a_guarantee_below_a_pool_that_has_none_is_void() -> None:
    """The pool `p` is guaranteed nothing, so that its child, for all the 6 it names, is neither."""
    found = fair(N10, pool("p"), pool("c", "p", cpu=6), pool("b"), wants("c"), wants("b"))

    assert (found["c"], found["b"]) == (0.5, 0.5)


def test_guarantees_above_the_cluster_shrink_in_proportion() -> None:
    """15 and 5 of 10 cpu: 7.5 and 2.5."""
    found = fair(N10, pool("a", cpu=15), pool("b", cpu=5), wants("a"), wants("b"))

    assert (found["a"], found["b"]) == (0.75, 0.25)


def test_a_limit_cuts_guarantee_and_share() -> None:
    found = fair(N10, pool("a", cpu=6, max={"cpu": 3}), pool("b"), wants("a"), wants("b"))

    assert (found["a"], found["b"]) == (0.3, 0.7)


def test_a_fifo_pool_serves_one_after_the_other() -> None:
    """The heavier one first, then the earlier one: 6 and 4 of 10 cpu, nothing for the last."""
    found = fair(
        *(N10, pool("a", mode="fifo"), op("heavy", weight=2)),
        *(wants("a", 6, app="heavy", submitted=-1), pending("early", queue="a", cpu=6, submitted=-9)),
        pending("late", queue="a", cpu=6, submitted=-5),
    )

    assert (found["heavy"], found["early"], found["late"]) == (0.6, 0.4, 0.0)


def of_x(other: int) -> dict[str, float]:
    """The share of `x`, which holds half of the memory and asks for all of the cpu, beside one that asks for cpu."""
    found: dict[str, float] = shares(
        docs(
            *(node("n1", cpu=10, memory=10), running("x1", app="x", memory=5), pending("x2", app="x", cpu=10)),
            pending("y", cpu=other),
        )
    )["apps"]["x"]["fair_share"]
    return found


def test_usage_is_covered_before_the_rest_of_a_demand() -> None:
    """Beside one that wants 3 of 10 cpu, `x` has its memory and the other 7."""
    assert of_x(3) == {"cpu": 0.7, "memory": 0.5}


def test_where_shares_jump_together_the_lower_value_counts() -> None:
    """Up to a suggestion of one half `x` gets memory alone; just beyond it would have half of the cpu too. With one
    that wants 8 both would have half of the cpu there, no more is possible, and `x` is left with none."""
    assert of_x(8) == {"cpu": 0.0, "memory": 0.5}


def test_the_step_function_gives_a_gang_all_or_nothing() -> None:
    """A gang of 8 and an operation of 5 on 10 cpu: evenly, each would have 5; the gang gets nothing for that."""
    entries = (N10, op("gang", is_gang=True), pending("g", app="gang", cpu=8), pending("y", cpu=5))

    assert fair(*entries) == {"gang": 0.5, "y": 0.5}
    assert fair(*entries, enable_step_function_for_gang_operations=True) == {"gang": 0.0, "y": 0.5}


TWO_GANGS = (
    *(op("g", "a", is_gang=True), op("h", "a", is_gang=True)),
    *(pending("g1", queue="a", app="g", cpu=3), pending("h1", queue="a", app="h", cpu=3)),
)
"""Gangs of 3 cpu each, in one pool: their shares jump at the same place."""
ONE_BY_ONE: dict[str, Any] = {
    "enable_step_function_for_gang_operations": True,
    "enable_improved_fair_share_by_fit_factor_computation": True,
}


@pytest.mark.parametrize(
    ("pools", "first", "second"),
    [
        ((pool("a", cpu=4), pool("b", cpu=6)), 0.3, 0.0),
        ((pool("a", cpu=6), pool("b", cpu=4)), 0.3, 0.3),
        ((pool("a", cpu=2), pool("b", cpu=8)), 0.0, 0.0),
        ((pool("a"), pool("b")), 0.3, 0.0),
        ((pool("a", max={"cpu": 4}), pool("b")), 0.3, 0.0),
    ],
    ids=["guarantee for one", "guarantee for both", "guarantee for none", "equal weights", "limit for one"],
)
def test_gangs_that_jump_together_do_so_one_by_one_where_the_tree_says_so(
    pools: tuple[Entry, ...], first: float, second: float
) -> None:
    found = fair(N10, *pools, *TWO_GANGS, wants("b"), **ONE_BY_ONE)

    assert (found["g"], found["h"], found["a"]) == (first, second, first + second)


def test_of_gangs_in_two_pools_that_would_fill_the_tree_the_first_has_its_share() -> None:
    """At a jump the lower value counts; one by one, that is the value after all but the last."""
    entries = (op("g", "a", is_gang=True), op("h", "b", is_gang=True), pool("a"), pool("b"))
    work = (pending("g1", queue="a", app="g", cpu=5), pending("h1", queue="b", app="h", cpu=5))

    assert fair(N10, *entries, *work, **ONE_BY_ONE) == {"a": 0.5, "b": 0.0, "g": 0.5, "h": 0.0}


def test_what_is_promised_to_gangs_is_handed_out_one_by_one_too() -> None:
    """Of the 4 cpu that are guaranteed, 3 are promised to g, which so starts before others that have as little."""
    entries = (pool("a", cpu=4, compute_promised_guarantee_fair_share=True), pool("b", cpu=6), *TWO_GANGS)

    plan = cede.plan(docs(N10, *entries, pending("b0", queue="b", app="b0", cpu=1), wants("b"), **ONE_BY_ONE))

    assert next(made.workload for made in plan.decisions if made.action == "start") == "g1"


def test_an_operation_that_is_not_running_asks_for_no_more_than_it_has() -> None:
    """One operation may run, and `held` holds room already: `new` has no demand, and no share."""
    plan = shares(docs(N10, running("held", cpu=1), pending("new", cpu=4), max_running_operation_count=1))

    assert plan["apps"]["new"]["demand_share"] == {"cpu": 0.0}
    assert plan["apps"]["new"]["status"] == "normal"


# -- what counts as the cluster ----------------------------------------------------------------------------------------


def usage_of(*entries: Entry) -> float:
    used: float = shares(docs(*entries))["apps"]["x"]["usage_share"]["cpu"]
    return used


def test_a_cordoned_node_counts_in_the_total_and_one_that_is_down_does_not() -> None:
    """2 cpu of 4 + 4 are a quarter; of 4 they are one half."""
    x = running("x", "n1", cpu=2)

    assert usage_of(node("n1", cpu=4), node("n2", cpu=4, state="cordoned"), x) == 0.25
    assert usage_of(node("n1", cpu=4), node("n2", cpu=4, state="down"), x) == 0.5


def test_what_others_occupy_is_no_part_of_the_total() -> None:
    assert usage_of(node("n1", cpu=5, occupied={"cpu": 1}), running("x", cpu=2)) == 0.5


def test_every_partition_is_a_tree_of_its_own() -> None:
    """4 cpu are all of the one partition and half of the other; what wants more in one has no share in the other."""
    plan = shares(
        docs(
            *(node("n1", cpu=4), node("m1", cpu=8, partition="blue"), pool("a"), pool("z", partition="blue")),
            *(running("x", "n1", queue="a", cpu=4), running("y", "m1", queue="z", cpu=4)),
            *(pending("x2", queue="a", cpu=4), pending("y2", queue="z", cpu=4)),
        )
    )

    assert [plan["apps"][name]["usage_share"]["cpu"] for name in ("x", "y")] == [1.0, 0.5]
    assert [plan["apps"][name]["fair_share"]["cpu"] for name in ("x", "x2", "y", "y2")] == [0.5] * 4
    assert [(made["workload"], made["action"]) for made in plan["decisions"]] == [("y2", "start"), ("x2", "wait")]


def test_work_without_a_queue_is_right_below_the_root_beside_the_pools() -> None:
    found = fair(N10, pool("a"), pool("b"), wants("a"), pending("free", cpu=10), pending("more", cpu=10))

    assert (found["a"], found["free"], found["more"]) == (0.333333333, 0.333333333, 0.333333333)


# -- how one stands to it ----------------------------------------------------------------------------------------------


def test_satisfaction_of_a_pool_is_that_of_its_least_satisfied_operation() -> None:
    """`x` has 3 of its 5 cpu, `y` 1 of its 5: the pool 0.2, although it uses 0.4 of its own share."""
    plan = shares(
        docs(
            *(N10, pool("a"), running("x1", app="x", cpu=3), running("y1", app="y", cpu=1)),
            *(pending("x2", app="x", cpu=9), pending("y2", app="y", cpu=9)),
        )
    )

    assert round(plan["queues"]["a"]["satisfaction"], 9) == 0.2
    assert round(plan["apps"]["x"]["satisfaction"], 9) == 0.6


def test_a_share_of_nothing_is_infinitely_satisfied() -> None:
    plan = shares(docs(N10, pool("a", cpu=10), pool("b"), wants("a"), running("b1", queue="b", cpu=1)))

    assert plan["apps"]["b1"]["satisfaction"] == 1e9


def test_the_tolerance_is_one_where_the_share_covers_the_demand() -> None:
    """9 of 10: above 0.8 of the share, but the share is all that is asked for, so that one tenth missing counts."""
    entries = (N10, hungry("x"), running("x1", app="x", cpu=9), pending("x2", app="x", cpu=1))

    assert shares(docs(*entries))["apps"]["x"]["status"] == "below_fair_share"
    more = (*entries, pending("x3", app="x", cpu=1))
    assert shares(docs(*more))["apps"]["x"]["status"] == "normal"
