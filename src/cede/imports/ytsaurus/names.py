"""The names that YTsaurus has for options: the old ones, and those that have no place in a cluster file."""

from __future__ import annotations

from collections.abc import Mapping

OLD = {
    "allow_aggressive_starvation_preemption": "allow_aggressive_preemption",
    "fair_share_preemption_timeout": "fair_share_starvation_timeout",
    "fallback_min_spare_job_resources": "fallback_min_spare_allocation_resources",
    "infer_weight_from_min_share_ratio_multiplier": "infer_weight_from_guarantees_share_multiplier",
    "infer_weight_from_strong_guarantee_share_multiplier": "infer_weight_from_guarantees_share_multiplier",
    "job_count_preemption_timeout_coefficient": "allocation_count_preemption_timeout_coefficient",
    "job_graceful_interrupt_timeout": "allocation_graceful_preemption_timeout",
    "job_interrupt_timeout": "allocation_preemption_timeout",
    "low_priority_fallback_min_spare_job_resources": "fallback_min_spare_allocation_resources",
    "medium_priority_operation_count_limit": "batch_size",
    "min_share_resources": "strong_guarantee_resources",
    "min_spare_job_resources_on_node": "min_spare_allocation_resources_on_node",
    "prioritized_regular_scheduling": "batch_operation_scheduling",
    "schedule_jobs_timeout": "schedule_allocations_timeout",
    "scheduling_tag": "scheduling_tag_filter",
    "waiting_job_timeout": "waiting_for_resources_on_node_timeout",
}
"""What options were called, and are called today; YTsaurus reads both."""

SKIPPED = (
    *("id", "type", "name", "path", "key", "parent_name", "parent_id", "native_cell_tag", "external", "foreign"),
    *("builtin", "life_stage", "opaque", "count", "user_attribute_keys", "lock_count", "lock_mode", "locks"),
    *("ref_counter", "ephemeral_ref_counter", "weak_ref_counter", "import_ref_counter", "supports_virtual_mutations"),
    *("revision", "attribute_revision", "content_revision", "native_content_revision"),
    *("creation_time", "modification_time", "access_time", "access_counter", "estimated_creation_time"),
)
"""What every node of Cypress has, and means nothing to a plan."""

_ACCESS = "who may use and change it is not checked here"
_BILLING = "whom it is charged to is not carried over"
_EPHEMERAL = "pools that are made on the fly are not carried over; an operation names its pool"
_IMMEDIATE = "where operations may be started is not checked here"
_ELSEWHERE = "work is not handed to other trees and clusters here"
_PRIORITY = "guarantees that do not fit are cut alike here, without priority and donors"
_MEASURED = "how it is logged and measured means nothing to a plan"
_PRESETS = "presets are not read; what they set can be written at the pool"
_NOT_PLANNED = "the doctrine does not plan with this"
_TENTATIVE = "an operation is in one tree here, and none is tentative"
_UNPREEMPTIBLE = "it gave way to non_preemptible_resource_usage_threshold, which is carried over"
_SEGMENTS = "scheduling segments are not planned here"
_CONTROLLERS = "how controllers are asked is not carried over"


def _reasons(*groups: tuple[str, tuple[str, ...]]) -> dict[str, str]:
    return {name: why for why, names in groups for name in names}


_OF_BOTH = _reasons(
    (_ACCESS, ("acl", "inherit_acl", "effective_acl", "owner", "acd", "responsible")),
    (_BILLING, ("abc", "folder_id", "metering_tags", "accumulated_metering")),
    (_MEASURED, ("enable_by_user_profiling", "allowed_profiling_tags", "enable_detailed_logs")),
    (
        _NOT_PLANNED,
        (
            *("enable_fair_share_truncation_in_fifo_pool", "truncate_fifo_pool_unsatisfied_child_fair_share"),
            *("fifo_pool_scheduling_order", "use_pool_satisfaction_for_scheduling", "allow_idle_cpu_policy"),
        ),
    ),
)

