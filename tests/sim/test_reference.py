"""FCFS and EASY backfilling, start for start as thirty plain lines have them."""

from __future__ import annotations

import heapq
from pathlib import Path

import pytest

import cede
from cede.engine.cluster import Cluster
from cede.model.times import SECOND
from cede.sim.generate import generate
from cede.sim.options import ReplayOptions
from cede.sim.recipes import recipe
from cede.sim.simulate import replay
from cede.sim.traces.reading import read
from cede.sim.traces.trace import Trace

KTH = Path(__file__).resolve().parents[3] / "shared" / "traces" / "swf-hpc" / "KTH-SP2-1996-2.1-cln.swf.gz"
needs_traces = pytest.mark.skipif(not KTH.exists(), reason="the shared traces are not beside the project")


def reference(jobs: list[tuple[int, int, int, int]], processors: int, *, backfill: bool) -> list[int]:
    """When each job starts: (submitted, runs, processors, walltime), in order of submission."""
    free, queue, running, starts, at, now = processors, [], {}, [0] * len(jobs), 0, 0
    ends: list[tuple[int, int]] = []

    def start(job: int) -> None:
        nonlocal free
        starts[job] = now
        free -= jobs[job][2]
        running[job] = (now + jobs[job][3], jobs[job][2])
        heapq.heappush(ends, (now + jobs[job][1], job))

    while at < len(jobs) or ends:
        now = min([time for time, _ in ends[:1]] + [job[0] for job in jobs[at : at + 1]])
        while ends and ends[0][0] == now:
            free += running.pop(heapq.heappop(ends)[1])[1]
        while at < len(jobs) and jobs[at][0] == now:
            queue.append(at)
            at += 1
        while queue and jobs[queue[0]][2] <= free:
            start(queue.pop(0))
        if not queue or not backfill:
            continue
        then, shadow = free, None
        for end, size in sorted(running.values()):
            if shadow is not None and end > shadow:
                break
            then += size
            if shadow is None and then >= jobs[queue[0]][2]:
                shadow = max(end, now)
        left = then - jobs[queue[0]][2]
        for job in queue[1:]:
            if jobs[job][2] <= free and (now + jobs[job][3] <= (shadow or 0) or jobs[job][2] <= left):
                left -= jobs[job][2] if now + jobs[job][3] > (shadow or 0) else 0
                queue.remove(job)
                start(job)
    return starts


def plain(trace: Trace) -> list[tuple[int, int, int, int]]:
    columns = (trace.jobs[name].to_list() for name in ("submitted", "duration", "shape", "walltime"))
    sizes = [shape.requests["cpu"] * shape.members // 10**9 for shape in trace.shapes]
    return [(s, d, sizes[shape], w) for s, d, shape, w in zip(*columns, strict=True)]


def machine(processors: int, doctrine: object = "backendai") -> Cluster:
    quota = {"guaranteed": {"cpu": processors}, "settings": {"queueingStrategy": "StrictFIFO"}}
    fifo = {"settings": {"scheduler": "fifo"}}
    return cede.load(
        {
            "cede": 1,
            "doctrine": doctrine,
            "nodes": [{"name": "machine", "capacity": {"cpu": processors}}],
            "queues": [{"name": "q", **(quota if doctrine == "kueue" else {} if doctrine == "backendai" else fifo)}],
        }
    )


def starts_of(trace: Trace, cluster: Cluster, backfill: str) -> list[int]:
    result = replay(trace, cluster, ReplayOptions(backfill=backfill, queue="q"))
    return result.jobs["first_start"].to_list()


def made_up(jobs: int, seed: int, processors: int) -> Trace:
    """Jobs of up to so many processors, dense enough to queue, with estimates that are sometimes too short."""
    return generate(
        recipe("hpc-like", jobs=jobs, seed=seed, per_hour=40, sizes={1: 3, 4: 2, 16: 2, processors // 2: 1})
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("backfill", "easy"), [("strict", False), ("easy", True)])
def test_every_job_starts_when_the_reference_starts_it(seed: int, backfill: str, easy: bool) -> None:
    trace = made_up(400, seed, 64)
    assert starts_of(trace, machine(64), backfill) == reference(plain(trace), 64, backfill=easy)


@pytest.mark.parametrize("doctrine", [{"name": "backendai", "edition": "26.8"}, "kueue"])
@pytest.mark.parametrize(("backfill", "easy"), [("strict", False), ("easy", True)])
def test_backfill_is_the_same_under_every_doctrine(doctrine: object, backfill: str, easy: bool) -> None:
    trace = made_up(60, 4, 64)
    assert starts_of(trace, machine(64, doctrine), backfill) == reference(plain(trace), 64, backfill=easy)


@needs_traces
@pytest.mark.slow
@pytest.mark.parametrize(("backfill", "easy"), [("strict", False), ("easy", True)])
def test_kth_starts_job_for_job_as_in_the_reference(backfill: str, easy: bool) -> None:
    trace = read(KTH)
    starts = starts_of(trace, machine(100), backfill)
    assert starts == reference(plain(trace), 100, backfill=easy)
    if not easy:
        waits = [start - job[0] for start, job in zip(starts, plain(trace), strict=True)]
        assert round(sum(waits) / len(waits) / SECOND, 2) == 389861.06
