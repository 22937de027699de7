"""Loops: workloads that preempted each other in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from cede.engine.drive import rules
from cede.engine.drive.options import LIVE
from cede.sim.allocations import Allocations
from cede.sim.records import Records


def loops_in(records: Records, allocations: Allocations | None = None) -> tuple[str, ...]:
    """Each set of jobs that were all preempted for another job of the set, as a sentence.

    Preemptions are the edges of a graph; its strongly connected components of two or more jobs are the loops.
    """
    names = records.names if allocations is None else allocations.jobs.jobs["name"].to_list()
    job = range(len(names)) if allocations is None else allocations.job
    edges: dict[int, dict[int, int]] = {}
    for row in records.decisions:
        if row[2] is not None:
            for victim in row[6]:
                known = edges.setdefault(job[row[2]], {})
                known[job[victim]] = known.get(job[victim], 0) + 1
    sentences = []
    for part in _connected(edges):
        times = sum(count for one in part for victim, count in edges[one].items() if victim in part)
        sentences.append(f"{', '.join(sorted(names[one] for one in part))} preempted each other {times} times")
    return tuple(sorted(sentences))


def _connected(edges: dict[int, dict[int, int]]) -> list[set[int]]:
    """Strongly connected components with more than one job, by Tarjan's algorithm without recursion."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    components: list[set[int]] = []
    for root in sorted(edges):
        if root in order:
            continue
        walk = [(root, iter(sorted(edges[root])))]
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        while walk:
            job, targets = walk[-1]
            target = next(targets, None)
            if target is None:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[job])
                if low[job] == order[job]:
                    part = set()
                    while job not in part:
                        part.add(member := stack.pop())
                        on_stack.discard(member)
                    if len(part) > 1:
                        components.append(part)
            elif target not in order:
                order[target] = low[target] = len(order)
                stack.append(target)
                on_stack.add(target)
                walk.append((target, iter(sorted(edges.get(target, ())))))
            elif target in on_stack:
                low[job] = min(low[job], order[target])
    return components


_WHAT = {
    rules.BREAKER.id: "evictions in a circle",
    rules.BACKOFF.id: "jobs that had failed",
}


def storms_of(slowed: Mapping[str, int], attempts: pl.DataFrame, *, applied: bool) -> Iterator[str]:
    """A sentence for each kind of storm; none of a replay that had none."""
    for rule, what in _WHAT.items():
        if count := slowed.get(rule, 0):
            did = "held back" if applied else "would have been held back on a server (`--breaker` does so here)"
            yield f"{what} were to be slowed down {count:,} times, and {did}: `{rule}`."
    lost = attempts.filter(pl.col("how") == "preempted").group_by("job").len()
    thrashing = lost.filter(pl.col("len") > LIVE.thrashing)
    if len(thrashing):
        most = max(thrashing["len"].to_list())
        said = f"more than {LIVE.thrashing} times"
        yield (
            f"1 job was preempted {said}, {most} times in all: it thrashes (`{rules.THRASHING.id}`)."
            if len(thrashing) == 1
            else f"{len(thrashing):,} jobs were preempted {said}, one of them {most} times: "
            f"they thrash (`{rules.THRASHING.id}`)."
        )
