"""Which nodes are worth a heartbeat at all: on the others nothing could start, go or be asked to go."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.clocks import AGGRESSIVE, NOT
from cede.doctrines.ytsaurus.everywhere import Everywhere
from cede.doctrines.ytsaurus.heartbeat import Beats
from cede.doctrines.ytsaurus.here import LEVEL_AGGRESSIVELY, LEVEL_PREEMPTIBLE, SSD_NON
from cede.state.columns import NONE, Bools, Int64s

FEW = 64
"""So many nodes are looked at one by one without asking first."""


def worth_a_beat(beats: Beats, may_try: Bools, over: Bools) -> Bools:
    """A mask of nodes; never without one on which something would happen."""
    size = beats.state.nodes.size
    if size <= FEW or beats.update.op_graceful.any() or _reaches_further(beats):
        return np.ones(size, np.bool_)
    free = beats.state.nodes.free[:, :size]
    found: Bools = over | _room_for(beats, free, beats.asks.open)
    wanting = beats.update.op_priority > NOT
    exceeding = beats.numbers.any_over()
    if not (wanting.any() or exceeding):
        return found
    discount, exceeded = _takeable(beats, exceeding=exceeding)
    claims = beats.asks.open & wanting[beats.asks.operation]
    return found | (may_try & (_room_for(beats, free + discount, claims) | exceeded))


def _reaches_further(beats: Beats) -> bool:
    """Whether what happens on one node may change what can happen on another: a start takes a pool above its limit, or
    somebody goes who stands on several nodes.
    """
    wanting = bool((beats.update.op_priority > NOT).any())
    loose = beats.tree.infinite_overcommit or bool(beats.numbers.tolerated.any())
    residents = beats.state.residents
    several = (residents.sibling[: residents.size] != NONE) & (residents.count[: residents.size] > 0)
    return (wanting and loose) or bool(several.any())


def _room_for(beats: Beats, free: Int64s, claims: Bools) -> Bools:
    """Nodes with as much as every one of these needs at least."""
    if not claims.any():
        return np.zeros(free.shape[1], np.bool_)
    columns, least = beats.spare
    found: Bools = np.all(free[columns] >= least[:, None], axis=0)
    needs = beats.asks.need[:, claims].min(axis=1)
    for column in np.flatnonzero(needs).tolist():
        found &= free[column] >= needs[column]
    return found


def _takeable(beats: Beats, *, exceeding: bool) -> tuple[Int64s, Bools]:
    """What could be taken on each node at the most, and where allocations stand of whoever is above a limit."""
    update = beats.update
    strongest = int(update.op_priority.max(initial=NOT))
    least = LEVEL_AGGRESSIVELY if strongest == AGGRESSIVE else LEVEL_PREEMPTIBLE
    if beats.tree.ssd.enable or beats.tree.full_host.enable:
        least = SSD_NON
    everywhere = Everywhere(beats.numbers, beats.ssd_nodes)
    exceeded = np.zeros(beats.state.nodes.size, np.bool_)
    if exceeding:
        over = np.array([beats.numbers.over_limit(one) is not None for one in range(len(update.operations))], np.bool_)
        exceeded[everywhere.node[everywhere.open(least, normal=False) & over[everywhere.operation]]] = True
    return everywhere.discount(least, normal=False), exceeded
