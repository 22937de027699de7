"""Tasks of Google's Borg trace of 2011, one row each with its events folded, and the evictions that really happened."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from pathlib import Path

import polars as pl

from cede.model.checks import counted_out
from cede.model.cluster import Node
from cede.model.errors import shown
from cede.model.quantities import LARGEST, NANO
from cede.model.times import SECOND
from cede.sim.traces.assembly import assemble, shapes_of
from cede.sim.traces.columns import parsed, seconds, text, whole, words
from cede.sim.traces.source import source_of
from cede.sim.traces.table import ROW, Layout, Rows, read_table
from cede.sim.traces.trace import Shape, Trace

COLUMNS = (
    "job", "task", "user", "priority", "cpu_req", "mem_req", "submit_s", "n_evict", "first_start_s", "run_s",
    "last_end_s", "last_end_event", "running_at_end",
)  # fmt: skip
EVICTION_COLUMNS = ("time_s", "job", "task", "priority", "cpu_req", "mem_req", "run_before_evict_s")
MACHINE_COLUMNS = ("cpu", "memory", "number_of_machines")

OUTCOMES = {"FINISH": "completed", "FAIL": "failed", "LOST": "failed", "KILL": "cancelled", "EVICT": "evicted"}

NOTES = (
    "Amounts of this trace are parts of its largest machine: a cpu of 1 is all of that machine's.",
    "Every task is a job of its own: the trace does not say which tasks of a job need each other.",
    "A task's duration is the time that all its attempts ran together: of one that was evicted, some of it twice.",
)


def recognises(_name: str, head: bytes) -> bool:
    """By its header."""
    return head.startswith(b"job,task,user,sched_class,priority,cpu_req,mem_req,submit_s")


def read(path: Path, *, machines: str | Path | None = None) -> Trace:
    """Its tasks that ever ran; `machines` is a list of how many machines there were of each size."""
    jobs, places = read_table(source_of(path), Layout(quoted=False), _converted, needs=COLUMNS, only=COLUMNS)
    notes = list(NOTES)
    jobs = _with_durations(jobs, notes)
    shape, shapes = shapes_of(jobs, ["cpu", "memory"], lambda cpu, memory: Shape({"cpu": cpu, "memory": memory}))
    nodes = counted_out(_machines(Path(machines))) if machines is not None else []
    return assemble(jobs.with_columns(shape), shapes, "borg", places, notes=notes, nodes=nodes)


def _converted(rows: Rows) -> pl.DataFrame:
    user = text(rows, "user")
    event = words(rows, "last_end_event", OUTCOMES, needed=False)
    running = whole(rows, "running_at_end", least=0, most=1) == 1
    frame = pl.DataFrame(
        {
            ROW: rows.frame[ROW],
            "name": text(rows, "job") + "-" + text(rows, "task"),
            "user": "u" + user,
            "submitted": seconds(rows, "submit_s"),
            "started": seconds(rows, "first_start_s", needed=False),
            "run": seconds(rows, "run_s"),
            "ended": seconds(rows, "last_end_s", needed=False),
            "priority": whole(rows, "priority"),
            "evictions": whole(rows, "n_evict", least=0),
            "cpu": parsed(rows, "cpu_req", part_of_a_machine),
            "memory": parsed(rows, "mem_req", part_of_a_machine),
            "running": running,
            "outcome": event.replace_strict(OUTCOMES, default=None, return_dtype=pl.String),
        }
    )
    rows.wrong("first_start_s", frame["started"] < frame["submitted"], "is before submit_s")
    return frame.with_columns(outcome=pl.when("running").then(pl.lit("running")).otherwise("outcome"))


def part_of_a_machine(value: str) -> int:
    """Nano-units; what is finer than one is rounded up, so that no request becomes none."""
    try:
        number = Decimal(value)
        nano = int((number * NANO).to_integral_value(rounding=ROUND_CEILING)) if number.is_finite() else -1
    except ArithmeticError:
        raise ValueError(f"{shown(value)} is no number") from None
    if not 0 <= nano <= LARGEST:
        raise ValueError(f"{shown(value)} is no amount; amounts are 0 or more")
    return nano


def _with_durations(jobs: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Tasks that ran, each with how long; one that runs when the trace ends ran at least until then."""
    end = max(int(jobs[name].max() or 0) for name in ("submitted", "started", "ended"))  # type: ignore[arg-type]
    since = pl.coalesce("ended", "started", "submitted")
    jobs = jobs.with_columns(duration=pl.col("run") + pl.when("running").then(end - since).otherwise(0))
    idle = int((jobs["started"].is_null() & ~jobs["running"]).sum())
    if idle:
        notes.append(f"{idle:,} of {jobs.height:,} tasks are left out: they were never started.")
    early = int((jobs["submitted"] == 0).sum())
    if early:
        notes.append(f"{early:,} tasks were there before the trace began: how long they had run by then is not known.")
    running = int(jobs["running"].sum())
    if running:
        notes.append(
            f"{running:,} tasks still ran when the trace ended, at {end / SECOND:,.0f} s: they are taken to end then."
        )
    return jobs.filter(pl.col("started").is_not_null() | pl.col("running"))


def _machines(path: Path) -> list[Node]:
    machines, _ = read_table(source_of(path), Layout(), _converted_machines, needs=MACHINE_COLUMNS)
    return [
        Node.model_validate(
            {"name": f"machine{number}", "count": count, "capacity": {"cpu": f"{cpu}n", "memory": f"{memory}n"}}
        )
        for number, (cpu, memory, count) in enumerate(machines.iter_rows())
    ]


def _converted_machines(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "cpu": parsed(rows, "cpu", part_of_a_machine),
            "memory": parsed(rows, "memory", part_of_a_machine),
            "count": whole(rows, "number_of_machines", least=1),
        }
    )


def borg_evictions(path: Path) -> pl.DataFrame:
    """The evictions that really happened, in order.

    Columns: at (microseconds), name (as in the trace), priority, cpu and memory (parts of the largest machine), ran
    (microseconds since its start, null if that was not seen).
    """
    evictions, _ = read_table(
        source_of(path), Layout(quoted=False), _converted_evictions, needs=EVICTION_COLUMNS, only=EVICTION_COLUMNS
    )
    return evictions.sort("at", maintain_order=True)


def _converted_evictions(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "at": seconds(rows, "time_s"),
            "name": text(rows, "job") + "-" + text(rows, "task"),
            "priority": whole(rows, "priority").cast(pl.Int32),
            "cpu": parsed(rows, "cpu_req", part_of_a_machine) / NANO,
            "memory": parsed(rows, "mem_req", part_of_a_machine) / NANO,
            "ran": seconds(rows, "run_before_evict_s", needed=False),
        }
    )


def evictions_by_priority(evictions: pl.DataFrame) -> pl.DataFrame:
    """What a replay can be compared with, a row for each priority.

    Columns: evictions, tasks that had any, share of all evictions, hours of run time and of cpu that were undone (a
    lower bound: some starts were not seen).
    """
    hours = pl.col("ran") / (3600 * SECOND)
    return (
        evictions.group_by("priority")
        .agg(
            evictions=pl.len().cast(pl.Int64),
            tasks=pl.col("name").n_unique().cast(pl.Int64),
            share=pl.len() / evictions.height,
            hours=hours.sum(),
            cpu_hours=(hours * pl.col("cpu")).sum(),
        )
        .sort("priority")
    )
