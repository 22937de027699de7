"""Files of Cede's own schema, read: JSON Lines, CSV and Parquet."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import jiter
import polars as pl

from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.sim.traces.cede_schema import NEEDED, TYPES, About, check_columns, converted, parse_about, trace_of
from cede.sim.traces.cede_writing import ABOUT, as_seconds, write
from cede.sim.traces.source import Source, blocks, head_of, reading, source_of
from cede.sim.traces.table import MOST_PROBLEMS, ROW, Faults, Layout, Places, Rows, read_table
from cede.sim.traces.trace import Trace

__all__ = ["read", "recognises", "write"]

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
                about = _about(line.removeprefix(ABOUT), f"{source.name}:{number}")
            if line.strip() and not line.startswith(b"#"):
                break

    def convert(rows: Rows) -> pl.DataFrame:
        check_columns(rows.columns, source.name)
        return converted(rows)

    jobs, places = read_table(source, Layout(preamble="#"), convert, needs=NEEDED)
    return trace_of(jobs, about, places)


def _about(text: bytes, place: str) -> About:
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
    about = About() if said is None else _about(said.encode(), f"{path}: metadata")
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
