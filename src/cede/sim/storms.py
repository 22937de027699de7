"""What is said of a replay beside its measures: where a server would have slowed a storm down, and who thrashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from cede.engine.drive import rules
from cede.engine.drive.ways import LIVE

_WHAT = {
    rules.BREAKER.id: "evictions in a circle",
    rules.BACKOFF.id: "jobs that had failed",
}


def storms_of(slowed: Mapping[str, int], attempts: pl.DataFrame, *, applied: bool) -> Iterator[str]:
    """A sentence for each kind of storm; none of a replay that had none."""
    for rule, what in _WHAT.items():
        if count := slowed.get(rule, 0):
            did = "held back" if applied else "would have been held back on a server (`--breaker` does so here)"
            yield f"{what} were to be slowed down {count:,} times, and {did}: `{rule}`"
    lost = attempts.filter(pl.col("how") == "preempted").group_by("job").len()
    thrashing = lost.filter(pl.col("len") > LIVE.thrashing)
    if len(thrashing):
        most = max(thrashing["len"].to_list())
        yield (
            f"{len(thrashing):,} jobs were preempted more than {LIVE.thrashing} times, one of them {most} times: "
            f"they thrash (`{rules.THRASHING.id}`)"
        )
