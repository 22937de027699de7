"""Values as Slurm writes them: states, lengths of time, and trackable resources."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Literal

import polars as pl

from cede.model.errors import InputError, Problem, shown
from cede.model.quantities import NANO
from cede.model.times import LONGEST, SECOND
from cede.sim.traces.assembly import assemble, shapes_of
from cede.sim.traces.columns import microseconds, parsed, seconds, text, whole, words
from cede.sim.traces.source import head_of, source_of
from cede.sim.traces.table import ROW, Layout, Places, Rows, read_table
from cede.sim.traces.trace import Shape, Trace

OUTCOMES: dict[str, str | None] = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "TIMEOUT": "failed",
    "DEADLINE": "failed",
    "OUT_OF_MEMORY": "failed",
    "BOOT_FAIL": "failed",
    "LAUNCH_FAILED": "failed",
    "SPECIAL_EXIT": "failed",
    "CANCELLED": "cancelled",
    "REVOKED": "cancelled",
    "PREEMPTED": "evicted",
    "NODE_FAIL": "evicted",
    "REQUEUED": "evicted",
    "RUNNING": "running",
    "COMPLETING": "running",
    "CONFIGURING": "running",
    "RESIZING": "running",
    "SIGNALING": "running",
    "STAGE_OUT": "running",
    "STOPPED": "running",
    "SUSPENDED": "running",
    "PENDING": None,
    "REQUEUE_FED": None,
    "REQUEUE_HOLD": None,
    "RESV_DEL_HOLD": None,
}
RETRIED = [state for state, outcome in OUTCOMES.items() if outcome == "evicted"]

_SPAN = re.compile(r"(?:([0-9]+)-)?([0-9]+)(?::([0-9]+))?(?::([0-9]+))?(\.[0-9]+)?")
_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGTPE]?)")
_POWERS = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_GPU = "gres/gpu"


def parse_span(value: str) -> int:
    """Microseconds of `[DAYS-]HH:MM:SS`, or `MM:SS` or minutes where there are no days."""
    match = _SPAN.fullmatch(value)
    if match is None:
        raise ValueError(f"{shown(value)} is no length of time like 1-02:30:00")
    days, *parts = match.groups()[:4]
    first, second, third = (int(part or 0) for part in parts)
    if days is not None or parts[2] is not None:
        total = int(days or 0) * 86400 + first * 3600 + second * 60 + third
    else:
        total = first * 60 + second
    if total * SECOND > LONGEST:
        raise ValueError(f"{shown(value)} is out of range; the longest duration is 100 years, which is 876600h")
    return total * SECOND + round(Decimal(f"0{match[5] or ''}") * SECOND)


def tres_of(value: str) -> dict[str, int]:
    """Nano-units of `cpu=8,mem=64G,node=1,gres/gpu=4` by Cede's names; `node` counts nodes. Others are passed over."""
    resources: dict[str, int] = {}
    typed = 0
    for part in value.split(","):
        name, equals, amount = part.partition("=")
        if not equals:
            raise ValueError(f"{shown(part)} is no resource like cpu=8")
        if name in ("cpu", "node", _GPU) or name.startswith(f"{_GPU}:"):
            if not amount.isascii() or not amount.isdigit():
                raise ValueError(f"{shown(part)} is no count")
            if name.startswith(f"{_GPU}:"):
                typed += int(amount)
            else:
                resources["gpu" if name == _GPU else name] = int(amount) * NANO
        elif name == "mem":
            resources["memory"] = _memory(amount)
    if typed and "gpu" not in resources:
        resources["gpu"] = typed * NANO
    return resources


def _memory(amount: str) -> int:
    """Slurm's letters are powers of 1024, and megabytes where there is none."""
    match = _MEMORY.fullmatch(amount)
    if match is None:
        raise ValueError(f"{shown('mem=' + amount)} is no amount of memory like 64G")
    return int(Decimal(match[1]) * 2 ** _POWERS[match[2] or "M"]) * NANO


