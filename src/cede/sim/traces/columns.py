"""Columns of text as numbers, times and words; every value that is none is a fault of its row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from decimal import Decimal, InvalidOperation

import polars as pl

from cede.model.errors import did_you_mean, shown
from cede.model.times import LIMIT_S, SECOND
from cede.sim.traces.table import Rows

_EXACT_IN_FLOAT_S = 2 * 10**9
"""Up to this number of seconds, a float is exact to the microsecond after rounding."""


def text(rows: Rows, column: str, *, needed: bool = True) -> pl.Series:
    """The column as it is; what is empty is null."""
    raw = rows.raw(column)
    values = raw.set(raw == "", None)
    if needed:
        rows.wrong(column, values.is_null(), "is empty")
    return values


def whole(
    rows: Rows, column: str, *, least: int | None = None, most: int = 2**31 - 1, needed: bool = True
) -> pl.Series:
    """Whole numbers within bounds; `8.0` is one."""
    raw = text(rows, column, needed=needed)
    values = raw.cast(pl.Int64, strict=False)
    if (values.is_null() & raw.is_not_null()).any():
        decimal = raw.cast(pl.Float64, strict=False)
        exact = (decimal == decimal.floor()) & (decimal.abs() < 2**53)
        rounded = decimal.set(~exact.fill_null(False), None).cast(pl.Int64)
        values = values.zip_with(values.is_not_null(), rounded)
        rows.wrong(column, values.is_null() & raw.is_not_null(), lambda value: f"{shown(value)} is no whole number")
    if least is not None:
        rows.wrong(column, values < least, lambda value: f"{shown(value)} is too small; the least is {least}")
    rows.wrong(column, values > most, lambda value: f"{shown(value)} is too large; the most is {most}")
    return values


def seconds(rows: Rows, column: str, *, negative: bool = False, needed: bool = True, unit_s: int = 1) -> pl.Series:
    """Numbers of seconds (or of units of `unit_s` seconds) as whole microseconds."""
    raw = text(rows, column, needed=needed)
    values = microseconds(raw, unit_s)
    bad = values.is_null() & raw.is_not_null()
    rows.wrong(column, bad, lambda value: _no_seconds(str(value)))
    if not negative:
        rows.wrong(column, values < 0, lambda value: f"{shown(value)} is negative")
    return values


def microseconds(raw: pl.Series, unit_s: int = 1) -> pl.Series:
    """Whole microseconds of numbers of seconds as text, null for all that is none."""
    whole_s = raw.cast(pl.Int64, strict=False)
    values = whole_s.set((whole_s.abs() >= LIMIT_S // unit_s).fill_null(False), None) * (unit_s * SECOND)
    if not (values.is_null() & raw.is_not_null()).any():
        return values
    decimal = raw.cast(pl.Float64, strict=False)
    near = (decimal.abs() * unit_s < _EXACT_IN_FLOAT_S).fill_null(False)
    rounded = (decimal.set(~near, None) * (unit_s * SECOND)).round().cast(pl.Int64)
    values = values.zip_with(values.is_not_null(), rounded)
    left = raw.filter(values.is_null() & raw.is_not_null()).unique()
    exact = {value: _exact(value, unit_s) for value in left}
    known = {value: us for value, us in exact.items() if us is not None}
    if known:
        more = raw.replace_strict(known, default=None, return_dtype=pl.Int64)
        values = values.zip_with(values.is_not_null(), more)
    return values


def _exact(value: str, unit_s: int) -> int | None:
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    if not number.is_finite() or abs(number) * unit_s >= LIMIT_S:
        return None
    return round(number * unit_s * SECOND)


def _no_seconds(value: str) -> str:
    try:
        finite = Decimal(value).is_finite()
    except InvalidOperation:
        finite = False
    if finite:
        return f"{shown(value)} is out of range; times lie within 10**11 seconds of zero"
    return f"{shown(value)} is no number"


def words(rows: Rows, column: str, known: Mapping[str, object] | Collection[str], *, needed: bool = True) -> pl.Series:
    """Those of the known words; any other is a fault."""
    raw = text(rows, column, needed=needed)
    bad = raw.is_not_null() & ~raw.is_in(list(known))
    rows.wrong(column, bad, lambda value: _unknown(str(value), known))
    return raw


def _unknown(value: str, known: Collection[str]) -> str:
    hint = did_you_mean(value, known)
    return f"{shown(value)} is none of {', '.join(known)}" + (f" ({hint})" if hint else "")


def parsed(
    rows: Rows, column: str, parse: Callable[[str], int], *, needed: bool = True, dtype: pl.DataType | None = None
) -> pl.Series:
    """What `parse` makes of each text, asked once for equal ones; its ValueErrors are faults."""
    raw = text(rows, column, needed=needed)
    values: dict[str, int] = {}
    why: dict[str, str] = {}
    for value in raw.drop_nulls().unique():
        try:
            values[value] = parse(value)
        except ValueError as error:
            why[value] = str(error)
    if why:
        rows.wrong(column, raw.is_in(list(why)), lambda value: why[str(value)])
    return raw.replace_strict(values, default=None, return_dtype=dtype or pl.Int64())
