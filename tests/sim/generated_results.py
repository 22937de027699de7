"""Results of replays that are sound by construction, for Hypothesis: jobs put where there is room, second by second."""

from __future__ import annotations

from hypothesis import strategies as st

from cede.sim.result import Result
from tests.sim.results import Held, Job, Preempts, Ran, queue, result_of

GPUS = 8
LATEST = 60
WAYS = ("preempted", "node", "drained")


@st.composite
def results(draw: st.DrawFn) -> Result:
    """Jobs put where there is room, one after the other, in whole seconds; some are still under way at the end."""
    free = [GPUS] * (2 * LATEST)
    end = draw(st.integers(LATEST // 2, LATEST))
    jobs = [_job(draw, f"j{number}", free, end) for number in range(draw(st.integers(0, 8)))]
    started = [job for job in jobs if job.runs]
    preempted = [
        (run.end, job.name) for job in started for run in job.runs if run.how == "preempted" and run.end > run.start
    ]
    decisions = [Preempts(at, draw(st.sampled_from([None, *(j.name for j in jobs)])), [name]) for at, name in preempted]
    holds = [Held(job.name, job.submitted, job.runs[0].start) for job in started if draw(st.booleans())]
    since, until = sorted((draw(st.integers(0, end)), draw(st.integers(0, end))))
    return result_of(
        *jobs,
        decisions=decisions,
        holds=holds,
        outages=[("n2", since, until, "down")] if draw(st.booleans()) else [],
        nodes={"n1": {"gpu": 6}, "n2": {"gpu": 2}},
        queues=[queue("a", draw(st.sampled_from([None, 3]))), queue("b", weight=draw(st.sampled_from([1, 3])))],
        begin=0,
        end=end,
    )


def _job(draw: st.DrawFn, name: str, free: list[int], end: int) -> Job:
    size, submitted = draw(st.integers(1, GPUS)), draw(st.integers(0, end))
    runs: list[Ran] = []
    at = submitted
    for _ in range(draw(st.integers(0, 3))):
        last = draw(st.sampled_from(("completed", *WAYS)))
        length = draw(st.integers(1, 10))
        at = _room(free, at + draw(st.integers(0, 3)), length, size)
        if at >= end:
            break
        stopped = at + length > end
        stop = min(at + length, end)
        lost, overhead = (0, 0) if last == "completed" and not stopped else _parts(draw, stop - at)
        runs.append(Ran(at, stop, "open" if stopped else last, 0 if stopped else lost, overhead))
        for second in range(at, stop):
            free[second] -= size
        at = stop
        if stopped or last == "completed":
            break
    return Job(
        name,
        runs,
        size=size,
        submitted=submitted,
        queue=draw(st.sampled_from("ab")),
        priority=draw(st.integers(0, 3)),
        duration=None if runs and runs[-1].how == "completed" else 100,
    )


def _room(free: list[int], at: int, length: int, size: int) -> int:
    """The first time from `at` at which there is room for so long."""
    while at + length < len(free) and any(free[second] < size for second in range(at, at + length)):
        at += 1
    return at


def _parts(draw: st.DrawFn, length: int) -> tuple[int, int]:
    lost = draw(st.integers(0, length))
    return lost, draw(st.integers(0, length - lost))
