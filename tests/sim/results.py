"""Small results of replays, written by hand: times in seconds, amounts in whole units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from cede.model.quantities import NANO
from cede.sim.result import Result
from cede.sim.tables import ATTEMPTS, DECISIONS, HOLDS, JOBS, OUTAGES, VICTIMS, Queue

SECOND = 10**6
HOUR = 3600


@dataclass(frozen=True)
class Ran:
    """One attempt; what is neither lost nor overhead was useful."""

    start: float
    end: float
    how: str = "completed"
    lost: float = 0
    overhead: float = 0
    restored: float = 0


@dataclass(frozen=True)
class Job:
    """Its duration is what was useful, if nothing else is said; its state follows from its last attempt."""

    name: str
    runs: Sequence[Ran] = ()
    size: float = 1
    submitted: float = 0
    queue: str | None = "q"
    priority: int = 0
    duration: float | None = None
    state: str | None = None
    asks: Mapping[str, float] | None = None
    user: str | None = None
    outcome: str | None = None
    rule: str | None = None
    why: str | None = None

    @property
    def useful(self) -> float:
        return sum(run.end - run.start - run.lost - run.overhead for run in self.runs)

    @property
    def becomes(self) -> str:
        if self.state is not None:
            return self.state
        how = self.runs[-1].how if self.runs else "waiting"
        return {"open": "running", "preempted": "requeued", "node": "requeued", "drained": "requeued"}.get(how, how)


@dataclass(frozen=True)
class Preempts:
    """A decision that preempts. Who left and when the claimant started is read off their attempts."""

    at: float
    claimant: str | None
    victims: Sequence[str]
    rule: str = "lower-priority-only"
    why: str = "it makes room"
    moment: str | None = None


@dataclass(frozen=True)
class Held:
    """Room that was held for a job."""

    job: str
    start: float
    end: float
    how: str = "started"
    decision: int | None = None


def result_of(
    *jobs: Job,
    decisions: Sequence[Preempts] = (),
    holds: Sequence[Held] = (),
    outages: Iterable[tuple[str, float, float, str]] = (),
    capacity: Mapping[str, float] | None = None,
    nodes: Mapping[str, Mapping[str, float]] | None = None,
    queues: Sequence[Queue] | None = None,
    begin: float | None = None,
    end: float | None = None,
    doctrine: str = "backendai",
    **rest: Any,
) -> Result:
    """A replay of these jobs on 8 GPUs, from the first submission to the last end if nothing else is said."""
    capacity = {"gpu": 8} if capacity is None else capacity
    shapes = _shapes(jobs)
    ends = (
        [run.end for job in jobs for run in job.runs] + [job.submitted for job in jobs] + [hold.end for hold in holds]
    )
    numbers = {job.name: number for number, job in enumerate(jobs)}
    attempts, victims = _attempts(jobs, decisions, numbers)
    return Result(
        doctrine=doctrine,
        edition="26.8",
        settings=rest.pop("settings", {}),
        begin=us(min((job.submitted for job in jobs), default=0) if begin is None else begin),
        end=us(max(ends, default=0) if end is None else end),
        complete=rest.pop("complete", end is None),
        capacity=nanos(capacity),
        node_capacity={name: nanos(own) for name, own in (nodes or {"n1": capacity}).items()},
        sizes=tuple(nanos(dict(shape)) for shape in shapes),
        queues=_queues(jobs) if queues is None else tuple(queues),
        jobs=pl.DataFrame([_job(number, job, shapes) for number, job in enumerate(jobs)], JOBS, orient="row"),
        attempts=pl.DataFrame(attempts, ATTEMPTS, orient="row"),
        holds=pl.DataFrame(
            [[numbers[hold.job], hold.decision, us(hold.start), us(hold.end), hold.how] for hold in holds],
            HOLDS,
            orient="row",
        ),
        decisions=pl.DataFrame(
            [_decision(number, one, jobs, numbers) for number, one in enumerate(decisions)], DECISIONS, orient="row"
        ),
        victims=pl.DataFrame(victims, VICTIMS, orient="row"),
        outages=pl.DataFrame(
            [[node, us(start), us(stop), state] for node, start, stop, state in outages], OUTAGES, orient="row"
        ),
        **rest,
    )


def queue(name: str, guaranteed: float | None = None, weight: float = 1, parent: str | None = None) -> Queue:
    """A queue with so many GPUs guaranteed."""
    return Queue(name, parent, None if guaranteed is None else nanos({"gpu": guaranteed}), weight)


def changed(result: Result, table: str, column: str, row: int, value: object) -> Result:
    """The result with one cell of one table changed."""
    frame: pl.DataFrame = getattr(result, table)
    values = frame[column].to_list()
    values[row] = value
    replaced: dict[str, Any] = {table: frame.with_columns(pl.Series(column, values, frame.schema[column]))}
    return replace(result, **replaced)


def us(seconds: float) -> int:
    return round(seconds * SECOND)


def nanos(amounts: Mapping[str, float]) -> dict[str, int]:
    return {name: round(amount * NANO) for name, amount in amounts.items()}


def _asks(job: Job) -> tuple[tuple[str, float], ...]:
    return tuple(sorted((job.asks or {"gpu": job.size}).items()))


def _shapes(jobs: Sequence[Job]) -> list[tuple[tuple[str, float], ...]]:
    return sorted({_asks(job) for job in jobs})


def _queues(jobs: Sequence[Job]) -> tuple[Queue, ...]:
    return tuple(queue(name) for name in sorted({job.queue for job in jobs if job.queue is not None}))


def _job(number: int, job: Job, shapes: list[tuple[tuple[str, float], ...]]) -> list[object]:
    ended = (
        None if job.becomes in ("waiting", "requeued", "running") else job.runs[-1].end if job.runs else job.submitted
    )
    hows = [run.how for run in job.runs]
    return [
        number,
        job.name,
        job.queue,
        job.user,
        None,
        None,
        job.priority,
        shapes.index(_asks(job)),
        1,
        us(job.submitted),
        us(job.useful if job.duration is None else job.duration),
        None,
        us(job.runs[0].start) if job.runs else None,
        None if ended is None else us(ended),
        job.becomes,
        len(job.runs),
        hows.count("preempted"),
        hows.count("node") + hows.count("drained"),
        job.outcome,
        job.rule,
        job.why,
    ]


def _attempts(
    jobs: Sequence[Job], decisions: Sequence[Preempts], numbers: Mapping[str, int]
) -> tuple[list[list[object]], list[list[object]]]:
    sent: dict[tuple[str, int], list[int]] = {}
    for number, one in enumerate(decisions):
        for name in one.victims:
            runs = jobs[numbers[name]].runs
            at = next(at for at, run in enumerate(runs) if run.start <= one.at <= run.end)
            sent.setdefault((name, at), []).append(number)
    attempts: list[tuple[tuple[bool, float, int], list[object]]] = []
    victims: list[list[object]] = []
    for job in jobs:
        for at, run in enumerate(job.runs):
            useful = run.end - run.start - run.lost - run.overhead
            parts = [us(part) for part in (run.restored, useful, run.lost, run.overhead)]
            by = sent.get((job.name, at), [])
            row: list[object] = [
                numbers[job.name],
                at,
                us(run.start),
                us(run.end),
                run.how,
                *parts,
                by[-1] if by else None,
            ]
            attempts.append(((run.how == "open", run.end, numbers[job.name]), row))
            for number in by:
                left = None if run.how == "open" else us(run.end)
                why = (decisions[number].rule, decisions[number].why)
                victims.append(
                    [number, numbers[job.name], at, *why, left, us(run.lost), us(run.overhead), not run.lost]
                )
    return [row for _, row in sorted(attempts, key=lambda one: one[0])], victims


def _decision(number: int, one: Preempts, jobs: Sequence[Job], numbers: Mapping[str, int]) -> list[object]:
    leaves = [run for name in one.victims for run in jobs[numbers[name]].runs if run.start <= one.at <= run.end]
    freed = max(run.end for run in leaves) if all(run.how != "open" for run in leaves) else None
    claimant = None if one.claimant is None else jobs[numbers[one.claimant]]
    starts = [run.start for run in claimant.runs if run.start >= one.at] if claimant else []
    return [
        number,
        us(one.at),
        None if one.claimant is None else numbers[one.claimant],
        "preempt",
        one.rule,
        one.why,
        [numbers[name] for name in one.victims],
        None if freed is None else us(freed),
        us(starts[0]) if starts else None,
        one.moment,
    ]
