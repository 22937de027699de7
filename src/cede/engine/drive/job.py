"""One workload as the driver keeps it: everything that must survive a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.engine.drive.terms import Terms
from cede.model.cluster import Workload
from cede.model.lifecycle import Phase
from cede.model.plan import REQUEUED


@dataclass(slots=True)
class Leaving:
    """Why and how a workload is going, while it has not left yet.

    `cause`: preempt, suspend, cancel, walltime, drain. `stage`: hinted, told (SIGTERM), killed.
    """

    cause: str
    stage: str
    decision: int | None = None
    claimant: str | None = None
    by: str = ""
    fate: str = REQUEUED
    rule: str = ""
    reason: str = ""
    """Of a victim: the doctrine's word for why it was taken."""
    hinted: int | None = None
    heard: int | None = None
    extended: bool = False
    deferred: int = 0
    """Microseconds of deferral granted so far."""
    timed_out: bool = False
    failed: str = ""
    """Why it could not write a checkpoint, if it said so."""
    saved: bool = False
    """It wrote a usable checkpoint in answer to this."""


@dataclass(slots=True)
class Job:
    """Times in microseconds. `version` counts its transitions; `deadline` is when the driver must look at it next."""

    workload: Workload
    terms: Terms
    phase: Phase = Phase.PENDING
    version: int = 0
    since: int = 0
    deadline: int | None = None
    attempt: int = 0
    nodes: tuple[str, ...] = ()
    flavors: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    started: int | None = None
    """When its present or last attempt was given its room."""
    began: int | None = None
    ended: int | None = None
    waits_for: tuple[str, ...] = ()
    """Held: the victims that have not left yet."""
    decision: int | None = None
    """The decision that started it or holds room for it."""
    leaving: Leaving | None = None
    hint: int = 0
    """Hints given in this attempt."""
    hinted: int | None = None
    asked_to_leave: bool = True
    """Whether the last hint asked for its room too, not for a checkpoint alone. A hint keeps its meaning whatever is
    decided afterwards: only one that was asked to leave can have left by ending well."""
    withdrawn: int = 0
    """The hint of this attempt that asked it to leave for one who no longer needs its room."""
    leaves_until: int | None = None
    """It answered that hint, and may be on its way out all the same: until then its end counts as leaving."""
    checkpoint: int | None = None
    """When its last usable checkpoint was written, in whatever attempt."""
    takes: int | None = None
    """How long it takes to write one, as it said or as was seen last."""
    progress: float | None = None
    parked: str = ""
    """Who asked to keep it from running, until `Resume`."""
    aside: str = ""
    """How a step failed because of it: nothing is decided about it, until `Resume`."""
    capped: str = ""
    """Why it does not stand in the line: its owner has as much running as it may."""
    retry_at: int | None = None
    """Its last attempt failed, and it does not queue again before this time."""
    evicts_after: int | None = None
    """The breaker holds its evictions back until this time."""
    preempted: int = 0
    drained: int = 0
    """How many of these were no preemptions, but evictions from a node that was drained."""
    thrashes: bool = False
    """It was preempted so often that somebody should look."""
    requeues: int = 0
    exit_code: int | None = None
    exit_signal: int | None = None
    rule: str = ""
    why: str = ""
    """Why it is where it is: of one that waits, what stands in its way; of one that ended, how."""

    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.workload.name

    @property
    def grace(self) -> int:
        """From SIGTERM to SIGKILL, as long as it leaves for the reason it leaves for now."""
        leaving = self.leaving
        return self.terms.grace("" if leaving is None or leaving.cause != "preempt" else leaving.reason)

    @property
    def out_of_line(self) -> bool:
        """Whether it waits without standing in the line: parked, set aside, one too many of its owner's, or not to be
        tried again yet."""
        return bool(self.parked or self.aside or self.capped) or self.retry_at is not None

    @property
    def resumes(self) -> bool:
        """Whether its next attempt goes on from a checkpoint."""
        return self.checkpoint is not None
