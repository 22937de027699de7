"""What the edition promises of a preemption, re-derived one workload at a time by code that chose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cede.doctrines.lattice.settings import POLICY
from cede.model.plan import REQUEUED, Decision
from cede.model.times import parse_duration
from cede.state.columns import CHECKPOINTS, NEVER, NONE, STATES
from cede.state.state import State

MINUTE = 60_000_000


def objections(state: State, edition: str, made: Decision) -> Iterator[str]:
    """Sentences that say what is unlawful about this decision; the state is as it was before the plan."""
    if made.workload is None:
        return
    claimant = state.work_index[made.workload]
    if edition == POLICY and made.nodes:
        yield from _lending(state, claimant, made)
    if not made.victims:
        return
    if not state.work.preempts[claimant]:
        yield f"{made.workload} never preempts, yet it has victims"
    given = {} if state.static.doctrine is None else dict(state.static.doctrine.settings)
    by_class = [victim for victim in made.victims if victim.reason == "priority"]
    most = _number(given, "max_victims", 3)
    if len(by_class) > most:
        yield f"{len(by_class)} victims for a higher class, where {most} is the most"
    for victim in made.victims:
        row = state.work_index[victim.workload]
        check = _policy if edition == POLICY else _core
        for complaint in check(state, given, claimant, row, victim.reason):
            yield f"{victim.workload} {complaint}"
        if victim.fate != REQUEUED:
            yield f"{victim.workload} would be {victim.fate}, and Lattice queues its victims again"


def _core(state: State, _given: dict[str, Any], claimant: int, row: int, reason: str) -> Iterator[str]:
    yield from _shared(state, row)
    if reason != "priority":
        yield f"goes by {reason}, which the library does not know"
    if state.work.sensitive[row] or state.work.priority[row] >= 10:
        yield "is sensitive"
    yield from _lower(state, claimant, row)


def _policy(state: State, given: dict[str, Any], claimant: int, row: int, reason: str) -> Iterator[str]:
    yield from _shared(state, row)
    if _sensitive(state, row):
        yield "is sensitive"
    if reason == "sensitive":
        if not (_sensitive(state, claimant) and _named(state, claimant)):
            yield "goes for a sensitive claim, which the claimant is not"
        return
    threshold = _number(given, "near_completion_threshold", 5 * MINUTE)
    if state.work.started[row] != NEVER and state.work.walltime[row] != NEVER:
        left = int(state.work.started[row]) + int(state.work.walltime[row]) - state.now
        if left <= threshold:
            yield f"has {left} microseconds to its end, within {threshold}"
    home = int(state.work.queue[claimant])
    nodes = [int(state.residents.node[at]) for at in state.residents_of(row)]
    lent = home != NONE and int(state.work.queue[row]) != home and any(state.nodes.home[n] == home for n in nodes)
    if reason == "reclaim":
        if not lent:
            yield "borrows no node of the claimant's vCluster"
        return
    yield from _lower(state, claimant, row)
    if CHECKPOINTS[state.work.checkpoint[row]] == "none" and state.work.priority[row] >= 7:
        yield f"writes no checkpoints and has class {state.work.priority[row]}"
    if _type(state, row) == "service" and any(_at_home(state, row, node) for node in nodes):
        yield "is a service on a node that it does not borrow"
    if _type(state, row) == "sensitive":
        yield "is of a sensitive vCluster"


def _shared(state: State, row: int) -> Iterator[str]:
    if STATES[state.work.state[row]] != "running":
        yield f"is {STATES[state.work.state[row]]}"
    if not state.work.preemptible[row]:
        yield "asks not to be preempted"


def _lower(state: State, claimant: int, row: int) -> Iterator[str]:
    if int(state.work.priority[row]) >= int(state.work.priority[claimant]):
        yield f"has class {state.work.priority[row]}, not below {state.work.priority[claimant]}"


def _lending(state: State, claimant: int, made: Decision) -> Iterator[str]:
    """Nodes of another home need two vClusters that agree, neither of them sensitive; or a sensitive claim."""
    if _sensitive(state, claimant) and _named(state, claimant):
        return
    own = _settings(state, int(state.work.queue[claimant]))
    for name in sorted(set(made.nodes)):
        node = state.node_index[name]
        if _at_home(state, claimant, node):
            continue
        home = _settings(state, int(state.nodes.home[node]))
        if own.get("allow_borrowing") is False or home.get("allow_lending") is False:
            yield f"{name} is not lent to it"
        if "sensitive" in (own.get("type"), home.get("type")):
            yield f"{name} would be lent by or to a sensitive vCluster"


def _at_home(state: State, row: int, node: int) -> bool:
    return int(state.nodes.home[node]) in (NONE, int(state.work.queue[row]))


def _sensitive(state: State, row: int) -> bool:
    flagged = bool(state.work.sensitive[row]) or int(state.work.priority[row]) >= 10
    return flagged or _type(state, row) == "sensitive"


def _named(state: State, row: int) -> bool:
    constraints = state.constraints.get(row)
    return state.work.required_node[row] != NONE or bool(constraints is not None and constraints.nodes)


def _type(state: State, row: int) -> str | None:
    found: str | None = _settings(state, int(state.work.queue[row])).get("type")
    return found


def _settings(state: State, queue: int) -> dict[str, Any]:
    return state.tree.settings(queue)


def _number(given: dict[str, Any], key: str, default: int) -> int:
    raw = given.get(key)
    if raw is None:
        return default
    return int(raw) if key == "max_victims" else parse_duration(raw)
