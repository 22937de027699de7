"""What a replay says of jobs that were preempted again and again."""

from __future__ import annotations

import polars as pl
import pytest

from cede.sim.loops import storms_of


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ([5], []),
        ([6], ["1 job was preempted more than 5 times, 6 times in all: it thrashes (`live.thrashing`)."]),
        ([6, 9], ["2 jobs were preempted more than 5 times, one of them 9 times: they thrash (`live.thrashing`)."]),
    ],
    ids=["five times are not many", "one job", "several jobs"],
)
def test_jobs_that_thrash_are_counted_in_a_sentence(lost: list[int], said: list[str]) -> None:
    jobs = [job for job, times in enumerate(lost) for _ in range(times)]
    attempts = pl.DataFrame({"job": jobs, "how": ["preempted"] * len(jobs)})

    assert list(storms_of({}, attempts, applied=False)) == said
