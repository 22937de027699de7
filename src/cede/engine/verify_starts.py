"""Whether a plan about plain workloads is lawful, at the cost of the nodes it names and of those its victims leave.

Sums are made anew from what stands on each node, by code that chose nothing; what is not plain is left to `verify`.
"""

from __future__ import annotations

import numpy as np

from cede.engine.verify_records import unlimited_queue
from cede.model.plan import Decision, Plan
from cede.state.admission import admitted_parts
from cede.state.columns import NONE, PREEMPTING, READY, RESERVED, SUSPENDED, Int64s
from cede.state.state import State

MOST_KEPT = 4096
"""Needs of members in flavors that are kept."""


def lawful_starts(state: State, plan: Plan, *, whole: bool) -> bool:
    """True if nothing can be wrong with any start or preemption of this plan but what its doctrine says of victims;
    False says nothing. Whether a victim was needed, which the `whole` check asks, is left to `verify`.
    """
    decided: set[str] = set()
    evicted: set[str] = set()
    free: dict[int, _Free] = {}
    for made in plan.decisions:
        if made.workload is None or made.workload in decided or made.counts:
            return False
        decided.add(made.workload)
        if made.victims:
            if whole or made.action != "preempt" or not _leave(state, made, free, evicted):
                return False
        elif made.action != "start":
            return False
        if not _starts(state, made, free):
            return False
    return True


class _Free:
    """What is free on one node while a plan goes on: what is leaving and what is held overlap."""

    __slots__ = ("held", "leaving", "rest")

    def __init__(self, state: State, node: int) -> None:
        nodes, residents, there = state.nodes, state.residents, state.node_residents[node]
        self.rest: Int64s = nodes.capacity[:, node] - nodes.occupied[:, node]
        self.leaving: Int64s | None = None
        self.held: Int64s | None = None
        codes = state.work.state[residents.work[there]].tolist() if state.between else ()
        if PREEMPTING in codes or RESERVED in codes:
            self.leaving, self.held = np.zeros_like(self.rest), np.zeros_like(self.rest)
            for resident, code in zip(there, codes, strict=True):
                self.give(code, -residents.amount[:, resident])
        else:
            self.rest = self.rest - residents.amount[:, there].sum(axis=1)

    def give(self, code: int, amount: Int64s) -> None:
        """So much of a workload in this state goes."""
        if code == PREEMPTING and self.leaving is not None:
            self.leaving = self.leaving - amount
        elif code == RESERVED and self.held is not None:
            self.held = self.held - amount
        else:
            self.rest = self.rest + amount

    def take(self, need: Int64s) -> bool:
        """A member takes its room; whether there is as much."""
        left = self.rest = self.rest - need
        if self.leaving is not None and self.held is not None:
            left = left - np.maximum(self.leaving, self.held)
        return not (left.min() < 0 and bool(((left < 0) & (need > 0)).any()))


def _leave(state: State, made: Decision, free: dict[int, _Free], evicted: set[str]) -> bool:
    """The victims of a decision leave, each once; whether they are there and could."""
    residents = state.residents
    for victim in made.victims:
        row = state.work_index.get(victim.workload)
        if row is None or victim.workload in evicted:
            return False
        code = int(state.work.state[row])
        if code < RESERVED or (victim.leaving and code != PREEMPTING):
            return False
        evicted.add(victim.workload)
        for resident in state.residents_of(row):
            node = int(residents.node[resident])
            if node not in free:
                free[node] = _Free(state, node)
            free[node].give(code, residents.amount[:, resident])
    return True


def _starts(state: State, made: Decision, free: dict[int, _Free]) -> bool:
    row = state.work_index.get(made.workload or "")
    if row is None or row in state.parts or row in state.constraints or row in state.odd_requests:
        return False
    work, nodes = state.work, state.nodes
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
        if node not in free:
            free[node] = _Free(state, node)
        if not free[node].take(need):
            return False
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
