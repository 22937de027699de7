"""What the cluster's capacity was doing at every moment: running jobs, held for one, down, or idle."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cede.model.quantities import NANO
from cede.model.resources import is_gpu
from cede.sim.measures.columns import HOUR, Columns, Floats, Spans, each_of, times
from cede.sim.measures.groups import Groups, Values, exact_sums, over
from cede.sim.measures.job_measures import Found, Window
from cede.sim.measures.step_functions import Amounts, Levels, Times, exact_product, levels, together
from cede.sim.tables import Tables


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
    by_state = {"running": running, "held": kept, "down": out, "idle": capacity - running - kept - out}
    return {name: Levels(at, level) for name, level in by_state.items()}


def held_by(table: Columns, spans: Spans) -> Levels:
    """What jobs hold, or ask for, in these spans."""
    return levels(spans.start, spans.end, table.each[spans.row])


def _down(table: Columns) -> Levels:
    outages = table.result.outages.filter(table.result.outages["state"] == "down")
    own = np.array([table.node_room.get(node, 0) for node in outages["node"]], table.size.dtype)
    return levels(times(outages["from"]), times(outages["until"]), own)


PARTS = ("useful", "lost", "overhead")
FILLED = 10
"""The cluster is taken to have filled up when one in this number of jobs has come."""


def of_work(table: Columns, window: Window, groups: Groups) -> Found:
    """What the attempts of each group held in the window, in resource-hours and over capacity x window.

    Of an attempt that reaches out of the window each part counts as far as the attempt lies within.
    """
    parts = _parts(table, window)
    steady = steady_window(table, window)
    in_steady = _hours(table, groups, table.each, table.unit, _parts(table, steady)["useful"])
    steadily = np.full(len(groups), table.capacity * steady.hours)
    useful, lost, overhead = (_hours(table, groups, table.each, table.unit, parts[name]) for name in PARTS)
    whole = np.full(len(groups), table.capacity * window.hours)
    return {
        "allocation": over(useful + lost + overhead, whole),
        "goodput": over(useful, whole),
        "steady_goodput": over(in_steady, steadily),
        "lost_hours": lost.tolist(),
        "lost_gpu_hours": _lost_gpu_hours(table, groups, parts["lost"] + parts["overhead"]),
        "overhead_hours": overhead.tolist(),
        "wasted": over(lost + overhead, useful + lost + overhead),
    }


def steady_window(table: Columns, window: Window) -> Window:
    """The time in which jobs keep coming and the cluster has filled up: the same for every run of a trace."""
    submitted = np.sort(table.submitted[window.counted])
    if not len(submitted):
        return window
    begin, end = (int(submitted[place]) for place in (len(submitted) // FILLED, -1))
    begin, end = max(begin, window.begin), min(end, window.end)
    return Window(begin, max(begin, end), window.counted)


def of_money(table: Columns, window: Window, groups: Groups, prices: Mapping[str, float]) -> Found:
    """What was held costs, by group; nothing is told without prices."""
    if not prices:
        return {"cost": [None] * len(groups), "wasted_cost": [None] * len(groups)}
    parts = _parts(table, window)
    held, wasted = np.zeros(len(groups)), np.zeros(len(groups))
    for resource, price in prices.items():
        size, unit = each_of(table, [own.get(resource, 0) for own in table.result.sizes])
        lost = _hours(table, groups, size, unit, parts["lost"] + parts["overhead"]) * price
        held += _hours(table, groups, size, unit, parts["useful"]) * price + lost
        wasted += lost
    return {"cost": list(held.tolist()), "wasted_cost": list(wasted.tolist())}


def _parts(table: Columns, window: Window) -> dict[str, Times]:
    """How long each part of each attempt lasted within the window."""
    start, end = table.ran.start, table.ran.end
    inside = np.maximum(np.minimum(end, window.end) - np.maximum(start, window.begin), 0)
    cut = inside < end - start
    share = np.divide(inside, end - start, out=np.ones(len(start)), where=end > start)
    lengths = {}
    for name in PARTS:
        lasted = lengths[name] = times(table.attempts[name])
        lasted[cut] = np.rint(lasted[cut] * share[cut]).astype(np.int64)
    return lengths


def _lost_gpu_hours(table: Columns, groups: Groups, wasted: Times) -> Values:
    """Of attempts that made way for another: what they did not get done, times all GPUs that the job held."""
    gpus = gpus_of(table.result)
    if gpus is None:
        return [None] * len(groups)
    size, unit = each_of(table, gpus)
    preempted = (table.attempts["how"] == "preempted").to_numpy()
    return _hours(table, groups, size, unit, np.where(preempted, wasted, 0)).tolist()  # type: ignore[no-any-return]


def gpus_of(result: Tables) -> list[int] | None:
    """The nano-units of GPU that a job of each shape holds, of whatever kind; none where the cluster has none."""
    if not any(map(is_gpu, result.capacity)):
        return None
    return [sum(nano for name, nano in own.items() if is_gpu(name)) for own in result.sizes]


def _hours(table: Columns, groups: Groups, size: Amounts, unit: int, lasted: Times) -> Floats:
    """What the attempts of each group held in that time."""
    held = exact_sums(exact_product(size[table.ran.row], lasted), groups.code[table.ran.row], len(groups))
    return np.array([one * unit / (NANO * HOUR) for one in held])


def idle_hours(table: Columns, window: Window) -> float:
    """Capacity x window less what was held and less nodes that were down."""
    by_state = states(table)
    idle = (by_state[name].clipped(window.begin, window.end).area() for name in ("idle", "held"))
    return sum(idle) * table.unit / (NANO * HOUR)
