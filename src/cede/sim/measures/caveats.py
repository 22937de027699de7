"""What must be said beside the numbers of a replay, so that nobody takes them for more than they are."""

from __future__ import annotations

import polars as pl

from cede.sim.measures.columns import HOUR, Columns
from cede.sim.measures.definitions import NEAREST_RANK
from cede.sim.measures.job_measures import MOST_KINDS, Window
from cede.sim.measures.queue_measures import Fairness

ENTITLEMENT = (
    "x of Jain's index is what a queue's jobs held over its entitlement x window; its entitlement is what it is "
    "guaranteed, and where it is guaranteed nothing its weight's share of what guarantees leave."
)
NEVER_TAKEN = "this cluster could never take them"
UNHAPPY = ("failed", "cancelled", "evicted")
MOST_NAMES = 6


def stated(
    table: Columns, window: Window, warm_up: float, bound_s: float, fairness: Fairness, *, told_inversion: bool
) -> tuple[str, ...]:
    """The sentences, the trace's own notes last."""
    return (
        *_window(table, window, warm_up),
        f"Hours, shares and sizes are of {table.resource}: {table.capacity:,.10g} in all.",
        _outcomes(table),
        *_refused(table),
        NEAREST_RANK,
        f"tau of bounded slowdown is {bound_s:g} s.",
        ENTITLEMENT,
        *_left_out(fairness),
        *_not_told(told_inversion),
        *table.result.notes,
    )


def _window(table: Columns, window: Window, warm_up: float) -> tuple[str, ...]:
    count = int(window.counted.sum())
    since, until = ((at - table.result.begin) / HOUR for at in (window.begin, window.end))
    jobs = f"{count:,} of its {len(window.counted):,} jobs"
    measured = f"Measured from {since:,.2f} h to {until:,.2f} h of the replay, over {jobs}."
    warm = (
        f"The first {warm_up:.1%} of jobs are warm-up and not counted; the window begins with the first that is."
        if warm_up
        else "No warm-up is left out: the cluster begins as its file has it."
    )
    end = (
        "Nothing is cut at the end: the time in which the last jobs ran out is in the window."
        if table.result.complete
        else "The replay was stopped before its end: jobs that were under way are counted as such, and have no end."
    )
    return measured, warm, end


def _outcomes(table: Columns) -> str:
    outcomes = table.jobs["outcome"].drop_nulls()
    if not len(outcomes):
        return "The trace does not say which jobs failed or were cancelled in reality; every job counts."
    unhappy = int(outcomes.is_in(UNHAPPY).sum())
    return (
        f"Jobs that failed, were cancelled or evicted in reality count like others, with the run time they had: "
        f"{unhappy:,} of {len(table.jobs):,}."
    )


def _refused(table: Columns) -> tuple[str, ...]:
    """How many, by which rules; that the cluster could never take them is said of those of which it is proven."""
    refused = table.jobs.filter(pl.col("state") == "refused")
    if not len(refused):
        return ()
    rules = refused["rule"].fill_null("no rule").value_counts().sort("count", "rule", descending=[True, False])
    by = ", ".join(f"{rule} {count:,}" for rule, count in rules.rows())
    never = int(_never(table, refused).sum())
    proven = {0: "that does not mean that no policy could run them", len(refused): NEVER_TAKEN}.get(
        never, f"{never:,} of them this cluster could never take, and the others only this policy refuses"
    )
    return (f"{len(refused):,} of {len(table.jobs):,} jobs were refused and did not run (by {by}): {proven}.",)


def _never(table: Columns, refused: pl.DataFrame) -> pl.Series:
    """Which of them no policy could run here: one member is larger than every node, or all are than all nodes."""
    result = table.result
    largest: dict[str, int] = {}
    for room in result.node_capacity.values():
        for name, nano in room.items():
            largest[name] = max(largest.get(name, 0), nano)
    proven = []
    for shape, members in refused.select("shape", "members").iter_rows():
        size = result.sizes[shape]
        known = {name: nano for name, nano in size.items() if name in result.capacity}
        whole = any(nano > result.capacity[name] for name, nano in known.items())
        alone = bool(largest) and any(nano > largest.get(name, 0) * (members or 1) for name, nano in known.items())
        proven.append(whole or alone)
    return pl.Series(proven, dtype=pl.Boolean())


def _left_out(fairness: Fairness) -> tuple[str, ...]:
    if not fairness.without:
        return ()
    names = ", ".join(fairness.without[:MOST_NAMES])
    more = len(fairness.without) - MOST_NAMES
    return (
        f"Not in Jain's index and share deviation, for they are entitled to nothing: {names}"
        f"{f' and {more} more' if more > 0 else ''}.",
    )


def _not_told(told_inversion: bool) -> tuple[str, ...]:
    if told_inversion:
        return ()
    return (f"Priority inversion is not told: there are more than {MOST_KINDS} pairs of priority and size.",)
