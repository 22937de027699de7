"""What one step of the driver yields: to be stored in one transaction, then done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cede.engine.drive.job import Job
from cede.engine.drive.orders import Order
from cede.model.cluster import ClusterFile
from cede.model.lifecycle import Phase, Signal
from cede.model.plan import Decision
from cede.model.value_class import value


@value
class Transition:
    """One move of one workload. `about` names who it was for or by, `rule` and `why` the reason."""

    at: int
    name: str
    attempt: int
    signal: Signal | str
    before: Phase | None
    after: Phase
    rule: str = ""
    why: str = ""
    decision: int | None = None
    claimant: str | None = None
    by: str = ""
    lost_gpu_hours: float = 0.0
    """Of one that had to make way and left with this: what that threw away."""


@value
class Made:
    """A decision that was carried out, numbered, with what it was made from."""

    number: int
    at: int
    doctrine: str
    edition: str
    decision: Decision
    cluster: ClusterFile | None = None
    """The moment it was decided on, of one that preempts."""
    kept: Mapping[str, Any] = field(default_factory=dict)
    """What the doctrine remembered then that no file says, as plain JSON."""


@value
class Refusal:
    """A fact that could not be: nothing was changed by it."""

    fact: int
    """Which of the step's facts, from 0."""
    rule: str
    why: str
    unknown: bool = False
    """There is no such workload or node."""


@dataclass(slots=True, init=False)
class Step:
    """`at` and `facts` in give the same step out, on the same driver."""

    at: int
    transitions: list[Transition]
    decisions: list[Made]
    orders: list[Order]
    changed: dict[str, Job]
    """Every workload whose record changed; those that ended too."""
    refusals: list[Refusal]
    refused: dict[str, Decision]
    """Workloads that are refused: for now, or because they can never run as things are."""
    released: dict[str, tuple[str, ...]]
    """The nodes of those that gave their room, or what was held for them, back."""
    granted: dict[str, int]
    """Deferrals asked for in this step: microseconds granted, by workload."""
    slowed: dict[str, str]
    """Workloads that backoff or breaker keep waiting, or would if they acted: the rule, by name."""
    problems: list[str]
    """What was wrong with a plan that was therefore not carried out."""
    plans: int
    wakes_at: int | None
    """When the driver wants to be called again though nothing happened."""
    kept: Mapping[str, Any] | None
    """What the doctrine remembers that must outlive a restart, as plain JSON; none: the same as after the last step."""

    def __init__(
        self, at: int, *, changed: dict[str, Job] | None = None, kept: Mapping[str, Any] | None = None
    ) -> None:
        # By hand: one is made at every moment of a replay, and a dataclass asks a factory for each list.
        self.at = at
        self.transitions = []
        self.decisions = []
        self.orders = []
        self.changed = {} if changed is None else changed
        self.refusals = []
        self.refused = {}
        self.released = {}
        self.granted = {}
        self.slowed = {}
        self.problems = []
        self.plans = 0
        self.wakes_at = None
        self.kept = kept
