"""The configuration of a server: what `cede serve --config FILE` reads, beside the cluster file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from cede.model.quantities import NANO
from cede.model.resources import parse_resources
from cede.model.times import SECOND, parse_duration

DAY = 86400 * SECOND
Duration = Annotated[int, BeforeValidator(parse_duration)]
"""Microseconds, written as in a cluster file: seconds, or 30s, 10m, 1h30m."""
Amounts = Annotated[dict[str, int], BeforeValidator(parse_resources)]
"""Resources by name, written as in a cluster file: {cpu: 2, memory: 4Gi}."""
Grant = Literal["unpreemptible", "exclusive", "priority"]
"""What takes a grant: work that may not be preempted, whole nodes, a priority of one's own choice."""


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Times(Part):
    """The times of the preemption sequence; what is left out comes from the level above."""

    checkpoint_timeout: Duration | None = None
    timeout_extension: float | None = Field(None, ge=0, le=10)
    max_deferral: Duration | None = None
    grace_period: Duration | None = None
    reclaim_grace: Duration | None = None
    """The least grace of one whose nodes are lent and wanted back by the queue they are at home in."""
    start_timeout: Duration | None = None
    hold_timeout: Duration | None = None
    requeue: Literal["never", "on_node_failure", "always"] | None = None
    max_requeues: int | None = Field(None, ge=0, le=100)


class Limits(Part):
    """The most that owners may ask for, and what they are granted; what is left out comes from the level above."""

    grace_period: Duration | None = None
    checkpoint_time: Duration | None = None
    """To write a checkpoint, with the extension of its timeout."""
    max_deferral: Duration | None = None
    walltime: Duration | None = None
    may: tuple[Grant, ...] = ()


class ServerLimits(Limits):
    """Those of the whole server, and of its queues and roles."""

    grace_period: Duration = 600 * SECOND
    checkpoint_time: Duration = 3600 * SECOND
    max_deferral: Duration = 600 * SECOND
    may: tuple[Grant, ...] = ("priority",)
    queues: dict[str, Limits] = Field(default_factory=dict)
    roles: dict[Literal["admin", "user"], Limits] = Field(default_factory=dict)


Most = Annotated[int, Field(ge=0, le=10_000_000)]


class Caps(Part):
    """How much one owner may have that has not ended."""

    pending: Most | None = None
    workloads: Most | None = None
    """Pending and running."""
    running: Annotated[Most, Field(ge=1)] | None = None
    requests: Amounts = Field(default_factory=dict)
    """Over all members of all of them."""


class UserCaps(Caps):
    """Those of each user."""

    pending: Most = 10_000
    workloads: Most = 20_000


class ProjectCaps(Caps):
    """Those of each project."""

    pending: Most = 50_000
    workloads: Most = 100_000


class ServerCaps(Part):
    """How much users and projects may have that has not ended; of some of them by name."""

    user: UserCaps = UserCaps()
    project: ProjectCaps = ProjectCaps()
    users: dict[str, Caps] = Field(default_factory=dict)
    projects: dict[str, Caps] = Field(default_factory=dict)


class Defaults(Part):
    """What a submission gets that does not say."""

    queue: str | None = None
    requests: Amounts = Field(default_factory=lambda: {"cpu": NANO})
    """Of each member, where there is such a resource."""


class User(Part):
    """Who may use the server, by name: role, projects, and the unix account that jobs run as."""

    name: str = Field(min_length=1, max_length=100)
    role: Literal["admin", "user", "viewer"] = "user"
    projects: tuple[str, ...] = ()
    account: str | None = None
    """Under a server that is root: whose rights its jobs have. Without one it cannot submit there."""
    tenant: str | None = None
    """Whose quota its workloads count to."""
    limits: Limits = Limits()
    """In place of those of the server, its queue and its role."""


class Retention(Part):
    """What is kept of workloads that ended. Nothing is deleted unless a time is given."""

    ended: Duration | None = None
    events: Duration | None = None
    inputs: Duration | None = None
    """Recorded steps and the cluster files of decisions: what is older cannot be replayed."""


class BackoffConfig(Part):
    """How long a workload that failed waits before it is tried again: each time twice as long."""

    delay: Duration = SECOND
    max_delay: Duration = 300 * SECOND


class BreakerConfig(Part):
    """When workloads that evict each other in a circle are slowed down, and by how much."""

    enabled: bool = True
    turns: int = Field(3, ge=1, le=1000)
    app_turns: int = Field(10, ge=1, le=1000)
    window: Duration = 3600 * SECOND
    delay: Duration = 10 * SECOND
    max_delay: Duration = 1800 * SECOND


class ServerConfig(Part):
    """All of it has defaults: no file is needed."""

    host: str = "127.0.0.1"
    port: int = Field(8642, ge=0, le=65535)
    data: Path | None = None
    tls_cert: Path | None = None
    """The certificate of the server, and those above it, in one PEM file; with it the server speaks https."""
    tls_key: Path | None = None
    """Its key; none: in the same file."""
    insecure: bool = False
    """Whether it may listen beyond this machine without TLS: tokens and work are then read by whoever is in between."""
    connections: int | None = Field(None, ge=20, le=100_000)
    """How many there may be; none: 4096, and never more than half of the files that the process may open."""
    token_lifetime: Annotated[Duration, Field(gt=0, le=3650 * DAY)] = 90 * DAY
    """How long a new token stands, unless whoever makes it says otherwise."""
    times: Times = Times()
    queues: dict[str, Times] = Field(default_factory=dict)
    users: tuple[User, ...] = ()
    limits: ServerLimits = ServerLimits()
    caps: ServerCaps = ServerCaps()
    defaults: Defaults = Defaults()
    retention: Retention = Retention()
    backfill: Literal["off", "strict", "easy"] = "off"
    """Who may pass a workload that waits for room at the head of its line."""
    checkpoints: Literal["asked", "worth"] = "asked"
    """When a workload that goes on is asked for a checkpoint."""
    backoff: BackoffConfig = BackoffConfig()
    breaker: BreakerConfig = BreakerConfig()
    thrashing: int = Field(5, ge=1, le=10_000)
    """A workload that was preempted more often than this is said to thrash; drains do not count."""
    max_body: int = Field(1_000_000, ge=1000, le=2**40)
    compare_every: Duration = 30 * SECOND
    """How often what the store says is under way is compared with what runs."""
    log_limit: int = Field(64 * 2**20, ge=4096, le=2**50)
    assumed_checkpoint_age: Duration | None = None
    """How old a checkpoint a silent workload is taken to have, while no workload publishes any."""


RELOADED = ("times", "queues", "users", "limits", "caps", "defaults", "retention", "log_limit", "token_lifetime")
"""Keys that a running server reads again when it is told to (SIGHUP): the others take a restart."""


def reloaded(running: ServerConfig, fresh: ServerConfig) -> tuple[ServerConfig, tuple[str, ...], tuple[str, ...]]:
    """What a running server goes on with; which keys changed with it, and which did but take a restart."""
    differ = [key for key in ServerConfig.model_fields if getattr(running, key) != getattr(fresh, key)]
    now = tuple(key for key in differ if key in RELOADED)
    later = tuple(key for key in differ if key not in RELOADED)
    return running.model_copy(update={key: getattr(fresh, key) for key in now}), now, later
