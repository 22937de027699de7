"""The measures of one replay, by group."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

import numpy as np

from cede.sim.measures.caveats import stated
from cede.sim.measures.columns import HOUR, Columns, columns, waits
from cede.sim.measures.decision_measures import of_decisions
from cede.sim.measures.groups import grouped, sums
from cede.sim.measures.job_measures import Window, inversion_hours, of_jobs
from cede.sim.measures.queue_measures import of_all, of_queues
from cede.sim.measures.work_measures import idle_hours, of_money, of_work
from cede.sim.tables import Tables

GROUPINGS = ("all", "priority", "queue", "size")
ALL = ("all", "all")


@dataclass(frozen=True, slots=True)
class Stranded:
    """Jobs that still waited when nothing could happen any more: nobody would ever have run them. How many, what they
    asked for in resource-hours, and its share of what all jobs did."""

    jobs: int = 0
    hours: float = 0.0
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """`values[by, group][key]` is a number, or none where the measure says nothing there.

    Groups are in the order to show them in: all; priorities, highest first; queues by name; sizes, smallest first. A
    group has only the keys that can be asked of it: Jain's index is one of `all` alone.
    """

    doctrine: str
    edition: str
    resource: str
    """The resource that hours and shares are of."""
    window: tuple[int, int]
    """What was measured: from, until, in microseconds on the trace's clock."""
    values: Mapping[tuple[str, str], Mapping[str, float | None]]
    stated: tuple[str, ...]
    """Sentences that must stand beside the numbers."""
    stranded: Stranded = Stranded()

    def value(self, key: str, by: str = "all", group: str = "all") -> float | None:
        """One number; none where there is none."""
        return self.values.get((by, group), {}).get(key)


@dataclass(frozen=True, slots=True)
class Yard:
    """What measures need that no replay knows: waits in microseconds that each priority is to have at most, and prices
    of an hour of one unit of a resource."""

    targets: Mapping[int, int] = field(default_factory=dict)
    prices: Mapping[str, float] = field(default_factory=dict)


def measure(
    result: Tables,
    *,
    warm_up: float = 0.0,
    bound_s: float = 10.0,
    common: Set[str] | None = None,
    yard: Yard = Yard(),  # noqa: B008
) -> Measured:
    """Every measure of a replay.

    `warm_up` is the share of all jobs, the first to be submitted, that are not counted; the window begins with the
    first that is. `bound_s` is the tau of bounded slowdown. `common` are the names of the jobs that measures of jobs
    are over, in a comparison; else that is all of them.
    """
    if not 0 <= warm_up < 1:
        raise ValueError(f"warm_up is the share of jobs that is left out, from 0 to below 1, not {warm_up}")
    if bound_s < 0:
        raise ValueError(f"bound_s is 0 or more, not {bound_s}")
    table = columns(result)
    window = measured_window(table, warm_up)
    if common is not None:
        window = replace(window, common=table.jobs["name"].is_in(sorted(common)).to_numpy())
    waiting = waits(table)
    inversion = inversion_hours(table, window, waiting)
    values: dict[tuple[str, str], dict[str, float | None]] = {}
    for by in GROUPINGS:
        groups = grouped(table, by)
        by_key = {
            **of_jobs(table, window, groups, bound_s, yard.targets),
            **of_work(table, window, groups),
            **of_money(table, window, groups, yard.prices),
            **of_decisions(table, window, groups),
        }
        if inversion is not None:
            by_key["inversion_hours"] = sums(inversion, groups.code, len(groups)).tolist()
        for at, label in enumerate(groups.labels):
            values[by, label] = {key: own[at] for key, own in by_key.items()}
    fairness = of_queues(table, window, grouped(table, "queue"), waiting)
    for name, own in fairness.queues.items():
        values["queue", name].update(own)
    values["all", "all"].update(of_all(fairness), idle_hours=idle_hours(table, window), loops=float(len(result.loops)))
    return Measured(
        doctrine=result.doctrine,
        edition=result.edition,
        resource=table.resource,
        window=(window.begin, window.end),
        values=values,
        stated=stated(table, window, warm_up, bound_s, fairness, told_inversion=inversion is not None),
        stranded=_stranded(table, window),
    )


def _stranded(table: Columns, window: Window) -> Stranded:
    """The counted jobs that wait at the end of a replay that was not stopped."""
    waiting = window.counted & table.state_is("waiting", "requeued")
    if not table.result.complete or not waiting.any():
        return Stranded()
    asked = table.units * (table.duration / HOUR)
    whole = float(asked[window.counted].sum())
    hours = float(asked[waiting].sum())
    return Stranded(int(waiting.sum()), hours, hours / whole if whole else 0.0)


def measured_window(table: Columns, warm_up: float) -> Window:
    """All of the replay; with a warm-up from the submission of the first job after it."""
    count = len(table.submitted)
    out = int(count * warm_up)
    counted = np.ones(count, np.bool_)
    if not out:
        return Window(table.result.begin, table.result.end, counted)
    # Jobs have numbers in order of submission, so equal times are cut at a job and not at a time.
    counted[np.argsort(table.submitted, kind="stable")[:out]] = False
    return Window(max(table.result.begin, int(table.submitted[counted].min())), table.result.end, counted)
