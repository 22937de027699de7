"""Cede's own schema of a trace: what each column of a file may hold, and the trace that follows from it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import jiter
import polars as pl

from cede.model.cluster import Node
from cede.model.document import dump_part
from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.model.quantities import format_quantity
from cede.model.resources import parse_resources
from cede.model.times import LONGEST, SECOND, Instant, format_time, parse_duration, parse_time
from cede.model.workloads import CheckpointMode, Kind
from cede.sim.traces.assembly import DEFAULTS, assemble, shapes_of
from cede.sim.traces.columns import microseconds, parsed, text, whole, words
from cede.sim.traces.source import Source, blocks, head_of, reading, source_of
from cede.sim.traces.table import MOST_PROBLEMS, ROW, Faults, Layout, Places, Rows, read_table
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
    values = microseconds(raw)
    rows.wrong(column, values < 0, lambda value: f"{shown(value)} is negative; a duration is 0 or more")
    rows.wrong(column, values > LONGEST, lambda value: f"{shown(value)} is out of range; the longest is 100 years")
    return _completed(rows, column, raw, values, parse_duration)


def times(rows: Rows, column: str, *, needed: bool = False) -> tuple[pl.Series, pl.Series]:
    """Numbers of seconds or RFC 3339 as whole microseconds, and which of them are the latter."""
    raw = text(rows, column, needed=needed)
    values = microseconds(raw)
    instant = values.is_null() & raw.is_not_null()
    if instant.any():
        usual = raw.set(~raw.str.contains(f"^{_UTC}$").fill_null(False), None).str.to_uppercase()
        clock = usual.str.replace(" ", "T").str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", strict=False)
        values = values.zip_with(values.is_not_null(), clock.to_physical())
        values = _completed(rows, column, raw, values, parse_time)
    return values, instant


def _completed(rows: Rows, column: str, raw: pl.Series, values: pl.Series, parse: Callable[[object], int]) -> pl.Series:
    """What was found, and what `parse` makes of the texts of which nothing was."""
    left = (values.is_null() & raw.is_not_null()).fill_null(False)
    if not left.any():
        return values
    some = Rows(pl.DataFrame({ROW: rows.frame[ROW], column: raw.set(~left, None)}), rows.faults)
    more = parsed(some, column, lambda value: int(parse(value)), needed=False)
    return values.zip_with(values.is_not_null(), more)


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
    fields: dict[str, dict[str, Any]] = {"requests": {}, "labels": {}}
    for column, value in zip(parts, texts, strict=True):
        kind, _, name = column.partition(".")
        if value is not None:
            fields[kind].update({name: value} if name else json.loads(value))
    return Shape(parse_resources(fields["requests"]), members or 1, bool(divisible), fields["labels"])


ABOUT = b"# trace: "
METADATA = "cede.trace"
KINDS = (".jsonl", ".csv", ".parquet")
SECONDS = pl.Decimal(20, 6)

_TO_ESCAPE = r'["\\\x00-\x1f]'


def write(trace: Trace, path: Path) -> None:
    """The trace in a new file, of the kind that the name ends in. Columns that say nothing are left out."""
    path = Path(path)
    if path.suffix not in KINDS:
        raise InputError([Problem(str(path), "ends in none of " + ", ".join(KINDS))])
    about = json.dumps(_about(trace), ensure_ascii=False)
    jobs = _as_in_files(trace)
    try:
        if path.suffix == ".parquet":
            _typed(jobs).write_parquet(path, metadata={METADATA: about})
        elif path.suffix == ".csv":
            with path.open("wb") as file:
                file.write(ABOUT + about.encode() + b"\n")
                jobs.write_csv(file)
        else:
            with path.open("w", encoding="utf-8", newline="\n") as lines:
                lines.write(f'{{"trace": {about}}}\n')
                lines.writelines(_lines(trace, jobs))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError([Problem(str(path), f"cannot be written: {reason}")]) from None


def _about(trace: Trace) -> dict[str, object]:
    about: dict[str, object] = {"version": 1, "format": trace.format}
    if trace.origin is not None:
        about["origin"] = format_time(trace.origin, True)
    return about | {"notes": list(trace.notes), "nodes": [dump_part(node) for node in trace.nodes]}


def _as_in_files(trace: Trace) -> pl.DataFrame:
    """The jobs as text, in the order of the schema, with columns for what is in their shapes."""
    jobs = trace.jobs.with_columns(_shape_columns(trace)[trace.jobs["shape"]])
    columns = []
    for name, type_ in TYPES.items():
        if type_ == "object":
            columns += [jobs[column] for column in jobs.columns if column.startswith(f"{name}.")]
        elif not _says_nothing(jobs[name], name):
            column = jobs[name]
            columns.append(as_seconds(column) if type_ in ("time", "duration") else column.cast(pl.String))
    return pl.DataFrame(columns)


def _says_nothing(column: pl.Series, name: str) -> bool:
    default = {**DEFAULTS, "members": 1, "divisible": False}.get(name)
    if default is None:
        return column.null_count() == len(column) > 0
    return bool((column == default).all())


def _shape_columns(trace: Trace) -> pl.DataFrame:
    """A row for each shape: members, divisible, and a column of text for each resource and label."""
    requests = sorted({name for shape in trace.shapes for name in shape.requests})
    labels = sorted({name for shape in trace.shapes for name in shape.labels})
    columns: dict[str, list[object]] = {
        "members": [shape.members for shape in trace.shapes],
        "divisible": [shape.divisible for shape in trace.shapes],
    }
    for name in requests:
        columns[f"requests.{name}"] = [
            str(format_quantity(shape.requests[name])) if name in shape.requests else None for shape in trace.shapes
        ]
    for name in labels:
        columns[f"labels.{name}"] = [shape.labels.get(name) for shape in trace.shapes]
    text = dict.fromkeys((name for name in columns if "." in name), pl.String())
    return pl.DataFrame(columns, schema_overrides=text)


def as_seconds(us: pl.Series) -> pl.Series:
    """Exact numbers of seconds, as text."""
    size = us.abs()
    sign = (us < 0).replace_strict({True: "-", False: ""}, default=None, return_dtype=pl.String)
    part = (size % SECOND).cast(pl.String).str.zfill(6)
    number = sign + (size // SECOND).cast(pl.String) + "." + part
    return number.str.strip_chars_end("0").str.strip_chars_end(".").alias(us.name)


def _typed(jobs: pl.DataFrame) -> pl.DataFrame:
    """Text as what Parquet can hold: exact seconds, whole numbers, truths; amounts are numbers where all are whole."""
    columns = []
    for column in jobs:
        type_ = TYPES.get(column.name)
        if type_ in ("time", "duration"):
            columns.append(column.cast(SECONDS))
        elif type_ == "whole":
            columns.append(column.cast(pl.Int32))
        elif type_ == "truth":
            columns.append(column == "true")
        elif column.name.startswith("requests.") and column.str.contains("^[0-9]+$").all():
            columns.append(column.cast(pl.Int64))
        else:
            columns.append(column)
    return pl.DataFrame(columns)


def _lines(trace: Trace, jobs: pl.DataFrame) -> pl.Series:
    """Each job as a line of JSON, without the keys that it has nothing for."""
    objects = []
    for shape in trace.shapes:
        parts: dict[str, object] = {"requests": {name: format_quantity(nano) for name, nano in shape.requests.items()}}
        if shape.labels:
            parts["labels"] = dict(shape.labels)
        objects.append(json.dumps(parts, ensure_ascii=False)[1:-1])
    line = pl.Series(objects, dtype=pl.String)[trace.jobs["shape"]]
    for name in reversed([name for name in jobs.columns if "." not in name]):
        value = _in_json(jobs[name]) if TYPES[name] == "text" else jobs[name]
        line = (f'"{name}": ' + value + ", ").fill_null("") + line
    return "{" + line + "}\n"


def _in_json(column: pl.Series) -> pl.Series:
    """Texts in quotes, escaped where they must be."""
    if column.str.contains(_TO_ESCAPE).any():
        quoted = {value: json.dumps(value, ensure_ascii=False) for value in column.drop_nulls().unique()}
        return column.replace_strict(quoted, default=None, return_dtype=pl.String)
    return '"' + column + '"'


SLICE_ROWS = 500_000

_PARQUET = b"PAR1"
_JSON_LINES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
_ON_THE_TRACE = re.compile(rb'\s*\{\s*"trace"\s*:')
_TYPES_IN_JSON: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "time": (str, int, jiter.LosslessFloat),
    "duration": (str, int, jiter.LosslessFloat),
    "whole": (int, jiter.LosslessFloat),
    "truth": (bool,),
    "object": (dict,),
}
_WRITTEN = {name for name, type_ in TYPES.items() if type_ in ("text", "time", "duration")}
_COUNTED = {name for name, type_ in TYPES.items() if type_ in ("time", "duration", "whole")}
_WRONG_TYPE = {
    "text": "is no text; write it in quotes",
    "time": "is no time; write a number of seconds or RFC 3339 like 2026-01-31T12:00:00Z",
    "duration": "is no duration; write a number of seconds or a string like 30s, 10m, 1h30m",
    "whole": "is no whole number",
    "truth": "is neither true nor false",
    "object": "is no object",
}


def recognises(name: str, head: bytes) -> bool:
    """By its name, or by what it begins with: Parquet's mark, an object, or a header with what is needed."""
    if head.startswith((ABOUT, _PARQUET)) or name.endswith((*_JSON_LINES, ".parquet")):
        return True
    lines = [line for line in head.splitlines() if line.strip() and not line.startswith(b"#")]
    first = lines[0].decode(errors="replace") if lines else ""
    return first.startswith("{") or {"name", "submitted"} <= {part.strip(' "') for part in first.split(",")}


