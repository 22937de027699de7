"""The preemptions that cost most, with victims, claimant and reason."""

from __future__ import annotations

import polars as pl

from cede.model.quantities import NANO
from cede.sim.measures.columns import HOUR
from cede.sim.measures.decision_measures import new_victims
from cede.sim.measures.work_measures import gpus_of
from cede.sim.tables import Tables

COLUMNS = (
    "decision",
    "at",
    "victim",
    "victim_priority",
    "victim_queue",
    "size",
    "claimant",
    "claimant_priority",
    "claimant_queue",
    "claimant_size",
    "rule",
    "why",
    "victim_rule",
    "victim_why",
    "saved",
    "lost_hours",
    "overhead_hours",
    "cost_hours",
    "lost_gpu_hours",
    "moment",
)
"""`at` is the time of the decision in microseconds; sizes are in units of the main resource, hours are resource-hours
of it. `lost_gpu_hours` are the hours of `cost_hours` in GPUs of every kind, null where the cluster has none. `rule` and
`why` are the decision's, `victim_rule` and `victim_why` say why this one was taken."""


def costliest(result: Tables, n: int = 20) -> pl.DataFrame:
    """The n victims that lost most, in work and overhead together; equal ones by decision, then by job.

    Those that had not left when the replay stopped are not among them: what they lose is not known. Of jobs of several
    allocations each one that left is a row, and sizes are those of one.
    """
    main, gpus = result.main, gpus_of(result)
    sizes = pl.DataFrame(
        {
            "shape": pl.Series(range(len(result.sizes)), dtype=pl.Int32),
            "size": pl.Series([own.get(main, 0) / NANO for own in result.sizes], dtype=pl.Float64),
            "gpus": pl.Series(
                [None if gpus is None else gpus[at] / NANO for at in range(len(result.sizes))], dtype=pl.Float64
            ),
        }
    )
    jobs = result.jobs.select("job", "name", "priority", "queue", "shape").join(sizes, "shape", "left")
    part = [name for name in ("allocation",) if name in result.victims.columns]
    if part:
        count = result.jobs["allocations"]
        jobs = jobs.with_columns(pl.col("size") / count, pl.col("gpus") / count)
    victims = jobs.select("job", "gpus", victim="name", victim_priority="priority", victim_queue="queue", size="size")
    claimants = jobs.select(
        claimant_job="job", claimant="name", claimant_priority="priority", claimant_queue="queue", claimant_size="size"
    )
    decisions = result.decisions.select("decision", "at", "rule", "why", "moment", claimant_job="job")
    hours = pl.col("size") / HOUR
    return (
        new_victims(result)
        .drop_nulls("left")
        .rename({"rule": "victim_rule", "why": "victim_why"})
        .join(victims, "job", "left")
        .join(decisions, "decision", "left")
        .join(claimants, "claimant_job", "left")
        .with_columns(lost_hours=pl.col("lost") * hours, overhead_hours=pl.col("overhead") * hours)
        .with_columns(
            cost_hours=(pl.col("lost") + pl.col("overhead")) * hours,
            lost_gpu_hours=(pl.col("lost") + pl.col("overhead")) * pl.col("gpus") / HOUR,
        )
        .sort("cost_hours", "decision", "job", *part, descending=[True, *[False] * (2 + len(part))], nulls_last=True)
        .head(n)
        .select(COLUMNS)
    )
