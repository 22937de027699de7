"""Whole nodes that are reserved for an ask, for which asks release 1.9 cancels that, and when it drops all of them."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from cede.doctrines.yunikorn.ask import Ask
from cede.doctrines.yunikorn.settings import RESERVATION_DELAY, RESERVATION_WAIT
from cede.state.columns import DOWN, NEVER, NONE, READY, Bools
from cede.state.state import State
from cede.state.units import WHOLE


def is_old(state: State, node: int) -> bool:
    """Whether a node has been reserved for more than an hour; who does not say since when reserved it after 2 s."""
    since = int(state.nodes.reserved_since[node])
    if since == NEVER:
        since = int(state.work.submitted[state.nodes.reserved_for[node]]) + RESERVATION_DELAY
    return state.now - since > RESERVATION_WAIT


def may_expire(state: State, node: int) -> bool:
    """Whether the reservation of a node is dropped as soon as its holder does not fit the headroom of its queue.

    That of an ask that needs the node never is.
    """
    return bool(state.work.required_node[state.nodes.reserved_for[node]] == NONE) and is_old(state, node)


def gives_way(state: State, node: int, claimant: int) -> bool:
    """Whether the reservation of a node is cancelled for an ask of somebody else.

    For an ask that needs the node any is, or is shared. For an ordinary one that tries to preempt an old one of a lower
    priority is, but never that of an ask that needs the node.
    """
    work, holder = state.work, state.nodes.reserved_for[node]
    if work.required_node[claimant] != NONE:
        return True
    if work.required_node[holder] != NONE:
        return False
    return bool(work.priority[holder] < work.priority[claimant]) and is_old(state, node)


def may_be_cancelled(state: State, node: int, claimant: int) -> bool:
    """Whether a claimant may ever stand on a node that is reserved for another; what is cancelled for one who waits is
    cancelled for all. Whether an old one was dropped before is seen from the plan.
    """
    return gives_way(state, node, claimant) or may_expire(state, node)


def held_nodes(state: State) -> Bools:
    """Nodes on which room is held for somebody whose victims are leaving: to release 1.9 they are reserved."""
    if not state.between:
        return np.zeros(state.nodes.size, np.bool_)
    held: Bools = state.nodes.held[WHOLE, : state.nodes.size] > 0
    return held


def usable(state: State, ask: Ask, triggered: Container[str]) -> Bools:
    """The nodes the ask may use when it tries to preempt, those among them whose reservation is cancelled for it.

    An ask that needs a certain node takes it cordoned as well.
    """
    if state.work.required_node[ask.row] != NONE:
        there: Bools = ask.claim.matching & (state.nodes.state[: state.nodes.size] != DOWN)
        return there
    if not state.reservations:
        return ask.claim.allowed
    allowed = ask.claim.allowed.copy()
    kept = state.nodes.reserved_for[: state.nodes.size]
    for node in np.flatnonzero(ask.claim.matching & ~allowed & (kept != NONE) & (kept != ask.row)).tolist():
        if state.nodes.state[node] != READY or state.work_names[int(kept[node])] in triggered:
            continue
        allowed[node] = gives_way(state, node, ask.row)
    return allowed
