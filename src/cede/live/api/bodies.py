"""What callers send, but for its meaning."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from cede.live.api.values import (
    NAME,
    Argument,
    Body,
    Duration,
    Folder,
    Label,
    Labels,
    Lifetime,
    Requests,
    Variables,
    Walltime,
)
from cede.model.values import Integer, Maybe, Reads, number, whole
from cede.model.workloads import CheckpointMode, Kind, Placement

MOST_MEMBERS = 100_000
"""Of one workload. What places them looks at each of those that are not all alike."""
MOST_ARGUMENTS = 1000
MOST_NODES = 10_000
MOST_PARTS = 1000
MOST_REQUEUES = 100
MOST_SET = 100
MOST_WORKLOADS = 1000
Least1 = Annotated[int, whole(least=1, most=MOST_MEMBERS)]
Requeue = Literal["never", "on_node_failure", "always"]


class CheckpointBody(Body):
    """How the workload saves its progress."""

    mode: CheckpointMode = Field("auto", description="Default auto.")
    protocol: Maybe[Literal["signal", "shm", "grpc", "criu"]] = Field(
        None, description="How its application is asked for a checkpoint."
    )
    signal: Literal["SIGUSR1", "SIGUSR2"] = Field("SIGUSR1", description="Of the protocol `signal`; default SIGUSR1.")
    time: Maybe[Duration] = Field(None, description="How long writing one takes.")
    interval: Maybe[Duration] = Field(
        None, description="How often it writes one by itself; handed to it as CEDE_CHECKPOINT_INTERVAL, in seconds."
    )


class ConstraintsBody(Body):
    """Where it may run."""

    labels: Maybe[Labels] = None
    nodes: Maybe[list[Label]] = Field(None, max_length=MOST_NODES)


class PodSetBody(Body):
    """Some equal members of a workload whose parts differ."""

    name: Label
    count: Least1
    requests: Requests
    min_count: Maybe[Least1] = None


class TimesBody(Body):
    """The times of the preemption sequence; what is left out comes from the queue, then the server."""

    checkpoint_timeout: Maybe[Duration] = None
    timeout_extension: Maybe[Annotated[float, number(most=10)]] = None
    max_deferral: Maybe[Duration] = None
    grace_period: Maybe[Duration] = None
    start_timeout: Maybe[Duration] = None
    hold_timeout: Maybe[Duration] = None


class Submission(Body):
    """A workload to run."""

    command: list[Argument] = Field(min_length=1, max_length=MOST_ARGUMENTS)
    cwd: Folder = Field(description="An absolute path.")
    name: Maybe[str] = Field(None, pattern=NAME, description="Default: the command's name and a number.")
    queue: Maybe[Label] = Field(None, description="Default: the server's, the only queue, or the one called default.")
    project: Maybe[Label] = Field(None, description="Default: the caller's first.")
    tenant: Maybe[Label] = Field(None, description="Whose quota it counts to; default: the caller's own.")
    priority: Maybe[Integer] = None
    job_priority: Maybe[Integer] = None
    kind: Maybe[Kind] = None
    app: Maybe[Label] = None
    members: Maybe[Least1] = Field(None, description="Default 1.")
    requests: Maybe[Requests] = Field(
        None, description="For one member. Of what it does not ask for it gets the server's default, 1 cpu."
    )
    pod_sets: Maybe[list[PodSetBody]] = Field(None, min_length=1, max_length=MOST_PARTS)
    exclusive: Maybe[bool] = None
    placement: Maybe[Placement] = None
    constraints: Maybe[ConstraintsBody] = None
    walltime: Maybe[Walltime] = None
    checkpoint: Maybe[CheckpointBody] = None
    preemptible: Maybe[bool] = None
    preempts: Maybe[bool] = None
    sensitive: Maybe[bool] = Field(None, description="Default false. Every step of it is in the audit trail.")
    env: Maybe[Variables] = None
    times: Maybe[TimesBody] = None
    requeue: Maybe[Requeue] = Field(None, description="When it is queued again after a failure.")
    max_requeues: Maybe[Annotated[int, whole(least=0, most=MOST_REQUEUES)]] = None


class CancelBody(Body):
    """How to cancel."""

    now: bool = Field(False, description="Kill it at once, without any grace.")


class SuspendBody(Body):
    """How to suspend."""

    force: bool = Field(False, description="Give up work that no checkpoint would save.")
    now: bool = Field(False, description="Kill it at once: what it did since its last checkpoint is lost.")


class DrainBody(Body):
    """How to drain."""

    evict: bool = Field(False, description="Send away what runs there, instead of letting it end.")


def _entry(raw: Any) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise ValueError("is no workload; give an entry as in a cluster file")
    return raw


_ENTRY = Reads(_entry, {"type": "object"})


class WhatIfBody(Body):
    """Changes to the live state, as the options of `cede plan` and `cede diff` make them."""

    doctrine: Maybe[str] = Field(None, max_length=100, description="NAME or NAME/EDITION.")
    set: list[Annotated[str, Field(max_length=10_000)]] = Field(
        default_factory=list, max_length=MOST_SET, description="PATH=VALUE, as workloads[train-1].priority=3."
    )
    add: list[Annotated[dict[str, Any], _ENTRY]] = Field(
        default_factory=list, max_length=MOST_WORKLOADS, description="Workload entries as in a cluster file."
    )
    without: list[Annotated[str, Field(max_length=300)]] = Field(default_factory=list, max_length=MOST_WORKLOADS)


class PlanBody(WhatIfBody):
    """The same, and what to show."""

    only: Maybe[str] = Field(None, max_length=253, description="Decide this workload only.")
    explain: bool = Field(False, description="Show every workload that was looked at, and why.")
    shares: bool = Field(False, description="Show what the doctrine computed before deciding.")


class TokenBody(Body):
    """A token to make."""

    user: str = Field(pattern=NAME, description="Whose token it is.")
    role: Maybe[Literal["admin", "user", "viewer"]] = Field(
        None, description="Default: what the configuration says of the user, else user."
    )
    projects: list[Label] = Field(default_factory=list, max_length=1000)
    expires_in: Maybe[Lifetime] = Field(None, description="How long it stands; default: what the configuration says.")


class RenewBody(Body):
    """How to renew a token."""

    expires_in: Maybe[Lifetime] = Field(None, description="From now on; default: what the configuration says.")
