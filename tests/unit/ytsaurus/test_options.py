"""The options of the tree: their defaults, that each counts, and that all are told to people."""

from __future__ import annotations

from typing import Any

import pytest

from cede.doctrines.ytsaurus.options import ALIASES, WITHOUT_EFFECT, OperationSettings, PoolSettings, TreeSettings
from cede.doctrines.ytsaurus.settings import APP_KEYS, DIALECT, EDITIONS, QUEUE_KEYS, SHIPPED, Tree, tree_from
from cede.model.quantities import NANO
from cede.model.settings import INHERITED, NOTHING, UNSET
from cede.model.times import SECOND
from cede.model.values import Part

NOT_SETTABLE = {"allow_aggressive_preemption", "allow_aggressive_starvation_preemption"}


def test_a_tree_of_which_nothing_is_said_has_the_defaults() -> None:
    tree = tree_from({})

    assert (tree.timeout, tree.aggressive_timeout, tree.backoff) == (30 * SECOND, 120 * SECOND, 5 * SECOND)
    assert (tree.tolerance, tree.satisfaction, tree.aggressive_satisfaction) == (0.8, 1.0, 0.2)
    assert (tree.preemption_timeout, tree.graceful_timeout) == (30 * SECOND, 60 * SECOND)
    assert tree.min_spare == {"user_slots": NANO, "cpu": NANO, "memory": 256 * 2**20 * NANO}
    assert (tree.max_running, tree.max_running_per_pool) == (2000, 50)
    assert (tree.max_operations, tree.max_operations_per_pool) == (50000, 50)
    assert (tree.smooth_period, tree.capacity_period) == (60 * SECOND, 86400 * SECOND)
    assert (tree.relaxed_multiplier, tree.main_resource, tree.timeout_coefficient) == (3.0, "cpu", 1.0)
    assert (tree.overcommit_duration, tree.full_host.timeout) == (15 * SECOND, 120 * SECOND)
    assert tree.threshold == {}
    assert tree.fifo_schedulable is tree.infer_weight is None
    on = {"pool_starvation", "aggressive_for_gangs", "guarantee_priority", "waiting_blocks"}
    flags = {name for name in Tree.__slots__ if getattr(tree, name) is True}
    assert flags == on