def shape_of(tres: str | None, nodes: int | None, cpus: int | None, *, memory: bool) -> Shape:
    """A member for each node with its part of everything; if that does not come out even, one that can be divided."""
    total = {} if tres is None else tres_of(tres)
    members = total.pop("node", 0) // NANO or nodes or 1
    if cpus:
        total.setdefault("cpu", cpus * NANO)
    if not memory:
        total.pop("memory", None)
    total = {name: nano for name, nano in total.items() if nano}
    # Memory is divided to the byte: what is left over is less than one a node.
    counts = [nano // NANO for name, nano in total.items() if name != "memory"]
    if any(count % members for count in counts):
        return Shape(total, divisible=True)
    return Shape({name: -(-nano // (members * NANO)) * NANO for name, nano in total.items()}, members)


NEEDS = ("JobID", "Submit", "Start", "State")
LENGTHS = ("ElapsedRaw", "Elapsed", "End")
TRES = ("AllocTRES", "ReqTRES")
CPUS = ("NCPUS", "AllocCPUS", "ReqCPUS")
NODES = ("NNodes", "AllocNodes", "ReqNodes")
COLUMNS = (
    *NEEDS, *LENGTHS, "TimelimitRaw", "Timelimit", *TRES, *CPUS, *NODES, "Partition", "QOS", "Account", "User",
    "Priority",
)  # fmt: skip
NOTHING = ("", "Unknown", "None", "N/A", "UNLIMITED", "Partition_Limit", "INVALID", "NotSet")
MINUTE_S = 60

ZONE = "Times that sacct prints have no zone; they are read as UTC."


def recognises(_name: str, head: bytes) -> bool:
    """By a header with bars."""
    header = head.partition(b"\n")[0].strip().split(b"|")
    return b"JobID" in header and b"Submit" in header


def read(
    path: Path,
    *,
    queue: Literal["Partition", "Account", "QOS", "User"] = "Partition",
    priority: bool = False,
    memory: bool = True,
) -> Trace:
    """Its jobs that started. `queue` is the column that names queues; `priority` takes Slurm's own number."""
    source = source_of(path)
    header = head_of(source).partition(b"\n")[0].strip()
    names = header.decode(errors="replace").split("|")
    _check(path, names)
    layout = Layout(separator="|", quoted=False, ends_in_separator=header.endswith(b"|"))
    taken = [name for name in COLUMNS if priority or name != "Priority"]
    jobs, places = read_table(source, layout, _converted, needs=NEEDS, only=taken)
    notes = [ZONE]
    jobs = _that_ran(_once_each(jobs, places, notes), notes)
    if not jobs.height:
        raise InputError([Problem(places.name, "holds no job that started")])
    origin = int(jobs["submitted"].min())  # type: ignore[arg-type]
    jobs = jobs.with_columns(pl.col("submitted", "started") - origin, queue=pl.col(queue).str.split(",").list.first())
    shape, shapes = shapes_of(
        jobs, ["tres", "nodes", "cpus"], lambda tres, nodes, cpus: shape_of(tres, nodes, cpus, memory=memory)
    )
    if not memory:
        notes.append("Memory is not taken from this trace, as it was asked for.")
    return assemble(jobs.with_columns(shape), shapes, "sacct", places, notes=notes, origin=origin)


def _check(path: Path, names: list[str]) -> None:
    """Columns of which one at least must be there."""
    problems = [
        Problem(str(path), f"there is none of the columns {', '.join(some)}", "add one to sacct's --format")
        for some in (LENGTHS, (*TRES, *CPUS))
        if not any(name in names for name in some)
    ]
    if problems:
        raise InputError(problems)


def _converted(rows: Rows) -> pl.DataFrame:
    # Steps come below their job, and tell nothing of it that the job's own line does not.
    rows = Rows(rows.frame.filter(~pl.col("JobID").str.contains(".", literal=True).fill_null(False)), rows.faults)
    blank = {
        name: pl.col(name).replace(dict.fromkeys(NOTHING)) for name in rows.columns if name not in ("User", "State")
    }
    rows = Rows(rows.frame.with_columns(**blank), rows.faults)
    state = Rows(rows.frame.with_columns(pl.col("State").str.extract(r"^([A-Z_]+)")), rows.faults)
    start, end = clock(rows, "Start"), clock(rows, "End")
    elapsed = _first(seconds(rows, "ElapsedRaw", needed=False), parsed(rows, "Elapsed", parse_span, needed=False))
    rows.wrong("End", (end < start) & elapsed.is_null(), "is before Start")
    limit = seconds(rows, "TimelimitRaw", needed=False, unit_s=MINUTE_S)
    for name in TRES:
        parsed(rows, name, lambda value: len(tres_of(value)), needed=False)
    return pl.DataFrame(
        {
            ROW: rows.frame[ROW],
            "name": text(rows, "JobID"),
            "submitted": clock(rows, "Submit", needed=True),
            "started": start,
            "duration": _first(elapsed, end - start),
            "walltime": _first(limit, parsed(rows, "Timelimit", parse_span, needed=False)),
            "state": words(state, "State", OUTCOMES),
            "tres": _first(*(rows.raw(name) for name in TRES)),
            "nodes": _first(*(whole(rows, name, least=0, needed=False) for name in NODES)),
            "cpus": _first(*(whole(rows, name, least=0, needed=False) for name in CPUS)),
            "user": text(rows, "User", needed=False),
            "project": rows.raw("Account"),
            "priority": whole(rows, "Priority", needed=False),
            **{name: rows.raw(name) for name in ("Partition", "Account", "QOS", "User")},
        }
    )


def clock(rows: Rows, column: str, *, needed: bool = False) -> pl.Series:
    """Times like 2026-01-31T12:00:00, or numbers of seconds since 1970, as microseconds since then."""
    raw = text(rows, column, needed=needed)
    times = raw.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False).to_physical()
    times = _first(times, microseconds(raw))
    bad = times.is_null() & raw.is_not_null()
    rows.wrong(column, bad, lambda value: f"{shown(value)} is no time like 2026-01-31T12:00:00")
    return times


def _first(*columns: pl.Series) -> pl.Series:
    """The first of these that is there, row by row."""
    first, *others = columns
    for other in others:
        first = first.zip_with(first.is_not_null(), other)
    return first


def _once_each(jobs: pl.DataFrame, places: Places, notes: list[str]) -> pl.DataFrame:
    """One row a job: of one that was run again (`sacct -D`) the last, which counts the evictions before it."""
    jobs = jobs.with_columns(evictions=pl.col("state").is_in(RETRIED).cast(pl.Int32))
    if not jobs["name"].is_duplicated().any():
        return jobs
    last = pl.col("state").is_in(RETRIED).not_() & (pl.int_range(pl.len()).over("name") < pl.len().over("name") - 1)
    odd = jobs.filter(last)
    if odd.height:
        [place] = places.of([odd[ROW][0]])
        hint = "a job may stand here again only after it was requeued, preempted or lost its node"
        raise InputError([Problem(place, f"JobID: {shown(odd['name'][0])} stands below once more", hint)])
    again = int(jobs["name"].is_duplicated().sum()) - jobs.filter(pl.col("name").is_duplicated())["name"].n_unique()
    notes.append(f"{again:,} lines tell of earlier runs of jobs that ran again: the last run's duration is taken.")
    merged = pl.col("submitted", "started").min().over("name"), pl.col("evictions").sum().over("name")
    return jobs.with_columns(*merged).unique("name", keep="last", maintain_order=True)


def _that_ran(jobs: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Jobs that started, and whose duration is known."""
    jobs = jobs.with_columns(outcome=pl.col("state").replace_strict(OUTCOMES, return_dtype=pl.String))
    idle = pl.col("started").is_null() | ((pl.col("duration") == 0) & pl.col("outcome").is_in(["cancelled"]))
    empty = pl.col("tres").is_null() & (pl.col("cpus").fill_null(0) == 0)
    ran = jobs.filter(~(idle | pl.col("duration").is_null() | empty))
    if ran.height < jobs.height:
        notes.append(f"{jobs.height - ran.height:,} of {jobs.height:,} jobs are left out: they had not started.")
    running = ran.filter(pl.col("outcome") == "running").height
    if running:
        notes.append(f"{running:,} jobs still ran: they are taken to end when sacct was asked.")
    if parts := ran.filter(pl.col("name").str.contains("+", literal=True)).height:
        notes.append(f"{parts:,} jobs are parts of heterogeneous jobs: each is taken as a job of its own.")
    early = ran.filter(pl.col("started") < pl.col("submitted")).height
    if early:
        notes.append(f"{early:,} jobs started before they were submitted, as clocks that are set back show it.")
        before = pl.col("started") < pl.col("submitted")
        ran = ran.with_columns(started=pl.when(~before).then("started"))
    return ran
