"""What each queue is entitled to: its guarantee, or its weight's share of what guarantees leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cede.sim.measures.columns import HOUR, Columns, Spans
from cede.sim.measures.groups import Groups
from cede.sim.measures.job_measures import Window
from cede.sim.measures.step_functions import Levels, levels, longest, together, total
from cede.sim.tables import Queue, Tables


@dataclass(frozen=True, slots=True)
class Entitlement:
    """Nano-units of one resource. `guaranteed` is none where the queue has no guarantee of it."""

    entitled: Fraction
    guaranteed: int | None


def entitlements(result: Tables, resource: str, names: Iterable[str]) -> dict[str, Entitlement]:
    """Of each of these queues, which are those that had jobs.

    Below each parent (or in the whole cluster) what the guarantees of its children leave is divided by weight among
    those children that have no guarantee and had jobs in or below them.
    """
    wanted = set(names)
    known = {queue.name: queue for queue in result.queues}
    every = [*result.queues, *(Queue(name, None, None, 1.0) for name in sorted(wanted - known.keys()))]
    below: dict[str | None, list[Queue]] = {}
    for queue in every:
        below.setdefault(queue.parent if queue.parent in known else None, []).append(queue)
    busy = _with_jobs(every, wanted)
    by_queue: dict[str, Entitlement] = {}
    _divide(below, None, Fraction(result.capacity.get(resource, 0)), resource, busy, by_queue)
    return {name: by_queue[name] for name in sorted(wanted) if name in by_queue}


def _with_jobs(queues: Sequence[Queue], wanted: set[str]) -> set[str]:
    """The queues with jobs, and all above them."""
    parents = {queue.name: queue.parent for queue in queues}
    busy: set[str] = set()
    for name in wanted:
        at: str | None = name
        while at is not None and at not in busy:
            busy.add(at)
            at = parents.get(at)
    return busy


def _divide(
    below: Mapping[str | None, Sequence[Queue]],
    parent: str | None,
    whole: Fraction,
    resource: str,
    busy: set[str],
    by_queue: dict[str, Entitlement],
) -> None:
    children = below.get(parent, ())
    promised = {queue.name: _guaranteed(queue, resource) for queue in children}
    left = max(Fraction(0), whole - sum(amount for amount in promised.values() if amount is not None))
    sharing = {queue.name: Fraction(queue.weight) for queue in children if promised[queue.name] is None}
    weights = sum((weight for name, weight in sharing.items() if name in busy), Fraction(0))
    for queue in children:
        own = promised[queue.name]
        share = left * sharing[queue.name] / weights if queue.name in sharing and weights else Fraction(0)
        entitled = share if own is None else Fraction(own)
        by_queue[queue.name] = Entitlement(entitled, own)
        _divide(below, queue.name, entitled, resource, busy, by_queue)


def _guaranteed(queue: Queue, resource: str) -> int | None:
    return None if queue.guaranteed is None else queue.guaranteed.get(resource)


OF_QUEUES = ("share_deviation", "under_guarantee_hours", "starvation_hours")


@dataclass(frozen=True, slots=True)
class Fairness:
    """`queues[name][key]`, and Jain's index over those with an entitlement; `without` are those that have none."""

    queues: Mapping[str, Mapping[str, float | None]]
    jain: float | None
    without: tuple[str, ...]


def of_queues(table: Columns, window: Window, groups: Groups, waiting: Spans) -> Fairness:
    """The fairness of the queues, which are these groups."""
    due = entitlements(table.result, table.resource, groups.labels)
    used = by_group(table, groups, table.ran)
    wanted = by_group(table, groups, waiting)
    queues, shares = {}, []
    for at, name in enumerate(groups.labels):
        held, demand = (own[at].clipped(window.begin, window.end) for own in (used, wanted))
        queues[name] = _queue(held, demand, due[name], table.unit, window)
        if due[name].entitled and window.hours:
            shares.append(float(held.area() * table.unit / (due[name].entitled * (window.end - window.begin))))
    squares = sum(share * share for share in shares)
    jain = sum(shares) ** 2 / (len(shares) * squares) if len(shares) > 1 and squares else None
    return Fairness(queues, jain, tuple(name for name in groups.labels if not due[name].entitled))


def by_group(table: Columns, groups: Groups, spans: Spans) -> list[Levels]:
    """What the spans of each group hold together at every moment."""
    code = groups.code[spans.row]
    order = np.argsort(code, kind="stable")
    cuts = np.searchsorted(code[order], np.arange(1, len(groups)))
    return [levels(spans.start[own], spans.end[own], table.each[spans.row[own]]) for own in np.split(order, cuts)][
        : len(groups)
    ]


def _queue(used: Levels, wanted: Levels, due: Entitlement, unit: int, window: Window) -> dict[str, float | None]:
    at, (held, demand) = together(used, wanted)
    deviation = starved = under = None
    if due.entitled:
        # Held is a whole number of units, so it is below the entitlement if it is below that rounded up.
        bar = -int(-due.entitled // unit)
        starved = longest(at, np.asarray((demand > 0) & (held < bar), np.bool_)) / HOUR
        deviation = _deviation(used, float(due.entitled) / unit, window)
    if due.guaranteed is not None:
        bar = -(-due.guaranteed // unit)
        under = total(at, np.asarray((demand > 0) & (held < bar), np.bool_)) / HOUR
    return {"share_deviation": deviation, "under_guarantee_hours": under, "starvation_hours": starved}


def _deviation(used: Levels, entitled: float, window: Window) -> float | None:
    """The time-average of |held - entitled|, over entitled: the distance above and below, each counted by itself."""
    length = window.end - window.begin
    if not length:
        return None
    away = np.abs(used.level[:-1].astype(np.float64) - entitled)
    return float((away * np.diff(used.at)).sum() / length / entitled)


def of_all(fairness: Fairness) -> dict[str, float | None]:
    """The same of all queues together."""
    by_key = {key: [own[key] for own in fairness.queues.values() if own[key] is not None] for key in OF_QUEUES}
    deviation, under, starved = ([value or 0.0 for value in by_key[key]] for key in OF_QUEUES)
    return {
        "jain": fairness.jain,
        "share_deviation": sum(deviation) / len(deviation) if deviation else None,
        "under_guarantee_hours": sum(under) if under else None,
        "starvation_hours": max(starved, default=None),
    }
