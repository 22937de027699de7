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
    state, (columns, least) = update.state, spare_of(update)
    spare = list(zip(columns, least.tolist(), strict=True))
    worth = np.zeros(len(held), np.bool_)
    for need in {need for need, _, _ in waiting.values()}:
        if candidates.fitting.any(need):
            worth |= candidates.fitting.nodes(need)
    worth &= ~held
    place, owners = update.operations.place, candidates.known

    def turn(row: int) -> Turn:
        return waiting[row][2], place(owners[row][0])

    room, found = state.room(), Starts()
    nodes = worth.nonzero()[0]
    if len(nodes) > 1:
        nodes = nodes[np.argsort(update.room.rank[nodes], kind="stable")]
    for node in nodes.tolist():
        if not waiting:
            break
        free = list(room.free[node])
        while all(free[column] >= least for column, least in spare):
            fit = [
                row
                for row, (need, partition, _) in waiting.items()
                if partition == room.partition[node] and all(a <= b or a <= 0 for a, b in zip(need, free, strict=True))
            ]
            if not fit:
                break
            row = min(fit, key=turn) if len(fit) > 1 else fit[0]
            need = waiting.pop(row)[0]
            free = [a - b for a, b in zip(free, need, strict=True)]
            found.append((row, node))
    return found


def _turns(candidates: StartCandidates, rows: Collection[int]) -> dict[int, tuple[Need, int, float]] | None:
    """What each needs, its partition and how satisfied it is; none where one is of an operation that has more than this
    one."""
    update, state = candidates.update, candidates.update.state
    found: dict[int, tuple[Need, int, float]] = {}
    for row in rows:
        number, _, (need, _, odd) = candidates.known[row]
        own = update.plenty.own(number)
        if odd != NONE or own is None or any(own[0]) or len(update.standing.waiters[number]) > 1:
            return None
        shared: bool | None = True
        if len(rows) == 1:
            pass  # nobody else's turn comes before
        elif update.by_fifo:
            shared = update.fifo.has_share(number)
            if shared is None:
                return None
        elif update.short is None or number not in update.short:
            return None
        record = state.records.get(row)
        partition = int(state.work.partition[row]) if record is None else record.mould.partition
        found[row] = need, partition, 0.0 if shared else INFINITE
    return found


def start(candidates: StartCandidates, row: int, node: int) -> Decision:
    """The decision that this one starts there."""
    state = candidates.update.state
    name = state.node_names[node]
    record = state.records.get(row)
    nodes = (name,) * (int(state.work.members[row]) if record is None else record.mould.members)
    return Decision(state.work_names[row], "start", rules.STARTS.id, rules.STARTS.because(nodes=name), nodes=nodes)
