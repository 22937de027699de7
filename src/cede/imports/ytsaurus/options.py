"""The names that YTsaurus has for options: the old ones, and those that have no place in a cluster file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from pydantic.fields import FieldInfo

from cede.imports.fields import Amounts, Fields
from cede.model.errors import Loc, shown
from cede.model.quantities import format_quantity, parse_quantity, parse_quota
from cede.model.resources import parse_quotas, parse_resources
from cede.model.times import LONGEST, SECOND, Instant, format_duration, format_time, parse_duration, parse_time
from cede.model.values import Part, Reads, refers_to

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


RESOURCES = ("cpu", "user_slots", "memory", "gpu", "network")
OTHER_RESOURCE = f"pools share {', '.join(RESOURCES[:-1])} and {RESOURCES[-1]} only"
HINT = "write milliseconds, or a text like 30s or 1h30m"
MS = SECOND // 1000

_DURATION = refers_to("duration")
_LENGTH = re.compile(r"([0-9]+(?:\.[0-9]+)?)(us|ms|d|w)")
_UNITS = {"us": 1, "ms": MS, "d": 86400 * SECOND, "w": 7 * 86400 * SECOND}


def carried(fields: Fields, model: type[Part]) -> dict[str, Any]:
    """Those of the fields that the model has, under today's names and with units; the others are left untaken."""
    settings: dict[str, Any] = {}
    for key, raw in fields.data.items():
        name = OLD.get(key, key)
        if name not in model.model_fields:
            continue
        fields.raw(key)
        value = None if raw is None else _value(fields, key, raw, model.model_fields[name])
        if value is None:
            continue
        if name not in settings:
            settings[name] = value
        elif settings[name] != value:
            other = next(other for other in fields.data if other != key and OLD.get(other, other) == name)
            fields.wrong((key,), f"{other} is another name of it, and says something else", "give one of them")
    return settings


def amounts(fields: Fields, key: str, parse: Callable[[object], int] = parse_quantity) -> Amounts:
    """The amounts by resource below the key, in nano-units; what no pool shares is noted and left out."""
    part = fields.part(key)
    part.skip_rest()
    by_resource = {}
    for name, raw in part.data.items():
        if raw is None:
            continue
        if name not in RESOURCES:
            part.remark(OTHER_RESOURCE, name)
            continue
        try:
            by_resource[name] = parse(raw)
        except ValueError as error:
            part.wrong((name,), str(error))
    return by_resource


def written(nano: Mapping[str, int]) -> dict[str, int | str]:
    """The amounts as a cluster file has them."""
    return {name: format_quantity(amount) for name, amount in nano.items()}


def _value(fields: Fields, key: str, raw: Any, info: FieldInfo) -> Any:
    """The value as a cluster file has it; None if it is wrong, which is reported, or says nothing."""
    kind = next((mark for mark in info.metadata if isinstance(mark, Reads)), None)
    if kind is not None and kind.schema == _DURATION:
        return _duration(fields, (key,), raw)
    if kind is not None and kind.parse is parse_time:
        return _time(fields, (key,), raw)
    if kind is not None and kind.parse is parse_resources:
        return written(amounts(fields, key))
    if kind is not None and kind.parse is parse_quotas:
        return written(amounts(fields, key, parse_quota))
    if isinstance(info.annotation, type) and issubclass(info.annotation, Part):
        return carried(fields.part(key), info.annotation)
    return raw


def _duration(fields: Fields, loc: Loc, raw: Any) -> int | float | str | None:
    """Numbers are milliseconds in YTsaurus; texts have their unit."""
    try:
        return format_duration(_microseconds(raw))
    except ValueError as error:
        fields.wrong(loc, str(error))
        return None


def _time(fields: Fields, loc: Loc, raw: Any) -> int | float | str | None:
    try:
        moment = parse_time(raw)
    except ValueError as error:
        fields.wrong(loc, str(error))
        return None
    return format_time(moment, isinstance(moment, Instant))


def _microseconds(raw: Any) -> int:
    if isinstance(raw, str):
        match = _LENGTH.fullmatch(raw)
        if match is not None:
            return _within(round(Decimal(match[1]) * _UNITS[match[2]]), raw)
        try:
            return parse_duration(raw)
        except ValueError:
            raise ValueError(f"{shown(raw)} is no duration; {HINT}") from None
    if isinstance(raw, bool) or not isinstance(raw, int | float | Decimal):
        raise ValueError(f"{shown(raw)} is no duration; {HINT}")
    number = Decimal(raw)
    if not number.is_finite() or number < 0:
        raise ValueError(f"{shown(raw)} is no number of milliseconds")
    return _within(round(number * MS), raw)


def _within(duration: int, raw: Any) -> int:
    if duration > LONGEST:
        raise ValueError(f"{shown(raw)} is out of range; the longest duration is 100 years, which is 876600h")
    return duration
