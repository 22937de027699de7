"""Measures of the cluster: how much of it was held, and what became of that."""

from __future__ import annotations

import numpy as np

from cede.model.quantities import NANO
from cede.sim.measures.columns import HOUR, Columns, times
from cede.sim.measures.groups import Groups
from cede.sim.measures.of_jobs import Found, Window
from cede.sim.measures.spreads import exact_sums, over
from cede.sim.measures.states import states
from cede.sim.measures.sweep import exact_product

PARTS = ("useful", "lost", "overhead")


def of_work(table: Columns, window: Window, groups: Groups) -> Found:
    """What the attempts of each group held in the window, in resource-hours and over capacity x window.

    Of an attempt that reaches out of the window each part counts as far as the attempt lies within.
    """
    start, end = table.ran.start, table.ran.end
    inside = np.maximum(np.minimum(end, window.end) - np.maximum(start, window.begin), 0)
    cut = inside < end - start
    share = np.divide(inside, end - start, out=np.ones(len(start)), where=end > start)
    code = groups.code[table.ran.row]
    hours = []
    for name in PARTS:
        lasted = times(table.attempts[name])
        lasted[cut] = np.rint(lasted[cut] * share[cut]).astype(np.int64)
        held = exact_sums(exact_product(table.size[table.ran.row], lasted), code, len(groups))
        hours.append(np.array([one * table.unit / (NANO * HOUR) for one in held]))
    useful, lost, overhead = hours
    whole = np.full(len(groups), table.capacity * window.hours)
    return {
        "allocation": over(useful + lost + overhead, whole),
        "goodput": over(useful, whole),
        "lost_hours": lost.tolist(),
        "overhead_hours": overhead.tolist(),
        "wasted": over(lost + overhead, useful + lost + overhead),
    }


def idle_hours(table: Columns, window: Window) -> float:
    """Capacity x window less what was held and less nodes that were down."""
    found = states(table)
    idle = (found[name].clipped(window.begin, window.end).area() for name in ("idle", "held"))
    return sum(idle) * table.unit / (NANO * HOUR)
