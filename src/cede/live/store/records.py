"""What goes into the store and comes out of it, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cede.engine.clock import Mark, Shift
from cede.engine.drive.facts import Fact
from cede.engine.drive.job import Job
from cede.engine.drive.step import Step, Transition
from cede.live.task import Task
from cede.model.cluster import ClusterFile
from cede.model.plan import Decision


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """For the audit trail: who asked for fact number `fact` of the step, and whether that was allowed."""

    fact: int
    by: str
    role: str
    what: str
    about: str
    detail: str = ""
    allowed: bool = True
    rule: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One transaction: a step, and all that is kept beside it."""

    expected: int
    """The store's version that the step was made from."""
    step: Step
    facts: Sequence[Fact]
    """The inputs as fed, in order; those that were refused too."""
    tasks: Mapping[str, Task] = field(default_factory=dict)
    """Of the workloads that were submitted in this step, and not refused."""
    audit: Sequence[AuditRequest] = ()
    notes: Sequence[AuditRequest] = ()
    """What the audit trail says of the step beside what was asked for."""
    settings_hash: str = ""
    cluster_hash: str = ""
    """Of the cluster file that the decisions were made from; one that carries its own has its own hash."""
    cluster: bytes | None = None
    """That file as compressed JSON, where it shall be kept."""
    mark: Mark | None = None
    """What all clocks showed when the step was made; none: the wall clock agrees with the scheduler's."""
    shifts: Sequence[Shift] = ()
    """Steps of the wall clock that are not in the store yet."""

    @property
    def wall(self) -> int:
        """The time of the step for people."""
        return self.step.at if self.mark is None else self.mark.wall


@dataclass(frozen=True, slots=True)
class Record:
    """A workload with what it runs."""

    job: Job
    task: Task


@dataclass(frozen=True, slots=True)
class Saved:
    """All that a driver needs to go on, at one version."""

    version: int
    document: ClusterFile | None
    jobs: tuple[Job, ...]
    """Those that have not ended, in the order of their submission."""
    next_decision: int
    node_states: Mapping[str, str]
    """Of nodes whose state was set since the document was given."""
    kept: Mapping[str, Any] = field(default_factory=dict)
    """What the doctrine remembers, as plain JSON."""
    warnings: tuple[str, ...] = ()
    """What was not read as it stands in the store."""
    unreadable: tuple[str, ...] = ()
    """Sentences about workloads that have not ended, but whose records are no records."""


@dataclass(frozen=True, slots=True)
class SavedClock:
    """What the scheduler's clock goes on from."""

    mark: Mark | None
    """At the last step; none if no step was ever marked."""
    shifts: tuple[Shift, ...]
    last: int
    """The time of the last recorded step, 0 if there is none."""


@dataclass(frozen=True, slots=True)
class Event:
    """A transition with its place among all of them; `version` is that of the step it belongs to."""

    sequence: int
    transition: Transition
    version: int = 0


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A decision with what it was made from. `victims` are names; all the rest of it is in `decision`."""

    number: int
    at: int
    claimant: str | None
    action: str
    victims: tuple[str, ...]
    rule: str
    why: str
    decision: Decision
    doctrine: str
    edition: str
    settings_hash: str
    cluster_hash: str
    version: int
    kept: Mapping[str, Any] = field(default_factory=dict)
    """What the doctrine remembered when it was made, as plain JSON; none is shown of it."""


@dataclass(frozen=True, slots=True)
class Story:
    """What became of one workload: its events and the decisions that name it, each in order."""

    name: str
    record: Record | None
    events: tuple[Event, ...]
    decisions: tuple[DecisionRecord, ...]

    @property
    def told(self) -> tuple[Event | DecisionRecord, ...]:
        """Both together, as they happened: a decision comes before what followed from it in the same step."""
        both: list[Event | DecisionRecord] = [*self.decisions, *self.events]
        return tuple(sorted(both, key=lambda one: one.version))


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who asked for what. `version` is that of the step it became part of, none if it never became a fact."""

    sequence: int
    at: int
    by: str
    role: str
    what: str
    about: str
    detail: str
    allowed: bool
    """Whether it was done; `rule` says why not."""
    rule: str
    version: int | None
    previous: str
    """The hash of the record before it."""
    hash: str


@dataclass(frozen=True, slots=True)
class Chain:
    """Whether the audit trail and the decisions are as they were written: how many are, up to the first that is not."""

    count: int
    head: str
    """The hash of the last record that was written, as the store keeps it."""
    broken: int | None = None
    """The first record, or decision, that is wrong or missing; none if all is well."""
    why: str = ""
    what: Literal["record", "decision"] = "record"
    """Of which chain that is."""
    decisions: int = 0
    decision_head: str = "0" * 64
    """The hash of the last decision that was written."""


@dataclass(frozen=True, slots=True)
class Named:
    """A workload with what decides who may see it, and under which name."""

    name: str
    owner: str
    called: str
    project: str | None


@dataclass(frozen=True, slots=True)
class Token:
    """Who a token stands for; the token itself is not kept, only its hash."""

    id: int
    name: str
    role: str
    projects: tuple[str, ...]
    at: int
    revoked: bool
    expires: int | None = None
    """When it expires; none: never."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was deleted; the files of these workloads can go too."""

    workloads: tuple[str, ...] = ()
    events: int = 0
    steps: int = 0
    clusters: int = 0
