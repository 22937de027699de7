"""The settings of a resource group, with the defaults of each edition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cede.doctrines.backendai.dialect import DIALECT
from cede.model.times import parse_duration

EDITIONS = DOCUMENT, SHIPPED = DIALECT.editions

DEFAULTS = {edition: DIALECT.defaults("queue", edition) for edition in EDITIONS}


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
