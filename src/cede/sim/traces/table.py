"""A delimited text as typed columns, in which every wrong value is told with its line."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import polars as pl

from cede.model.errors import InputError, Problem, did_you_mean
from cede.sim.traces.source import Source, blocks, reading

ROW = "#"
"""The column of every table with the number of a row in its file, from 0."""

MOST_PROBLEMS = 20

_BLANK, _FEED = b" \n"


@dataclass(frozen=True, slots=True)
class Layout:
    """How the lines of a text are divided.

    `header` names the columns of a text that has none. `spaced`: runs of blanks divide. Lines that begin with `comment`
    are skipped, those that begin with `preamble` only on top.
    """

    separator: str = ","
    quoted: bool = True
    header: tuple[str, ...] = ()
    spaced: bool = False
    comment: str = ""
    preamble: str = ""
    ends_in_separator: bool = False


@dataclass(frozen=True, slots=True)
class Places:
    """Where the rows of a table stand, for messages."""

    name: str
    of: Callable[[Sequence[int]], list[str]]


@dataclass(slots=True)
class Faults:
    """What is wrong in some rows of a table."""

    places: Places
    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, row: int, column: str, message: str) -> None:
        self.found.append((row, f"{column}: {message}" if column else message))

    def check(self) -> None:
        """An InputError with the first of them, if there are any."""
        if self.found:
            first = sorted(self.found, key=lambda fault: fault[0])[:MOST_PROBLEMS]
            at = self.places.of([row for row, _ in first])
            raise InputError(Problem(place, message) for place, (_, message) in zip(at, first, strict=True))


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows as columns of text, null where there is none; `ROW` is among them."""

    frame: pl.DataFrame
    faults: Faults

    def __contains__(self, column: str) -> bool:
        return column in self.frame.columns

    @property
    def columns(self) -> list[str]:
        return [name for name in self.frame.columns if name != ROW]

    def raw(self, column: str) -> pl.Series:
        """The column, all null if there is no such."""
        if column in self.frame.columns:
            return self.frame[column]
        return pl.Series(column, [None], dtype=pl.String).new_from_index(0, self.frame.height)

    def wrong(self, column: str, where: pl.Series, why: Callable[[str | None], str] | str) -> None:
        """Every row where this holds has a wrong value in the column."""
        if not where.any():
            return
        bad = self.frame.filter(where.fill_null(False)).head(MOST_PROBLEMS)
        texts = bad[column] if column in bad.columns else [None] * bad.height
        for row, text in zip(bad[ROW], texts, strict=True):
            self.faults.add(row, column, why if isinstance(why, str) else why(text))


Convert = Callable[[Rows], pl.DataFrame]


def read_table(
    source: Source, layout: Layout, convert: Convert, needs: Sequence[str] = (), only: Sequence[str] = ()
) -> tuple[pl.DataFrame, Places]:
    """What `convert` makes of the rows, block by block, put together; and where each row stands.

    `convert` gets the columns that are both in the file and in `only` (or all), and adds to the faults what is wrong.
    Rows of the result keep `ROW`.
    """
    places = places_in(source, layout)
    faults = Faults(places)
    parts: list[pl.DataFrame] = []
    header, start = layout.header, 0
    for block in blocks(source, b'"' if layout.quoted else b"", layout.preamble.encode()):
        data = _divided(block, layout)
        if not header:
            header, data = _header(data, layout)
            if not header:
                continue
        if not start:
            _check_header(source, header, needs)
        if not data:
            continue
        frame = _text_columns(source, data, header, layout, only)
        frame = frame.with_row_index(ROW, offset=start)
        start += frame.height
        filled = frame.filter(~pl.all_horizontal(pl.exclude(ROW).is_null()))
        if filled.height:
            parts.append(convert(Rows(filled, faults)))
        if len(faults.found) >= MOST_PROBLEMS:
            break
    faults.check()
    if not parts:
        raise source.wrong("holds no jobs")
    return (pl.concat(parts) if len(parts) > 1 else parts[0]), places


def places_in(source: Source, layout: Layout) -> Places:
    """Lines are found by reading the file again: only somebody who made a mistake pays for them."""

    def places(rows: Sequence[int]) -> list[str]:
        wanted, lines = set(rows), dict[int, int]()
        for row, (line, _) in enumerate(records(source, layout)):
            if row in wanted:
                lines[row] = line
                if len(lines) == len(wanted):
                    break
        return [f"{source.name}:{lines[row]}" if row in lines else source.name for row in rows]

    return Places(source.name, places)


