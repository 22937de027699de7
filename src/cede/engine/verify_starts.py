"""Whether a plan that only starts plain workloads is lawful, at the cost of the nodes it names.

Sums are made anew from what stands on each node, by code that chose nothing; what is not plain is left to `verify`.
"""

from __future__ import annotations

import numpy as np

from cede.model.plan import Decision, Plan
from cede.state.admission import admitted_parts
from cede.state.columns import ANY, GONE, NONE, READY, SUSPENDED, UNSET, Int64s
from cede.state.standing import OVERLAPPING
from cede.state.state import State
from cede.state.write_behind import NodeRoom

MOST_KEPT = 4096
"""Needs of members in flavors that are kept."""


def lawful_starts(state: State, plan: Plan, *, whole: bool = True) -> bool:
    """True if everything this plan decides is a start of which nothing can be wrong; False says nothing.

    Where all workloads are in records and this is not the `whole` check, what is free is what the state counts by what
    happened, which the search neither writes nor asks; else it is summed anew.
    """
    if state.static.tenants or state.static.policies or not state.node_names or state.reservations:
        return False
    if plan.version != state.version:
        return False
    decided: set[str] = set()
    if len(state.records) == len(state.work_index) and not state.units.flavored:
        room = state.room()
        left: dict[int, list[int]] = {}
        for made in plan.decisions:
            if made.action != "start" or made.victims or made.counts or made.workload in decided:
                return False
            if not _record_starts(state, room, made, left, whole):
                return False
            decided.add(made.workload or "")
        return True
    free: dict[int, Int64s] = {}
    for made in plan.decisions:
        if made.action != "start" or made.victims or made.counts or not _starts(state, made, free):
            return False
        assert made.workload is not None
        if made.workload in decided:
            return False
        decided.add(made.workload)
    return True


def _record_starts(state: State, room: NodeRoom, made: Decision, free: dict[int, list[int]], whole: bool) -> bool:
    record = state.records.get(state.work_index.get(made.workload or "", NONE))
    if record is None or not GONE < record.code <= SUSPENDED:
        return False
    mould = record.mould
    if mould.placement != ANY or len(made.nodes) != mould.members:
        return False
    unlimited = room.unlimited.get(mould.queue)
    if unlimited is None:
        unlimited = room.unlimited[mould.queue] = _unlimited(state, mould.queue)
    if not unlimited:
        return False
    for name in made.nodes:
        node = state.node_index.get(name)
        if node is None or room.partition[node] != mould.partition:
            return False
        left = free.get(node)
        if left is None:
            if node in room.apart:
                return False  # what is leaving and what is held overlap
            left = free[node] = _sum(state, room, node) if whole else room.free[node].copy()
        for column, count in mould.need:
            left[column] -= count
            if left[column] < 0:
                return False
    return True


def _sum(state: State, room: NodeRoom, node: int) -> list[int]:
    """What is free on a node beside all that stand there."""
    left = room.capacity[node].copy()
    for row, members in room.standing[node].items():
        for column, count in state.records[row].mould.need:
            left[column] -= count * members
    return left


def _starts(state: State, made: Decision, free: dict[int, Int64s]) -> bool:
    row = state.work_index.get(made.workload or "")
    if row is None or row in state.parts or row in state.constraints or row in state.odd_requests:
        return False
    work, nodes, residents = state.work, state.nodes, state.residents
    if not 0 < work.state[row] <= SUSPENDED or work.required_node[row] != NONE or work.placement[row]:
        return False
    if len(made.nodes) != work.members[row] or not _unlimited(state, int(work.queue[row])):
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


def _unlimited(state: State, queue: int) -> bool:
    """Whether no queue above it, nor itself, has a limit; worked out once as long as the queues stay."""
    known: dict[int, bool] = state.tree.derived.setdefault("verify", {})
    found = known.get(queue)
    if found is None:
        found = known[queue] = all(bool((state.tree.max[:, above] == UNSET).all()) for above in state.tree.path(queue))
    return found
