"""Small clusters of every doctrine for whatever may happen to a driver."""

from __future__ import annotations

from typing import Any

CLUSTERS: dict[str, dict[str, Any]] = {
    "backendai": {
        "cede": 1,
        "doctrine": "backendai",
        "nodes": [{"name": "n", "count": 3, "capacity": {"cpu": 4}}],
        "queues": [{"name": "q", "settings": {"preemptible_priority": 5, "preemption_mode": "suspend"}}],
    },
    "backendai 26.8": {
        "cede": 1,
        "doctrine": {"name": "backendai", "edition": "26.8"},
        "nodes": [{"name": "n", "count": 2, "capacity": {"cpu": 4}}],
        "queues": [{"name": "q", "settings": {"enabled": True, "victim_scope": "resource-group"}}],
    },
    "kueue": {
        "cede": 1,
        "doctrine": "kueue",
        "nodes": [{"name": "n", "count": 2, "capacity": {"cpu": 4}}],
        "queues": [
            {"name": "pool"},
            {
                "name": "q",
                "parent": "pool",
                "guaranteed": {"cpu": 4},
                "settings": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
            },
            {
                "name": "r",
                "parent": "pool",
                "guaranteed": {"cpu": 4},
                "settings": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
            },
        ],
    },
    **{
        f"yunikorn {edition}": {
            "cede": 1,
            "doctrine": {"name": "yunikorn", "edition": edition},
            "nodes": [{"name": "n", "count": 2, "capacity": {"cpu": 4}}],
            "queues": [
                {"name": "pool"},
                {"name": "q", "parent": "pool", "guaranteed": {"cpu": 5}, "settings": {"preemption.delay": 1}},
                {"name": "r", "parent": "pool", "guaranteed": {"cpu": 3}, "settings": {"preemption.delay": 1}},
            ],
        }
        for edition in ("laws", "1.9")
    },
    **{
        f"ytsaurus {edition}": {
            "cede": 1,
            "doctrine": {
                "name": "ytsaurus",
                "edition": edition,
                "fair_share_starvation_timeout": 1,
                "preemptive_scheduling_backoff": 1,
                "enable_aggressive_starvation": True,
                "fair_share_aggressive_starvation_timeout": 20,
            },
            "nodes": [{"name": "n", "count": 2, "capacity": {"cpu": 4}}],
            "queues": [
                {"name": "pool", "guaranteed": {"cpu": 8}},
                {"name": "q", "parent": "pool", "guaranteed": {"cpu": 5}},
                {"name": "r", "parent": "pool", "guaranteed": {"cpu": 3}},
            ],
        }
        for edition in ("docs", "25.4")
    },
    **{
        f"ytsaurus {edition}": {
            "cede": 1,
            "doctrine": {
                "name": "ytsaurus",
                "edition": edition,
                "fair_share_starvation_timeout": 1,
                "fair_share_aggressive_starvation_timeout": 20,
                "enable_aggressive_starvation": True,
                "preemptive_scheduling_backoff": 0.5,
            },
            "nodes": [{"name": "n", "count": 2, "capacity": {"cpu": 4}}],
            "queues": [
                {"name": "pool"},
                {"name": "q", "parent": "pool", "guaranteed": {"cpu": 3}, "settings": {"mode": "fifo"}},
                {"name": "r", "parent": "pool", "guaranteed": {"cpu": 5}},
            ],
            "apps": [{"name": "soft", "settings": {"preemption_mode": "graceful"}}],
        }
        for edition in ("docs", "25.4")
    },
    **{
        f"lattice {edition}": {
            "cede": 1,
            "doctrine": {"name": "lattice", "edition": edition},
            "nodes": [
                {"name": "n1", "capacity": {"cpu": 4}, "home": "q"},
                {"name": "n2", "capacity": {"cpu": 4}, "home": "r"},
                {"name": "n3", "capacity": {"cpu": 4}},
            ],
            "queues": [
                {"name": "q", "settings": {"type": "hpc_batch"}},
                {"name": "r", "settings": {"type": "service"}},
            ],
        }
        for edition in ("policy", "core")
    },
    "kueue, quota alone": {
        "cede": 1,
        "doctrine": "kueue",
        "queues": [{"name": "q", "guaranteed": {"cpu": 8}, "settings": {"withinClusterQueue": "LowerPriority"}}],
    },
}
