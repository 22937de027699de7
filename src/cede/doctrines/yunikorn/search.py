"""The best lawful victim set of all nodes: one that is enough alone if there is any, else the best of a walk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.limits import Limit
from cede.doctrines.parts.orders import Rows, ordered
from cede.doctrines.yunikorn.covers import Covers, node_of, unwilling
from cede.doctrines.yunikorn.slack import Slack
from cede.doctrines.yunikorn.walk import Chosen, Walk
from cede.state.columns import Int64s
from cede.state.state import State


def best_set(
    state: State, claim: Claim, limits: Sequence[Limit], rows: Rows, slack: Slack, *, roomy: bool = False
) -> Chosen | None:
    """The best set of victims among these workloads, each of which is lawful alone; none if no set makes room.

    `roomy`: some node has room for the claimant as it is, so that only limits are short. Then it goes where its victims
    stood if there is a set after which it fits there, and no victim of it goes for that alone; else the set is chosen
    for the limits alone, and the claimant does not fit there.
    """
    if not roomy:
        return _best_of(state, Covers(state, claim, limits, rows), slack)
    there = _best_of(state, Covers(state, claim, limits, rows, limits_alone=True), slack)
    if there is not None:
        return there
    found = _best_of(state, Covers(state, claim, limits, rows, anywhere=True), slack)
    return None if found is None else replace(found, elsewhere=True)


def _best_of(state: State, covers: Covers, slack: Slack) -> Chosen | None:
    rows = covers.rows
    inside = covers.allowed[covers.node] if len(rows) else np.zeros(0, np.bool_)
    if not inside.any():
        return None
    single = _best_single(state, covers)
    if single is not None and not unwilling(state, np.array([single]))[0]:
        return Chosen(node_of(state, single), [single])
    return Walk(state, covers, slack, single).best()


def _best_single(state: State, covers: Covers) -> int | None:
    """Of those that are enough alone, the best."""
    at = np.flatnonzero(covers.alone())
    if not len(at):
        return None
    work = state.work
    keys: tuple[Callable[[Rows], Int64s], ...] = (
        partial(unwilling, state),
        lambda rows: work.priority[rows].astype(np.int64),
        lambda rows: -work.submitted[rows],
    )
    for key in keys:
        found = key(covers.rows[at])
        at = at[found == found.min()]
    rank = state.node_rank()[covers.node[at]] if state.nodes.size else np.zeros(len(at), np.int64)
    return int(ordered(state, covers.rows[at], rank)[0])
