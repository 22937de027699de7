"""Random settings of each doctrine, for the whole cluster and for one queue."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.strategy_values import Strategies, words

DURATIONS = words(0, 30, "1m", "2m30s")

CLUSTER: dict[str, Strategies] = {
    "kueue": {
        "preemption": words("Classical", "FairSharing"),
        "strategies": words(["LessThanInitialShare"], ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]),
        "recheck_final_set": st.booleans(),
    },
    "yunikorn": {"preemption.enabled": st.booleans(), "preemption.quotapreemptionenabled": st.booleans()},
    "ytsaurus": {
        "fair_share_starvation_timeout": words(0, 30, "1m"),
        "fair_share_aggressive_starvation_timeout": words("1m", "2m30s"),
        "fair_share_starvation_tolerance": words(0, 0.8, 1),
        "enable_aggressive_starvation": st.booleans(),
        "enable_pool_starvation": st.booleans(),
        "preemption_satisfaction_threshold": words(0.5, 0.99, 1, 1.5),
        "aggressive_preemption_satisfaction_threshold": words(0, 0.2, 0.5),
        "non_preemptible_resource_usage_threshold": words({}, {"cpu": 0}, {"cpu": "1500m"}, {"memory": "2Gi"}),
        "preemptive_scheduling_backoff": words(0, "5s", "1m"),
        "allow_preemption_from_starving_operations": st.booleans(),
        "scheduling_preemption_priority_scope": words("operation_and_ancestors", "operation_only"),
        "allocation_count_preemption_timeout_coefficient": words(1, 3),
        "enable_absolute_fair_share_starvation_tolerance": st.booleans(),
        "consider_allocation_on_fair_share_bound_preemptible": st.booleans(),
        "allow_aggressive_preemption_for_gang_operations": st.booleans(),
        "enable_step_function_for_gang_operations": st.booleans(),
        "enable_improved_fair_share_by_fit_factor_computation": st.booleans(),
        "ssd_priority_preemption": words({"enable": True, "node_tag_filter": "zone", "medium_names": ["ssd"]}),
        "max_schedulable_element_count_in_fifo_pool": st.integers(1, 2),
        "max_running_operation_count": st.integers(1, 4),
        "infer_weight_from_guarantees_share_multiplier": words(1, 10),
        "min_spare_allocation_resources_on_node": words({}, {"cpu": "500m"}, {"cpu": 2, "memory": "1Gi"}),
        "allowed_node_resources_overcommit_duration": DURATIONS,
        "disable_scheduling_on_node_with_waiting_allocations": st.booleans(),
    },
    "backendai": {},
    "kubernetes": {
        "disruption_budgets": words(
            [{"name": "few", "workloads": ["w0", "w1", "w2", "w3"], "allowed": 1}],
            [{"name": "apps", "apps": ["exp-1"], "min_available": 1}, {"name": "a", "queues": ["q0"], "allowed": 0}],
            [{"name": "most", "workloads": ["w1", "w2", "w4"], "max_unavailable": 2}],
        )
    },
    "lattice": {
        "max_victims": st.integers(0, 4),
        "near_completion_threshold": DURATIONS,
        "checkpoint_timeout": DURATIONS,
        "timeout_extension": words(0.5, 1),
        "max_deferral": DURATIONS,
        "grace_period": DURATIONS,
        "manual_checkpoint_time": DURATIONS,
        "value_rule": st.booleans(),
        "patience": DURATIONS,
    },
}

YUNIKORN: Strategies = {
    "preemption.policy": words("default", "fence", "disabled"),
    "preemption.delay": words(1, "30s"),
    "priority.policy": words("default", "fence"),
    "priority.offset": words(-1, 0, "+2"),
    "quota.preemption.delay": words(0, "10s"),
}
LATTICE: Strategies = {
    "type": words("hpc_batch", "ml_training", "service", "sensitive", "interactive"),
    "allow_borrowing": st.booleans(),
    "allow_lending": st.booleans(),
}

YTSAURUS: Strategies = {
    "mode": words("fair_share", "fifo"),
    "integral_guarantees": words(
        {"guarantee_type": "relaxed", "resource_flow": {"cpu": 1}},
        {"guarantee_type": "burst", "resource_flow": {"cpu": 1}, "burst_guarantee_resources": {"cpu": 2}},
    ),
    "accumulated_resource_volume": words({"cpu": 60}, {"cpu": 300, "memory": "100Gi"}),
    "resource_limits_overcommit_tolerance": words({"cpu": 1}, {"cpu": "500m", "memory": "1Gi"}),
    "fifo_sort_parameters": words(["start_time"], ["pending_job_count", "weight"]),
    "fair_share_starvation_tolerance": words(0, 1),
    "fair_share_starvation_timeout": words(0, "1m"),
    "non_preemptible_resource_usage_threshold": words({}, {"cpu": 2}),
    "enable_aggressive_starvation": st.booleans(),
    "allow_aggressive_preemption": st.booleans(),
    "allow_normal_preemption": st.booleans(),
    "compute_promised_guarantee_fair_share": st.booleans(),
    "max_running_operation_count": st.integers(0, 2),
    "max_operation_count": st.integers(2, 4),
    "historic_usage_aggregation_period": words("1m"),
}
OPERATION: Strategies = {
    "resource_limits": words({"cpu": 0}, {"cpu": 2}, {"cpu": "2500m", "memory": "4Gi"}),
    "fair_share_starvation_tolerance": words(0, 1),
    "fair_share_starvation_timeout": words(0, "1m"),
    "non_preemptible_resource_usage_threshold": words({"cpu": 1}),
    "preemption_mode": words("normal", "graceful"),
    "is_gang": st.booleans(),
    "scheduling_tag_filter": words("zone", "!zone", "group & zone"),
    "apply_specified_resource_limits_to_demand": st.booleans(),
    "disk_request": words({"medium_name": "ssd"}, {"medium_name": "hdd"}),
}
"""Of YTsaurus's operations, which are apps."""

QUEUE: dict[tuple[str, str], Strategies] = {
    ("kueue", "0.20"): {
        "withinClusterQueue": words("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
        "reclaimWithinCohort": words("Never", "LowerPriority", "Any"),
        "queueingStrategy": words("BestEffortFIFO", "StrictFIFO"),
    },
    ("yunikorn", "laws"): YUNIKORN,
    ("yunikorn", "1.9"): YUNIKORN,
    ("ytsaurus", "docs"): YTSAURUS,
    ("ytsaurus", "25.4"): YTSAURUS,
    ("backendai", "bep-1014"): {
        "preemptible_priority": st.integers(0, 12),
        "preemption_order": words("oldest", "newest"),
        "preemption_mode": words("terminate", "suspend"),
    },
    ("backendai", "26.8"): {
        "preemptible_priority": st.integers(0, 12),
        "preemption_order": words("oldest", "newest", "fewest-sessions", "smallest-resources"),
        "preemption_mode": words("terminate", "reschedule"),
        "enabled": words(True, True, True, False),
        "preemption_min_runtime": DURATIONS,
        "victim_scope": words("user", "project", "domain", "resource-group"),
        "scheduler": words("fifo", "lifo", "drf", "fair-share"),
        "agent_selection_strategy": words("concentrated", "dispersed", "roundrobin", "legacy"),
    },
    ("lattice", "policy"): LATTICE,
    ("lattice", "core"): LATTICE,
}