OPTIONS: dict[str, tuple[object, str, object]] = {
    "fair_share_aggressive_starvation_timeout": ("3m", "aggressive_timeout", 180 * SECOND),
    "enable_aggressive_starvation": (True, "aggressive_starvation", True),
    "enable_pool_starvation": (False, "pool_starvation", False),
    "preemption_satisfaction_threshold": (0.9, "satisfaction", 0.9),
    "aggressive_preemption_satisfaction_threshold": (0, "aggressive_satisfaction", 0.0),
    "non_preemptible_resource_usage_threshold": ({"cpu": "500m"}, "threshold", {"cpu": NANO // 2}),
    "preemptive_scheduling_backoff": (0, "backoff", 0),
    "allocation_preemption_timeout": (1.5, "preemption_timeout", 1_500_000),
    "allocation_graceful_preemption_timeout": ("2m", "graceful_timeout", 120 * SECOND),
    "allow_preemption_from_starving_operations": (True, "from_starving", True),
    "scheduling_preemption_priority_scope": ("operation_only", "scope_only_operation", True),
    "allocation_count_preemption_timeout_coefficient": (8, "timeout_coefficient", 8.0),
    "enable_absolute_fair_share_starvation_tolerance": (True, "absolute_tolerance", True),
    "consider_allocation_on_fair_share_bound_preemptible": (True, "bound_is_preemptible", True),
    "use_precommit_for_preemption": (True, "precommit", True),
    "allow_aggressive_preemption_for_gang_operations": (False, "aggressive_for_gangs", False),
    "allow_gang_operations_only_in_fifo_pools": (True, "gangs_only_in_fifo", True),
    "enable_step_function_for_gang_operations": (True, "step_for_gangs", True),
    "enable_improved_fair_share_by_fit_factor_computation": (True, "improved", True),
    "enable_guarantee_priority_scheduling": (False, "guarantee_priority", False),
    "main_resource": ("gpu", "main_resource", "gpu"),
    "max_schedulable_element_count_in_fifo_pool": (3, "fifo_schedulable", 3),
    "max_running_operation_count": (7, "max_running", 7),
    "max_running_operation_count_per_pool": (6, "max_running_per_pool", 6),
    "max_operation_count": (9, "max_operations", 9),
    "max_operation_count_per_pool": (8, "max_operations_per_pool", 8),
    "should_distribute_free_volume_among_children": (True, "distributes_free", True),
    "infer_weight_from_guarantees_share_multiplier": (10, "infer_weight", 10.0),
    "min_spare_allocation_resources_on_node": ({"cpu": 2}, "min_spare", {"cpu": 2 * NANO}),
    "allowed_node_resources_overcommit_duration": (0, "overcommit_duration", 0),
    "disable_scheduling_on_node_with_waiting_allocations": (False, "waiting_blocks", False),
    "fair_share_starvation_timeout": (1, "timeout", SECOND),
    "fair_share_preemption_timeout": (2, "timeout", 2 * SECOND),
    "fair_share_starvation_tolerance": (1, "tolerance", 1.0),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_of_the_tree_counts(name: str) -> None:
    raw, field, value = OPTIONS[name]

    assert getattr(tree_from({}), field) != value
    assert getattr(tree_from({name: raw}), field) == value


def test_options_of_the_tree_that_are_objects_count() -> None:
    tree = tree_from(
        {
            "ssd_priority_preemption": {"enable": True, "node_tag_filter": "ssd & !old", "medium_names": ["ssd"]},
            "default_gpu_full_host_preemption": {"enable": True, "max_preemption_penalty": 100, "timeout": 5},
            "integral_guarantees": {"smooth_period": 1, "relaxed_share_multiplier_limit": 2},
            "use_precommit_for_preemption": True,
            "enable_infinite_resource_limits_overcommit": True,
        }
    )

    assert (tree.ssd.enable, tree.ssd.media) == (True, frozenset({"ssd"}))
    assert [tree.ssd.filter.matches(tags) for tags in ({"ssd"}, {"ssd", "old"}, set())] == [True, False, False]
    assert (tree.full_host.enable, tree.full_host.max_penalty, tree.full_host.timeout) == (True, 100.0, 5 * SECOND)
    assert (tree.smooth_period, tree.capacity_period, tree.relaxed_multiplier) == (SECOND, 86400 * SECOND, 2.0)
    assert tree.infinite_overcommit


@pytest.mark.parametrize(
    ("where", "model", "keys"),
    [("cluster", TreeSettings, {}), ("queue", PoolSettings, QUEUE_KEYS), ("app", OperationSettings, APP_KEYS)],
    ids=["tree", "pool", "operation"],
)
def test_every_option_with_an_effect_is_told_with_its_default(
    where: str, model: type[Part], keys: dict[str, str]
) -> None:
    table = DIALECT.defaults(where, SHIPPED)
    own = set(model.model_fields) - WITHOUT_EFFECT - set(ALIASES) - set(keys)

    assert set(table) == (own - NOT_SETTABLE if model is TreeSettings else own)
    given = {name: default for name, default in table.items() if default not in (UNSET, INHERITED, NOTHING)}
    given = {name: default for name, default in given.items() if default != "the tree's"}
    plain = {name: _without_words(default) for name, default in given.items()}
    for name, found in model.model_validate(plain):
        default = getattr(model(), name)
        if name in given and default is not None:
            assert found == default, name


def _without_words(default: Any) -> Any:
    if not isinstance(default, dict):
        return default
    return {key: "" if value == "''" else value for key, value in default.items() if value != NOTHING}


def test_settings_are_told_for_every_edition_and_place() -> None:
    assert {one.where for one in DIALECT.settings} == {"cluster", "queue", "app"}
    assert all(tuple(one.defaults) == EDITIONS and one.meaning for one in DIALECT.settings)


def test_options_without_effect_are_options() -> None:
    assert {*TreeSettings.model_fields, *OperationSettings.model_fields} >= WITHOUT_EFFECT


def test_both_names_of_the_faster_sum_of_fifo_pools_are_read() -> None:
    names = ("child_function_summation_in_fifo_pools", "fifo_fair_share_by_fit_factor_computation")

    assert {f"enable_fast_{name}" for name in names} <= WITHOUT_EFFECT & set(TreeSettings.model_fields)