def read(path: Path) -> Trace:
    """The trace in a file of any of the three kinds."""
    source = source_of(path)
    head = head_of(source)
    if head.startswith(_PARQUET) or path.name.endswith(".parquet"):
        return _read_parquet(path)
    if head.lstrip().startswith(b"{") or path.name.endswith(_JSON_LINES):
        return _read_lines(source)
    return _read_csv(source)


def _read_csv(source: Source) -> Trace:
    about = About()
    with reading(source) as file:
        for number, line in enumerate(file, 1):
            if line.startswith(ABOUT):
                about = _parsed_about(line.removeprefix(ABOUT), f"{source.name}:{number}")
            if line.strip() and not line.startswith(b"#"):
                break

    def convert(rows: Rows) -> pl.DataFrame:
        check_columns(rows.columns, source.name)
        return converted(rows)

    jobs, places = read_table(source, Layout(preamble="#"), convert, needs=NEEDED)
    return trace_of(jobs, about, places)


def _parsed_about(text: bytes, place: str) -> About:
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise InputError([Problem(place, f"this is no JSON: {error}")]) from None
    return parse_about(raw, place)


def _read_lines(source: Source) -> Trace:
    places = Places(source.name, lambda rows: [f"{source.name}:{row + 1}" for row in rows])
    faults = Faults(places)
    about, parts, row = About(), list[pl.DataFrame](), 0
    for block in blocks(source):
        lines = block.split(b"\n")
        if not row:
            about = _about_line(source, lines[0])
        frame = _rows_of(lines, row, faults)
        if frame.height:
            parts.append(converted(Rows(frame, faults)))
        if len(faults.found) >= MOST_PROBLEMS:
            break
        row += len(lines) - (not lines[-1])
    faults.check()
    if not parts:
        raise source.wrong("holds no jobs")
    return trace_of(pl.concat(parts), about, places)


