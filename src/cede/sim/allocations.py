"""Jobs whose members are submitted one by one: their allocations, and the tables of these told by the job again."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from cede.model.cluster import Node, Queue
from cede.sim.tables import JOBS
from cede.sim.traces.fitting import Room, by_partition
from cede.sim.traces.trace import Shape, Trace

Amounts = Mapping[str, int]
OVER = ("completed", "failed", "refused", "cancelled", "preempted")


@dataclass(frozen=True, slots=True)
class Allocations:
    """Which workloads of a replay are which jobs: the workloads of a job stand together, in the order of the jobs."""

    jobs: Trace
    """As they came."""
    workloads: Trace
    """As they are submitted."""
    sizes: tuple[Amounts, ...]
    """What the shapes of the workloads hold."""
    job: array[int]
    """Of each workload."""
    number: array[int]
    """Which of the allocations of its job a workload is, from 1; 0 of one that is a whole job."""
    counts: array[int]
    """Of each job, how many workloads it is."""

    def app(self, workload: int) -> str | None:
        """The app that it shares with the others of its job."""
        if not self.number[workload]:
            return None
        name: str = self.jobs.jobs["name"][self.job[workload]]
        return name

    def note(self, doctrine: str) -> str:
        """What must stand beside the numbers of such a replay."""
        several = [count for count in self.counts if count > 1]
        return (
            f"{len(several):,} of {len(self.counts):,} jobs fit no node whole: under {doctrine} each of their members "
            f"is an allocation of its own ({sum(several):,} in all) that starts, works and is preempted by itself. "
            "Such a job has started when the last of them has, and its preemptions, lost work and overhead are theirs "
            "together. What members that work hand in hand lose while one of them is missing is not counted."
        )


def allocations_of(
    trace: Trace, sizes: Sequence[Amounts], nodes: Sequence[Node], queues: Sequence[Queue], there: int
) -> Allocations | None:
    """Every member by itself, of jobs whose members fit no one node together but each on some node; none if there is no
    such job. The first `there` jobs, which run or wait already, stay as they are."""
    apart = _apart(trace, nodes, queues, there)
    if not any(apart):
        return None
    shapes, held = list(trace.shapes), list(sizes)
    alone: dict[int, int] = {}
    for number in dict.fromkeys(
        shape for shape, chosen in zip(trace.jobs["shape"].to_list(), apart, strict=True) if chosen
    ):
        alone[number] = len(shapes)
        shapes.append(replace(trace.shapes[number], members=1))
        held.append(dict(trace.shapes[number].requests))
    members = [shape.members for shape in trace.shapes]
    counts = [
        members[shape] if chosen else 1
        for shape, chosen in zip(trace.jobs["shape"].to_list(), apart, strict=True)
    ]  # fmt: skip
    of = [job for job, count in enumerate(counts) for _ in range(count)]
    number = [
        place
        for count, chosen in zip(counts, apart, strict=True)
        for place in (range(1, count + 1) if chosen else (0,))
    ]
    jobs = trace.jobs[of]
    names = _names(trace.jobs["name"].to_list(), of, number)
    single = [alone[shape] if place else shape for shape, place in zip(jobs["shape"].to_list(), number, strict=True)]
    workloads = jobs.with_columns(name=pl.Series(names, dtype=pl.String()), shape=pl.Series(single, dtype=pl.Int32()))
    return Allocations(
        trace,
        replace(trace, jobs=workloads, shapes=tuple(shapes)),
        tuple(held),
        array("l", of),
        array("l", number),
        array("l", counts),
    )


def _apart(trace: Trace, nodes: Sequence[Node], queues: Sequence[Queue], there: int) -> list[bool]:
    """Of each job whether its members fit no one node of its queue's partition together, and one of them fits one."""
    rooms, partition = by_partition(trace, nodes, queues)
    known: dict[tuple[int, int], bool] = {}

    def parts(shape: int, where: int) -> bool:
        apart = known.get((shape, where))
        if apart is None:
            asked, among = trace.shapes[shape], rooms[where]
            apart = known[shape, where] = (
                asked.members > 1 and not _fits(asked, asked.members, among) and _fits(asked, 1, among)
            )
        return apart

    shapes = trace.jobs["shape"].to_list()
    return [
        job >= there and parts(shape, where) for job, (shape, where) in enumerate(zip(shapes, partition, strict=True))
    ]


