"""What a preemption costs as the library computes it: whole minutes, no GPUs, half for who is above its share.

In doubles and in the library's order of operations, for it compares them as they come out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.lattice.score import actual_share
from cede.doctrines.parts.cost import AUTO, MANUAL, MINUTE, Floats, elapsed_of, nodes_of, progress_of
from cede.doctrines.parts.orders import Rows, order_of
from cede.state.columns import NEVER, Int64s
from cede.state.state import State

AUTO_MINUTES, MANUAL_MINUTES = 5, 10
BURST = 0.5


def core_costs(state: State, rows: Rows) -> Floats:
    """In minutes."""
    elapsed, walltime = elapsed_of(state, rows)
    ran = elapsed // MINUTE
    lasts = np.where((walltime == NEVER) | (walltime < MINUTE), NEVER, walltime // MINUTE)  # no whole minute is none
    mode = state.work.checkpoint[rows]
    saving = np.where(mode == AUTO, AUTO_MINUTES, MANUAL_MINUTES)
    checkpoint = np.where((mode == AUTO) | (mode == MANUAL), saving, nodes_of(state, rows) * ran)
    found: Floats = (checkpoint + progress_of(ran, lasts)) * _burst(state, rows)
    return found


def saving_minutes(mode: int) -> float:
    """What one that saves its work costs but for its progress."""
    return AUTO_MINUTES if mode == AUTO else MANUAL_MINUTES


@dataclass(frozen=True, slots=True)
class Ranked:
    """Workloads, the cheapest first: rows, what each costs, and how many nodes they hold up to each."""

    rows: Rows
    costs: Floats
    freed: Int64s


def ranked_of(state: State, rows: Rows) -> Ranked:
    """These by cost, then uid."""
    costs = core_costs(state, rows)
    turn = order_of(state, rows, costs)
    return Ranked(rows[turn], costs[turn], np.cumsum(nodes_of(state, rows[turn])))


def _burst(state: State, rows: Rows) -> Floats:
    """Half for the work of a tenant that has a burst allowance, be it 0, and holds more than its target share."""
    if not state.static.tenants:
        return np.ones(len(rows))
    codes, places = np.unique(state.work.tenant[rows], return_inverse=True)
    return np.array([_of_tenant(state, code) for code in codes.tolist()], np.float64)[places]


def _of_tenant(state: State, code: int) -> float:
    tenant = state.static.tenants.get(state.tenants.name(code) or "")
    if tenant is None or tenant.burst is None or tenant.share is None:
        return 1.0
    return BURST if actual_share(state, code, policy=False) > tenant.share else 1.0