def _about_line(source: Source, line: bytes) -> About:
    """What the first line says, if it is about the whole trace."""
    if not _ON_THE_TRACE.match(line):
        return About()
    try:
        return parse_about(json.loads(line)["trace"], f"{source.name}:1")
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError([Problem(f"{source.name}:1", f"this is no JSON: {error}")]) from None


def _rows_of(lines: Sequence[bytes], start: int, faults: Faults) -> pl.DataFrame:
    """The keys of each line's object as columns of text."""
    columns: dict[str, list[str | None]] = {name: [None] * len(lines) for name in TYPES}
    objects: dict[object, str | None] = {}
    filled: list[int] = []
    for row, entry in _entries(lines, start, faults):
        at = row - start
        filled.append(at)
        for key, value in entry.items():
            if type(value) is str and key in _WRITTEN:
                columns[key][at] = value
            elif type(value) is int and key in _COUNTED:
                columns[key][at] = str(value)
            elif key not in columns:
                hint = did_you_mean(key, TYPES)
                faults.add(row, "", f"the key {shown(key)} is not known" + (f" ({hint})" if hint else ""))
            elif isinstance(value, dict) and (same := _identity(value)) in objects:
                columns[key][at] = objects[same]
            elif value is not None:
                text = columns[key][at] = _text_of(key, value, row, faults)
                if isinstance(value, dict) and text is not None:
                    objects[_identity(value)] = text
        if len(faults.found) >= MOST_PROBLEMS:
            break
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String())).with_row_index(ROW, offset=start)
    return frame[filled]


