"""Cede's own schema of a trace: what each column of a file may hold, and the trace that follows from it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import polars as pl

from cede.model.cluster import Node
from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.model.resources import parse_resources
from cede.model.times import LONGEST, Instant, parse_duration, parse_time
from cede.model.workloads import CheckpointMode, Kind
from cede.sim.traces.assembly import assemble, shapes_of
from cede.sim.traces.columns import microseconds, parsed, text, whole, words
from cede.sim.traces.table import ROW, Faults, Places, Rows
from cede.sim.traces.trace import Shape, Trace

Type = Literal["text", "time", "duration", "whole", "truth", "object"]

OUTCOMES = ("completed", "failed", "cancelled", "evicted", "running")

TYPES: Mapping[str, Type] = {
    "name": "text",
    "submitted": "time",
    "duration": "duration",
    "walltime": "duration",
    "members": "whole",
    "requests": "object",
    "labels": "object",
    "divisible": "truth",
    "queue": "text",
    "user": "text",
    "project": "text",
    "kind": "text",
    "priority": "whole",
    "job_priority": "whole",
    "preemptible": "truth",
    "preempts": "truth",
    "checkpoint": "text",
    "checkpoint_interval": "duration",
    "checkpoint_time": "duration",
    "restart_time": "duration",
    "outcome": "text",
    "started": "time",
    "evictions": "whole",
}
"""The keys of a job in JSON Lines. CSV and Parquet have columns `requests.NAME` and `labels.NAME` for the objects."""

NEEDED = ("name", "submitted", "duration")
SPREAD = ("requests.", "labels.")

_WORDS: Mapping[str, Sequence[str]] = {
    "kind": get_args(Kind),
    "checkpoint": get_args(CheckpointMode),
    "outcome": OUTCOMES,
}
_WHOLE_LEAST = {"members": 1, "evictions": 0}
_UTC = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:]{8}(\.[0-9]{1,6})?[Zz]").pattern
_AN_INSTANT = "_is_instant"


@dataclass(frozen=True, slots=True)
class About:
    """What a file says of the whole trace."""

    format: str = "cede"
    notes: tuple[str, ...] = ()
    origin: int | None = None
    nodes: tuple[Node, ...] = field(default=())


def parse_about(raw: object, place: str) -> About:
    """The object on top of a file."""
    if not isinstance(raw, dict):
        raise InputError([Problem(place, f"{shown(raw)} is no object that tells of the trace")])
    known = ("version", "format", "origin", "notes", "nodes")
    for key in raw:
        if key not in known:
            raise InputError([Problem(place, f"trace.{key} is not known", did_you_mean(key, known))])
    version, name, notes = raw.get("version", 1), raw.get("format", "cede"), raw.get("notes", [])
    if version != 1:
        raise InputError([Problem(place, f"trace.version is {shown(version)}; this Cede reads version 1")])
    if not isinstance(name, str) or not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise InputError([Problem(place, "trace.format must be text, and trace.notes a list of texts")])
    try:
        origin = None if raw.get("origin") is None else int(parse_time(raw["origin"]))
        nodes = tuple(Node.model_validate(node) for node in raw.get("nodes", []))
    except (ValueError, TypeError) as error:
        raise InputError([Problem(place, f"trace: {error}")]) from None
    return About(name, tuple(notes), origin, nodes)


def check_columns(names: Sequence[str], place: str) -> None:
    """An InputError names every column that is not known, and those that are needed and not there."""
    spread = [f"{before}NAME" for before in SPREAD]
    known = [name for name in TYPES if TYPES[name] != "object"]
    problems = [
        Problem(place, f"the column {name} is not known", did_you_mean(name, [*known, *spread]))
        for name in names
        if name not in known and not name.startswith(SPREAD)
    ]
    problems += [Problem(place, f"there is no column {name}") for name in NEEDED if name not in names]
    if problems:
        raise InputError(problems)


def converted(rows: Rows) -> pl.DataFrame:
    """The jobs of these rows; what makes up their shapes stays text."""
    columns: dict[str, pl.Series] = {ROW: rows.frame[ROW]}
    for name, type_ in TYPES.items():
        needed = name in NEEDED
        if type_ == "object":
            for column in rows.columns:
                if column == name or column.startswith(f"{name}."):
                    columns[column] = _checked_part(rows, column)
        elif type_ == "time":
            columns[name], columns[name + _AN_INSTANT] = times(rows, name, needed=needed)
        elif type_ == "duration":
            columns[name] = durations(rows, name, needed=needed)
        elif type_ == "whole":
            least = _WHOLE_LEAST.get(name, -(2**31))
            columns[name] = whole(rows, name, least=least, needed=False)
        elif type_ == "truth":
            columns[name] = words(rows, name, ("true", "false"), needed=False) == "true"
        elif name in _WORDS:
            columns[name] = words(rows, name, _WORDS[name], needed=False)
        else:
            columns[name] = text(rows, name, needed=needed)
    return pl.DataFrame(columns)


def durations(rows: Rows, column: str, *, needed: bool = False) -> pl.Series:
    """Numbers of seconds, or lengths like 1h30m, as whole microseconds."""
    raw = text(rows, column, needed=needed)
    found = microseconds(raw)
    rows.wrong(column, found < 0, lambda value: f"{shown(value)} is negative; a duration is 0 or more")
    rows.wrong(column, found > LONGEST, lambda value: f"{shown(value)} is out of range; the longest is 100 years")
    return _completed(rows, column, raw, found, parse_duration)


def times(rows: Rows, column: str, *, needed: bool = False) -> tuple[pl.Series, pl.Series]:
    """Numbers of seconds or RFC 3339 as whole microseconds, and which of them are the latter."""
    raw = text(rows, column, needed=needed)
    found = microseconds(raw)
    instant = found.is_null() & raw.is_not_null()
    if instant.any():
        usual = raw.set(~raw.str.contains(f"^{_UTC}$").fill_null(False), None).str.to_uppercase()
        clock = usual.str.replace(" ", "T").str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", strict=False)
        found = found.zip_with(found.is_not_null(), clock.to_physical())
        found = _completed(rows, column, raw, found, parse_time)
    return found, instant


def _completed(rows: Rows, column: str, raw: pl.Series, found: pl.Series, parse: Callable[[object], int]) -> pl.Series:
    """What was found, and what `parse` makes of the texts of which nothing was."""
    left = (found.is_null() & raw.is_not_null()).fill_null(False)
    if not left.any():
        return found
    some = Rows(pl.DataFrame({ROW: rows.frame[ROW], column: raw.set(~left, None)}), rows.faults)
    more = parsed(some, column, lambda value: int(parse(value)), needed=False)
    return found.zip_with(found.is_not_null(), more)


def _checked_part(rows: Rows, column: str) -> pl.Series:
    """Texts of requests or labels, of which every distinct one was tried."""
    raw = text(rows, column, needed=False)
    parsed(rows, column, lambda value: _try_part(column, value), needed=False)
    return raw


def _try_part(column: str, value: str) -> int:
    kind, _, name = column.partition(".")
    entries = {name: value} if name else json.loads(value)
    if kind == "requests":
        try:
            parse_resources(entries)
        except InputError as error:
            [problem, *_] = error.problems
            raise ValueError(problem.message if name else str(problem)) from None
    return 0


def trace_of(jobs: pl.DataFrame, about: About, places: Places) -> Trace:
    """The trace of converted jobs."""
    jobs, origin = _on_one_clock(jobs, about, places)
    late = jobs["started"] < jobs["submitted"]
    if late.any():
        [row] = jobs.filter(late)[ROW].head(1)
        raise InputError([Problem(places.of([row])[0], "started: is before submitted")])
    parts = [name for name in jobs.columns if name in ("requests", "labels") or name.startswith(SPREAD)]
    shape, shapes = shapes_of(jobs, ["members", "divisible", *parts], lambda *row: _shape(parts, *row))
    return assemble(
        jobs.with_columns(shape), shapes, about.format, places, notes=about.notes, origin=origin, nodes=about.nodes
    )


def _on_one_clock(jobs: pl.DataFrame, about: About, places: Places) -> tuple[pl.DataFrame, int | None]:
    """Times counted from the origin: that of the file, or the first submission if they are dates."""
    dated = bool(jobs["submitted" + _AN_INSTANT][0])
    faults = Faults(places)
    for name in ("submitted", "started"):
        odd = (jobs[name + _AN_INSTANT] != dated) & jobs[name].is_not_null()
        for row in jobs.filter(odd)[ROW].head(1):
            faults.add(row, name, "seconds and dates are mixed; write every time in the same way")
    faults.check()
    if not dated:
        return jobs, about.origin
    origin = int(jobs["submitted"].min()) if about.origin is None else about.origin  # type: ignore[arg-type]
    return jobs.with_columns(pl.col("submitted", "started") - origin), Instant(origin)


def _shape(parts: Sequence[str], members: int | None, divisible: bool | None, *texts: str | None) -> Shape:
    found: dict[str, dict[str, Any]] = {"requests": {}, "labels": {}}
    for column, value in zip(parts, texts, strict=True):
        kind, _, name = column.partition(".")
        if value is not None:
            found[kind].update({name: value} if name else json.loads(value))
    return Shape(parse_resources(found["requests"]), members or 1, bool(divisible), found["labels"])
