"""The order in which release 26.8 looks at a group's pending sessions."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from cede.doctrines.backendai.settings import Settings
from cede.doctrines.backendai.wording import pending_rows
from cede.doctrines.parts.fit import named_columns
from cede.doctrines.parts.orders import Rows, ordered
from cede.state.columns import READY, RESERVED, SYSTEM, Int32s, Int64s
from cede.state.state import State


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
        return ordered(state, rows, bands, _turns(state, partition, state.work.user[rows]), arrival)
    return ordered(state, rows, bands, arrival)


def _turns(state: State, partition: int, owners: Int32s) -> Int64s:
    """A key for each of these owners that sorts like their dominant shares; no share is needed where one is alone."""
    users = np.unique(owners)
    if len(users) < 2:
        return np.zeros(len(owners), np.int64)
    shares = dominant_shares(state, partition, users.tolist())
    turn = {share: place for place, share in enumerate(sorted(set(shares.values())))}
    return np.array([turn[shares[user]] for user in users.tolist()], np.int64)[np.searchsorted(users, owners)]


def dominant_shares(state: State, partition: int, users: Iterable[int]) -> dict[int, Fraction]:
    """By user: the largest share of any of the group's slots that the user's sessions occupy, exactly.

    As the release counts: sessions of all groups, those too that are being preempted, but none of system work; against
    the group's agents that are ready.
    """
    work, size, nodes = state.work, state.work.size, state.nodes
    here = (nodes.partition[: nodes.size] == partition) & (nodes.state[: nodes.size] == READY)
    rows = np.flatnonzero((work.state[:size] >= RESERVED) & (work.kind[:size] != SYSTEM))
    owners = work.user[rows] + 1
    shares = dict.fromkeys(users, Fraction(0))
    for column in named_columns(state):
        capacity = int(nodes.capacity[column, : nodes.size][here].sum())
        if not capacity:
            continue
        held = work.need[column, :size] * work.members[:size]
        for row in state.parts:
            held[row] = sum(int(need[column]) for need in state.members_of(row))
        totals = np.zeros(len(state.users.names) + 1, np.int64)
        np.add.at(totals, owners, held[rows])
        for user, share in shares.items():
            shares[user] = max(share, Fraction(int(totals[user + 1]), capacity))
    return shares
