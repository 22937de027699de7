"""What a victim set of either edition must do and is judged by, for the exact solver.

BEP-1014 takes lower priorities first, and of equals the oldest or the newest; what counts is how far it must go in that
order. Release 26.8 has two orders of that kind by job priority, and two that weigh: sessions, or what they hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cede.doctrines.backendai import bep_1014, release_26_8
from cede.doctrines.backendai.settings import DOCUMENT, Settings, settings_of
from cede.doctrines.backendai.victims import mixed_totals
from cede.doctrines.parts.claim import Claim, claim_of, residents_of_all
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.limits import Limit, broken, limits_of, nodes_over
from cede.doctrines.parts.orders import Key, Rows, order_of
from cede.doctrines.parts.question import Floats, Question
from cede.doctrines.parts.selection import within_limits
from cede.model.plan import Decision
from cede.state.columns import NEVER, Bools
from cede.state.state import State

FEWEST_NODES = "how many nodes its tenant may hold is asked of the fewest nodes that it could stand on"
ONE_BY_ONE = "release 26.8 gives members that differ their agents one after another, each the one its strategy likes"
ORDER, PLACE = "order", "place"


def question(state: State, edition: str, made: Decision, _memory: Mapping[str, Any] | None = None) -> Question | None:
    """The question about a preemption; the state is as it was before."""
    if made.workload is None or not made.victims:
        return None
    row = state.work_index[made.workload]
    settings = settings_of(state.tree.settings(int(state.work.queue[row])), edition)
    claim = claim_of(state, row)
    limits = limits_of(state, row)
    relaxed = (FEWEST_NODES,) if any(limit.what == "nodes" for limit in limits) else ()
    if edition == DOCUMENT:
        rows = _useful(state, claim, bep_1014.candidates(state, claim, settings).open)
        return _of_the_document(state, claim, settings, rows, relaxed)
    rows = _useful(state, claim, release_26_8.candidates(state, claim, settings).open)
    return _of_the_release(state, claim, settings, rows, relaxed if claim.need is not None else (*relaxed, ONE_BY_ONE))


def _of_the_document(state: State, claim: Claim, settings: Settings, rows: Rows, relaxed: tuple[str, ...]) -> Question:
    order = bep_1014.victim_order(state, settings)
    return Question(
        claim=claim,
        rows=rows,
        objective=ORDER,
        weights=_places(state, rows, order.first[rows], order.second[rows]),
        unit=PLACE,
        by_order=True,
        conditions=within_limits(state, _short(state, claim), rows),
        places=state.nodes.size > 0,
        relaxed=relaxed,
    )


def _of_the_release(state: State, claim: Claim, settings: Settings, rows: Rows, relaxed: tuple[str, ...]) -> Question:
    by_order = settings.order in ("oldest", "newest")
    if by_order:
        begun = state.work.started[rows]
        start = np.where(begun == NEVER, 0, begun)
        turn = (begun != NEVER, -start if settings.order == "newest" else start)
        objective, unit, weights = ORDER, PLACE, _places(state, rows, state.work.job_priority[rows], *turn)
    elif settings.order == "fewest-sessions":
        objective, unit, weights = "sessions", "sessions", np.ones(len(rows))
    else:
        objective, unit, weights = "resources", "of all slots", _resources(state, rows)
    return Question(
        claim=claim, rows=rows, objective=objective, weights=weights, unit=unit, by_order=by_order, relaxed=relaxed
    )


def _short(state: State, claim: Claim) -> list[Limit]:
    """The limits that stand in the way, as the edition finds them."""
    short = broken(limits_of(state, claim.row))
    nodes = None if short else place(state, claim)
    over = None if nodes is None else nodes_over(state, claim.row, nodes)
    return short if over is None else [over]


def _useful(state: State, claim: Claim, open_: Bools) -> Rows:
    """Open workloads that stand on a node the claimant may use; all of them where there are no nodes."""
    rows: Rows = np.flatnonzero(open_)
    if not state.nodes.size:
        return rows
    residents = residents_of_all(state, rows)
    here = residents[claim.allowed[state.residents.node[residents]]]
    return np.unique(state.residents.work[here]).astype(np.intp)


def _places(state: State, rows: Rows, *keys: Key) -> Floats:
    """The place of each in the order of these keys, from 1."""
    places = np.empty(len(rows))
    places[order_of(state, rows, *keys)] = np.arange(1, len(rows) + 1)
    return places


def _resources(state: State, rows: Rows) -> Floats:
    """What each holds, cores and bytes alike, as shipped; on all its nodes, since a set is not of one agent."""
    residents = residents_of_all(state, rows)
    sizes = np.asarray(mixed_totals(state, state.residents.amount[:, residents])).astype(np.float64)
    sums: Floats = np.bincount(state.residents.work[residents], sizes, state.work.size).astype(np.float64)
    return sums[rows]
