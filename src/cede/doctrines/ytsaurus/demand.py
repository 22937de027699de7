"""The share curves of operations: what is used first, evenly over resources, then the rest of the demand in proportion.

All operations of a tree at once, as blocks of equally many points; what has fewer repeats its last one.
"""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.curves import OVER, ROUNDING, Floats
from cede.state.columns import Bools


def operation_curves(usage: Floats, demand: Floats, limits: Floats, step: Bools) -> tuple[Floats, Floats]:
    """Suggestions (n, points) and shares (n, points, R) of operations with these usage, demand and limit shares.

    `step`: all or nothing, for gangs. An operation is guaranteed nothing, so that a suggestion carries it to where its
    largest share is as large as the suggestion.
    """
    count, resources = usage.shape
    limits = np.minimum(limits, 1.0)
    levels = _levels(usage, limits)
    first = np.minimum(usage[:, None, :], levels[:, :, None])
    held = levels[:, -1] >= usage.max(axis=1, initial=0.0)
    parts = _kinks(usage, demand, limits)
    parts[~held] = 0.0
    more = first[:, -1:, :] + parts[:, :, None] * np.where(held[:, None], demand - usage, 0.0)[:, None, :]
    y = np.concatenate((np.zeros((count, 1, resources)), first, more), axis=1)
    if step.any():
        fits: Bools = np.all(demand[step] <= limits[step] + OVER, axis=1)
        y[step] = 0.0
        y[step, -1] = np.where(fits[:, None], demand[step], 0.0)
    s = np.maximum.accumulate(y.max(axis=2), axis=1)
    if step.any():
        s[step, 1:-1] = s[step, -1:]  # nothing, up to where all of it is due
    s[s < ROUNDING] = 0.0
    _end_at_one(s, y)
    return s, y


def _end_at_one(s: Floats, y: Floats) -> None:
    """No suggestion is above 1: what an operation would jump to there it never gets."""
    full = s >= 1 - ROUNDING
    rows = np.flatnonzero(full.sum(axis=1) > 1)
    if len(rows):
        first = np.argmax(full[rows], axis=1)
        last = np.minimum(np.arange(s.shape[1])[None, :], first[:, None])
        y[rows] = y[rows[:, None], last]
        s[rows] = s[rows[:, None], last]


def _levels(usage: Floats, limits: Floats) -> Floats:
    """The heights at which one resource after another has all that is used of it, as far as limits allow."""
    most = np.where(usage > limits + OVER, limits, np.inf).min(axis=1, initial=np.inf)
    found: Floats = np.minimum(np.sort(usage, axis=1), most[:, None])
    return found


def _kinks(usage: Floats, demand: Floats, limits: Floats) -> Floats:
    """Parts of the way from usage to demand at which another resource becomes the largest, and where limits end it."""
    count, resources = usage.shape
    rise = demand - usage
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where((rise > 0) & (demand > limits + OVER), (limits - usage) / rise, 1.0)
    last = np.clip(room, 0.0, 1.0).min(axis=1, initial=1.0)
    own = np.arange(count)
    top = usage.max(axis=1, keepdims=True, initial=0.0)
    line = np.argmax(np.where(usage >= top - ROUNDING, rise, -1.0), axis=1)
    part = np.zeros(count)
    found = np.empty((count, resources))
    for turn in range(resources - 1):
        slower = rise[own, line][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = (usage[own, line][:, None] - usage) / (rise - slower)
        meet = np.where(rise > slower, np.maximum(meet, part[:, None]), np.inf)
        part = meet.min(axis=1)
        line = np.where(
            np.isfinite(part), np.argmax(np.where(meet <= (part * (1 + ROUNDING))[:, None], rise, -1.0), axis=1), line
        )
        found[:, turn] = np.minimum(part, last)
        part = np.where(np.isfinite(part), part, 1.0)
    found[:, -1] = last
    return found


def shares_at(s: Floats, y: Floats, suggestion: Floats, *, beyond: Bools | None = None) -> Floats:
    """The share of each operation under its suggestion; `beyond`: just after it, where it jumps there."""
    count, points = s.shape
    own = np.arange(count) * points
    wanted = suggestion * (1 - ROUNDING)
    places, shares = s.reshape(-1), y.reshape(count * points, y.shape[2])
    first = np.zeros(count, np.intp)
    for place in s.T:
        first += place < wanted
    right = own + np.minimum(first, points - 1)
    left = np.maximum(right - 1, own)
    low, wide = places[left], places[right] - places[left]
    part = np.minimum(np.divide(suggestion - low, wide, out=np.ones(count), where=wide > 0), 1.0)
    before = shares.take(left, axis=0)
    found: Floats = before + part[:, None] * (shares.take(right, axis=0) - before)
    found[suggestion <= 0] = 0.0
    if beyond is not None and beyond.any():
        last = own + (s <= (suggestion * (1 + ROUNDING))[:, None]).sum(axis=1) - 1
        jumps = beyond & (places[last] >= wanted)
        found[jumps] = shares[last[jumps]]
    return found
