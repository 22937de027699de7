"""The last step of a 26.8 pass: all its reservations are booked together, or none of them is.

A reservation counts on what its victims will free. What they use is not asked for then, only what is reserved. But what
never started sits in what is reserved, so that the room of such a victim is not there when it is booked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cede.doctrines.backendai import rules
from cede.doctrines.parts.claim import residents_of_all
from cede.doctrines.parts.orders import Rows
from cede.model.plan import Decision, Warning
from cede.model.quantities import show_quantity
from cede.state.columns import NEVER, RUNNING, Int64s
from cede.state.state import State


@dataclass(frozen=True, slots=True)
class RefusedBooking:
    """Where the reservations of a pass are too many, in words."""

    node: str
    what: str
    capacity: str
    reserved: str
    asked: str
    unstarted: str


Places = Mapping[int, list[int]]
"""By session, the agents of its members."""


def refused_booking(state: State, reservations: Places, starts: Places) -> RefusedBooking | None:
    """The first agent and slot by name on which these reservations exceed the capacity with what is reserved there.

    The pass has booked its `starts` by then, and they have not begun.
    """
    asked = _asked(state, reservations)
    if not asked:
        return None
    unstarted = _unstarted(state)
    reserved = state.nodes.held[:, : state.nodes.size] + amounts_by_node(state, unstarted)
    for node, amount in _asked(state, starts).items():
        reserved[:, node] += amount
    for node in sorted(asked, key=state.node_names.__getitem__):
        over = (reserved[:, node] + asked[node] > state.nodes.capacity[:, node]) & (asked[node] > 0)
        if over.any():
            column = min(np.flatnonzero(over).tolist(), key=state.units.names.__getitem__)
            there = unstarted[state.residents.node[unstarted] == node]
            return RefusedBooking(
                node=state.node_names[node],
                what=state.units.names[column] or "whole node",
                capacity=_shown(state, column, state.nodes.capacity[column, node]),
                reserved=_shown(state, column, reserved[column, node]),
                asked=_shown(state, column, asked[node][column]),
                unstarted=", ".join(sorted({state.work_names[row] for row in state.residents.work[there].tolist()})),
            )
    return None


def _asked(state: State, places: Places) -> dict[int, Int64s]:
    """What these sessions ask for, by agent."""
    asked: dict[int, Int64s] = {}
    for row, nodes in places.items():
        for node, need in zip(nodes, state.members_of(row), strict=False):
            asked[node] = asked[node] + need if node in asked else need.copy()
    return asked


def rolled_back(made: Decision, refused: RefusedBooking, count: int) -> Decision:
    """It was to preempt, and waits: with the booking of one reservation that of all of the pass failed."""
    facts = {
        "victims": ", ".join(victim.workload for victim in made.victims),
        "nodes": ", ".join(dict.fromkeys(made.nodes)),
        "count": count,
        **{name: getattr(refused, name) for name in RefusedBooking.__slots__},
    }
    why = rules.ROLLED_BACK.because(**facts)
    shown = made.candidates and tuple(
        replace(one, verdict="protected", rule=rules.ROLLED_BACK.id, why=why) if one.verdict == "victim" else one
        for one in made.candidates
    )
    undone = Warning(rules.BREAKS_RESERVATION.id, rules.BREAKS_RESERVATION.because(**facts))
    assert made.workload is not None
    return Decision(made.workload, "wait", rules.ROLLED_BACK.id, why, warnings=(undone,), candidates=shown)


def amounts_by_node(state: State, residents: Rows) -> Int64s:
    """What these residents take of every node, by column."""
    found = np.zeros((state.nodes.size, len(state.units)), np.int64)
    np.add.at(found, state.residents.node[residents], state.residents.amount[:, residents].T)
    return found.T


def _unstarted(state: State) -> Rows:
    """Resident rows of the sessions that have their agents and have not begun."""
    work, size = state.work, state.work.size
    return residents_of_all(state, np.flatnonzero((work.state[:size] >= RUNNING) & (work.started[:size] == NEVER)))


def _shown(state: State, column: int, count: int) -> str:
    return show_quantity(state.units.names[column], int(count) * state.units.nano[column])
