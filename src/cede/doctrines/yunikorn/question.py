"""What a victim set of either edition must do and is judged by, for the exact solver.

Edition `laws`: the set preference of its own search, as far as it counts: fewer that opted out, then fewer originators,
then fewer victims, all on one node, no queue below its guarantee. Release 1.9: its order of victims.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import fits
from cede.doctrines.parts.orders import Rows, order_of
from cede.doctrines.parts.question import Floats, Linear, Question
from cede.doctrines.parts.selection import best_of, within_limits
from cede.doctrines.yunikorn import rules
from cede.doctrines.yunikorn.ask import Ask, ask_of
from cede.doctrines.yunikorn.attempt import Attempt, Outcome, eagerness
from cede.doctrines.yunikorn.covers import unwilling
from cede.doctrines.yunikorn.fences import candidates, reach_of
from cede.doctrines.yunikorn.queues import Queues, queues_of
from cede.doctrines.yunikorn.required_node_preemptor import ClearedNode, clear_node
from cede.doctrines.yunikorn.reservations import held_nodes, usable
from cede.doctrines.yunikorn.settings import LAWS, SHIPPED
from cede.doctrines.yunikorn.seven_laws import Slack, lawful_candidates, lawful_on_node, looked_at
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.model.plan import Decision
from cede.state.columns import NONE, Bools
from cede.state.state import State

ONE_BY_ONE = (
    "release 1.9 takes of a queue as long as that is above its guarantee, and for the asking one as long as it is owed"
)
ONE_NODE = "where only a limit is short, that victims stand on one node, the claimant's if it can be, is left out"
WHOLE_ASK = "release 1.9 holds victims against all that is asked for, whatever is free"


def question(state: State, edition: str, made: Decision, _memory: Mapping[str, Any] | None = None) -> Question | None:
    """The question about a preemption; none about what serves no claimant, or does not make room as it is."""
    if made.workload is None or not made.victims or any(one.rule == rules.NO_GAIN.id for one in made.warnings):
        return None
    ask = ask_of(state, state.work_index[made.workload])
    queues = queues_of(state, edition)
    if edition == LAWS:
        return _of_the_laws(state, queues, ask)
    open_ = open_to(state, queues, ask)
    nodes = [state.node_index[name] for name in made.nodes]
    return of_the_release(state, replace(ask, claim=_claim(state, ask, nodes)), np.flatnonzero(open_))


# -- edition laws ----------------------------------------------------------------------------------------------------


def _of_the_laws(state: State, queues: Queues, ask: Ask) -> Question:
    pinned = state.work.required_node[ask.row] != NONE
    lawful = (
        lawful_on_node(state, ask)
        if pinned
        else lawful_candidates(state, queues, Snapshot(state, queues, ask.leaf), ask)
    )
    rows = np.flatnonzero(lawful.candidates.open)
    limits = ask.short_limits
    roomy = bool(limits) and not pinned and state.nodes.size > 0 and fits(state, ask.claim)
    return Question(
        claim=ask.claim,
        rows=rows,
        objective="set preference",
        weights=_preference(state, rows),
        unit="points",
        conditions=(*within_limits(state, limits, rows), *_law_2(state, queues, lawful.slack, rows)),
        one_node=state.nodes.size > 0,
        places=state.nodes.size > 0 and not roomy,
        relaxed=(ONE_NODE,) if roomy else (),
    )


def _preference(state: State, rows: Rows) -> Floats:
    """One that opted out outweighs all originators, one of those all others, that one node can have."""
    kind = unwilling(state, rows)
    on = state.residents.node[state.work.resident[rows]] if state.nodes.size else np.zeros(len(rows), np.intp)
    step = float(np.bincount(on, minlength=1).max(initial=0) + 1)
    weights: Floats = 1.0 + step * (kind % 2) + step * step * (kind // 2)
    return weights


def _law_2(state: State, queues: Queues, slack: Slack, rows: Rows) -> tuple[Linear, ...]:
    """What each queue below the common ancestor may lose, where its candidates have more."""
    own = state.work.queue[rows]
    conditions = []
    for pair, (queue, column, most) in enumerate(slack.pairs):
        leaves = [leaf for leaf, pairs in slack.of_leaf.items() if pair in pairs]
        adds = np.where(np.isin(own, leaves), state.work.usage[column, rows], 0)
        if int(adds.sum()) > max(0, most):
            what = f"law 2: {queues.name(queue)} keeps its guaranteed {state.units.names[column]}"
            conditions.append(Linear(what, adds.astype(np.float64), high=max(0, most)))
    return tuple(conditions)


# -- release 1.9 -----------------------------------------------------------------------------------------------------


def open_to(state: State, queues: Queues, ask: Ask) -> Bools:
    """Whom the release may take for this ask, each by itself."""
    if state.work.required_node[ask.row] != NONE:
        looked = looked_at(state, ask, state.work.state[: state.work.size])
        looked.protect((rules.LAW_6, state.work.priority[: state.work.size] > state.work.priority[ask.row]))
        return looked.open
    snapshot = Snapshot(state, queues, ask.leaf)
    open_ = candidates(state, queues, reach_of(state, queues, snapshot, ask), ask).open
    giving = Attempt(state, snapshot, ask, np.flatnonzero(open_), ask.claim.allowed, tried=False).open_leaf
    return open_ & giving[state.work.queue[: state.work.size]]


def _claim(state: State, ask: Ask, nodes: list[int]) -> Claim:
    """The claim on all nodes that the release may have taken, with those it took."""
    allowed = usable(state, ask, ()) & ~held_nodes(state)
    allowed[nodes] = True
    return replace(ask.claim, allowed=allowed)


def of_the_release(state: State, ask: Ask, rows: Rows) -> Question:
    """Of these workloads, which go by the release's order."""
    pinned = state.work.required_node[ask.row] != NONE
    places = np.empty(len(rows))
    places[order_of(state, rows, *eagerness(state, queues_of(state, SHIPPED), rows))] = np.arange(1, len(rows) + 1)
    return Question(
        claim=ask.claim,
        rows=rows,
        objective="order of victims",
        weights=places,
        unit="place",
        by_order=True,
        conditions=within_limits(state, ask.short_limits, rows),
        places=state.nodes.size > 0,
        relaxed=(WHOLE_ASK,) if pinned else (ONE_BY_ONE, WHOLE_ASK),
    )


