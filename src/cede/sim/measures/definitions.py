"""Every measure of a replay, each with the sentence that defines it; docs, report and terminal take them from here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Better = Literal["low", "high"]

PERCENTILES = (50, 95, 99)
SUBMITTED = "jobs submitted in the window"
MANY = 10
"""Jobs that are preempted more often thrash."""
SOME_WAIT_S = 1.0
"""A shorter wait is none: events of one moment are a little apart."""
NEAREST_RANK = (
    "The pNN of some jobs is the nearest rank: the smallest value among them that at least NN % of them do not exceed. "
    "It is always the value of a real job."
)


@dataclass(frozen=True, slots=True)
class Measure:
    """`key` names it in tables and JSON, `unit` is what its number counts, `better` which way is good, if one is."""

    key: str
    title: str
    unit: str
    better: Better | None
    says: str


def _spread(key: str, title: str, unit: str, says: str) -> Iterator[Measure]:
    """The mean and the percentiles of one quantity of each job."""
    yield Measure(f"{key}_mean", f"{title}, mean", unit, "low", f"{says} The mean of them.")
    for p in PERCENTILES:
        yield Measure(f"{key}_p{p}", f"{title}, p{p}", unit, "low", f"{says} The p{p} of them.")


def _times(key: str, title: str, says: str) -> Iterator[Measure]:
    yield Measure(f"{key}_mean", f"{title}, mean", "s", "low", f"{says} The mean of them.")
    yield Measure(f"{key}_p95", f"{title}, p95", "s", "low", f"{says} The p95 of them.")


MEASURES: tuple[Measure, ...] = (
    Measure("jobs", "jobs", "jobs", None, "How many jobs were submitted in the window: those that are counted."),
    Measure("refused", "refused", "jobs", "low", "How many counted jobs were refused: they never run."),
    Measure(
        "refused_hours",
        "refused work",
        "resource-h",
        "low",
        "What refused jobs asked for: their run time without interruption, times what they would have held.",
    ),
    Measure(
        "refused_share",
        "refused of all work",
        "share",
        "low",
        "Refused work, over the work of all counted jobs.",
    ),
    Measure(
        "failed_hours",
        "work of jobs that failed",
        "resource-h",
        "low",
        "What jobs asked for that ended without doing all their work.",
    ),
    Measure(
        "failed_share", "failed of all work", "share", "low", "Work of jobs that failed, over that of all counted jobs."
    ),
    Measure(
        "never_started_hours",
        "work never started",
        "resource-h",
        "low",
        "What jobs asked for that still waited for their first start when the replay ended.",
    ),
    Measure(
        "never_started",
        "never started",
        "jobs",
        "low",
        "How many counted jobs still waited to start for the first time when the replay ended.",
    ),
    Measure(
        "unfinished",
        "unfinished",
        "jobs",
        "low",
        "How many counted jobs had started and were running, or waiting again, when the replay ended.",
    ),
    Measure(
        "failed",
        "failed",
        "jobs",
        "low",
        "How many counted jobs ended without doing all their work: failed, cancelled, or preempted for good.",
    ),
    Measure("completed", "completed", "jobs", "high", "How many counted jobs did all their work."),
    Measure(
        "compared",
        "jobs compared",
        "jobs",
        None,
        "How many counted jobs the measures below are over where they are of jobs: in a comparison those that every "
        "judged run finished, and this one too; else all.",
    ),
    *_spread("wait", "wait", "s", "From submission to the first start, of counted jobs that started."),
    Measure(
        "waited_share",
        "jobs that waited",
        "share",
        "low",
        f"Counted jobs whose first start was {SOME_WAIT_S:g} s or more after submission, over those that started.",
    ),
    Measure(
        "target_misses",
        "misses of the target wait",
        "share",
        "low",
        "Counted jobs of a class with a target (`--target`) that waited longer than that for their first start, or "
        "still wait, over all of them; refused jobs are counted above.",
    ),
    *_spread(
        "total_wait",
        "total wait",
        "s",
        "From submission to end, less the time it ran (all its attempts): the first "
        "wait and every later one, of counted jobs that completed.",
    ),
    *_spread("turnaround", "completion time", "s", "From submission to end, of counted jobs that completed."),
    *_spread(
        "slowdown",
        "bounded slowdown",
        "",
        "Completion time over the time the job runs without interruption, that "
        "taken as tau at least, and the quotient as 1 at least; of counted jobs that completed.",
    ),
    Measure(
        "makespan",
        "makespan",
        "s",
        "low",
        "From the first submission to the last end of counted jobs; none if one of them had not ended when the replay "
        "did. One long job can decide it.",
    ),
    Measure(
        "throughput", "throughput", "jobs/h", "high", "Jobs that completed in the window, by the hours of the window."
    ),
    Measure(
        "allocation",
        "allocation rate",
        "share",
        "high",
        "Resource-hours that running jobs held in the window, over "
        "capacity x window; of a group: what its jobs held, over the whole capacity. Often called utilisation. It "
        "includes work that was lost.",
    ),
    Measure(
        "goodput",
        "goodput",
        "share",
        "high",
        "Resource-hours of work that was kept, over capacity x window: the "
        "allocation rate less what was lost and less overhead.",
    ),
    Measure(
        "steady_goodput",
        "goodput, steady",
        "share",
        "high",
        "The same while jobs keep coming: from when the first tenth of the counted jobs was submitted to the last "
        "submission. The filling and the running out are left out, and the time is the same in every run.",
    ),
    Measure(
        "idle_hours",
        "idle",
        "resource-h",
        "low",
        "Capacity x window less what running jobs held and less nodes that "
        "were down: room that was held for somebody counts as idle.",
    ),
    Measure(
        "preemptions", "preemptions", "times", "low", "How often the scheduler sent a counted job away for another."
    ),
    Measure(
        "preempted_share",
        "jobs preempted",
        "share",
        "low",
        "Counted jobs that were preempted at least once, over counted jobs that started.",
    ),
    Measure(
        "preemptions_mean", "preemptions a job, mean", "times", "low", "Preemptions over counted jobs that started."
    ),
    Measure(
        "preemptions_p99",
        "preemptions a job, p99",
        "times",
        "low",
        "The p99 of the preemptions of each counted job that started.",
    ),
    Measure("preemptions_max", "preemptions a job, most", "times", "low", "The most preemptions of one counted job."),
    Measure(
        "thrashing",
        f"jobs preempted more than {MANY} times",
        "jobs",
        "low",
        f"How many counted jobs were preempted more than {MANY} times.",
    ),
    Measure(
        "evictions",
        "evictions",
        "times",
        "low",
        "How often a counted job was sent away by the loss or the drain of a node: never by the scheduler's choice.",
    ),
    Measure(
        "lost_hours",
        "work done again",
        "resource-h",
        "low",
        "Work that must be done again, whoever interrupted it: time since "
        "the last checkpoint that was kept, times what the job held.",
    ),
    Measure(
        "overhead_hours",
        "overhead",
        "resource-h",
        "low",
        "Time spent on restoring, on writing a checkpoint that was asked for and on leaving, times what the job held.",
    ),
    Measure(
        "lost_gpu_hours",
        "lost to preemption",
        "GPU-h",
        "low",
        "What preemption threw away: of each attempt that had to make way for another, the work that must be done "
        "again and the overhead, times the GPUs of every kind that the job held. It is a part of the two above, and "
        "has some of both; none where the cluster has no GPU.",
    ),
    Measure("wasted", "wasted", "share", "low", "Lost and overhead resource-hours, over those and the useful ones."),
    Measure(
        "cost",
        "cost",
        "money",
        "low",
        "What jobs held in the window, of every resource with a price (`--price`), times that: work that was kept, "
        "work done again and overhead.",
    ),
    Measure(
        "wasted_cost",
        "cost of what was wasted",
        "money",
        "low",
        "The part of the cost that went into work done again and overhead.",
    ),
    Measure(
        "evicted_to_requested",
        "evicted to requested",
        "ratio",
        "low",
        "What the victims of preempting decisions in "
        "the window held, over what their claimants asked for; of a group: that of the claimants.",
    ),
    Measure(
        "collateral_hours",
        "collateral",
        "resource-h",
        "low",
        "For each preempting decision what its victims held "
        "less what its claimant asked for (0 at least), times the claimant's run time without interruption: room that "
        "was taken and not needed.",
    ),
    Measure(
        "precision",
        "preemption precision",
        "share",
        "high",
        "Preempting decisions whose claimant then started by "
        "that decision, over those that had a claimant and were not under way when the replay ended.",
    ),
    *_times("decision_to_freed", "decision to freed", "From a preempting decision until the last of its victims left."),
    *_times(
        "freed_to_started",
        "freed to started",
        "From when the last victim left until the claimant started; 0 where it started before that.",
    ),
    *_times("decision_to_started", "decision to started", "From a preempting decision until its claimant started."),
    Measure(
        "inversion_hours",
        "priority inversion",
        "job-h",
        "low",
        "For each counted job the time it waited while jobs of "
        "lower priority held at least as much as it asked for; summed. Whether those could be preempted is not asked.",
    ),
    Measure(
        "jain",
        "Jain's index over queues",
        "index",
        "high",
        "(sum x)^2 / (m sum x^2) over the m queues that had jobs; "
        "1 is even, 1/m is one that takes all. x is what a queue's jobs held, over its entitlement x window.",
    ),
    Measure(
        "share_deviation",
        "share deviation",
        "share",
        "low",
        "Time-average of |held - entitled| of a queue, over entitled; of all: the mean of the queues.",
    ),
    Measure(
        "under_guarantee_hours",
        "time under guarantee",
        "h",
        "low",
        "Time in which a queue had jobs waiting while it "
        "held less than it is guaranteed; of all: the sum of the queues.",
    ),
    Measure(
        "starvation_hours",
        "longest starvation",
        "h",
        "low",
        "The longest unbroken time in which a queue had jobs "
        "waiting while it held less than its entitlement; of all: the longest of any queue.",
    ),
    Measure("loops", "loops found", "loops", "low", "How often workloads were found to preempt each other in turn."),
)
"""In the order in which tables have them."""

BY_KEY = {measure.key: measure for measure in MEASURES}
