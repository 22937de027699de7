"""The settings of a resource group, with the defaults of each edition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cede.doctrines.backendai.dialect import DIALECT
from cede.model.times import parse_duration

EDITIONS = DOCUMENT, SHIPPED = DIALECT.editions

DEFAULTS: dict[str, dict[str, Any]] = {
    DOCUMENT: {"preemptible_priority": 5, "preemption_order": "oldest", "preemption_mode": "terminate"},
    SHIPPED: {
        "enabled": False,
        "preemptible_priority": 5,
        "preemption_order": "oldest",
        "preemption_mode": "terminate",
        "preemption_min_runtime": 0,
        "victim_scope": "user",
        "scheduler": "drf",
        "agent_selection_strategy": "dispersed",
    },
}

MEANINGS = {
    "enabled": "whether the group preempts at all",
    "preemptible_priority": "running work up to this priority may be preempted (26.8 stores it and never reads it)",
    "preemption_order": "which of equals goes first: oldest, newest; 26.8 also fewest-sessions, smallest-resources",
    "preemption_mode": "what becomes of a victim: terminate, or suspend (bep-1014), reschedule (26.8)",
    "preemption_min_runtime": "how long a session must have run before it may be preempted",
    "victim_scope": "whose sessions may be preempted: user, project, domain, resource-group",
    "scheduler": "order within a priority: fifo, lifo, drf, fair-share",
    "agent_selection_strategy": "which agent is taken: concentrated, dispersed, roundrobin, legacy",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """One group's settings as its edition reads them; times in microseconds."""

    enabled: bool
    threshold: int
    threshold_given: bool
    order: str
    mode: str
    min_runtime: int
    scope: str
    scheduler: str
    strategy: str


def settings_of(raw: Mapping[str, Any], edition: str) -> Settings:
    """Settings from the queue's entry; what it leaves out is the edition's default."""
    full = DEFAULTS[edition] | dict(raw)
    return Settings(
        enabled=full.get("enabled", True),
        threshold=full["preemptible_priority"],
        threshold_given="preemptible_priority" in raw,
        order=full["preemption_order"],
        mode=full["preemption_mode"],
        min_runtime=parse_duration(full.get("preemption_min_runtime", 0)),
        scope=full.get("victim_scope", "resource-group"),
        scheduler=full.get("scheduler", "fifo"),
        strategy=full.get("agent_selection_strategy", "best-fit"),
    )
