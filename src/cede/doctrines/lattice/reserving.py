"""Natural ends: when walltimes make room for who waits, and what is kept for the first that does."""

from __future__ import annotations

import numpy as np

from cede.doctrines.lattice.lending import borrowed_by
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.cost import HOUR
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.reservation import Reservation, reserve, reserve_after, totals_of
from cede.state.columns import NEVER, RESERVED, Int64s
from cede.state.state import State

AHEAD = 24 * HOUR
"""Ends that are further off are not looked at."""


def natural_ends(state: State, within: int = AHEAD) -> tuple[Int64s, Rows]:
    """When somebody is expected to end, in order, and who. Who is overdue, or does not say how long it runs, never
    is."""
    work, size = state.work, state.work.size
    here = (work.state[:size] >= RESERVED) & (work.resident[:size] >= 0)
    rows = np.flatnonzero(here & (work.walltime[:size] != NEVER) & (work.started[:size] != NEVER))
    times = work.started[rows] + work.walltime[rows]
    if state.booked_on:
        booked = np.array([row for row in state.booked_on if work.walltime[row] != NEVER], np.intp)
        rows, times = np.append(rows, booked), np.append(times, state.now + work.walltime[booked])
    ahead = (times > state.now) & (times <= state.now + within)
    rows, times = rows[ahead], times[ahead]
    turn = np.argsort(times)
    return times[turn], rows[turn]


def reservation_of(state: State, claim: Claim, within: int = AHEAD) -> Reservation | None:
    """From when on natural ends give it its room; none if they do not in time."""
    last = borrowed_by(state, int(state.work.queue[claim.row]))
    times, rows = natural_ends(state, within)
    if state.nodes.size > 1:
        return reserve_after(state, claim, times, rows, last)
    ends = [(end, row, totals_of(state, row)) for end, row in zip(times.tolist(), rows.tolist(), strict=True)]
    return reserve(state, claim, ends, last)
