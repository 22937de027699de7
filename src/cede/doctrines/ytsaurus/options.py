"""Every option of YTsaurus for people: where it is set, its default and what it does."""

from __future__ import annotations

from cede.doctrines.parts.doctrine import Setting
from cede.doctrines.ytsaurus.settings import EDITIONS

UNSET, INHERITED, NOTHING = "unset", "inherited", "nothing"
"""Defaults that cannot be written in a file; an option that is left out has them."""

Options = dict[str, tuple[object, str]]
"""By name: the default and the meaning."""

TREE: Options = {
    "fair_share_starvation_timeout": ("30s", "how long below its fair share until one starves"),
    "fair_share_aggressive_starvation_timeout": ("2m", "how long below its fair share until one starves aggressively"),
    "fair_share_starvation_tolerance": (0.8, "what part of the fair share one must use so as not to be below it"),
    "enable_aggressive_starvation": (False, "whether pools and operations may starve aggressively"),
    "enable_pool_starvation": (True, "whether pools starve, and not operations alone"),
    "preemption_satisfaction_threshold": (1.0, "allocations beyond this part of the fair share are preemptible"),
    "aggressive_preemption_satisfaction_threshold": (
        0.2,
        "allocations beyond this part of the fair share are preemptible for those who starve aggressively",
    ),
    "non_preemptible_resource_usage_threshold": (NOTHING, "usage below this in every resource is never preemptible"),
    "preemptive_scheduling_backoff": ("5s", "how long a node rests after an attempt to preempt"),
    "allocation_preemption_timeout": ("30s", "how long a preempted allocation may take to leave"),
    "allocation_graceful_preemption_timeout": ("1m", "the same for operations of preemption_mode graceful"),
    "allow_preemption_from_starving_operations": (False, "whether operations that starve may lose allocations"),
    "scheduling_preemption_priority_scope": (
        "operation_and_ancestors",
        "whose starvation lets an operation preempt: with its pools, or operation_only",
    ),
    "allocation_count_preemption_timeout_coefficient": (
        1.0,
        "with fewer pending allocations than this the timeouts of starvation shrink in proportion",
    ),
    "enable_absolute_fair_share_starvation_tolerance": (
        False,
        "whether an operation must miss more than one allocation to be below its fair share",
    ),
    "consider_allocation_on_fair_share_bound_preemptible": (
        False,
        "whether the allocation that crosses a threshold is on its preemptible side",
    ),
    "use_precommit_for_preemption": (False, "needed for enable_infinite_resource_limits_overcommit"),
    "enable_infinite_resource_limits_overcommit": (False, "whether preemption may exceed limits of pools at will"),
    "allow_aggressive_preemption_for_gang_operations": (
        True,
        "whether gangs may lose what is aggressively preemptible",
    ),
    "allow_gang_operations_only_in_fifo_pools": (False, "whether gangs elsewhere are refused"),
    "enable_step_function_for_gang_operations": (False, "whether the fair share of a gang is all or nothing"),
    "enable_improved_fair_share_by_fit_factor_computation": (
        False,
        "whether children whose shares jump together do so one by one",
    ),
    "enable_guarantee_priority_scheduling": (True, "whether operations below their promised guarantee come first"),
    "ssd_priority_preemption": (
        {"enable": False, "node_tag_filter": "''", "medium_names": NOTHING},
        "stages of their own on SSD nodes for operations that asked for an SSD medium",
    ),
    "default_gpu_full_host_preemption": (
        {"enable": False, "max_preemption_penalty": 0, "timeout": "2m"},
        "a last stage for allocations of 8 GPUs; the penalty is seconds of progress times GPUs",
    ),
    "main_resource": ("cpu", "the resource from which guarantees of the others are inferred"),
    "max_schedulable_element_count_in_fifo_pool": (UNSET, "how many operations of a FIFO pool may get allocations"),
    "max_running_operation_count": (2000, "how many operations of the tree may run"),
    "max_running_operation_count_per_pool": (50, "how many of a pool that says nothing itself"),
    "max_operation_count": (50000, "how many operations the tree may have; further ones are refused"),
    "max_operation_count_per_pool": (50, "how many a pool that says nothing itself"),
    "integral_guarantees": (
        {"smooth_period": "1m", "pool_capacity_saturation_period": "24h", "relaxed_share_multiplier_limit": 3},
        "over what time volume may be spent, how much is kept, and how far relaxed pools may exceed their flow",
    ),
    "should_distribute_free_volume_among_children": (False, "whether volume beyond a pool's capacity goes to others"),
    "infer_weight_from_guarantees_share_multiplier": (UNSET, "weights of pools follow their guarantees, times this"),
    "min_spare_allocation_resources_on_node": (
        {"user_slots": 1, "cpu": 1, "memory": "256Mi"},
        "what a node must have free to be looked at",
    ),
    "allowed_node_resources_overcommit_duration": ("15s", "how long a node may hold more than it has"),
    "disable_scheduling_on_node_with_waiting_allocations": (
        True,
        "whether a node on which somebody waits for victims to leave gets nothing new",
    ),
}

