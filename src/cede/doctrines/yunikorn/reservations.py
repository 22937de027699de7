"""Whole nodes that are reserved for an ask, and for whom release 1.9 cancels that."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from cede.doctrines.yunikorn.ask import Ask
from cede.doctrines.yunikorn.settings import RESERVATION_DELAY, RESERVATION_WAIT
from cede.state.columns import NONE, READY, Bools
from cede.state.state import State
from cede.state.units import WHOLE

OLD = 2 * RESERVATION_WAIT + RESERVATION_DELAY


def gives_way(state: State, holder: int, claimant: int) -> bool:
    """Whether the reservation of one ask is cancelled for another.

    For an ask that needs the node any is, or is shared. For an ordinary one that of a lower priority which has waited
    for more than two hours and two seconds, but never that of an ask that needs the node.
    """
    work = state.work
    if work.required_node[claimant] != NONE:
        return True
    if work.required_node[holder] != NONE:
        return False
    aged = state.now - int(work.submitted[holder]) > OLD
    return bool(work.priority[holder] < work.priority[claimant]) and aged


def cancelled_for(state: State, holder: int, claimant: int) -> bool:
    """Whether a claimant may stand on a node that is reserved for another: what is cancelled for one who waits is
    cancelled for all.
    """
    return gives_way(state, holder, claimant) or any(gives_way(state, holder, row) for row in state.pending)


def held_nodes(state: State) -> Bools:
    """Nodes on which room is held for somebody whose victims are leaving: to release 1.9 they are reserved."""
    if not state.between:
        return np.zeros(state.nodes.size, np.bool_)
    held: Bools = state.nodes.held[WHOLE, : state.nodes.size] > 0
    return held


def usable(state: State, ask: Ask, triggered: Container[str]) -> Bools:
    """The nodes the ask may use, those among them whose reservation is cancelled for it."""
    if not state.reservations:
        return ask.claim.allowed
    allowed = ask.claim.allowed.copy()
    kept = state.nodes.reserved_for[: state.nodes.size]
    for node in np.flatnonzero(ask.claim.matching & ~allowed & (kept != NONE) & (kept != ask.row)).tolist():
        holder = int(kept[node])
        if state.nodes.state[node] != READY or state.work_names[holder] in triggered:
            continue
        allowed[node] = gives_way(state, holder, ask.row)
    return allowed
