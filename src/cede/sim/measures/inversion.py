"""Priority inversion: how long jobs waited while jobs of lower priority held enough for them."""

from __future__ import annotations

import numpy as np

from cede.sim.measures.columns import HOUR, Columns, Floats, Spans
from cede.sim.measures.of_jobs import Window
from cede.sim.measures.sweep import Amounts, Levels, Times, levels

MOST_KINDS = 400
"""Pairs of priority and size: each costs one pass over the time line."""


def inversion_hours(table: Columns, window: Window, waiting: Spans) -> Floats | None:
    """Of each job, the mean over its allocations; none if there are so many different priorities and sizes that it
    would take long."""
    priority = table.jobs["priority"].fill_null(0).to_numpy().astype(np.int64)
    asks = window.like[waiting.row] & (table.each[waiting.row] > 0)
    waits = Spans(waiting.row[asks], waiting.start[asks], waiting.end[asks])
    rank, size = priority[waits.row], table.each[waits.row]
    kinds = sorted(set(zip(rank.tolist(), size.tolist(), strict=True)))
    if len(kinds) > MOST_KINDS:
        return None
    found = np.zeros(len(priority), np.float64)
    lower: dict[int, Levels] = {}
    for above, asked in kinds:
        if above not in lower:
            below = priority[table.ran.row] < above
            rows = table.ran.row[below]
            held = levels(table.ran.start[below], table.ran.end[below], table.each[rows])
            lower[above] = held.clipped(window.begin, window.end)
        alike = (rank == above) & (size == asked)
        lasted = _while_enough(lower[above], asked, waits.start[alike], waits.end[alike])
        np.add.at(found, waits.row[alike], lasted / HOUR / table.counts[waits.row[alike]])
    return found


def _while_enough(held: Levels, asked: int, start: Times, end: Times) -> Amounts:
    """How much of each [start, end) the level is at least what is asked for."""
    enough = held.level >= asked
    upto = np.concatenate(([0], np.cumsum(np.where(enough[:-1], np.diff(held.at), 0))))

    def until(at: Times) -> Amounts:
        place = np.maximum(np.searchsorted(held.at, at, "right") - 1, 0)
        return np.asarray(upto[place] + np.where(enough[place], np.maximum(at - held.at[place], 0), 0))

    return np.asarray(until(end) - until(start))
