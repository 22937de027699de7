"""Starts where there is room and nobody goes: of operations with one workload each, in plain numbers."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from cede.doctrines.ytsaurus import rules
from cede.doctrines.ytsaurus.heartbeat import spare_of
from cede.doctrines.ytsaurus.start_candidates import Need, StartCandidates
from cede.doctrines.ytsaurus.status import INFINITE
from cede.model.plan import Decision
from cede.state.columns import NONE, Bools

MOST = 64
"""Of more candidates than this it is quicker to look at all at once."""

Starts = list[tuple[int, int]]
"""Who starts on which node, in order."""
Turn = tuple[float, tuple[tuple[str, int, int], ...]]
"""How satisfied an operation is, and its place in the tree."""


def free_starts(candidates: StartCandidates, rows: Collection[int], held: Bools) -> Starts | None:
    """What heartbeats would start of these, where nobody is preempted; none where more than this counts. On nodes
    `held` nothing starts."""
    waiting = None if len(rows) > MOST else _turns(candidates, rows)
    if waiting is None:
        return None
    update = candidates.update
    state, spare = update.state, list(zip(*(one for one in spare_of(update)), strict=True))
    worth = np.zeros(state.nodes.size, np.bool_)
    for need in {need for need, _, _ in waiting.values()}:
        worth |= candidates.fitting.nodes(need)
    worth &= ~held
    room, found = state.room(), Starts()
    nodes = np.flatnonzero(worth)
    if len(nodes) > 1:
        nodes = nodes[np.argsort(state.node_rank()[nodes], kind="stable")]
    for node in nodes.tolist():
        if not waiting:
            break
        free = list(room.free[node])
        while all(free[column] >= least for column, least in spare):
            fit = [
                row
                for row, (need, partition, _) in waiting.items()
                if partition == room.partition[node] and all(a <= max(b, 0) for a, b in zip(need, free, strict=True))
            ]
            if not fit:
                break
            row = min(fit, key=lambda one: waiting[one][2]) if len(fit) > 1 else fit[0]
            need = waiting.pop(row)[0]
            free = [a - b for a, b in zip(free, need, strict=True)]
            found.append((row, node))
    return found


def _turns(candidates: StartCandidates, rows: Collection[int]) -> dict[int, tuple[Need, int, Turn]] | None:
    """What each needs, its partition and its turn; none where one is of an operation that has more than this one."""
    update, work = candidates.update, candidates.update.state.work
    found: dict[int, tuple[Need, int, Turn]] = {}
    for row in rows:
        number, _, (need, _, odd) = candidates.known[row]
        own = update.plenty.own(number)
        if odd != NONE or own is None or any(own[0]) or len(update.standing.waiters[number]) > 1:
            return None
        if update.by_fifo:
            shared = update.fifo.has_share(number)
            if shared is None:
                return None
        else:
            shared = update.short is not None and number in update.short
            if not shared:
                return None
        turn = 0.0 if shared else INFINITE, update.operations.place(number)
        found[row] = need, int(work.partition[row]), turn
    return found


def start(candidates: StartCandidates, row: int, node: int) -> Decision:
    """The decision that this one starts there."""
    state = candidates.update.state
    name = state.node_names[node]
    nodes = (name,) * int(state.work.members[row])
    return Decision(state.work_names[row], "start", rules.STARTS.id, rules.STARTS.because(nodes=name), nodes=nodes)