def attempted(cycle: Cycle, attempt: Attempt, own: Outcome) -> Outcome:
    """What an attempt found, or would find among those of a cheaper set alone."""
    if not cycle.optimal or own.refusal is not None:
        return own
    state, ask = cycle.state, replace(attempt.ask, claim=attempt.claim)

    def again(only: Bools) -> Outcome | None:
        rows = attempt.rows[only[attempt.rows]]
        once = Attempt(state, attempt.snapshot, attempt.ask, rows, attempt.claim.allowed, tried=attempt.tried)
        result = once.run()
        return result if result.refusal is None and _makes_room(cycle, ask, result.node, result.victims) else None

    giving = attempt.rows[attempt.open_leaf[state.work.queue[attempt.rows]]]
    return best_of(cycle, own, lambda one: one.victims, lambda: of_the_release(state, ask, giving), again)


def cleared(cycle: Cycle, ask: Ask, node: int, own: ClearedNode) -> ClearedNode:
    """The same for an ask that needs a certain node."""
    if not cycle.optimal or own.victims is None:
        return own
    state = cycle.state
    asked = of_the_release(state, ask, np.flatnonzero(own.candidates.open))

    def again(only: Bools) -> ClearedNode | None:
        fewer = replace(own, victims=clear_node(state, ask, node, only).victims)
        return fewer if fewer.victims and _makes_room(cycle, ask, node, fewer.victims) else None

    return best_of(cycle, own, lambda one: one.victims or (), lambda: asked, again)


def _makes_room(cycle: Cycle, ask: Ask, node: int, victims: tuple[int, ...]) -> bool:
    """Whether the claimant fits where it goes, and within its limits, once these have left."""
    state, rows = cycle.state, np.array(victims, np.intp)
    if any(int(limit.credit(state, rows).sum()) < limit.short for limit in ask.short_limits):
        return False
    if node == NONE:
        return True
    mark = cycle.trial.mark()
    for row in victims:
        cycle.trial.evict(row)
    fits = (state.nodes.free[:, node] >= ask.claim.vectors[0])[ask.claim.columns].all()
    cycle.trial.undo(mark)
    return bool(fits)
