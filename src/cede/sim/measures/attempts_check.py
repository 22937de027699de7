"""Whether every attempt of a result lies in the replayed time, apart from others of its job, and is divided exactly."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from cede.sim.measures.jobs_check import told
from cede.sim.result import Result

HOWS = ("completed", "preempted", "node", "drained", "failed", "cancelled", "open")
PARTS = ("useful", "lost", "overhead")

SENTENCES: tuple[tuple[str, pl.Expr], ...] = (
    ("an attempt ends in no way that one can", ~pl.col("how").is_in(HOWS).fill_null(False)),
    ("an attempt ends before it starts", pl.col("end") < pl.col("start")),
    ("an attempt has a part below 0", pl.min_horizontal(*PARTS, "restored") < 0),
    (
        "an attempt is not what was useful, lost and overhead in it",
        pl.sum_horizontal(*PARTS) != pl.col("end") - pl.col("start"),
    ),
    ("an attempt restored for longer than its overhead", pl.col("restored") > pl.col("overhead")),
)


def check_attempts(result: Result) -> Iterator[str]:
    """A sentence for each thing that is wrong, with the first jobs that have it."""
    attempts = result.attempts.join(result.jobs.select("job", "name"), "job", "left").sort("job", "start", "end")
    found = (pl.col("job") < result.found) & (pl.col("attempt") == 1)
    early = pl.when(found).then(pl.col("end")).otherwise(pl.col("start")) < result.begin
    outside = early | (pl.col("end") > result.end)
    alone = ["job", *(name for name in ("allocation",) if name in attempts.columns)]
    overlap = pl.col("start") < pl.col("end").shift(1).over(alone, order_by=["start", "end"])
    until = (pl.col("how") == "open") & (pl.col("end") != result.end)
    for sentence, wrong in (
        *SENTENCES,
        ("two attempts overlap", overlap),
        ("an attempt lies outside the replayed time", outside),
        ("an attempt is open but ends before the replay", until),
    ):
        names = attempts.filter(wrong)["name"].unique(maintain_order=True)
        if len(names):
            yield told(sentence, names)
