"""What the edition promises of a preemption, re-derived one workload at a time by code that chose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cede.doctrines.lattice.node_facts import any_home, kept
from cede.doctrines.lattice.settings import POLICY
from cede.model.plan import REQUEUED, Decision
from cede.model.times import parse_duration
from cede.state.columns import CHECKPOINTS, NEVER, NONE, STATES
from cede.state.state import State

MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class WorkFacts:
    """What is known of one workload: from its record, where it has one, else from the columns."""

    code: int
    queue: int
    priority: int
    preemptible: bool
    preempts: bool
    started: int
    walltime: int
    nodes: list[int]
    flagged: bool
    """Whether it says itself that it is sensitive."""
    saves: bool


def objections(state: State, edition: str, made: Decision) -> Iterator[str]:
    """Sentences that say what is unlawful about this decision; the state is as it was before the plan."""
    if made.workload is None:
        return
    row = state.work_index[made.workload]
    if edition == POLICY and made.nodes and any_home(state):
        yield from _lending(state, row, made)
    if not made.victims:
        return
    claimant = _facts_of(state, row)
    if not claimant.preempts:
        yield f"{made.workload} never preempts, yet it has victims"
    given = {} if state.static.doctrine is None else dict(state.static.doctrine.settings)
    by_class = [victim for victim in made.victims if victim.reason == "priority"]
    most = _number(given, "max_victims", 3)
    if len(by_class) > most:
        yield f"{len(by_class)} victims for a higher class, where {most} is the most"
    for victim in made.victims:
        known = _facts_of(state, state.work_index[victim.workload])
        if edition == POLICY:
            complaints = _policy(state, given, claimant, known, victim.reason, names=_named(state, row))
        else:
            complaints = _core(claimant, known, victim.reason)
        for complaint in complaints:
            yield f"{victim.workload} {complaint}"
        if victim.fate != REQUEUED:
            yield f"{victim.workload} would be {victim.fate}, and Lattice queues its victims again"


def _facts_of(state: State, row: int) -> WorkFacts:
    record = state.records.get(row)
    if record is None:
        work = state.work
        return WorkFacts(
            int(work.state[row]),
            int(work.queue[row]),
            int(work.priority[row]),
            bool(work.preemptible[row]),
            bool(work.preempts[row]),
            int(work.started[row]),
            int(work.walltime[row]),
            [int(state.residents.node[at]) for at in state.residents_of(row)],
            bool(work.sensitive[row]),
            CHECKPOINTS[work.checkpoint[row]] != "none",
        )
    template = record.template
    return WorkFacts(
        record.code,
        template.queue,
        record.priority,
        record.preemptible,
        template.preempts,
        record.started,
        record.walltime,
        list(record.nodes),
        kept(state, ("sensitive", template), lambda: bool(state.work.sensitive[row])),
        template.saves,
    )


def _core(claimant: WorkFacts, victim: WorkFacts, reason: str) -> Iterator[str]:
    yield from _shared(victim)
    if reason != "priority":
        yield f"goes by {reason}, which the library does not know"
    if victim.flagged or victim.priority >= 10:
        yield "is sensitive"
    yield from _lower(claimant, victim)


def _policy(
    state: State, given: dict[str, Any], claimant: WorkFacts, victim: WorkFacts, reason: str, *, names: bool
) -> Iterator[str]:
    """`names`: whether the claimant names its nodes."""
    yield from _shared(victim)
    if _sensitive(state, victim):
        yield "is sensitive"
    if reason == "sensitive":
        if not (_sensitive(state, claimant) and names):
            yield "goes for a sensitive claim, which the claimant is not"
        return
    threshold = _number(given, "near_completion_threshold", 5 * MINUTE)
    if NEVER not in (victim.started, victim.walltime):
        left = victim.started + victim.walltime - state.now
        if left <= threshold:
            yield f"has {left} microseconds to its end, within {threshold}"
    lent = (
        any_home(state)
        and NONE != claimant.queue != victim.queue
        and any(state.nodes.home[node] == claimant.queue for node in victim.nodes)
    )
    if reason == "reclaim":
        if not lent:
            yield "borrows no node of the claimant's vCluster"
        return
    yield from _lower(claimant, victim)
    if not victim.saves and victim.priority >= 7:
        yield f"writes no checkpoints and has class {victim.priority}"
    of_type = _type(state, victim.queue)
    if of_type == "service" and (
        not any_home(state) or any(_at_home(state, victim.queue, node) for node in victim.nodes)
    ):
        yield "is a service on a node that it does not borrow"
    if of_type == "sensitive":
        yield "is of a sensitive vCluster"


def _shared(victim: WorkFacts) -> Iterator[str]:
    if STATES[victim.code] != "running":
        yield f"is {STATES[victim.code]}"
    if not victim.preemptible:
        yield "asks not to be preempted"


def _lower(claimant: WorkFacts, victim: WorkFacts) -> Iterator[str]:
    if victim.priority >= claimant.priority:
        yield f"has class {victim.priority}, not below {claimant.priority}"


def _lending(state: State, claimant: int, made: Decision) -> Iterator[str]:
    """Nodes of another home need two vClusters that agree, neither of them sensitive; or a sensitive claim."""
    known = _facts_of(state, claimant)
    if _sensitive(state, known) and _named(state, claimant):
        return
    own = state.settings_of(known.queue)
    for name in sorted(set(made.nodes)):
        node = state.node_index[name]
        if _at_home(state, known.queue, node):
            continue
        home = state.settings_of(int(state.nodes.home[node]))
        if own.get("allow_borrowing") is False or home.get("allow_lending") is False:
            yield f"{name} is not lent to it"
        if "sensitive" in (own.get("type"), home.get("type")):
            yield f"{name} would be lent by or to a sensitive vCluster"


def _at_home(state: State, queue: int, node: int) -> bool:
    return int(state.nodes.home[node]) in (NONE, queue)


def _sensitive(state: State, one: WorkFacts) -> bool:
    return one.flagged or one.priority >= 10 or _type(state, one.queue) == "sensitive"


def _named(state: State, row: int) -> bool:
    """Whether it names its nodes, which no record does."""
    if row in state.records:
        return False
    constraints = state.constraints.get(row)
    return state.work.required_node[row] != NONE or bool(constraints is not None and constraints.nodes)


def _type(state: State, queue: int) -> str | None:
    kind: str | None = state.settings_of(queue).get("type")
    return kind


def _number(given: dict[str, Any], key: str, default: int) -> int:
    raw = given.get(key)
    if raw is None:
        return default
    return int(raw) if key == "max_victims" else parse_duration(raw)
