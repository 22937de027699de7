"""Whether every attempt of a result lies in the replayed time, apart from others of its job, and is divided exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from cede.model.quantities import NANO
from cede.sim.measures.columns import HOUR, SECOND, Columns, columns, times
from cede.sim.measures.step_functions import Times, exact_product, exact_sum
from cede.sim.measures.work_measures import states
from cede.sim.tables import Tables

HOWS = ("completed", "preempted", "node", "drained", "failed", "cancelled", "open")
PARTS = ("useful", "lost", "overhead")

OF_ATTEMPTS: tuple[tuple[str, pl.Expr], ...] = (
    ("an attempt ends in no way that one can", ~pl.col("how").is_in(HOWS).fill_null(False)),
    ("an attempt ends before it starts", pl.col("end") < pl.col("start")),
    ("an attempt has a part below 0", pl.min_horizontal(*PARTS, "restored") < 0),
    (
        "an attempt is not what was useful, lost and overhead in it",
        pl.sum_horizontal(*PARTS) != pl.col("end") - pl.col("start"),
    ),
    ("an attempt restored for longer than its overhead", pl.col("restored") > pl.col("overhead")),
)


def check_attempts(result: Tables) -> Iterator[str]:
    """A sentence for each thing that is wrong, with the first jobs that have it."""
    attempts = result.attempts.join(result.jobs.select("job", "name"), "job", "left").sort("job", "start", "end")
    ran_at_begin = (pl.col("job") < result.found) & (pl.col("attempt") == 1)
    early = pl.when(ran_at_begin).then(pl.col("end")).otherwise(pl.col("start")) < result.begin
    outside = early | (pl.col("end") > result.end)
    alone = ["job", *(name for name in ("allocation",) if name in attempts.columns)]
    overlap = pl.col("start") < pl.col("end").shift(1).over(alone, order_by=["start", "end"])
    until = (pl.col("how") == "open") & (pl.col("end") != result.end)
    for sentence, wrong in (
        *OF_ATTEMPTS,
        ("two attempts overlap", overlap),
        ("an attempt lies outside the replayed time", outside),
        ("an attempt is open but ends before the replay", until),
    ):
        names = attempts.filter(wrong)["name"].unique(maintain_order=True)
        if len(names):
            yield told(sentence, names)


OVER = ("completed", "failed", "refused", "cancelled", "preempted")
UNDER_WAY = ("waiting", "requeued", "running")
MOST_NAMES = 3

_RAN = pl.col("ran").is_not_null()
_ENDED = pl.col("ended").is_not_null()
_STATE = pl.col("state")
_DONE = _STATE == "completed"
_PARTS = pl.col("allocations")
"""How many allocations the job is."""

OF_JOBS: tuple[tuple[str, pl.Expr], ...] = (
    ("is in no state that a job can be in", ~_STATE.is_in([*OVER, *UNDER_WAY]).fill_null(False)),
    ("is over but has no end", _STATE.is_in(OVER) & ~_ENDED & (_STATE != "refused")),
    ("is under way but has an end", _STATE.is_in(UNDER_WAY) & _ENDED),
    ("completed without an attempt", _DONE & ~_RAN),
    ("waits for its first start but has one", (_STATE == "waiting") & (_RAN | pl.col("first_start").is_not_null())),
    ("was refused but ran", (_STATE == "refused") & _RAN),
    ("runs or waits again but never started", _STATE.is_in(["running", "requeued"]) & ~_RAN),
    (
        "runs, but no attempt of it is open",
        (_STATE == "running") & ~pl.col("open").is_between(1, _PARTS).fill_null(False),
    ),
    ("does not run, but an attempt of it is open", (_STATE != "running") & (pl.col("open") > 0).fill_null(False)),
    ("has another number of attempts than it says", pl.col("ran").fill_null(0) != pl.col("attempts")),
    ("says it was preempted less often than it was", pl.col("sent").fill_null(0) > pl.col("preemptions")),
    ("says it was evicted less often than it was", pl.col("swept").fill_null(0) > pl.col("evictions")),
    ("has a first start that is not its first attempt's", ~pl.col("first_start").eq_missing(pl.col("first"))),
    ("starts before it is submitted", pl.col("earliest") < pl.col("submitted")),
    ("completed at another time than its last attempt", _DONE & (pl.col("ended") != pl.col("last"))),
    ("ended before its last attempt", pl.col("ended") < pl.col("last")),
    ("completed in an attempt that says otherwise", _DONE & (pl.col("finished") != _PARTS)),
    ("did not complete, but an attempt of it did", ~_DONE & (pl.col("finished") >= _PARTS)),
    (
        "completed with less or more work than it has",
        _DONE & (pl.col("useful") != pl.col("duration") * _PARTS),
    ),
)
"""What is wrong with a job, and the jobs with which it is."""


def check_jobs(result: Tables) -> Iterator[str]:
    """A sentence for each thing that is wrong, with the first jobs that have it."""
    jobs = result.jobs
    for column in ("job", "name"):
        if jobs[column].n_unique() != len(jobs):
            yield f"two rows of jobs have the same {column}"
            return
    strange = result.attempts.filter(~pl.col("job").is_in(jobs["job"].implode()))
    if len(strange):
        yield f"an attempt is of job {strange['job'][0]}, which is not there"
        return
    jobs = jobs if "allocations" in jobs.columns else jobs.with_columns(allocations=1)
    ran = result.attempts.group_by("job").agg(
        pl.len().alias("ran"),
        pl.col("start").min().alias("earliest"),
        pl.col("end").max().alias("last"),
        pl.col("useful").sum(),
        (pl.col("how") == "open").sum().alias("open"),
        (pl.col("how") == "completed").sum().alias("finished"),
        (pl.col("how") == "preempted").sum().alias("sent"),
        pl.col("how").is_in(["node", "drained"]).sum().alias("swept"),
    )
    seen = jobs.join(ran, "job", "left").join(_first_starts(result), "job", "left").sort("job")
    seen = seen.with_columns(first=pl.when(pl.col("started") == _PARTS).then("first"))
    for sentence, wrong in OF_JOBS:
        names = seen.filter(wrong)["name"]
        if len(names):
            yield told(sentence, names)


def _first_starts(result: Tables) -> pl.DataFrame:
    """Of each job how many of its allocations started, and when the last of them did so for the first time."""
    attempts = result.attempts
    each = attempts if "allocation" in attempts.columns else attempts.with_columns(allocation=None)
    firsts = each.group_by("job", "allocation").agg(pl.col("start").min())
    return firsts.group_by("job").agg(pl.col("start").max().alias("first"), pl.len().alias("started"))


def told(sentence: str, names: pl.Series) -> str:
    """The sentence of the first of these jobs, and how many more it is true of."""
    shown = ", ".join(names.head(MOST_NAMES).to_list())
    more = len(names) - MOST_NAMES
    return f"{shown}{f' and {more} more' if more > 0 else ''}: {sentence}"


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


def balance(result: Tables) -> list[Balance]:
    """The balance of each resource of the cluster, by name."""
    return [_of(columns(result, resource)) for resource in sorted(result.capacity)]


def conserve(result: Tables) -> pl.DataFrame:
    """The balance of each resource, in resource-hours."""
    fields = ("whole", "useful", "lost", "overhead", "held", "down", "idle")
    return pl.DataFrame(
        [
            {"resource": one.resource, **{name: getattr(one, name) / NANO_HOUR for name in fields}}
            for one in balance(result)
        ],
        {"resource": pl.String(), **dict.fromkeys(fields, pl.Float64())},
    )


def check(result: Tables) -> list[str]:
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
    by_state = states(table)
    held, down, idle = (by_state[name].area() * table.unit for name in ("held", "down", "idle"))
    over = np.flatnonzero(by_state["running"].level > table.room)
    return Balance(
        table.resource,
        table.room * table.unit * (table.result.end - table.result.begin),
        useful,
        lost,
        overhead,
        held,
        down,
        idle,
        int(by_state["running"].at[over[0]]) if len(over) else None,
    )


def _within(table: Columns, begin: int) -> tuple[Times, Times, Times]:
    """What was useful, lost and overhead in each attempt since the replay began.

    An attempt that ran before had only worked; what is kept of an attempt is what was done first.
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
