"""What a cluster file may say under kube-scheduler: disruption budgets, each with whom it covers and what it allows."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from cede.doctrines.parts.assembled import Empty, dialect_of
from cede.model.settings import Means
from cede.model.values import Maybe, Part, whole

EDITION = "1.36"
ALLOWS = ("allowed", "min_available", "max_unavailable")
COVERS = ("apps", "queues", "workloads")


class DisruptionBudget(Part):
    """Whom it covers: whatever is in all of the lists that are given. What it allows: one of three."""

    name: str
    apps: Maybe[list[str]] = Field(None, description="Work of these apps.")
    queues: Maybe[list[str]] = Field(None, description="Work of these queues.")
    workloads: Maybe[list[str]] = Field(None, description="These workloads.")
    allowed: Maybe[Annotated[int, whole(least=0)]] = Field(
        None, description="How many more members may be disrupted now."
    )
    min_available: Maybe[Annotated[int, whole(least=0)]] = Field(None, description="Minimum number of running members.")
    max_unavailable: Maybe[Annotated[int, whole(least=0)]] = Field(
        None, description="Maximum number of members without room, waiting ones included."
    )

    @model_validator(mode="before")
    @classmethod
    def _one_of_each(cls, raw: Any) -> Any:
        if isinstance(raw, dict):
            if sum(key in raw for key in ALLOWS) != 1:
                raise ValueError(f"one of {', '.join(ALLOWS)} is required")
            if not any(key in raw for key in COVERS):
                raise ValueError(f"at least one of {', '.join(COVERS)} is required")
        return raw


class KubernetesSettings(Part):
    disruption_budgets: Annotated[
        list[DisruptionBudget],
        Means("how many members of which work may be disrupted; preemption breaks one only if nothing else makes room"),
    ] = Field(default_factory=list, description="Default none.")


class KubernetesQueueSettings(Empty):
    """None: kube-scheduler has no queues of its own."""


DIALECT = dialect_of("kubernetes", EDITION, KubernetesSettings, KubernetesQueueSettings)