def records(source: Source, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Every row of the text with its line, blank ones too; neither header nor comments."""
    with reading(source) as file:
        lines = (line.decode(errors="replace") for line in file)
        skipped, first = 0, next(lines, "")
        while layout.preamble and first.startswith(layout.preamble):
            skipped, first = skipped + 1, next(lines, "")
        begun = bool(layout.header)
        for line, fields in _divided_lines(chain([first], lines), layout):
            if layout.comment and fields and fields[0].startswith(layout.comment):
                continue
            if begun:
                yield skipped + line, fields
            begun = begun or bool(fields)


def _divided_lines(lines: Iterator[str], layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """The fields of each row, with the line on which it begins."""
    if layout.quoted:
        parsed = csv.reader(lines, delimiter=layout.separator)
        before = 0
        for fields in parsed:
            yield before + 1, fields
            before = parsed.line_num
    else:
        for number, text in enumerate(lines, 1):
            plain = text.rstrip("\r\n")
            fields = plain.split() if layout.spaced else plain.split(layout.separator)
            yield number, fields if plain.strip() else []


def _divided(data: bytes, layout: Layout) -> bytes:
    """The data with one separator between fields, and no comments."""
    if layout.spaced:
        data = _single_spaced(data)
    if layout.comment:
        mark = layout.comment.encode()
        while data.startswith(mark):
            data = data.partition(b"\n")[2]
        if b"\n" + mark in data:
            data = re.sub(rb"(?m)^" + re.escape(mark) + rb".*\n?", b"", data)
    if layout.ends_in_separator:
        data = re.sub(re.escape(layout.separator.encode()) + rb"(\r?\n|\Z)", rb"\1", data)
    return data


def _single_spaced(data: bytes) -> bytes:
    """The data with one blank where there were several, and none at either end of a line."""
    plain = np.frombuffer(data.replace(b"\t", b" ").replace(b"\r", b" "), np.uint8)
    before_one = np.append((plain[1:] == _BLANK) | (plain[1:] == _FEED), True)
    plain = plain[(plain != _BLANK) | ~before_one]
    first = np.insert(plain[:-1] == _FEED, 0, True)
    kept: bytes = plain[(plain != _BLANK) | ~first].tobytes()
    return kept


def _header(data: bytes, layout: Layout) -> tuple[tuple[str, ...], bytes]:
    """The names in the first line that has any, and what follows it."""
    while data:
        line, _, data = data.partition(b"\n")
        text = line.decode().strip()
        if text:
            names = (
                next(csv.reader([text], delimiter=layout.separator)) if layout.quoted else text.split(layout.separator)
            )
            return tuple(name.strip() for name in names), data
    return (), b""


def _check_header(source: Source, header: Sequence[str], needs: Sequence[str]) -> None:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise source.wrong(f"the header names the column {twice[0]} twice")
    missing = [name for name in needs if name not in header]
    if missing:
        raise InputError(
            Problem(source.name, f"there is no column {name}", did_you_mean(name, header)) for name in missing
        )


def _text_columns(
    source: Source, data: bytes, header: Sequence[str], layout: Layout, only: Sequence[str]
) -> pl.DataFrame:
    width = len(header)
    wanted = [name for name in header if not only or name in only]
    try:
        frame = pl.scan_csv(
            data,
            separator=layout.separator,
            quote_char='"' if layout.quoted else None,
            has_header=False,
            schema=dict.fromkeys(header, pl.String()),
        )
        table = frame.select(wanted).collect()
    except pl.exceptions.PolarsError as error:
        raise _uneven(source, layout, width) or source.wrong(f"is no table: {str(error).splitlines()[0]}") from None
    if width > 1 and not (layout.quoted and b'"' in data):
        # As many separators as there should be; blank lines have none.
        between, count = width - 1, data.count(layout.separator.encode())
        if count != table.height * between:
            blank = len(re.findall(rb"(?m)^\r?\n", data))
            wrong = _uneven(source, layout, width) if count != (table.height - blank) * between else None
            if wrong is not None:
                raise wrong
    return table


def _uneven(source: Source, layout: Layout, width: int) -> InputError | None:
    """The first row that has more or fewer fields than it should."""
    for line, fields in records(source, layout):
        count = len(fields) - (layout.ends_in_separator and fields[-1:] == [""])
        if fields and count != width:
            what = "field" if count == 1 else "fields"
            where = "the header" if not layout.header else "the first line"
            return InputError([Problem(f"{source.name}:{line}", f"has {count} {what}, and {where} has {width}")])
    return None
