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
    "ytsaurus": {},
    "backendai": {},
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

QUEUE: dict[tuple[str, str], Strategies] = {
    ("kueue", "0.20"): {
        "withinClusterQueue": words("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
        "reclaimWithinCohort": words("Never", "LowerPriority", "Any"),
        "queueingStrategy": words("BestEffortFIFO", "StrictFIFO"),
    },
    ("yunikorn", "laws"): YUNIKORN,
    ("yunikorn", "1.9"): YUNIKORN,
    ("ytsaurus", "docs"): {},
    ("ytsaurus", "25.4"): {},
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
