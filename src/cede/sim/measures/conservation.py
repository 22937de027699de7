"""Where all of the capacity went, exactly: into work that was kept, work that was lost, overhead and idle time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cede.model.quantities import NANO
from cede.sim.measures.attempts_check import check_attempts
from cede.sim.measures.columns import HOUR, SECOND, Columns, columns, times
from cede.sim.measures.jobs_check import check_jobs
from cede.sim.measures.states import states
from cede.sim.measures.sweep import Times, exact_product, exact_sum
from cede.sim.result import Result

NANO_HOUR = NANO * HOUR


@dataclass(frozen=True, slots=True)
class Balance:
    """Of one resource, in nano-units x microseconds: whole numbers without a limit.

    `useful`, `lost` and `overhead` are added up from what each attempt says of itself; `held`, `down` and `idle` from
    what was free at each moment. So their sum is the whole only if the two agree.
    """

    resource: str
    whole: int
    useful: int
    lost: int
    overhead: int
    held: int
    down: int
    idle: int
    overbooked_at: int | None
    """When jobs first held more than there is."""

    @property
    def missing(self) -> int:
        """The whole less its parts: 0."""
        return self.whole - self.useful - self.lost - self.overhead - self.held - self.down - self.idle


def balance(result: Result) -> list[Balance]:
    """The balance of each resource of the cluster, by name."""
    return [_of(columns(result, resource)) for resource in sorted(result.capacity)]


def conserve(result: Result) -> pl.DataFrame:
    """The balance of each resource, in resource-hours."""
    fields = ("whole", "useful", "lost", "overhead", "held", "down", "idle")
    return pl.DataFrame(
        [
            {"resource": one.resource, **{name: getattr(one, name) / NANO_HOUR for name in fields}}
            for one in balance(result)
        ],
        {"resource": pl.String(), **dict.fromkeys(fields, pl.Float64())},
    )


def check(result: Result) -> list[str]:
    """What is wrong with a result, as sentences; nothing of one that is sound."""
    wrong = [*check_jobs(result), *check_attempts(result)]
    if wrong:
        return wrong
    return [sentence for one in balance(result) for sentence in _wrong(one)]


def _of(table: Columns) -> Balance:
    size = table.each[table.ran.row]
    useful, lost, overhead = (
        exact_sum(exact_product(size, part)) * table.unit for part in _within(table, table.result.begin)
    )
    found = states(table)
    held, down, idle = (found[name].area() * table.unit for name in ("held", "down", "idle"))
    over = np.flatnonzero(found["running"].level > table.room)
    return Balance(
        table.resource,
        table.room * table.unit * (table.result.end - table.result.begin),
        useful,
        lost,
        overhead,
        held,
        down,
        idle,
        int(found["running"].at[over[0]]) if len(over) else None,
    )


def _within(table: Columns, begin: int) -> tuple[Times, Times, Times]:
    """What was useful, lost and overhead in each attempt since the replay began.

    Who ran before had only worked; what is kept of an attempt is what was done first.
    """
    useful, lost, overhead = (times(table.attempts[part]) for part in ("useful", "lost", "overhead"))
    before = np.maximum(begin - table.ran.start, 0)
    kept = np.minimum(useful, before)
    return useful - kept, lost - (before - kept), overhead


def _wrong(one: Balance) -> list[str]:
    wrong = []
    if one.overbooked_at is not None:
        wrong.append(f"jobs hold more {one.resource} than there is, first at {one.overbooked_at / SECOND:.6f} s")
    if one.missing:
        wrong.append(
            f"{one.resource}: work done, work lost, overhead and idle are not capacity x time: "
            f"{abs(one.missing) / NANO_HOUR:.9g} resource-hours {'are missing' if one.missing > 0 else 'are too many'}"
        )
    return wrong
