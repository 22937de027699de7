"""Whether a plan that only starts plain workloads is lawful, at the cost of the nodes it names.

Sums are made anew from what stands on each node, by code that chose nothing; what is not plain is left to `verify`.
"""

from __future__ import annotations

import numpy as np

from cede.engine.verify_records import unlimited_queue
from cede.model.plan import Decision, Plan
from cede.state.admission import admitted_parts
from cede.state.columns import NONE, READY, SUSPENDED, Int64s
from cede.state.standing import OVERLAPPING
from cede.state.state import State

MOST_KEPT = 4096
"""Needs of members in flavors that are kept."""


def lawful_starts(state: State, plan: Plan) -> bool:
    """True if everything this plan decides is a start of which nothing can be wrong; False says nothing."""
    decided: set[str] = set()
    free: dict[int, Int64s] = {}
    for made in plan.decisions:
        if made.action != "start" or made.victims or made.counts or not _starts(state, made, free):
            return False
        assert made.workload is not None
        if made.workload in decided:
            return False
        decided.add(made.workload)
    return True


def _starts(state: State, made: Decision, free: dict[int, Int64s]) -> bool:
    row = state.work_index.get(made.workload or "")
    if row is None or row in state.parts or row in state.constraints or row in state.odd_requests:
        return False
    work, nodes, residents = state.work, state.nodes, state.residents
    if not 0 < work.state[row] <= SUSPENDED or work.required_node[row] != NONE or work.placement[row]:
        return False
    if len(made.nodes) != work.members[row] or not unlimited_queue(state, int(work.queue[row])):
        return False
    need, partition = _need(state, row, made), work.partition[row]
    if need is None:
        return False
    for name in made.nodes:
        node = state.node_index.get(name)
        if node is None or nodes.state[node] != READY or nodes.partition[node] != partition:
            return False
        left = free.get(node)
        if left is None:
            there = state.node_residents[node]
            if state.between and bool(np.isin(work.state[residents.work[there]], OVERLAPPING).any()):
                return False  # what is leaving and what is held overlap
            left = nodes.capacity[:, node] - nodes.occupied[:, node] - residents.amount[:, there].sum(axis=1)
        left = left - need
        if left.min() < 0 and bool(((left < 0) & (need > 0)).any()):
            return False
        free[node] = left
    return True


def _need(state: State, row: int, made: Decision) -> Int64s | None:
    """What each of its equal members takes of a node, in the flavors that it gets; None where that is not plain."""
    if not made.flavors:
        need: Int64s = state.work.need[:, row]
        return need
    if not state.static.flavored_quota or row in state.admitted or state.work.usage_given[row]:
        return None
    if not all(isinstance(flavor, str) for flavor in made.flavors.values()):
        return None
    key = (state.work.need[:, row].tobytes(), tuple(made.flavors.items()))
    known: dict[object, Int64s | None] = state.tree.derived.setdefault("verify needs", {})
    if key not in known:
        parts = admitted_parts(state, row, made.flavors, {}) or ()
        names = {name for part in parts for name in part.requests}
        if len(known) > MOST_KEPT:
            known.clear()
        learned = len(parts) == 1 and names <= state.units.index.keys()
        known[key] = state.vectors_of(parts, bool(state.work.exclusive[row]))[0] if learned else None
    return known[key]
