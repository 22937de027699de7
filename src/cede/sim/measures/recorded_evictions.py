"""A replay's preemptions against the evictions that the trace recorded in reality, by band of priority."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from cede.sim.tables import Tables
from cede.sim.traces.trace import Trace

BORG_BANDS: Sequence[tuple[str, int, int]] = (("free", 0, 1), ("other", 2, 8), ("production", 9, 11))
"""Bands of Google's 2011 trace: name, lowest and highest priority."""
MOST_BANDS = 12
BEYOND = "beyond"
"""Priorities that are in no band."""

YARDSTICK = (
    "Evictions of the trace are all that were recorded there: preemption, but also machines that were lost or had "
    "promised too much. The trace does not say which. A replay's are only those of the scheduler."
)


def yardstick(
    result: Tables, recorded: pl.DataFrame, bands: Sequence[tuple[str, int, int]] = BORG_BANDS
) -> pl.DataFrame:
    """One row a band: how many jobs, and the preemptions of the replay beside the evictions of reality.

    `recorded` has `name` and `evictions` of each job, as a trace's jobs do; jobs of the replay that it does not have,
    or of which it records nothing, are not compared. For each side: how many, how many a job (`_rate`), the band's part
    of all (`_share`), and the part of the band's jobs that had any (`_jobs`).
    """
    if not recorded["evictions"].is_not_null().any():
        raise ValueError("the trace records no evictions: there is nothing to compare the replay with")
    jobs = result.jobs.select("name", "priority", "preemptions").join(
        recorded.select("name", "evictions").drop_nulls("evictions"), "name", "inner"
    )
    order = [name for name, _, _ in bands] + [BEYOND]
    by_band = (
        jobs.with_columns(band=_band(bands))
        .group_by("band")
        .agg(
            pl.len().cast(pl.Int64).alias("jobs"),
            *_side("preemptions", "replayed"),
            *_side("evictions", "recorded"),
        )
        .with_columns(_part("replayed"), _part("recorded"))
    )
    return (
        by_band.sort(pl.col("band").replace_strict(order, range(len(order)), return_dtype=pl.Int32))
        .select(
            "band",
            "jobs",
            *(f"{side}{what}" for side in ("replayed", "recorded") for what in ("", "_rate", "_share", "_jobs")),
        )
    )  # fmt: skip


def held_against(result: Tables, trace: Trace) -> dict[str, Any] | None:
    """The yardstick as plain data, with what must stand beside it; none where the trace records no eviction.

    Google's trace has its bands; of another each priority is a band, or where there are many all are one.
    """
    if not (trace.jobs["evictions"] > 0).any():
        return None
    bands = BORG_BANDS if trace.format == "borg" else _bands(result.jobs["priority"])
    return {"says": YARDSTICK, "bands": yardstick(result, trace.jobs, bands).to_dicts()}


def _bands(priorities: pl.Series) -> Sequence[tuple[str, int, int]]:
    known = sorted(priorities.drop_nulls().unique().to_list(), reverse=True)
    if len(known) > MOST_BANDS:
        return (("all", known[-1], known[0]),)
    return [(str(one), one, one) for one in known]


def evictions_by_band(evictions: pl.DataFrame, bands: Sequence[tuple[str, int, int]] = BORG_BANDS) -> pl.DataFrame:
    """A file of evictions, one row each with its `priority` and `run_before_evict_s`, as one row a band."""
    order = [name for name, _, _ in bands] + [BEYOND]
    return (
        evictions.with_columns(band=_band(bands))
        .group_by("band")
        .agg(
            pl.len().cast(pl.Int64).alias("recorded"),
            pl.col("run_before_evict_s").median().alias("median_run_s"),
        )
        .with_columns(_part("recorded"))
        .sort(pl.col("band").replace_strict(order, range(len(order)), return_dtype=pl.Int32))
        .select("band", "recorded", "recorded_share", "median_run_s")
    )


def _band(bands: Sequence[tuple[str, int, int]]) -> pl.Expr:
    band = pl.lit(BEYOND)
    for name, lowest, highest in bands:
        band = pl.when(pl.col("priority").is_between(lowest, highest)).then(pl.lit(name)).otherwise(band)
    return band


def _side(column: str, side: str) -> list[pl.Expr]:
    counts = pl.col(column).cast(pl.Int64)
    return [
        counts.sum().alias(side),
        counts.mean().alias(f"{side}_rate"),
        (counts > 0).mean().alias(f"{side}_jobs"),
    ]


def _part(side: str) -> pl.Expr:
    whole = pl.col(side).sum()
    return pl.when(whole > 0).then(pl.col(side) / whole).alias(f"{side}_share")
