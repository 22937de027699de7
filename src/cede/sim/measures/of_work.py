"""Measures of the cluster: how much of it was held, and what became of that."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cede.model.quantities import NANO
from cede.model.resources import is_gpu
from cede.sim.measures.columns import HOUR, Columns, Floats, each_of, times
from cede.sim.measures.groups import Groups
from cede.sim.measures.of_jobs import Found, Window
from cede.sim.measures.spreads import Values, exact_sums, over
from cede.sim.measures.states import states
from cede.sim.measures.sweep import Amounts, Times, exact_product
from cede.sim.result import Result

PARTS = ("useful", "lost", "overhead")
FILLED = 10
"""After this part of the jobs has come, one in so many, the cluster is taken to have filled up."""


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
    found = {}
    for name in PARTS:
        lasted = found[name] = times(table.attempts[name])
        lasted[cut] = np.rint(lasted[cut] * share[cut]).astype(np.int64)
    return found


def _lost_gpu_hours(table: Columns, groups: Groups, wasted: Times) -> Values:
    """Of attempts that made way for another: what they did not get done, times all GPUs that the job held."""
    gpus = gpus_of(table.result)
    if gpus is None:
        return [None] * len(groups)
    size, unit = each_of(table, gpus)
    preempted = (table.attempts["how"] == "preempted").to_numpy()
    return _hours(table, groups, size, unit, np.where(preempted, wasted, 0)).tolist()  # type: ignore[no-any-return]


def gpus_of(result: Result) -> list[int] | None:
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
    found = states(table)
    idle = (found[name].clipped(window.begin, window.end).area() for name in ("idle", "held"))
    return sum(idle) * table.unit / (NANO * HOUR)
