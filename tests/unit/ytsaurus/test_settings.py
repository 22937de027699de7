"""The options that count for the tree, a pool and an operation: defaults, what is inherited, and the old names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cede
from cede.doctrines.ytsaurus.settings import (
    Operation,
    Pool,
    operation_of,
    pools_of,
    root_pool,
    tree_from,
    tree_of,
)
from cede.model.cluster import App
from cede.model.quantities import NANO
from cede.model.times import SECOND
from cede.state.build import build
from tests.unit.ytsaurus.entries import pool

FACTS = json.loads((Path(__file__).parents[2] / "facts" / "ytsaurus.json").read_text(encoding="utf-8"))["facts"]
INHERITANCE = [fact for fact in FACTS if fact["kind"] == "effective_settings"]


def pools(*queues: dict[str, Any], **tree: Any) -> dict[str, Pool]:
    """What counts for each of these queues, by name."""
    document = cede.load({"cede": 1, "doctrine": {"name": "ytsaurus", **tree}, "queues": list(queues)}).document
    state = build(document)
    found = pools_of(state, tree_of(state))
    return {name: found[row] for name, row in state.tree.index.items()}


def operation(tree: dict[str, Any] | None = None, above: dict[str, Any] | None = None, **settings: Any) -> Operation:
    """What counts for an operation with these settings in a pool with those."""
    found = pools(pool("p", **(above or {})), **(tree or {}))["p"]
    return operation_of(App(name="op", settings=settings), found, tree_from(tree or {}))


@pytest.mark.parametrize("fact", INHERITANCE, ids=lambda fact: f"{fact['id']} {fact['title']}")
def test_a_setting_is_inherited_as_the_fact_says(fact: dict[str, Any]) -> None:
    setting, of_tree = fact["setting"], fact["tree_config"]
    scale = SECOND if setting.endswith("timeout") else 1
    field = "timeout" if setting.endswith("timeout") else "tolerance"

    def own(entry: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in entry.items() if key not in ("id", "parent", "pool")}

    found = pools(*(pool(entry["id"], entry["parent"], **own(entry)) for entry in fact["pools"]), **of_tree)
    effective = {name: getattr(one, field) / scale for name, one in found.items()}
    for entry in fact["operations"]:
        app = App(name=entry["id"], settings=own(entry))
        one = operation_of(app, found[entry["pool"]], tree_from(of_tree))
        effective[entry["id"]] = getattr(one, field) / scale

    assert {name: effective[name] for name in fact["expect"]["effective"]} == fact["expect"]["effective"]


def test_the_nearest_pool_that_says_so_decides_for_all_below() -> None:
    found = pools(
        pool(
            "a", enable_aggressive_starvation=True, allow_aggressive_preemption=False, fair_share_starvation_timeout=5
        ),
        pool("b", "a", fair_share_preemption_timeout=7),
        pool("c", "b", allow_aggressive_starvation_preemption=True),
        pool("d"),
    )

    assert [found[name].aggressive_starvation for name in "abcd"] == [True, True, True, False]
    assert [found[name].aggressive_allowed for name in "abcd"] == [False, False, True, True]
    assert [found[name].timeout // SECOND for name in "abcd"] == [5, 7, 7, 30]


def test_whether_gangs_step_each_pool_says_for_its_own_operations() -> None:
    found = pools(pool("a", enable_step_function_for_gang_operations=False), pool("b", "a"))

    assert [found[name].step_for_gangs for name in "ab"] == [False, True]


def test_a_threshold_of_a_pool_replaces_the_inherited_one_as_a_whole() -> None:
    threshold = {"non_preemptible_resource_usage_threshold": {"cpu": 1, "memory": 5}}
    found = pools(
        pool("a", non_preemptible_resource_usage_threshold={"user_slots": 2}),
        pool("b", "a"),
        pool("c", "b", non_preemptible_resource_usage_threshold={}),
        pool("d"),
        **threshold,
    )

    assert found["a"].threshold == found["b"].threshold == {"user_slots": 2 * NANO}
    assert found["c"].threshold == {}
    assert found["d"].threshold == {"cpu": NANO, "memory": 5 * NANO}


def test_a_pool_that_forbids_normal_preemption_forbids_it_below_whatever_those_say() -> None:
    found = pools(
        pool("a", allow_normal_preemption=False),
        pool("b", "a", allow_normal_preemption=True),
        pool("c"),
        pool("d", "c"),
    )

    assert [found[name].normal_allowed for name in "abcd"] == [False, False, True, True]


def test_what_is_not_inherited_is_each_pools_own() -> None:
    own: dict[str, Any] = {
        "mode": "fifo",
        "fifo_sort_parameters": ["start_time"],
        "resource_limits_overcommit_tolerance": {"cpu": 1},
        "compute_promised_guarantee_fair_share": True,
        "historic_usage_aggregation_period": "1h",
        "below_fair_share_since": -10,
        "accumulated_resource_volume": {"cpu": 100, "memory": 10**20},
        "historic_usage_share": 0.25,
    }
    found = pools(pool("a", **own), pool("x"), max_running_operation_count_per_pool=7)

    assert (found["a"].fifo, found["a"].fifo_sort, found["a"].overcommit) == (True, ("start_time",), {"cpu": NANO})
    assert (found["a"].promised, found["a"].historic_period, found["a"].since) == (True, 3600 * SECOND, -10 * SECOND)
    assert found["a"].volume == {"cpu": 100 * NANO, "memory": 10**20 * NANO}
    assert found["a"].historic == 0.25
    assert (found["x"].fifo, found["x"].fifo_sort) == (False, ("weight", "start_time"))
    assert found["x"].overcommit == found["x"].volume == {}
    assert found["x"].historic_period is found["x"].since is found["x"].historic is None
    assert (found["x"].max_running, found["x"].max_operations) == (7, 50)


def test_an_integral_guarantee_takes_from_the_tree_what_it_leaves_out() -> None:
    burst = {
        "guarantee_type": "burst",
        "resource_flow": {"cpu": 10},
        "burst_guarantee_resources": {"cpu": 4},
        "relaxed_share_multiplier_limit": 5,
        "can_accept_free_volume": False,
        "should_distribute_free_volume_among_children": False,
    }
    found = pools(
        pool("a", integral_guarantees=burst),
        pool("b"),
        should_distribute_free_volume_among_children=True,
        integral_guarantees={"relaxed_share_multiplier_limit": 2},
    )
    a, b = found["a"].integral, found["b"].integral

    assert (a.kind, a.flow, a.burst, a.multiplier) == ("burst", {"cpu": 10 * NANO}, {"cpu": 4 * NANO}, 5.0)
    assert (a.accepts_free, a.distributes_free) == (False, False)
    assert (b.kind, b.multiplier, b.accepts_free, b.distributes_free) == ("none", 2.0, True, True)


def test_a_parent_that_is_not_listed_and_the_root_have_the_trees_options() -> None:
    found = pools(pool("a", "unlisted"), fair_share_starvation_tolerance=0.5)
    root = root_pool(tree_from({"fair_share_starvation_tolerance": 0.5, "max_running_operation_count": 9}))

    assert found["unlisted"].tolerance == found["a"].tolerance == root.tolerance == 0.5
    assert (root.max_running, root.max_operations, root.fifo, root.aggressive_allowed) == (9, 50000, False, True)


def test_an_operation_takes_of_the_threshold_what_is_smaller_or_missing() -> None:
    above = {"non_preemptible_resource_usage_threshold": {"cpu": 4, "memory": 4}}

    found = operation(above=above, non_preemptible_resource_usage_threshold={"cpu": 9, "memory": 2, "user_slots": 1})

    assert found.threshold == {"cpu": 4 * NANO, "memory": 2 * NANO, "user_slots": NANO}
    assert operation(above=above).threshold == {"cpu": 4 * NANO, "memory": 4 * NANO}


def test_a_gang_is_treated_as_tree_and_pool_say() -> None:
    step = {"enable_step_function_for_gang_operations": True}
    spared = {"allow_aggressive_preemption_for_gang_operations": False}

    assert [operation(tree, is_gang=True).step for tree in (step, {})] == [True, False]
    assert not operation(step, {"enable_step_function_for_gang_operations": False}, is_gang=True).step
    assert not operation(step).step
    assert [operation(spared, is_gang=gang).aggressive_allowed for gang in (True, False)] == [False, True]
    assert not operation(above={"allow_aggressive_preemption": False}).aggressive_allowed


def test_what_is_an_operations_own_counts() -> None:
    found = operation(
        resource_limits={"cpu": 3},
        preemption_mode="graceful",
        scheduling_tag_filter="!ssd",
        apply_specified_resource_limits_to_demand=True,
        disk_request={"medium_name": "ssd", "disk_space": "1Gi"},
        allocation_preemption_timeout=1,
        allocation_graceful_preemption_timeout=2,
        below_fair_share_since=-1,
        historic_usage_share=0.5,
        fair_share_preemption_timeout="1m",
    )

    assert (found.limits, found.graceful, found.limits_demand, found.medium) == ({"cpu": 3 * NANO}, True, True, "ssd")
    assert found.tag_filter is not None
    assert not found.tag_filter.matches({"ssd"})
    assert (found.preemption_timeout, found.graceful_timeout, found.timeout) == (SECOND, 2 * SECOND, 60 * SECOND)
    assert (found.since, found.historic) == (-SECOND, 0.5)


def test_an_operation_that_no_entry_lists_has_its_pools_options() -> None:
    tree = tree_from({"allocation_preemption_timeout": 3})
    found = operation_of(None, root_pool(tree), tree)

    assert (found.tolerance, found.timeout, found.threshold) == (0.8, 30 * SECOND, {})
    assert (found.preemption_timeout, found.graceful_timeout) == (3 * SECOND, 60 * SECOND)
    unset = (found.weight, found.limits, found.tag_filter, found.medium, found.since, found.historic)
    assert unset == (None,) * 6
    assert operation_of(App(name="op", weight=2.0), root_pool(tree), tree).weight == 2.0


def test_the_options_of_pools_are_kept_until_an_entry_changes() -> None:
    document = cede.load({"cede": 1, "doctrine": "ytsaurus", "queues": [pool("a", mode="fifo")]}).document
    state = build(document)
    first = pools_of(state, tree_of(state))

    assert pools_of(state, tree_of(state)) is first
    state.put_queue(document.queues[0].model_copy(update={"settings": {"mode": "fair_share"}}))
    assert [one.fifo for one in (*first, *pools_of(state, tree_of(state)))] == [True, False]
