"""Whether every job of a result is in exactly one state, and its times and counts say the same."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from cede.sim.result import Result

OVER = ("completed", "failed", "refused", "cancelled", "preempted")
UNDER_WAY = ("waiting", "requeued", "running")
MOST_NAMES = 3

_RAN = pl.col("ran").is_not_null()
_ENDED = pl.col("ended").is_not_null()
_STATE = pl.col("state")
_DONE = _STATE == "completed"
_PARTS = pl.col("allocations")
"""How many allocations the job is."""

SENTENCES: tuple[tuple[str, pl.Expr], ...] = (
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


def check_jobs(result: Result) -> Iterator[str]:
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
    for sentence, wrong in SENTENCES:
        found = seen.filter(wrong)["name"]
        if len(found):
            yield told(sentence, found)


def _first_starts(result: Result) -> pl.DataFrame:
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
