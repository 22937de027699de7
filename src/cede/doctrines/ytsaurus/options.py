"""The kinds of value that the settings of YTsaurus have, beyond those of every document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field, model_validator

from cede.model.errors import InputError, Problem, shown
from cede.model.quantities import NANO, parse_quantity, show_quantity
from cede.model.resources import parse_resources
from cede.model.settings import INHERITED, NOTHING, UNSET, Means
from cede.model.tag_filters import parse_tag_filter
from cede.model.times import SECOND, parse_duration, show_duration
from cede.model.values import (
    EACH_ONCE,
    Amount,
    Count,
    Duration,
    Maybe,
    Name,
    Number,
    Part,
    Quotas,
    Reads,
    Resources,
    Time,
    number,
    refers_to,
)

LEAST_WEIGHT, MOST_WEIGHT = 2.0**-26, 2.0**26
MOST_VOLUME = 10**27


def _within(least: float, most: float | None = None, *, above: bool = False) -> Reads:
    """Reads a finite number from `least` on, or only above it, up to `most`."""

    def parse(raw: object) -> float:
        value = float(number().parse(raw))
        if above and value <= least:
            raise ValueError(f"{shown(raw)} is too small; it must be above {least:g}")
        if value < least:
            raise ValueError(f"{shown(raw)} is too small; the least is {least:g}")
        if most is not None and value > most:
            raise ValueError(f"{shown(raw)} is too large; the most is {most:g}")
        return value

    return Reads(parse, {"type": "number"})


def _parse_update_period(raw: object) -> int:
    period = parse_duration(raw)
    if not SECOND // 100 <= period <= 60 * SECOND:
        raise ValueError(f"{shown(raw)} is out of range; it lies between 10ms and 60s")
    return period


def _parse_tag_filter(raw: object) -> str:
    if not isinstance(raw, str):
        raise ValueError(f"{shown(raw)} is no text; a tag filter is a formula like 'a & (b | !c)'")
    parse_tag_filter(raw)
    return raw


def _parse_volumes(raw: object) -> dict[str, int]:
    """Amounts times seconds, in nano-units: of memory they go beyond the largest quantity."""
    if not isinstance(raw, dict):
        return parse_resources(raw)
    large = {name: item for name, item in raw.items() if type(item) is int and 0 < item <= MOST_VOLUME}
    return parse_resources({**raw, **dict.fromkeys(large, 0)}) | {name: item * NANO for name, item in large.items()}


def _parse_at_root(_raw: object) -> None:
    raise ValueError("cannot be set for the whole tree, where it is true; set it on pools")


Share = Annotated[float, _within(0, 1)]
Weight = Annotated[float, _within(LEAST_WEIGHT, MOST_WEIGHT)]
Positive = Annotated[float, _within(0, above=True)]
Multiplier = Annotated[float, _within(1)]
RelaxedMultiplier = Annotated[float, _within(1, 10)]
UpdatePeriod = Annotated[int, Reads(_parse_update_period, refers_to("duration"))]
Volumes = Annotated[dict[str, int], Reads(_parse_volumes, refers_to("resources"))]
AtRoot = Annotated[None, Reads(_parse_at_root, {"not": {}})]
TagFilter = Annotated[str, Reads(_parse_tag_filter, {"type": "string"})]
Space = Annotated[int, Reads(parse_quantity, refers_to("quantity"))]
SortKey = Literal["weight", "start_time", "pending_job_count"]
FIFO_SORT: tuple[SortKey, ...] = ("weight", "start_time")


ALIASES = {
    "fair_share_preemption_timeout": "fair_share_starvation_timeout",
    "min_share_resources": "strong_guarantee_resources",
    "allow_aggressive_starvation_preemption": "allow_aggressive_preemption",
}
"""Old names, each with the one that counts today."""


T = TypeVar("T")
Disagreements = Iterator[tuple[tuple[str, ...], str]]
"""Places in the options, and what is wrong there."""


def _given(new: T | None, old: T | None) -> T | None:
    return old if new is None else new


def _fail(*places: tuple[tuple[str, ...], str]) -> None:
    """Refuse the options, if anything is wrong with them."""
    if places:
        raise InputError([Problem.at(loc, message) for loc, message in places])


class _Options(Part):
    """Options of which each may be left out, and an old name stands for the new one."""

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        given = self.model_fields_set
        _fail(
            *(
                ((old,), f"is the old name of {new}; give one of them")
                for old, new in ALIASES.items()
                if old in given and new in given
            )
        )
        return self


def _counts(options: Part, running: str, all_of_them: str) -> Disagreements:
    """Not more may run than there may be; where one of the two is left out, nothing is said."""
    if {running, all_of_them} <= options.model_fields_set:
        less, most = getattr(options, running), getattr(options, all_of_them)
        if less > most:
            yield (running,), f"{less} must not be above {all_of_them}, which is {most}"


class SsdPriorityPreemption(Part):
    enable: bool = False
    node_tag_filter: TagFilter = ""
    medium_names: list[Name] = Field(default_factory=list)

    @model_validator(mode="after")
    def _filter_given(self) -> Self:
        if self.enable and not self.node_tag_filter.strip():
            _fail((("node_tag_filter",), "must be non-empty when ssd_priority_preemption is enabled"))
        return self


class GpuFullHostPreemption(Part):
    enable: bool = False
    max_preemption_penalty: Annotated[Number, Means(shown=0)] = 0.0
    timeout: Duration = 120 * SECOND


class TreeIntegralGuarantees(Part):
    smooth_period: Duration = 60 * SECOND
    pool_capacity_saturation_period: Annotated[Duration, Means(shown="24h")] = 86400 * SECOND
    relaxed_share_multiplier_limit: Annotated[RelaxedMultiplier, Means(shown=3)] = 3.0

    @model_validator(mode="after")
    def _periods_last(self) -> Self:
        if not self.smooth_period:
            _fail((("smooth_period",), "0 is too short; volume is spread over it"))
        return self


class BatchScheduling(Part):
    batch_size: Amount = 1000
    fallback_min_spare_allocation_resources: Maybe[Resources] = None


class TreeSettings(_Options):
    """Options of the pool tree, and of the scheduler as a whole."""

    fair_share_starvation_timeout: Annotated[
        Maybe[Duration], Means("how long below its fair share until one starves", shown="30s")
    ] = None
    fair_share_preemption_timeout: Maybe[Duration] = None
    fair_share_aggressive_starvation_timeout: Annotated[
        Duration, Means("how long below its fair share until one starves aggressively")
    ] = 120 * SECOND
    fair_share_starvation_tolerance: Annotated[
        Share, Means("what part of the fair share one must use so as not to be below it")
    ] = 0.8
    enable_aggressive_starvation: Annotated[bool, Means("whether pools and operations may starve aggressively")] = False
    enable_pool_starvation: Annotated[bool, Means("whether pools starve, and not operations alone")] = True
    preemption_satisfaction_threshold: Annotated[
        Positive, Means("allocations beyond this part of the fair share are preemptible")
    ] = 1.0
    aggressive_preemption_satisfaction_threshold: Annotated[
        Number,
        Means("allocations beyond this part of the fair share are preemptible for operations that starve aggressively"),
    ] = 0.2
    non_preemptible_resource_usage_threshold: Annotated[
        Quotas, Means("usage below this in every resource is never preemptible")
    ] = Field(default_factory=dict)
    preemptive_scheduling_backoff: Annotated[Duration, Means("how long a node rests after an attempt to preempt")] = (
        5 * SECOND
    )
    allocation_preemption_timeout: Annotated[Duration, Means("how long a preempted allocation may take to leave")] = (
        30 * SECOND
    )
    allocation_graceful_preemption_timeout: Annotated[
        Duration, Means("the same for operations of preemption_mode graceful")
    ] = 60 * SECOND
    allow_preemption_from_starving_operations: Annotated[
        bool, Means("whether operations that starve may lose allocations")
    ] = False
    scheduling_preemption_priority_scope: Annotated[
        Literal["operation_and_ancestors", "operation_only"],
        Means("whose starvation lets an operation preempt: with its pools, or operation_only"),
    ] = "operation_and_ancestors"
    allocation_count_preemption_timeout_coefficient: Annotated[
        Multiplier, Means("with fewer pending allocations than this the timeouts of starvation shrink in proportion")
    ] = 1.0
    enable_absolute_fair_share_starvation_tolerance: Annotated[
        bool, Means("whether an operation must miss more than one allocation to be below its fair share")
    ] = False
    consider_allocation_on_fair_share_bound_preemptible: Annotated[
        bool, Means("whether the allocation that crosses a threshold is on its preemptible side")
    ] = False
    use_precommit_for_preemption: Annotated[bool, Means("needed for enable_infinite_resource_limits_overcommit")] = (
        False
    )
    enable_infinite_resource_limits_overcommit: Annotated[
        bool, Means("whether preemption may exceed limits of pools at will")
    ] = False
    allow_aggressive_preemption_for_gang_operations: Annotated[
        bool, Means("whether gangs may lose what is aggressively preemptible")
    ] = True
    allow_gang_operations_only_in_fifo_pools: Annotated[bool, Means("whether gangs elsewhere are refused")] = False
    enable_step_function_for_gang_operations: Annotated[
        bool, Means("whether the fair share of a gang is all or nothing")
    ] = False
    enable_improved_fair_share_by_fit_factor_computation: Annotated[
        bool, Means("whether children whose shares jump together do so one by one")
    ] = False
    enable_improved_fair_share_by_fit_factor_computation_distribution_gap: bool = False
    enable_guarantee_priority_scheduling: Annotated[
        bool, Means("whether operations below their promised guarantee come first")
    ] = True
    ssd_priority_preemption: Annotated[
        SsdPriorityPreemption, Means("stages of their own on SSD nodes for operations that asked for an SSD medium")
    ] = Field(default_factory=SsdPriorityPreemption)
    default_gpu_full_host_preemption: Annotated[
        GpuFullHostPreemption,
        Means("a last stage for allocations of 8 GPUs; the penalty is seconds of progress times GPUs"),
    ] = Field(default_factory=GpuFullHostPreemption)
    main_resource: Annotated[Name, Means("the resource from which guarantees of the others are inferred")] = "cpu"
    max_schedulable_element_count_in_fifo_pool: Annotated[
        Maybe[Count], Means("how many operations of a FIFO pool may get allocations")
    ] = None
    max_running_operation_count: Annotated[Count, Means("how many operations of the tree may run")] = 2000
    max_running_operation_count_per_pool: Annotated[Count, Means("how many of a pool that says nothing itself")] = 50
    max_operation_count: Annotated[Count, Means("how many operations the tree may have; further ones are refused")] = (
        50000
    )
    max_operation_count_per_pool: Annotated[Count, Means("how many a pool that says nothing itself")] = 50
    integral_guarantees: Annotated[
        TreeIntegralGuarantees,
        Means("over what time volume may be spent, how much is kept, and how far relaxed pools may exceed their flow"),
    ] = Field(default_factory=TreeIntegralGuarantees)
    should_distribute_free_volume_among_children: Annotated[
        bool, Means("whether volume beyond a pool's capacity goes to others")
    ] = False
    infer_weight_from_guarantees_share_multiplier: Annotated[
        Maybe[Multiplier], Means("weights of pools follow their guarantees, times this")
    ] = None
    min_spare_allocation_resources_on_node: Annotated[
        Maybe[Resources],
        Means("what a node must have free to be looked at", shown={"user_slots": 1, "cpu": 1, "memory": "256Mi"}),
    ] = None
    allowed_node_resources_overcommit_duration: Annotated[
        Duration, Means("how long a node may hold more than it has")
    ] = 15 * SECOND
    disable_scheduling_on_node_with_waiting_allocations: Annotated[
        bool, Means("whether a node on which a workload waits for victims to leave gets nothing new")
    ] = True
    allow_aggressive_preemption: AtRoot = None
    allow_aggressive_starvation_preemption: AtRoot = None

    preemption_check_starvation: bool = False
    preemption_check_satisfaction: bool = False
    enable_conditional_preemption: bool = False
    enable_fast_child_function_summation_in_fifo_pools: bool = False
    enable_fast_fifo_fair_share_by_fit_factor_computation: bool = False
    policy_kind: Literal["classic"] = "classic"
    min_child_heap_size: Amount = 16
    batch_operation_scheduling: Maybe[BatchScheduling] = None
    allowed_resource_usage_staleness: Duration = SECOND // 10
    fair_share_update_period: UpdatePeriod = SECOND // 5
    node_shard_count: Count = 4
    soft_concurrent_heartbeat_limit: Count = 50
    hard_concurrent_heartbeat_limit: Count = 100
    heartbeat_process_backoff: Duration = 5 * SECOND
    scheduling_heartbeat_complexity_limit: Amount = 200_000
    schedule_allocations_timeout: Duration = 40 * SECOND
    running_allocations_update_period: Duration = 10 * SECOND
    waiting_for_resources_on_node_timeout: Maybe[Duration] = None

    @property
    def starvation_timeout(self) -> int:
        given = _given(self.fair_share_starvation_timeout, self.fair_share_preemption_timeout)
        return 30 * SECOND if given is None else given

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        _fail(*self._disagreements())
        return self

    def _disagreements(self) -> Disagreements:
        aggressive, normal = self.aggressive_preemption_satisfaction_threshold, self.preemption_satisfaction_threshold
        if aggressive > normal:
            message = f"{aggressive:g} must not be above preemption_satisfaction_threshold, which is {normal:g}"
            yield ("aggressive_preemption_satisfaction_threshold",), message
        late, timeout = self.fair_share_aggressive_starvation_timeout, self.starvation_timeout
        if late < timeout:
            message = (
                f"{show_duration(late)} must not be shorter than fair_share_starvation_timeout, "
                f"which is {show_duration(timeout)}"
            )
            yield ("fair_share_aggressive_starvation_timeout",), message
        if self.enable_infinite_resource_limits_overcommit and not self.use_precommit_for_preemption:
            yield ("enable_infinite_resource_limits_overcommit",), "requires use_precommit_for_preemption"
        for which in ("", "_per_pool"):
            yield from _counts(self, f"max_running_operation_count{which}", f"max_operation_count{which}")


class PoolIntegralGuarantees(Part):
    guarantee_type: Literal["none", "burst", "relaxed"] = "none"
    resource_flow: Resources = Field(default_factory=dict)
    burst_guarantee_resources: Quotas = Field(default_factory=dict)
    relaxed_share_multiplier_limit: Maybe[RelaxedMultiplier] = None
    can_accept_free_volume: bool = True
    should_distribute_free_volume_among_children: Maybe[bool] = None

    @model_validator(mode="after")
    def _burst_where_it_counts(self) -> Self:
        burst = next(((name, nano) for name, nano in self.burst_guarantee_resources.items() if nano), None)
        if self.guarantee_type == "relaxed" and burst is not None:
            message = f"a pool of guarantee_type relaxed has no burst guarantee, but this is {show_quantity(*burst)}"
            _fail((("burst_guarantee_resources",), f"{message} {burst[0]}"))
        return self


class PoolSettings(_Options):
    """Options of a pool, and what is remembered of it."""

    weight: Maybe[Weight] = None
    mode: Annotated[
        Literal["fair_share", "fifo"], Means("fair_share: by weight; fifo: one operation after the other")
    ] = "fair_share"
    strong_guarantee_resources: Maybe[Quotas] = None
    min_share_resources: Maybe[Quotas] = None
    integral_guarantees: Annotated[
        PoolIntegralGuarantees,
        Means(
            "a guarantee that adds up while it is not used: burst or relaxed; also relaxed_share_multiplier_limit, "
            "can_accept_free_volume and should_distribute_free_volume_among_children",
            shown={"guarantee_type": "none", "resource_flow": NOTHING, "burst_guarantee_resources": NOTHING},
        ),
    ] = Field(default_factory=PoolIntegralGuarantees)
    resource_limits: Maybe[Quotas] = None
    resource_limits_overcommit_tolerance: Annotated[
        Quotas, Means("by how much preemption may exceed the pool's max")
    ] = Field(default_factory=dict)
    fifo_sort_parameters: Annotated[
        Annotated[list[SortKey], *EACH_ONCE], Means("the order of a FIFO pool; also pending_job_count")
    ] = Field(default_factory=lambda: list(FIFO_SORT))
    fair_share_starvation_tolerance: Annotated[
        Maybe[Share], Means("as of the tree, for the pool and all below", shown=INHERITED)
    ] = None
    fair_share_starvation_timeout: Annotated[
        Maybe[Duration], Means("as of the tree, for the pool and all below", shown=INHERITED)
    ] = None
    fair_share_preemption_timeout: Maybe[Duration] = None
    non_preemptible_resource_usage_threshold: Annotated[
        Maybe[Quotas], Means("as of the tree, for the pool and all below", shown=INHERITED)
    ] = None
    enable_aggressive_starvation: Annotated[
        Maybe[bool], Means("as of the tree, for the pool and all below", shown=INHERITED)
    ] = None
    allow_aggressive_preemption: Annotated[
        Maybe[bool], Means("whether what is below may lose what is aggressively preemptible", shown=INHERITED)
    ] = None
    allow_aggressive_starvation_preemption: Maybe[bool] = None
    allow_normal_preemption: Annotated[
        bool, Means("false: what is below is taken only for operations that starve aggressively")
    ] = True
    compute_promised_guarantee_fair_share: Annotated[
        bool, Means("whether operations are promised their part of the guarantee")
    ] = False
    enable_step_function_for_gang_operations: Annotated[
        Maybe[bool], Means("for its own operations, if the tree's is true", shown=True)
    ] = None
    max_running_operation_count: Annotated[
        Maybe[Amount], Means("how many operations of the pool and below may run", shown=50)
    ] = None
    max_operation_count: Annotated[
        Maybe[Amount], Means("how many operations the pool and all below may have", shown=50)
    ] = None
    historic_usage_aggregation_period: Annotated[
        Maybe[Duration], Means("children that used much within this time weigh less")
    ] = None
    below_fair_share_since: Annotated[Maybe[Time], Means("since when the pool is below its fair share")] = None
    accumulated_resource_volume: Annotated[
        Volumes, Means("what has added up of the integral guarantee, resources times seconds")
    ] = Field(default_factory=dict)
    historic_usage_share: Annotated[Maybe[Number], Means("the averaged share that the pool has used")] = None

    @property
    def starvation_timeout(self) -> int | None:
        return _given(self.fair_share_starvation_timeout, self.fair_share_preemption_timeout)

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        _fail(*_counts(self, "max_running_operation_count", "max_operation_count"))
        return self

    @property
    def aggressive_allowed(self) -> bool | None:
        return _given(self.allow_aggressive_preemption, self.allow_aggressive_starvation_preemption)


class DiskRequest(Part):
    medium_name: Name
    disk_space: Maybe[Space] = None


class OperationSettings(_Options):
    """Options of an operation, and what is remembered of it."""

    weight: Maybe[Weight] = None
    resource_limits: Annotated[Maybe[Quotas], Means("the most that the operation may use")] = None
    fair_share_starvation_tolerance: Annotated[Maybe[Share], Means("as of the pool; only lower", shown=INHERITED)] = (
        None
    )
    fair_share_starvation_timeout: Annotated[Maybe[Duration], Means("as of the pool; only longer", shown=INHERITED)] = (
        None
    )
    fair_share_preemption_timeout: Maybe[Duration] = None
    non_preemptible_resource_usage_threshold: Annotated[
        Quotas, Means("as of the pool; only less, or of further resources", shown=INHERITED)
    ] = Field(default_factory=dict)
    preemption_mode: Annotated[
        Literal["normal", "graceful"],
        Means("graceful: it is never preempted for others, but what is above its share is asked to leave"),
    ] = "normal"
    is_gang: Annotated[bool, Means("whether its allocations are of use only together")] = False
    scheduling_tag_filter: Annotated[
        TagFilter, Means("a formula like 'a & (b | !c)' over the keys of a node's labels", shown=UNSET)
    ] = ""
    apply_specified_resource_limits_to_demand: Annotated[
        bool, Means("whether it demands no more than its resource_limits")
    ] = False
    disk_request: Annotated[Maybe[DiskRequest], Means("medium_name and disk_space of each allocation")] = None
    allocation_preemption_timeout: Annotated[
        Maybe[Duration], Means("how long a preempted allocation may take to leave", shown="the tree's")
    ] = None
    allocation_graceful_preemption_timeout: Annotated[
        Maybe[Duration], Means("the same for preemption_mode graceful", shown="the tree's")
    ] = None
    waiting_for_resources_on_node_timeout: Maybe[Duration] = None
    below_fair_share_since: Annotated[Maybe[Time], Means("since when the operation is below its fair share")] = None
    historic_usage_share: Annotated[Maybe[Number], Means("the averaged share that the operation has used")] = None

    @property
    def starvation_timeout(self) -> int | None:
        return _given(self.fair_share_starvation_timeout, self.fair_share_preemption_timeout)


WITHOUT_EFFECT = frozenset(
    {
        "enable_improved_fair_share_by_fit_factor_computation_distribution_gap",
        "preemption_check_starvation",
        "preemption_check_satisfaction",
        "enable_conditional_preemption",
        "enable_fast_child_function_summation_in_fifo_pools",
        "enable_fast_fifo_fair_share_by_fit_factor_computation",
        "policy_kind",
        "min_child_heap_size",
        "batch_operation_scheduling",
        "allowed_resource_usage_staleness",
        "fair_share_update_period",
        "node_shard_count",
        "soft_concurrent_heartbeat_limit",
        "hard_concurrent_heartbeat_limit",
        "heartbeat_process_backoff",
        "scheduling_heartbeat_complexity_limit",
        "schedule_allocations_timeout",
        "running_allocations_update_period",
        "waiting_for_resources_on_node_timeout",
    }
)
"""Options that are read and checked and change no plan: dead in YTsaurus itself, or about its speed alone."""
