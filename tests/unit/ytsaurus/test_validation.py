"""What YTsaurus refuses of its settings when a file is read, and what is a key of the document instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cede.doctrines.document import parse_document
from tests.unit.ytsaurus.entries import operation, pool, problems

FACTS = json.loads((Path(__file__).parents[2] / "facts" / "ytsaurus.json").read_text(encoding="utf-8"))["facts"]
VALIDATION = [fact for fact in FACTS if fact["kind"] == "config_validation"]
NO_QUANTITY = "is no quantity; write a number or a string like 500m or 16Gi"


@pytest.mark.parametrize("fact", VALIDATION, ids=lambda fact: f"{fact['id']} {fact['title']}")
def test_settings_are_accepted_as_the_fact_says(fact: dict[str, Any]) -> None:
    config = fact["config"]
    found = problems(queues=[pool(**config)]) if fact["scope"] == "pool" else problems(**config)

    assert (found == []) is fact["expect"]["valid"]


TREES: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown option": (
        {"fair_share_starvation_tolerence": 1},
        "fair_share_starvation_tolerence: there is no key 'fair_share_starvation_tolerence' "
        "(did you mean 'fair_share_starvation_tolerance'?)",
    ),
    "an option of a stage that is none": (
        {"ssd_priority_preemption": {"enabel": True}},
        "ssd_priority_preemption.enabel: there is no key 'enabel' (did you mean 'enable'?)",
    ),
    "a tolerance above 1": (
        {"fair_share_starvation_tolerance": 1.2},
        "fair_share_starvation_tolerance: 1.2 is too large; the most is 1",
    ),
    "a threshold of nothing": (
        {"preemption_satisfaction_threshold": 0, "aggressive_preemption_satisfaction_threshold": 0},
        "preemption_satisfaction_threshold: 0 is too small; it must be above 0",
    ),
    "an aggressive threshold above the other": (
        {"aggressive_preemption_satisfaction_threshold": 0.9, "preemption_satisfaction_threshold": 0.8},
        "aggressive_preemption_satisfaction_threshold: 0.9 must not be above preemption_satisfaction_threshold, "
        "which is 0.8",
    ),
    "a threshold below the aggressive default": (
        {"preemption_satisfaction_threshold": 0.1},
        "aggressive_preemption_satisfaction_threshold: 0.2 must not be above preemption_satisfaction_threshold, "
        "which is 0.1",
    ),
    "an aggressive timeout before the other": (
        {"fair_share_aggressive_starvation_timeout": "10s"},
        "fair_share_aggressive_starvation_timeout: 10s must not be shorter than fair_share_starvation_timeout, "
        "which is 30s",
    ),
    "the old name of a timeout after the aggressive one": (
        {"fair_share_preemption_timeout": "1h"},
        "fair_share_aggressive_starvation_timeout: 2m must not be shorter than fair_share_starvation_timeout, "
        "which is 1h",
    ),
    "infinite overcommit alone": (
        {"enable_infinite_resource_limits_overcommit": True},
        "enable_infinite_resource_limits_overcommit: requires use_precommit_for_preemption",
    ),
    "SSD nodes that no filter finds": (
        {"ssd_priority_preemption": {"enable": True, "medium_names": ["ssd"]}},
        "ssd_priority_preemption.node_tag_filter: must be non-empty when ssd_priority_preemption is enabled",
    ),
    "a filter that is no formula": (
        {"ssd_priority_preemption": {"node_tag_filter": "ssd &"}},
        "ssd_priority_preemption.node_tag_filter: character 6, at the end: a tag is missing",
    ),
    "a filter that is no text": (
        {"ssd_priority_preemption": {"node_tag_filter": 5}},
        "ssd_priority_preemption.node_tag_filter: 5 is no text; a tag filter is a formula like 'a & (b | !c)'",
    ),
    "a usage threshold of null": (
        {"non_preemptible_resource_usage_threshold": None},
        "non_preemptible_resource_usage_threshold: null is no object of resource names and quantities",
    ),
    "a usage threshold below 0": (
        {"non_preemptible_resource_usage_threshold": {"cpu": -1}},
        "non_preemptible_resource_usage_threshold.cpu: -1 is negative; a quantity is 0 or more",
    ),
    "a coefficient below 1": (
        {"allocation_count_preemption_timeout_coefficient": 0.5},
        "allocation_count_preemption_timeout_coefficient: 0.5 is too small; the least is 1",
    ),
    "a multiplier of weights below 1": (
        {"infer_weight_from_guarantees_share_multiplier": 0},
        "infer_weight_from_guarantees_share_multiplier: 0 is too small; the least is 1",
    ),
    "a FIFO pool that serves nobody": (
        {"max_schedulable_element_count_in_fifo_pool": 0},
        "max_schedulable_element_count_in_fifo_pool: 0 is too small; the least is 1",
    ),
    "no operation at all": (
        {"max_operation_count": 0},
        "max_operation_count: 0 is too small; the least is 1",
    ),
    "more that run than there may be": (
        {"max_running_operation_count": 9, "max_operation_count": 8},
        "max_running_operation_count: 9 must not be above max_operation_count, which is 8",
    ),
    "more that run in a pool than there may be": (
        {"max_running_operation_count_per_pool": 9, "max_operation_count_per_pool": 8},
        "max_running_operation_count_per_pool: 9 must not be above max_operation_count_per_pool, which is 8",
    ),
    "updates once a blink": (
        {"fair_share_update_period": 0.001},
        "fair_share_update_period: 0.001 is out of range; it lies between 10ms and 60s",
    ),
    "volume that is spent at once": (
        {"integral_guarantees": {"smooth_period": 0}},
        "integral_guarantees.smooth_period: 0 is too short; volume is spread over it",
    ),
    "a multiplier of relaxed pools above 10": (
        {"integral_guarantees": {"relaxed_share_multiplier_limit": 11}},
        "integral_guarantees.relaxed_share_multiplier_limit: 11 is too large; the most is 10",
    ),
    "an unknown scope": (
        {"scheduling_preemption_priority_scope": "operation"},
        "scheduling_preemption_priority_scope: 'operation' is none of operation_and_ancestors, operation_only "
        "(did you mean 'operation_only'?)",
    ),
    "the policy for GPUs": ({"policy_kind": "gpu"}, "policy_kind: 'gpu' is none of classic"),
    "aggressive preemption of the whole tree": (
        {"allow_aggressive_preemption": False},
        "allow_aggressive_preemption: cannot be set for the whole tree, where it is true; set it on pools",
    ),
    "a duration that is none": (
        {"preemptive_scheduling_backoff": "soon"},
        "preemptive_scheduling_backoff: 'soon' is no duration; write a number of seconds or a string like 30s, 10m, "
        "1h30m",
    ),
    "a flag that is a number": (
        {"enable_pool_starvation": 1},
        "enable_pool_starvation: 1 is neither true nor false",
    ),
    "an old and a new name": (
        {"fair_share_preemption_timeout": 1, "fair_share_starvation_timeout": 1},
        "fair_share_preemption_timeout: is the old name of fair_share_starvation_timeout; give one of them",
    ),
}


@pytest.mark.parametrize(("tree", "line"), TREES.values(), ids=TREES.keys())
@pytest.mark.parametrize("edition", ["docs", "25.4"])
def test_a_wrong_option_of_the_tree_is_refused(tree: dict[str, Any], line: str, edition: str) -> None:
    assert problems(edition=edition, **tree) == [f"doctrine.{line}"]


POOLS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown option": ({"wieght": 1}, "wieght: there is no key 'wieght' (did you mean 'weight'?)"),
    "an unknown mode": ({"mode": "fair"}, "mode: 'fair' is none of fair_share, fifo"),
    "a burst of a relaxed pool": (
        {"integral_guarantees": {"guarantee_type": "relaxed", "burst_guarantee_resources": {"cpu": 1}}},
        "integral_guarantees.burst_guarantee_resources: a pool of guarantee_type relaxed has no burst guarantee, but "
        "this is 1 cpu",
    ),
    "a multiplier of nothing": (
        {"integral_guarantees": {"relaxed_share_multiplier_limit": 0.5}},
        "integral_guarantees.relaxed_share_multiplier_limit: 0.5 is too small; the least is 1",
    ),
    "a weight of nothing": ({"weight": 0}, "weight: 0 is too small; the least is 1.49012e-08"),
    "a weight beyond all": ({"weight": 1e9}, "weight: 1000000000 is too large; the most is 6.71089e+07"),
    "a sort key twice": (
        {"fifo_sort_parameters": ["weight", "weight"]},
        "fifo_sort_parameters: 'weight' stands here twice",
    ),
    "no sort key": ({"fifo_sort_parameters": []}, "fifo_sort_parameters: must not be empty"),
    "an unknown sort key": (
        {"fifo_sort_parameters": ["name"]},
        "fifo_sort_parameters[0]: 'name' is none of weight, start_time, pending_job_count",
    ),
    "more that run than there may be": (
        {"max_running_operation_count": 9, "max_operation_count": 8},
        "max_running_operation_count: 9 must not be above max_operation_count, which is 8",
    ),
    "a tolerance below 0": (
        {"fair_share_starvation_tolerance": -1},
        "fair_share_starvation_tolerance: -1 is negative; 0 is the least",
    ),
    "a volume that is none": (
        {"accumulated_resource_volume": {"cpu": "much"}},
        f"accumulated_resource_volume.cpu: 'much' {NO_QUANTITY}",
    ),
    "a volume that is no object": (
        {"accumulated_resource_volume": 5},
        "accumulated_resource_volume: 5 is no object of resource names and quantities",
    ),
    "an old and a new name": (
        {"allow_aggressive_starvation_preemption": True, "allow_aggressive_preemption": True},
        "allow_aggressive_starvation_preemption: is the old name of allow_aggressive_preemption; give one of them",
    ),
    "an option of the tree": (
        {"fair_share_aggressive_starvation_timeout": 5},
        "fair_share_aggressive_starvation_timeout: there is no key 'fair_share_aggressive_starvation_timeout' "
        "(did you mean 'fair_share_starvation_timeout'?)",
    ),
}


@pytest.mark.parametrize(("settings", "line"), POOLS.values(), ids=POOLS.keys())
def test_a_wrong_option_of_a_pool_is_refused(settings: dict[str, Any], line: str) -> None:
    assert problems(queues=[pool(**settings)]) == [f"queues[0].settings.{line}"]


OPERATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown option": (
        {"tag_filter": "a"},
        "tag_filter: there is no key 'tag_filter' (did you mean 'scheduling_tag_filter'?)",
    ),
    "an unknown mode": (
        {"preemption_mode": "gentle"},
        "preemption_mode: 'gentle' is none of normal, graceful",
    ),
    "a filter that is no formula": (
        {"scheduling_tag_filter": "(a | b"},
        "scheduling_tag_filter: character 7, at the end: a ) is missing",
    ),
    "a disk without a medium": (
        {"disk_request": {"disk_space": "1Gi"}},
        "disk_request.medium_name: this key is required and missing",
    ),
    "a clock that is no time": (
        {"below_fair_share_since": "soon"},
        "below_fair_share_since: 'soon' is no time; write a number of seconds or RFC 3339 like 2026-01-31T12:00:00Z",
    ),
    "an option of a pool": ({"mode": "fifo"}, "mode: there is no key 'mode'"),
}


@pytest.mark.parametrize(("settings", "line"), OPERATIONS.values(), ids=OPERATIONS.keys())
def test_a_wrong_option_of_an_operation_is_refused(settings: dict[str, Any], line: str) -> None:
    assert problems(apps=[operation(**settings)]) == [f"apps[0].settings.{line}"]


def test_settings_of_an_app_are_none_of_ours_under_another_doctrine() -> None:
    assert parse_document({"cede": 1, "doctrine": "kueue", "apps": [operation(whatever=1)]}).apps[0].settings
