"""The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, -1 for what is not known."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from cede.model.cluster import Node
from cede.model.errors import InputError, Problem
from cede.model.quantities import NANO
from cede.model.times import SECOND
from cede.sim.traces.assembly import assemble, shapes_of
from cede.sim.traces.columns import seconds, whole
from cede.sim.traces.source import Source, reading, source_of
from cede.sim.traces.table import ROW, Layout, Rows, read_table, records
from cede.sim.traces.trace import Shape, Trace

FIELDS = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "average cpu time", "used memory",
    "requested processors", "requested time", "requested memory", "status", "user", "group", "application", "queue",
    "partition", "preceding job", "think time",
)  # fmt: skip

OUTCOMES = {0: "failed", 1: "completed", 3: "completed", 4: "failed", 5: "cancelled"}
PARTIAL = (2, 3, 4)
"""Status of a line that tells of one stretch of a job that was swapped out."""

_MEMORY = ("used memory", "requested memory")
_IGNORED = ("average cpu time", "application", "preceding job", "think time")
_MACHINE = re.compile(rb"^\s*;\s*(MaxProcs|MaxNodes|UnixStartTime)\s*:\s*([0-9]+)")
_QUEUE = re.compile(rb"^\s*;\s*Queue\s*:\s*([0-9]+)\s+(\S.*?)\s*$")


def recognises(name: str, head: bytes) -> bool:
    """By its name, or by a first line of at least 18 numbers."""
    if name.endswith((".swf", ".swf.gz")):
        return True
    lines = [line for line in head.split(b"\n")[:-1] if line.strip() and not line.lstrip().startswith(b";")]
    fields = lines[0].split() if lines else []
    return len(fields) >= len(FIELDS) and all(_is_number(field) for field in fields[: len(FIELDS)])


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def read(path: Path, *, memory: bool = False) -> Trace:
    """The jobs of the log that ran and had processors; `memory` takes what they asked of it too."""
    source = source_of(path)
    about, queues = _header(source)
    layout = Layout(separator=" ", quoted=False, spaced=True, comment=";", header=_columns(source))
    ignored = _IGNORED if memory else (*_IGNORED, *_MEMORY)
    taken = [name for name in FIELDS if name not in ignored]
    jobs, places = read_table(source, layout, _converted, only=taken)
    notes: list[str] = []
    jobs = _that_ran(_without_partial(jobs, notes), notes)
    if jobs["name"].is_duplicated().any():
        jobs = jobs.with_columns(name=(pl.col(ROW) + 1).cast(pl.String))
        notes.append("Job numbers of this trace are not unique: jobs are named by their place in the file.")
    if not memory:
        notes.append("Memory is not taken from this trace: jobs ask for processors only.")
    shape, shapes = shapes_of(jobs, ["processors", "memory"], _shape)
    if queues:
        notes.append("Queues are named in the trace: " + ", ".join(f"q{n} {name}" for n, name in queues.items()) + ".")
    processors = about.get("MaxProcs") or about.get("MaxNodes")
    nodes = [Node(name="machine", capacity={"cpu": processors})] if processors else []
    start = about.get("UnixStartTime")
    origin = None if start is None else start * SECOND
    return assemble(jobs.with_columns(shape), shapes, "swf", places, notes=notes, origin=origin, nodes=nodes)


def _header(source: Source) -> tuple[dict[str, int], dict[int, str]]:
    """What the comments on top say of the machine, and the names of queues."""
    about: dict[str, int] = {}
    queues: dict[int, str] = {}
    with reading(source) as file:
        for line in file:
            if not line.lstrip().startswith(b";"):
                break
            if match := _MACHINE.match(line):
                about[match[1].decode()] = int(match[2])
            elif match := _QUEUE.match(line):
                queues[int(match[1])] = match[2].decode(errors="replace")
    return about, queues


def _columns(source: Source) -> tuple[str, ...]:
    """Names of the fields of the first line; some logs have more than the standard's, which are not read."""
    lines = records(source, Layout(separator=" ", quoted=False, spaced=True, comment=";", header=FIELDS))
    line, fields = next(((line, fields) for line, fields in lines if fields), (0, list[str]()))
    if line and len(fields) < len(FIELDS):
        message = f"has {len(fields)} fields, and the Standard Workload Format has {len(FIELDS)}"
        raise InputError([Problem(f"{source.name}:{line}", message)])
    return (*FIELDS, *(f"field {number + 1}" for number in range(len(FIELDS), len(fields))))


def _converted(rows: Rows) -> pl.DataFrame:
    submitted = seconds(rows, "submit time")
    wait = seconds(rows, "wait time", negative=True)
    asked, given = (whole(rows, f"{kind} processors", least=-1) for kind in ("requested", "allocated"))
    numbers = {name: whole(rows, name) for name in ("status", "user", "group", "queue", "partition")}
    walltime = seconds(rows, "requested time", negative=True)
    frame = pl.DataFrame(
        {
            ROW: rows.frame[ROW],
            "name": rows.frame["job number"],
            "submitted": submitted,
            "started": submitted + wait.set(wait < 0, None),
            "duration": seconds(rows, "run time", negative=True),
            "walltime": walltime.set(walltime <= 0, None),
            "processors": asked.zip_with(asked > 0, given),
            "memory": _kib(rows),
            **numbers,
        }
    )
    return frame.with_columns(
        user=_named("u", "user"),
        project=_named("g", "group"),
        queue=pl.coalesce(_named("q", "queue"), _named("p", "partition")),
        outcome=pl.col("status").replace_strict(OUTCOMES, default=None, return_dtype=pl.String),
    )


def _kib(rows: Rows) -> pl.Series:
    """Memory of each processor, as it was asked for or else used; 0 if nobody wants to know."""
    if "used memory" not in rows:
        return pl.repeat(0, rows.frame.height, dtype=pl.Int64, eager=True)
    asked, used = (whole(rows, f"{kind} memory", most=2**53) for kind in ("requested", "used"))
    return asked.zip_with(asked > 0, used)


def _named(letter: str, column: str) -> pl.Expr:
    return pl.when(pl.col(column) >= 0).then(pl.format(letter + "{}", column))


def _without_partial(jobs: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Lines on the stretches of a job are left out if there is one on the whole of it."""
    partial = jobs["status"].is_in(PARTIAL)
    if not partial.any():
        return jobs
    told = jobs.filter(~partial)["name"]
    kept = jobs.filter(~partial | ~jobs["name"].is_in(told.implode()))
    if kept.height < jobs.height:
        notes.append(f"{jobs.height - kept.height:,} lines on parts of jobs are left out: other lines tell the whole.")
    return kept


def _that_ran(jobs: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    idle, nowhere = jobs["duration"] <= 0, jobs["processors"] <= 0
    if (idle | nowhere).any():
        notes.append(
            f"{(idle | nowhere).sum():,} of {jobs.height:,} jobs are left out: {idle.sum():,} did not run, "
            f"{nowhere.sum():,} had no processors."
        )
    return jobs.filter(~(idle | nowhere))


def _shape(processors: int, kib: int) -> Shape:
    memory = {"memory": kib * 1024 * processors * NANO} if kib > 0 else {}
    return Shape({"cpu": processors * NANO, **memory}, divisible=True)