def _fits(shape: Shape, members: int, among: Sequence[Room]) -> bool:
    return any(room.takes(shape, members) for room in among)


def _names(jobs: Sequence[str], of: Sequence[int], number: Sequence[int]) -> list[str]:
    """NAME.1, NAME.2 and so on; with more dots where another job is called so already."""
    taken, mark = set(jobs), "."
    while True:
        names = [f"{jobs[job]}{mark}{place}" if place else jobs[job] for job, place in zip(of, number, strict=True)]
        if not any(place and name in taken for name, place in zip(names, number, strict=True)):
            return names
        mark += "."


# -- tables by job -----------------------------------------------------------------------------------------------


def by_job(tables: Mapping[str, pl.DataFrame], made: Allocations) -> dict[str, pl.DataFrame]:
    """Tables of workloads as those of their jobs; `allocation` says which part of its job a row is about, null: all."""
    job = pl.Series(made.job, dtype=pl.UInt32())
    number = pl.Series(made.number, dtype=pl.Int32())
    number = number.set(number == 0, None)
    names = tables["jobs"]["name"]
    converted = dict(tables)
    for name in ("attempts", "holds", "decisions", "victims"):
        frame = tables[name]
        columns = {"job": job.gather(frame["job"]), "allocation": number.gather(frame["job"])}
        if name == "decisions":
            columns["workload"] = names.gather(frame["job"])
            taken = [None if own is None else [made.job[one] for one in own] for own in frame["victims"].to_list()]
            columns["victims"] = pl.Series(taken, dtype=pl.List(pl.UInt32()))
        converted[name] = frame.with_columns(**columns)
    converted["jobs"] = _jobs(tables["jobs"], job, made)
    return converted


def _jobs(workloads: pl.DataFrame, job: pl.Series, made: Allocations) -> pl.DataFrame:
    state, ended = pl.col("state"), pl.col("ended")
    under_way = ~state.is_in(OVER)
    badly = state.filter(~state.is_in(["completed", "refused"])).first()
    ran = pl.col("attempts").sum() > 0
    became = (
        pl.when(under_way.any())
        .then(
            pl.when((state == "running").any())
            .then(pl.lit("running"))
            .when(ran)
            .then(pl.lit("requeued"))
            .otherwise(pl.lit("waiting"))
        )
        .when((state == "completed").all())
        .then(pl.lit("completed"))
        .when((state == "refused").all())
        .then(pl.lit("refused"))
        .otherwise(pl.coalesce(badly, pl.lit("failed")))
    )
    same = [name for name in JOBS if name not in (*COUNTED, "job", "name", "shape", "members")]
    grouped = (
        workloads.with_columns(job=job)
        .group_by("job", maintain_order=True)
        .agg(
            *(pl.col(name).first() for name in same),
            *(pl.col(name).sum() for name in SUMS),
            first_start=pl.when(pl.col("first_start").is_not_null().all()).then(pl.col("first_start").max()),
            ended=pl.when(ended.is_not_null().all()).then(ended.max()),
            state=became,
            rule=pl.col("rule").drop_nulls().first(),
            why=pl.col("why").drop_nulls().first(),
        )
    )
    jobs = made.jobs.jobs
    members = [shape.members for shape in made.jobs.shapes]
    named = grouped.with_columns(
        name=jobs["name"],
        shape=jobs["shape"],
        members=pl.Series([members[shape] for shape in jobs["shape"].to_list()], dtype=pl.Int32()),
        allocations=pl.Series(made.counts, dtype=pl.Int32()),
    )
    return named.select(*JOBS, "allocations").cast(dict(JOBS))  # type: ignore[arg-type]


SUMS = ("attempts", "preemptions", "evictions")
COUNTED = (*SUMS, "first_start", "ended", "state", "rule", "why")
