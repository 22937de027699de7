"""What the engine knows of a doctrine: a record of its parts, no base class."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cede.doctrines.parts.question import Question
from cede.doctrines.parts.starting_file import Outline, Starter, bare
from cede.model.dialect import Dialect
from cede.model.lint import Finding
from cede.model.plan import Decision
from cede.model.rules import RuleSet
from cede.model.settings import Setting
from cede.state.columns import Bools
from cede.state.state import State
from cede.state.trial import Trial

OPTIMAL = "optimal"
EFFORT = 200
BRISK = 10
"""How far searches may branch: where somebody asks what is best, and where a scheduler waits for the answer."""


@dataclass(slots=True)
class Cycle:
    """One scheduling cycle under way. `memory` is what the doctrine keeps from cycle to cycle."""

    state: State
    trial: Trial
    edition: str
    only: int | None = None
    explain: bool = False
    misses: bool = True
    memory: dict[str, Any] = field(default_factory=dict)
    whole: bool = True
    """Whether all that waits is asked for; if not, what is remembered of the rest stays."""
    backfill: str = "off"
    """What may pass a head that waits for room, where an edition sees to that itself when it goes without words."""
    effort: int = EFFORT
    """How far a search for the proven best victims may branch before it is given up; no clock, so that the same file
    has the same plan."""
    words: bool = True
    """Whether waiting workloads are told why. Without, `decide` yields only what acts: starts and preemptions up to the
    first one (all of them where the plan is one transaction), and refusals of those that came since the cycle before;
    at a cost that follows what changed since."""
    reasons: bool = True
    """Whether what acts is told with its reason and its warnings; a replay reads neither."""
    carried_out: bool = True
    """Whether all of the plan is carried out, and not only what comes up to its first preemption."""
    wakes_at: int | None = None
    again: bool = False
    """Whether another cycle may decide otherwise though nothing happens but what this one decides: one that waits might
    preempt one that starts."""
    missed: dict[Hashable, list[int]] = field(default_factory=dict)

    def quiet(self) -> Cycle:
        """The same cycle for a decision that nobody will read: no explanation, no nearest miss."""
        return replace(self, explain=False, misses=False)

    @property
    def optimal(self) -> bool:
        """Whether the file asks for the proven best victims, and not for the doctrine's own choice."""
        return self.state.static.selection == OPTIMAL

    @property
    def told(self) -> bool:
        """Whether somebody will read more than the answer: an explanation, or the nearest miss."""
        return self.explain or self.misses

    def wake(self, at: int) -> None:
        """Something may change at this time though nothing happens until then."""
        self.wakes_at = at if self.wakes_at is None else min(self.wakes_at, at)


Audit = Callable[[Decision], Iterable[str]]
"""Follows a plan decision by decision, and says what is wrong with each."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What is so under one doctrine and not under others, as far as plain data can say it. Of editions, those that have
    the trait."""

    exact: frozenset[str] = frozenset()
    """Editions that promise no superfluous victim."""
    transactional: frozenset[str] = frozenset()
    """Editions whose plan is one transaction: it is carried out whole, preemptions and what comes after them alike.
    Until then room is free once only: that of a victim for its own claimant and not for those decided later, and what
    is reserved and what is preempting do not overlap."""
    awaits_start: frozenset[str] = frozenset()
    """Editions that tell what was launched from what runs: it has no start time until its processes are there."""
    loose: frozenset[str] = frozenset()
    """Editions that take more than one group for a tight gang where no single one has room."""
    by_job_priority: frozenset[str] = frozenset()
    """Editions in which a workload's job priority says what it may preempt, and its priority does not."""
    backfills: frozenset[str] = frozenset()
    """Editions that see to it themselves, without words, that nothing passes a head that waits for room but as a replay
    asks. Of the others the engine restrains the whole plan."""
    for_claimants: frozenset[str] = frozenset()
    """Editions that decide nothing where nothing waits."""
    no_line: str = ""
    """Why no workload waits at the head of a line, as a sentence; empty: one does, and others may be let pass it."""
    one_node: bool = False
    """Whether all members of a workload start on one node."""
    members_apart: bool = False
    """Whether a job of a trace that fits no node whole is submitted as one workload a member, all of one app."""
    leaving_counts: bool = True
    """Whether what is being preempted counts against the limits of its queues until it has left."""
    waived: bool = False
    """What is preempted uses nothing from that moment on, also if that serves no claimant: it is `preempting`."""
    reads_checkpoints: bool = False
    """Whether it decides by when work was saved last: it is told of checkpoints that were not asked for."""
    falls_short: str = ""
    """The warning with which a shipped edition may take victims that do not make enough room."""
    retries: frozenset[str] = frozenset()
    """Rules that refuse only for now: what they refuse stays queued, and is decided again."""
    counted: frozenset[str] = frozenset()
    """Rules by which a workload waits and holds quota nevertheless against those that come after it in the plan."""
    awaits: frozenset[str] = frozenset()
    """Of these, the rules by which it waits for work that is leaving: for those that come after it, it is gone."""


