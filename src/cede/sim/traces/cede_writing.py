"""A trace as a file of Cede's own schema, which read again is the same trace."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from cede.model.document import dump_part
from cede.model.errors import InputError, Problem
from cede.model.quantities import format_quantity
from cede.model.times import SECOND, format_time
from cede.sim.traces.assembly import DEFAULTS
from cede.sim.traces.cede_schema import TYPES
from cede.sim.traces.trace import Trace

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
