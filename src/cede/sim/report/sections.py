"""Which measures stand together in the tables, and which are shown first."""

from __future__ import annotations

from collections.abc import Iterable

SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Not done", ("refused", "refused_hours", "refused_share", "failed", "failed_hours", "failed_share",
                  "never_started", "never_started_hours", "unfinished")),
    ("Jobs", ("jobs", "completed", "compared")),
    ("Waiting", ("wait_", "waited_share", "target_misses", "total_wait_")),
    ("Completion", ("turnaround_", "slowdown_", "makespan", "throughput")),
    ("Use of the cluster", ("allocation", "goodput", "steady_goodput", "idle_hours", "lost_hours", "overhead_hours",
                            "wasted", "cost", "wasted_cost")),
    ("Preemption", ("preemptions", "preempted_share", "preemptions_", "thrashing", "evictions", "lost_gpu_hours",
                    "evicted_to_requested", "collateral_hours", "precision", "loops")),
    ("Speed of preemption", ("decision_to_freed_", "freed_to_started_", "decision_to_started_")),
    ("Fairness", ("jain", "share_deviation", "under_guarantee_hours", "starvation_hours", "inversion_hours")),
)  # fmt: skip
"""Keys of measures, or how the keys of a family begin, by the heading they stand under."""

OTHER = "Other"

FIRST = ("refused_share", "wait_mean", "wait_p95", "slowdown_p95", "steady_goodput", "wasted")
"""What is shown before all tables, a card each."""


def section_of(key: str) -> str:
    """The heading that the measure stands under."""
    for title, keys in SECTIONS:
        if any(key == one or (one.endswith("_") and key.startswith(one)) for one in keys):
            return title
    return OTHER


def divided(keys: Iterable[str]) -> dict[str, list[str]]:
    """The keys by heading, headings in their order, keys in the order they came in."""
    by_title: dict[str, list[str]] = {title: [] for title, _ in SECTIONS}
    by_title[OTHER] = []
    for key in keys:
        by_title[section_of(key)].append(key)
    return {title: found for title, found in by_title.items() if found}