def _no_shares(_state: State, _edition: str) -> dict[str, dict[str, Any]]:
    return {}


def _nothing_found(_state: State, _edition: str) -> Iterable[Finding]:
    return ()


@dataclass(frozen=True, slots=True)
class Doctrine:
    """A doctrine is parts put together; these are the ones the engine calls. Those with a default may be left out.

    `dialect` is what a cluster file may say under it. `fate` says of a workload that is being preempted whether it
    queues again; `audit` checks what the doctrine promises, by code that did not decide.
    """

    dialect: Dialect
    title: str
    rules: RuleSet
    decide: Callable[[Cycle], Iterator[Decision]]
    fate: Callable[[State, str, int], str]
    audit: Callable[[State, str], Audit]
    traits: Traits = Traits()
    audit_touched: Callable[[State, str], Audit] | None = None
    """The same check at the cost of what a plan touches; none: it costs no more than that anyway."""
    shares: Callable[[State, str], dict[str, dict[str, Any]]] = _no_shares
    """What it computes before it decides, as tables: by table, by row."""
    lint: Callable[[State, str], Iterable[Finding]] = _nothing_found
    """What in a cluster file cannot be meant under it."""
    curves: Callable[[State], dict[str, Any]] | None = None
    """Its shares as curves that can be drawn; none: there is nothing to draw."""
    incremental: frozenset[str] = frozenset()
    """Editions whose `decide` goes without words too."""
    lasting: Callable[[Mapping[str, Any]], Hashable] | None = None
    """What of its memory decides for ever, not for a time: a state comes back only if this does too."""
    cancels: Callable[[State, str, int, int], bool] | None = None
    """Whether a node that is reserved for one workload may be taken by this other one."""
    takes_cordoned: Callable[[State, str, int], bool] | None = None
    """Whether a workload starts on a cordoned node all the same."""
    tolerates: Callable[[State, int, int], int] | None = None
    """By how much a queue's limit of a resource column may be exceeded by a start, in counts."""
    kept: Callable[[State, Mapping[str, Any], int | None], dict[str, Any]] | None = None
    """What of its memory outlives a restart, as plain JSON, empty if nothing does; with a time, as a plan at that time
    would find it. What it says under `apps`, `queues` and `nodes` in the words of a cluster file, a file of the moment
    says too."""
    recalled: Callable[[State, Mapping[str, Any]], dict[str, Any]] | None = None
    """The memory of which this was kept."""
    copied: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda _memory: {}
    """What of its memory a plan from nothing would not know, once more: for a plan that is only asked for, and of which
    nothing may be remembered."""
    question: Callable[[State, str, Decision, Mapping[str, Any]], Question | None] | None = None
    """What a victim set of this decision had to do and is judged by, by what the doctrine remembered; the state is as
    it was before. None: nothing to ask."""
    usable: Callable[[State, str, int], Bools | None] | None = None
    """Nodes that the doctrine's own rules let a workload stand on, whatever else is asked of them; none: all."""
    saves: Callable[[State, str], Iterable[tuple[str, str]]] | None = None
    """Which work is worth a checkpoint now though nothing must leave, by name, and why."""
    starter: Callable[[Outline, str], Starter] = lambda outline, _edition: bare(outline)
    """The queues and settings of a file to start from, with which higher classes and owed queues have their way."""

    @property
    def name(self) -> str:
        return self.dialect.name

    @property
    def editions(self) -> tuple[str, ...]:
        return self.dialect.editions

    @property
    def settings(self) -> tuple[Setting, ...]:
        return self.dialect.settings
