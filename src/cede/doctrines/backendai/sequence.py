"""The order in which release 26.8 looks at a group's pending sessions."""

from __future__ import annotations

import numpy as np

from cede.doctrines.backendai.facts import pending_rows
from cede.doctrines.backendai.settings import Settings
from cede.doctrines.parts.orders import Rows, nine_decimals, ordered
from cede.state.columns import CHECKPOINTING, RESERVED, Int64s
from cede.state.state import State
from cede.state.units import WHOLE


def sequence(state: State, partition: int, settings: Settings) -> Rows:
    """Priority bands, highest first; inside a band as the group's scheduler says; then submission, then uid.

    A cluster file carries no fair-share factors, so that under `fair-share` everyone is last alike.
    """
    rows = pending_rows(state, partition)
    bands = -state.work.priority[rows]
    arrival = state.work.submitted[rows]
    if settings.scheduler == "lifo":
        return ordered(state, rows, bands, -arrival)
    if settings.scheduler == "drf":
        return ordered(state, rows, bands, dominant_shares(state, partition, rows), arrival)
    return ordered(state, rows, bands, arrival)


def dominant_shares(state: State, partition: int, rows: Rows) -> Int64s:
    """For the owner of each row: the largest share of any of the group's slots that the owner's sessions occupy."""
    work, size, nodes = state.work, state.work.size, state.nodes
    here = nodes.partition[: nodes.size] == partition
    capacity = nodes.capacity[:, : nodes.size][:, here].sum(axis=1)
    phase = work.state[:size]
    occupying = (phase >= RESERVED) & (phase <= CHECKPOINTING) & (work.partition[:size] == partition)
    users = np.unique(work.user[rows])
    shares = np.zeros(len(users))
    for place, user in enumerate(users.tolist()):
        theirs = occupying & (work.user[:size] == user)
        total = (work.need[:, :size][:, theirs] * work.members[:size][theirs]).sum(axis=1)
        for row in state.parts:
            if theirs[row]:
                total += np.sum(state.members_of(row), axis=0) - work.need[:, row] * work.members[row]
        slots = (np.arange(len(total)) != WHOLE) & (capacity > 0)
        shares[place] = (total[slots] / capacity[slots]).max(initial=0.0)
    return nine_decimals(shares)[np.searchsorted(users, work.user[rows])]
