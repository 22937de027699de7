"""The running allocations of all nodes, each judged as a heartbeat of its node would: what stages could take where."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.cycle_usage import CycleUsage
from cede.doctrines.ytsaurus.heartbeat import Heartbeats
from cede.doctrines.ytsaurus.node_allocations import (
    LEVEL_AGGRESSIVELY,
    LEVEL_PREEMPTIBLE,
    SSD_NON,
    is_running,
    levels_of,
)
from cede.doctrines.ytsaurus.starvation import AGGRESSIVE, NOT
from cede.doctrines.ytsaurus.update import Update
from cede.state.columns import NONE, Bools, Int64s, Rows


class RunningAllocations:
    """All nodes as things stand when this is made. `ssd`: nodes whose disks have priority."""

    def __init__(self, cycle_usage: CycleUsage, ssd: Bools) -> None:
        update = cycle_usage.update
        state, residents = update.state, update.state.residents
        grouped = cycle_usage.all_groups()
        group = np.zeros(state.work.size, np.int8)
        group[grouped.rows] = grouped.group
        works = residents.work[: residents.size].astype(np.intp)
        self._residents: Rows = np.flatnonzero((residents.count[: residents.size] > 0) & is_running(state, works))
        rows = works[self._residents]
        self.state, self.node = state, residents.node[self._residents]
        self.operation = update.operation_usage.operation[rows]
        self._level, self._shielded, self._from_normal = levels_of(
            update, rows, self.operation, group[rows], ssd[self.node]
        )
        self._known: dict[tuple[int, bool], Int64s] = {}

    def open(self, least: int, *, normal: bool) -> Bools:
        """What a stage may take that takes this level and all above."""
        mask: Bools = (self._level >= least) & ~self._shielded
        return mask & ~self._from_normal if normal else mask

    def discount(self, least: int, *, normal: bool) -> Int64s:
        """What such a stage could take on each node, (columns, nodes)."""
        discount = self._known.get((least, normal))
        if discount is None:
            open_ = self.open(least, normal=normal)
            node, taken = self.node[open_], self._residents[open_]
            discount = np.zeros((len(self.state.units), self.state.nodes.size), np.int64)
            for column, amounts in enumerate(self.state.residents.amount):
                np.add.at(discount[column], node, amounts[taken])
            self._known[least, normal] = discount
        return discount


PAIRS = 2**13
"""Up to this many pairs of a node and a kind of workload are looked at one by one."""


def never_preempts(update: Update) -> bool:
    """Whether no heartbeat can preempt: then all that happens is that workloads start where there is room.

    Where no operation may preempt, allocations go only by an operation's graceful mode or a limit that is exceeded.
    Where every share is the demand, no allocation is preemptible in the normal stage: only operations that starve
    aggressively, or have a stage of their own, could take one. And without a limit that they may exceed, operations
    that starve start nothing beside what fits anyway.
    """
    tree, operations = update.pools.tree, update.operations
    if update.strongest == NOT and not (update.limited or operations.limited or operations.graceful):
        return True
    if not update.demand_sums.is_there or update.short is None or update.strongest == AGGRESSIVE:
        return False
    if tree.ssd.enable or tree.full_host.enable:
        return False
    return update.strongest == NOT or not (tree.infinite_overcommit or bool(update.pool_limits[1].any()))


def worth_a_heartbeat(
    heartbeats: Heartbeats, may_try: Bools | None, over: Bools | None, *, only_starts: bool
) -> tuple[Bools, Bools]:
    """Masks of nodes: all on which something would happen, perhaps more, and those of them that might preempt."""
    discount = heartbeats.discount
    size = heartbeats.state.nodes.size
    free = heartbeats.state.nodes.free[:, :size]
    worth = _room_for(heartbeats, free, heartbeats.waiting_kinds.open)
    exceeded = np.zeros(size, np.bool_)
    if only_starts or may_try is None:
        return worth, exceeded
    if discount is None:
        if heartbeats.update.operations.graceful or _reaches_further(heartbeats):
            return np.ones(size, np.bool_), may_try
        if over is not None:
            worth |= over
            exceeded |= over
        exceeding = heartbeats.cycle_usage.any_over()
        if heartbeats.update.strongest == NOT and not exceeding:
            return worth, may_try & exceeded
        discount, above = _preemptible_amounts(heartbeats, exceeding=exceeding)
        exceeded |= above
    wanting = heartbeats.update.op_priority > NOT
    claims = heartbeats.waiting_kinds.open & wanting[heartbeats.waiting_kinds.operation]
    going = may_try & (_room_for(heartbeats, free + discount, claims) | exceeded)
    return worth | going, going


def _reaches_further(heartbeats: Heartbeats) -> bool:
    """Whether what happens on one node may change what can happen on another: a start takes a pool above its limit, or
    a victim stands on several nodes.
    """
    wanting = heartbeats.update.strongest > NOT
    loose = heartbeats.tree.infinite_overcommit or bool(heartbeats.cycle_usage.tolerated.any())
    residents = heartbeats.state.residents
    several = (residents.sibling[: residents.size] != NONE) & (residents.count[: residents.size] > 0)
    return (wanting and loose) or bool(several.any())


def _room_for(heartbeats: Heartbeats, free: Int64s, claims: Bools) -> Bools:
    """Nodes with as much as one of these needs; where there are many, with as much as every one needs at least."""
    if not claims.any():
        return np.zeros(free.shape[1], np.bool_)
    columns, least = heartbeats.spare
    nodes: Bools = np.all(free[columns] >= least[:, None], axis=0)
    needs = heartbeats.waiting_kinds.need[:, claims]
    if needs.shape[1] == 1:
        nodes &= (needs <= np.maximum(free, 0)).all(axis=0)
        return nodes
    if needs.shape[1] * free.shape[1] <= PAIRS:
        room = np.maximum(free, 0)
        nodes &= (needs[:, :, None] <= room[:, None, :]).all(axis=0).any(axis=0)
        return nodes
    fewest = needs.min(axis=1)
    for column in np.flatnonzero(fewest).tolist():
        nodes &= free[column] >= fewest[column]
    return nodes


def _preemptible_amounts(heartbeats: Heartbeats, *, exceeding: bool) -> tuple[Int64s, Bools]:
    """What could be taken on each node at the most, and nodes with allocations of what is above a limit."""
    update = heartbeats.update
    strongest = int(update.op_priority.max(initial=NOT))
    least = LEVEL_AGGRESSIVELY if strongest == AGGRESSIVE else LEVEL_PREEMPTIBLE
    if heartbeats.tree.ssd.enable or heartbeats.tree.full_host.enable:
        least = SSD_NON
    allocations = RunningAllocations(heartbeats.cycle_usage, heartbeats.ssd_nodes)
    exceeded = np.zeros(heartbeats.state.nodes.size, np.bool_)
    if exceeding:
        over = np.array(
            [heartbeats.cycle_usage.over_limit(one) is not None for one in range(len(update.operations))], np.bool_
        )
        exceeded[allocations.node[allocations.open(least, normal=False) & over[allocations.operation]]] = True
    return allocations.discount(least, normal=False), exceeded
