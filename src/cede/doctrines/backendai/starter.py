"""A cluster file to start from under Backend.AI: all but the top class may be preempted, and queue again."""

from __future__ import annotations

from typing import Any

from cede.doctrines.backendai.settings import DEFAULTS, SHIPPED
from cede.doctrines.parts.starter import Outline, Starter

BEP_1014 = {"preemption_mode": "suspend"}
RELEASE_26_8 = {
    "enabled": True,
    "preemption_mode": "reschedule",
    "victim_scope": "resource-group",
    "agent_selection_strategy": "concentrated",
}
"""The release preempts only where it is switched on, and within one user's sessions unless told otherwise; dispersed
sessions leave a gang no whole node, and nobody passes it."""


def starter(outline: Outline, edition: str) -> Starter:
    """One resource group a queue. The document's threshold is below the top class; the release never reads it."""
    if edition == SHIPPED:
        settings: dict[str, Any] = RELEASE_26_8
    else:
        bar = DEFAULTS[edition]["preemptible_priority"] if outline.bar is None else outline.bar
        settings = {"preemptible_priority": bar, **BEP_1014}
    return Starter([{"name": name, "settings": dict(settings)} for name in outline.queues])
