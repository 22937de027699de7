"""What a preemption costs as the library computes it: whole minutes, no GPUs, half for who is above its share."""

from __future__ import annotations

import numpy as np

from cede.doctrines.lattice.score import actual_share
from cede.doctrines.parts.cost import AUTO, MANUAL, MINUTE, PARTS, elapsed_of, nodes_of, progress_of
from cede.doctrines.parts.orders import Rows
from cede.state.columns import NEVER, Int64s
from cede.state.state import State

AUTO_MINUTES, MANUAL_MINUTES = 5, 10
BURST = 0.5


def core_costs(state: State, rows: Rows) -> Int64s:
    """In millionths of a minute."""
    elapsed, walltime = elapsed_of(state, rows)
    ran = elapsed // MINUTE
    lasts = np.where((walltime == NEVER) | (walltime < MINUTE), NEVER, walltime // MINUTE)  # no whole minute is none
    mode = state.work.checkpoint[rows]
    saving = np.where(mode == AUTO, AUTO_MINUTES, MANUAL_MINUTES)
    checkpoint = np.where((mode == AUTO) | (mode == MANUAL), saving, nodes_of(state, rows) * ran)
    minutes = (checkpoint + progress_of(ran, lasts)) * _burst(state, rows)
    return np.rint(minutes * PARTS).astype(np.int64)


def _burst(state: State, rows: Rows) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Half for the work of a tenant that has a burst allowance and holds more than its target share."""
    codes, places = np.unique(state.work.tenant[rows], return_inverse=True)
    return np.array([_of_tenant(state, code) for code in codes.tolist()], np.float64)[places]


def _of_tenant(state: State, code: int) -> float:
    tenant = state.static.tenants.get(state.tenants.name(code) or "")
    if tenant is None or not tenant.burst or tenant.share is None:
        return 1.0
    return BURST if actual_share(state, code) > tenant.share else 1.0
