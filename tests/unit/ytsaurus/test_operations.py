"""What an operation is, which of them run, and in which order a FIFO pool has them."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, actions, decided, pending, running
from tests.unit.ytsaurus.small import docs, node, op, pool

N9 = node("n1", cpu=9)


def apps(*entries: Entry, **tree: Any) -> dict[str, Any]:
    found: dict[str, Any] = cede.plan(docs(N9, *entries, **tree), shares=True).to_dict()["apps"]
    return found


def fair(*entries: Entry, **tree: Any) -> dict[str, float]:
    return {name: round(9 * one["fair_share"]["cpu"], 6) for name, one in apps(*entries, **tree).items()}


# -- what one is -------------------------------------------------------------------------------------------------------


def test_workloads_of_one_app_in_one_pool_are_one_operation() -> None:
    works = (running("w1", app="x", cpu=2), pending("w2", app="x", cpu=3))

    assert apps(pool("a"), *works)["x"]["demand_share"] == {"cpu": pytest.approx(5 / 9)}


def test_one_without_an_app_is_an_operation_by_its_own_name_with_the_settings_of_that_name() -> None:
    """`alone` weighs twice as much as `other`."""
    found = fair(pool("a"), op("alone", weight=2), pending("alone", cpu=9), pending("other", cpu=9))

    assert found == {"alone": 6.0, "other": 3.0}


def test_an_app_in_several_pools_is_an_operation_in_each() -> None:
    works = (pending("w1", queue="a", app="x", cpu=9), pending("w2", queue="b", app="x", cpu=2))

    assert fair(pool("a"), pool("b"), *works) == {"x in a": 7.0, "x in b": 2.0}


def test_an_operation_that_is_listed_exists_without_work() -> None:
    assert apps(pool("a"), op("idle", "a"), pending("w", cpu=1))["idle"]["status"] == "normal"


def test_a_workload_s_own_usage_counts_in_shares_and_its_requests_on_the_node() -> None:
    """It asked for 6 cpu and uses 3: a third of the cluster by shares, but 3 cpu are left on the node."""
    light = running("x", cpu=6, usage={"cpu": 3})

    assert apps(pool("a"), light)["x"]["usage_share"] == {"cpu": pytest.approx(1 / 3)}
    assert decided(docs(N9, pool("a"), light, pending("in", cpu=4)), "in").action == "wait"
    assert decided(docs(N9, pool("a"), light, pending("in", cpu=3)), "in").action == "start"


def test_its_own_limit_cuts_the_share_and_the_demand_if_it_says_so() -> None:
    limited = {"resource_limits": {"cpu": 2}}
    works = (pool("a"), pending("x", cpu=2), pending("x2", app="x", cpu=7), pending("y", cpu=9))

    assert fair(op("x", **limited), *works) == {"x": 2.0, "y": 7.0}
    assert apps(op("x", **limited), *works)["x"]["demand_share"] == {"cpu": 1.0}
    told = op("x", apply_specified_resource_limits_to_demand=True, **limited)
    assert apps(told, *works)["x"]["demand_share"] == {"cpu": pytest.approx(2 / 9)}


# -- which run ---------------------------------------------------------------------------------------------------------

EARLY, LATE = pending("b-early", queue="a", cpu=1, submitted=-9), pending("a-late", queue="a", cpu=1)


def test_as_many_run_as_their_pool_may_run_the_earlier_first() -> None:
    assert actions(docs(N9, pool("a", max_running_operation_count=1), EARLY, LATE)) == {
        "b-early": "start",
        "a-late": "wait",
    }


def test_those_that_hold_room_run_before_earlier_ones() -> None:
    held = running("late0", queue="a", app="late", cpu=1, submitted=-1)
    more = pending("late1", queue="a", app="late", cpu=1, submitted=-1)

    found = actions(docs(N9, pool("a", max_running_operation_count=1), EARLY, held, more))

    assert found == {"late1": "start", "b-early": "wait"}


def test_of_equal_ones_the_first_by_name_runs() -> None:
    asks = (pending("y", queue="a", cpu=1), pending("x", queue="a", cpu=1))

    assert actions(docs(N9, pool("a", max_running_operation_count=1), *asks)) == {"x": "start", "y": "wait"}


def test_every_pool_above_and_the_tree_must_have_room_for_one_more() -> None:
    tree = (pool("p", max_running_operation_count=1), pool("a", "p"), pool("b", "p"))
    other = pending("other", queue="b", cpu=1)

    assert actions(docs(N9, *tree, EARLY, other)) == {"b-early": "start", "other": "wait"}
    plain = (pool("a"), pool("b"))
    assert actions(docs(N9, *plain, EARLY, other, max_running_operation_count=1))["other"] == "wait"
    assert actions(docs(N9, *plain, EARLY, other, max_running_operation_count_per_pool=1))["other"] == "start"


def test_a_pool_in_which_none_may_run_starts_none() -> None:
    assert decided(docs(N9, pool("a", max_running_operation_count=0), EARLY), "b-early").rule == (
        "ytsaurus.operation-waits"
    )


def test_beyond_the_operations_that_a_pool_may_have_work_is_refused() -> None:
    full = pool("a", max_operation_count=1)

    assert actions(docs(N9, full, EARLY, LATE)) == {"b-early": "start", "a-late": "refuse"}


def test_a_fifo_pool_may_schedule_its_first_ones_alone() -> None:
    """Both have a share and would fit; one is scheduled."""
    fifo = pool("a", mode="fifo")

    assert actions(docs(N9, fifo, EARLY, LATE)) == {"b-early": "start", "a-late": "start"}
    one = {"max_schedulable_element_count_in_fifo_pool": 1}
    assert actions(docs(N9, fifo, EARLY, LATE, **one)) == {"b-early": "start", "a-late": "wait"}


# -- the order of a FIFO pool ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "first"),
    [
        (None, "heavy"),
        (["start_time"], "early"),
        (["pending_job_count"], "small"),
        (["pending_job_count", "weight"], "small"),
        (["weight"], "heavy"),
    ],
)
def test_a_fifo_pool_is_sorted_as_it_says(keys: list[str] | None, first: str) -> None:
    """One that weighs 2, one that came first, one with a single allocation; the cluster has room for one of them."""
    asks = [
        *(pending(f"h{at}", queue="a", app="heavy", cpu=3) for at in range(3)),
        *(pending(f"e{at}", queue="a", app="early", cpu=3, submitted=-9) for at in range(3)),
        pending("s", queue="a", app="small", cpu=9, submitted=-1),
    ]
    sort = {} if keys is None else {"fifo_sort_parameters": keys}

    found = fair(pool("a", mode="fifo", **sort), op("heavy", weight=2), *asks)

    assert {name: share for name, share in found.items() if share} == {first: 9.0}


# -- what was used before ----------------------------------------------------------------------------------------------


def test_children_that_used_much_of_late_weigh_less() -> None:
    """`b` used all of the cluster: its weight is halved, 2 parts of 3 go to `a`."""
    above = pool("p", historic_usage_aggregation_period="1h")
    children = (pool("a", "p", historic_usage_share=0), pool("b", "p", historic_usage_share=1))
    asks = (pending("x", queue="a", cpu=9), pending("y", queue="b", cpu=9))

    assert fair(above, *children, *asks) == {"x": 6.0, "y": 3.0}
    assert fair(pool("p"), *children, *asks) == {"x": 4.5, "y": 4.5}
    own = (op("x", historic_usage_share=1), op("y", historic_usage_share=0))
    flat = (pending("x", queue="p", cpu=9), pending("y", queue="p", cpu=9))
    assert fair(above, *own, *flat) == {"x": 3.0, "y": 6.0}
