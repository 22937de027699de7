"""A cluster file to start from under Kueue: one cohort, in which every queue reclaims its quota."""

from __future__ import annotations

from cede.doctrines.parts.starter import Outline, Starter

SETTINGS = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}


def starter(outline: Outline, _edition: str) -> Starter:
    """Quotas share the nodes evenly; what a queue does not use the others borrow, and it may have it back."""
    return Starter(
        [{"name": name, "guaranteed": outline.guarantee(name), "settings": dict(SETTINGS)} for name in outline.queues]
    )
