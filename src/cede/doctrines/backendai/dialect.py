"""What a cluster file may say under Backend.AI: the settings of a resource group in each edition."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cede.model.dialect import Dialect
from cede.model.values import Duration, Maybe, Part, whole

DOCUMENT = "bep-1014"
SHIPPED = "26.8"
LOWEST, HIGHEST = 0, 100

Priority = Annotated[int, whole(least=LOWEST, most=HIGHEST)]


class BackendaiSettings(Part):
    """None: all of them are per resource group."""


class Bep1014QueueSettings(Part):
    preemptible_priority: Maybe[Priority] = Field(None, description="Default 5.")
    preemption_order: Maybe[Literal["oldest", "newest"]] = Field(None, description="Default oldest.")
    preemption_mode: Maybe[Literal["terminate", "suspend"]] = Field(None, description="Default terminate.")


class BackendaiQueueSettings(Part):
    preemptible_priority: Maybe[Priority] = Field(None, description="Stored, read by nobody.")
    preemption_order: Maybe[Literal["oldest", "newest", "fewest-sessions", "smallest-resources"]] = Field(
        None, description="Default oldest."
    )
    preemption_mode: Maybe[Literal["terminate", "reschedule"]] = Field(None, description="Default terminate.")
    enabled: Maybe[bool] = Field(None, description="Default false.")
    preemption_min_runtime: Maybe[Duration] = Field(None, description="Default 0.")
    victim_scope: Maybe[Literal["user", "project", "domain", "resource-group"]] = Field(
        None, description="Default user."
    )
    scheduler: Maybe[Literal["fifo", "lifo", "drf", "fair-share"]] = Field(None, description="Default drf.")
    agent_selection_strategy: Maybe[Literal["concentrated", "dispersed", "roundrobin", "legacy"]] = Field(
        None, description="Default dispersed."
    )


DIALECT = Dialect(
    "backendai",
    cluster=BackendaiSettings,
    queues={DOCUMENT: Bep1014QueueSettings, SHIPPED: BackendaiQueueSettings},
    priorities=(LOWEST, HIGHEST),
    default_priority=10,
)
