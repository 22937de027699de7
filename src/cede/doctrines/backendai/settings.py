"""What a cluster file may say under Backend.AI: the settings of a resource group in each edition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from cede.model.dialect import Dialect
from cede.model.settings import Means
from cede.model.times import parse_duration
from cede.model.values import Duration, Part, whole

DOCUMENT = "bep-1014"
SHIPPED = "26.8"
LOWEST, HIGHEST = 0, 100

Priority = Annotated[int, whole(least=LOWEST, most=HIGHEST)]
THRESHOLD = Means("running work up to this priority may be preempted (26.8 stores it and never reads it)")
ORDER = Means("which of equals goes first: oldest, newest; 26.8 also fewest-sessions, smallest-resources")
MODE = Means("what becomes of a victim: terminate, or suspend (bep-1014), reschedule (26.8)")
"""Settings that both editions have."""


class BackendaiSettings(Part):
    """None: all of them are per resource group."""


class Bep1014QueueSettings(Part):
    preemptible_priority: Annotated[Priority, THRESHOLD] = Field(5, description="Default 5.")
    preemption_order: Annotated[Literal["oldest", "newest"], ORDER] = Field("oldest", description="Default oldest.")
    preemption_mode: Annotated[Literal["terminate", "suspend"], MODE] = Field(
        "terminate", description="Default terminate."
    )


class BackendaiQueueSettings(Part):
    preemptible_priority: Annotated[Priority, THRESHOLD] = Field(5, description="Stored and never read.")
    preemption_order: Annotated[Literal["oldest", "newest", "fewest-sessions", "smallest-resources"], ORDER] = Field(
        "oldest", description="Default oldest."
    )
    preemption_mode: Annotated[Literal["terminate", "reschedule"], MODE] = Field(
        "terminate", description="Default terminate."
    )
    enabled: Annotated[bool, Means("whether the group preempts at all", first=True)] = Field(
        False, description="Default false."
    )
    preemption_min_runtime: Annotated[
        Duration, Means("how long a session must have run before it may be preempted", shown=0)
    ] = Field(0, description="Default 0.")
    victim_scope: Annotated[
        Literal["user", "project", "domain", "resource-group"],
        Means("whose sessions may be preempted: user, project, domain, resource-group"),
    ] = Field("user", description="Default user.")
    scheduler: Annotated[
        Literal["fifo", "lifo", "drf", "fair-share"], Means("order within a priority: fifo, lifo, drf, fair-share")
    ] = Field("drf", description="Default drf.")
    agent_selection_strategy: Annotated[
        Literal["concentrated", "dispersed", "roundrobin", "legacy"],
        Means("which agent is taken: concentrated, dispersed, roundrobin, legacy"),
    ] = Field("dispersed", description="Default dispersed.")


DIALECT = Dialect(
    "backendai",
    cluster=BackendaiSettings,
    queues={DOCUMENT: Bep1014QueueSettings, SHIPPED: BackendaiQueueSettings},
    priorities=(LOWEST, HIGHEST),
    default_priority=10,
)


EDITIONS = (DOCUMENT, SHIPPED)

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