POOL: Options = {
    "mode": ("fair_share", "fair_share: by weight; fifo: one operation after the other"),
    "integral_guarantees": (
        {"guarantee_type": "none", "resource_flow": NOTHING, "burst_guarantee_resources": NOTHING},
        "a guarantee that adds up while it is not used: burst or relaxed; also relaxed_share_multiplier_limit, "
        "can_accept_free_volume and should_distribute_free_volume_among_children",
    ),
    "resource_limits_overcommit_tolerance": (NOTHING, "by how much preemption may exceed the pool's max"),
    "fifo_sort_parameters": (["weight", "start_time"], "the order of a FIFO pool; also pending_job_count"),
    "fair_share_starvation_tolerance": (INHERITED, "as of the tree, for the pool and all below"),
    "fair_share_starvation_timeout": (INHERITED, "as of the tree, for the pool and all below"),
    "non_preemptible_resource_usage_threshold": (INHERITED, "as of the tree, for the pool and all below"),
    "enable_aggressive_starvation": (INHERITED, "as of the tree, for the pool and all below"),
    "allow_aggressive_preemption": (INHERITED, "whether what is below may lose what is aggressively preemptible"),
    "allow_normal_preemption": (True, "false: what is below loses nothing to those who starve, unless aggressively"),
    "compute_promised_guarantee_fair_share": (False, "whether operations are promised their part of the guarantee"),
    "enable_step_function_for_gang_operations": (True, "for its own operations, if the tree's is true"),
    "max_running_operation_count": (50, "how many operations of the pool and below may run"),
    "max_operation_count": (50, "how many operations the pool and all below may have"),
    "historic_usage_aggregation_period": (UNSET, "children that used much within this time weigh less"),
    "below_fair_share_since": (UNSET, "since when the pool is below its fair share"),
    "accumulated_resource_volume": (NOTHING, "what has added up of the integral guarantee, resources times seconds"),
    "historic_usage_share": (UNSET, "the averaged share that the pool has used"),
}

OPERATION: Options = {
    "resource_limits": (UNSET, "the most that the operation may use"),
    "fair_share_starvation_tolerance": (INHERITED, "as of the pool; only lower"),
    "fair_share_starvation_timeout": (INHERITED, "as of the pool; only longer"),
    "non_preemptible_resource_usage_threshold": (INHERITED, "as of the pool; only less, or of further resources"),
    "preemption_mode": ("normal", "graceful: nobody preempts it, but what is above its share is asked to leave"),
    "is_gang": (False, "whether its allocations are of use only together"),
    "scheduling_tag_filter": (UNSET, "a formula like 'a & (b | !c)' over the keys of a node's labels"),
    "apply_specified_resource_limits_to_demand": (False, "whether it demands no more than its resource_limits"),
    "disk_request": (UNSET, "medium_name and disk_space of each allocation"),
    "allocation_preemption_timeout": ("the tree's", "how long a preempted allocation may take to leave"),
    "allocation_graceful_preemption_timeout": ("the tree's", "the same for preemption_mode graceful"),
    "below_fair_share_since": (UNSET, "since when the operation is below its fair share"),
    "historic_usage_share": (UNSET, "the averaged share that the operation has used"),
}

SETTINGS = tuple(
    Setting(name, where, dict.fromkeys(EDITIONS, default), meaning)
    for options, where in ((TREE, "cluster"), (POOL, "queue"), (OPERATION, "app"))
    for name, (default, meaning) in options.items()
)
