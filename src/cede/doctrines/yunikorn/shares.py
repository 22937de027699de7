"""What the doctrine computes before it decides: what remains of every queue's guarantee, and whose turn it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from cede.doctrines.parts.limits import used_quota
from cede.doctrines.yunikorn.order import Turns, waiting_line
from cede.doctrines.yunikorn.queues import Amounts, Queues, queues_of
from cede.doctrines.yunikorn.settings import LAWS
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.model.quantities import format_quantity
from cede.state.state import State


def shares(state: State, edition: str) -> dict[str, dict[str, Any]]:
    """Queues: usage, guarantee, what remains of it as an ask of the queue sees it, and headroom, each where there is
    one. Pending workloads: their turn.
    """
    queues = queues_of(state, edition)
    turns = waiting_line(state).tolist() if edition == LAWS else list(Turns(state, queues).one_pass())
    return {
        "queues": {queues.names[row]: _of(state, queues, row) for row in sorted(range(queues.size), key=queues.name)},
        "apps": {},
        "workloads": {state.work_names[row]: {"turn": turn} for turn, row in enumerate(turns, 1)},
    }


def _of(state: State, queues: Queues, queue: int) -> dict[str, Any]:
    snapshot = Snapshot(state, queues, queue)
    used = used_quota(state, queue)
    rest = snapshot.remaining(queue)
    free: Amounts = {}
    path, nodes = queues.path_of(queue), state.nodes
    sums = nodes.capacity[:, : nodes.size].sum(axis=1).tolist()
    free |= {c: total - int(used_quota(state, path[-1])[c]) for c, total in enumerate(sums) if c and total > 0}
    for above in path:
        held = used_quota(state, above)
        for column, most in (queues.max[above] or {}).items():
            free[column] = min(free.get(column, most), most - int(held[column]))
    shown = {
        "usage": {column: int(used[column]) for column in np.flatnonzero(used).tolist() if column},
        "guaranteed": queues.guaranteed[queue],
        "remaining_guarantee": None if rest is None else dict(rest),
        "headroom": free or None,
    }
    return {key: _shown(state, amounts) for key, amounts in shown.items() if amounts is not None}


def _shown(state: State, amounts: Amounts) -> dict[str, int | str]:
    names = state.units.names
    ordered = sorted(amounts, key=names.__getitem__)
    return {names[column]: format_quantity(state.units.limit(column, amounts[column])) for column in ordered}
