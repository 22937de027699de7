"""Which nodes are worth a heartbeat at all: on the others nothing could start, go or be asked to go."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.clocks import AGGRESSIVE, NOT
from cede.doctrines.ytsaurus.groups import AGGRESSIVELY, NON_PREEMPTIBLE, PREEMPTIBLE
from cede.doctrines.ytsaurus.heartbeat import Beats
from cede.state.columns import CHECKPOINTING, RUNNING, Bools, Int8s, Int64s, Rows
from cede.state.units import WHOLE

FEW = 64
"""So many nodes are looked at one by one without asking first."""


def worth_a_beat(beats: Beats, may_try: Bools, over: Bools) -> Bools:
    """A mask of nodes; never without one on which something would happen."""
    size = beats.state.nodes.size
    if size <= FEW or beats.graceful.any():
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
    state, update = beats.state, beats.update
    size = state.nodes.size
    strongest = int(update.op_priority.max(initial=NOT))
    least = AGGRESSIVELY if strongest == AGGRESSIVE else PREEMPTIBLE
    if beats.tree.ssd.enable or beats.tree.full_host.enable:
        least = NON_PREEMPTIBLE
    cut = beats.numbers.all_groups()
    open_ = (cut.group >= least) & ~_shielded(beats, cut.operation)
    takeable = np.zeros(state.work.size, np.bool_)
    takeable[cut.rows[open_]] = True
    residents = state.residents
    works = residents.work[: residents.size]
    code = state.work.state[works]
    here: Rows = np.flatnonzero(takeable[works] & (residents.count[: residents.size] > 0) & _runs(code))
    on = residents.node[here]
    discount = np.zeros((len(state.units), size), np.int64)
    for column in range(len(state.units)):
        if column != WHOLE or residents.amount[column, here].any():
            np.add.at(discount[column], on, residents.amount[column, here])
    exceeded = np.zeros(size, np.bool_)
    if not exceeding:
        return discount, exceeded
    over = np.array([beats.numbers.over_limit(one) is not None for one in range(len(update.operations))], np.bool_)
    exceeded[on[over[update.standing.operation[works[here]]]]] = True
    return discount, exceeded


def _runs(code: Int8s) -> Bools:
    found: Bools = (code == RUNNING) | (code == CHECKPOINTING)
    return found


def _shielded(beats: Beats, operation: Rows) -> Bools:
    shielded = beats.graceful.copy()
    if not beats.tree.from_starving:
        shielded |= beats.update.op_starvation > NOT
    return shielded[operation]