def _identity(value: dict[str, object]) -> object:
    """The same for objects that are written alike."""
    return tuple((key, type(amount), str(amount)) for key, amount in value.items())


def _entries(lines: Sequence[bytes], start: int, faults: Faults) -> Iterator[tuple[int, dict[str, object]]]:
    for row, line in enumerate(lines, start):
        if not line.strip() or (not row and _ON_THE_TRACE.match(line)):
            continue
        try:
            entry = jiter.from_json(line, catch_duplicate_keys=True, allow_inf_nan=False, float_mode="lossless-float")
        except ValueError as error:
            faults.add(row, "", f"this is no JSON: {str(error).replace(' at line 1', ' at')}")
            continue
        if isinstance(entry, dict):
            yield row, entry
        else:
            faults.add(row, "", f"{shown(entry)} is no object; every line is one job")


def _text_of(name: str, value: object, row: int, faults: Faults) -> str | None:
    """A value as a CSV would have it."""
    type_ = TYPES[name]
    if not isinstance(value, _TYPES_IN_JSON[type_]) or (isinstance(value, bool) and type_ != "truth"):
        faults.add(row, name, f"{_shown(value)} {_WRONG_TYPE[type_]}")
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, dict):
        return str(value)
    for key, amount in value.items():
        right = isinstance(amount, str) if name == "labels" else _is_amount(amount)
        if not right:
            faults.add(row, f"{name}.{key}", f"{_shown(amount)} is no {'text' if name == 'labels' else 'quantity'}")
            return None
    return json.dumps({key: str(value[key]) for key in sorted(value)})


def _is_amount(value: object) -> bool:
    return isinstance(value, str | int | jiter.LosslessFloat) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return str(value) if isinstance(value, jiter.LosslessFloat) else shown(value)


def _read_parquet(path: Path) -> Trace:
    places = Places(str(path), lambda rows: [f"{path}: row {row + 1}" for row in rows])
    try:
        metadata = pl.read_parquet_metadata(path)
        frame = pl.read_parquet(path, glob=False)
    except OSError as error:
        raise InputError([Problem(str(path), f"cannot be read: {(error.strerror or str(error)).lower()}")]) from None
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise InputError([Problem(str(path), f"is no Parquet file: {str(error).splitlines()[0]}")]) from None
    check_columns(frame.columns, str(path))
    if not frame.height:
        raise InputError([Problem(str(path), "holds no jobs")])
    said = metadata.get("cede.trace")
    about = About() if said is None else _parsed_about(said.encode(), f"{path}: metadata")
    faults = Faults(places)
    texts = pl.DataFrame([_as_text(column, str(path)) for column in frame])
    numbered = texts.with_row_index(ROW)
    parts = [converted(Rows(part, faults)) for part in numbered.iter_slices(SLICE_ROWS)]
    faults.check()
    return trace_of(pl.concat(parts), about, places)


def _as_text(column: pl.Series, place: str) -> pl.Series:
    """A typed column as a CSV would have it; a time without a zone is in UTC."""
    dtype = column.dtype
    if isinstance(dtype, pl.Datetime):
        utc = column.dt.convert_time_zone("UTC") if dtype.time_zone else column
        return utc.dt.cast_time_unit("us").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
    if isinstance(dtype, pl.Duration):
        return as_seconds(column.dt.total_microseconds())
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise InputError([Problem(place, f"the column {column.name} holds {dtype}, and not plain values")])
    return column.cast(pl.String)
