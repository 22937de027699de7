"""What the cluster's capacity was doing at every moment: running jobs, held for one, down, or idle."""

from __future__ import annotations

import numpy as np

from cede.sim.measures.columns import Columns, Spans, times
from cede.sim.measures.sweep import Levels, levels, together


def states(table: Columns) -> dict[str, Levels]:
    """Running, held, down and idle, in counts: they add up to the capacity at every moment of the replay.

    Room that is held counts as far as it is free, for victims may still be in it. So do nodes that are down, for a gang
    that lost one may still hold its others. Idle is below 0 where jobs hold more than there is.
    """
    span = (table.result.begin, table.result.end)
    holds = table.result.holds
    held = Spans(table.rows_of(holds["job"]), times(holds["from"]), times(holds["until"]))
    parts = (held_by(table, table.ran), held_by(table, held), _down(table))
    at, (running, kept, out) = together(*(step.clipped(*span) for step in parts))
    # Levels end with 0, after the end of the replay.
    capacity = np.append(np.full(len(at) - 1, table.room), 0)
    out = np.minimum(out, np.maximum(capacity - running, 0))
    kept = np.minimum(kept, np.maximum(capacity - running - out, 0))
    found = {"running": running, "held": kept, "down": out, "idle": capacity - running - kept - out}
    return {name: Levels(at, level) for name, level in found.items()}


def held_by(table: Columns, spans: Spans) -> Levels:
    """What jobs hold, or ask for, in these spans."""
    return levels(spans.start, spans.end, table.each[spans.row])


def _down(table: Columns) -> Levels:
    outages = table.result.outages.filter(table.result.outages["state"] == "down")
    own = np.array([table.node_room.get(node, 0) for node in outages["node"]], table.size.dtype)
    return levels(times(outages["from"]), times(outages["until"]), own)