OF_POOLS: Mapping[str, str] = _OF_BOTH | _reasons(
    (_EPHEMERAL, ("create_ephemeral_subpools", "ephemeral_subpool_config")),
    (_IMMEDIATE, ("forbid_immediate_operations",)),
    (_ELSEWHERE, ("offloading_settings", "redirect_to_cluster")),
    (
        _PRIORITY,
        ("enable_priority_strong_guarantee_adjustment", "enable_priority_strong_guarantee_adjustment_donorship"),
    ),
    (_PRESETS, ("config_preset", "config_presets")),
    (_SEGMENTS, ("enable_priority_scheduling_segment_module_assignment",)),
    ("a limit in shares is not carried over; resource_limits, in amounts, are", ("max_share_ratio",)),
    (
        "which nodes a pool may use is not carried over; of operations it is",
        ("scheduling_tag_filter", "scheduling_tag"),
    ),
    ("historic_usage_aggregation_period, if it is given, says so", ("infer_children_weights_from_historic_usage",)),
    (_NOT_PLANNED, ("allow_regular_allocations_on_ssd_nodes", "allow_regular_jobs_on_ssd_nodes")),
    (_NOT_PLANNED, ("enable_lightweight_operations", "historic_usage_config")),
)

OF_TREES: Mapping[str, str] = _OF_BOTH | _reasons(
    (_EPHEMERAL, ("max_ephemeral_pools_per_user", "max_ephemeral_pool_per_user", "use_user_default_parent_pool_map")),
    (_IMMEDIATE, ("forbid_immediate_operations_in_root",)),
    ("an operation names its pool", ("default_parent_pool",)),
    (_PRESETS, ("pool_config_presets",)),
    (_SEGMENTS, ("scheduling_segments",)),
    ("packing is off here", ("packing",)),
    ("shares are computed afresh for each plan", ("best_allocation_share_update_period",)),
    (
        "shares are computed afresh for each plan",
        ("best_allocation_ratio_update_period", "enable_resource_usage_snapshot"),
    ),
    (_UNPREEMPTIBLE, ("max_unpreemptible_running_allocation_count", "max_unpreemptible_running_job_count")),
    (_UNPREEMPTIBLE, ("max_unpreemptable_running_job_count",)),
    (_TENTATIVE, ("non_tentative_operation_types", "tentative_tree_saturation_deactivation_period")),
    (_CONTROLLERS, ("fail_remote_copy_on_missing_resource_limits", "required_resource_limits_for_remote_copy")),
    (_CONTROLLERS, ("check_operation_for_liveness_in_preschedule", "necessary_resources_for_operation")),
    (
        "a node that is not online is down here at once",
        ("node_reconnection_timeout", "total_resource_limits_consider_delay"),
    ),
    ("limits above an operation are always checked", ("enable_limiting_ancestor_check",)),
    ("it was removed from YTsaurus", ("fair_share_starvation_timeout_limit", "fair_share_preemption_timeout_limit")),
    ("it was removed from YTsaurus", ("fair_share_starvation_tolerance_limit", "min_share_preemption_timeout")),
    (
        _MEASURED,
        (
            *("enable_operations_profiling", "custom_profiling_tag_filter", "enable_pools_vector_profiling"),
            *("enable_operations_vector_profiling", "sparsify_fair_share_profiling", "profiled_pool_resources"),
            *("profiled_operation_resources", "heartbeat_tree_scheduling_info_log_period", "testing_options"),
            *("update_preemptible_list_duration_logging_threshold", "max_event_log_pool_batch_size"),
            *("max_event_log_operation_batch_size", "accumulated_resource_usage_update_period"),
            *("per_pool_satisfaction_digest", "per_pool_satisfaction_profiling_quantiles"),
            *("enable_resource_tree_structure_lock_profiling", "enable_resource_tree_usage_lock_profiling"),
            *("enable_scheduled_and_preempted_resources_profiling", "running_allocation_statistics_update_period"),
            *("cached_allocation_preemption_statuses_update_period", "running_job_statistics_update_period"),
        ),
    ),
    (_NOT_PLANNED, ("enable_scheduling_tags", "use_resource_usage_with_precommit")),
)
