"""A mapping applied to a trace: columns it lacks, or has otherwise, each set with a note of how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from cede.model.errors import InputError, Problem, path_of, shown
from cede.model.times import LONGEST, format_duration, show_duration
from cede.sim.traces.assembly import LACKS, NO_CHECKPOINTS
from cede.sim.traces.derived import DURATIONS, columns, kind_of
from cede.sim.traces.mapping_file import TARGETS, Condition, Rule, parse_mapping, read_mapping
from cede.sim.traces.trace import COLUMNS, Trace

__all__ = ["Rule", "mapped", "parse_mapping", "read_mapping"]

MOST_TOLD = 6
_BEYOND = 2.0**62
"""More than any time may be, and still a number of 64 bits."""
_LACKS = {**LACKS, "checkpoint": NO_CHECKPOINTS}


def mapped(trace: Trace, rules: Sequence[Rule]) -> Trace:
    """The trace with its columns set, rule by rule: a rule reads what those above it made.

    Of the rules of one column the first that gives a job a value decides; a job to which none does keeps what it had.
    """
    jobs = columns(trace)
    notes: list[str] = []
    decided: dict[str, pl.Series] = {}
    for rule in rules:
        before = jobs[rule.column]
        free = ~decided.get(rule.column, pl.repeat(False, jobs.height, eager=True))
        mask = _holds(jobs, rule) & free
        values = _values(jobs, rule)
        mask &= values.is_not_null()
        if rule.column in DURATIONS:
            _check_durations(jobs, values, mask, rule)
        jobs = jobs.with_columns(values.zip_with(mask, before).alias(rule.column))
        decided[rule.column] = ~free | mask
        notes.append(_note(rule, int(mask.sum()), jobs.height))
    # What was said to be missing, and now is there, is no longer true.
    untrue = {note for column, note in _LACKS.items() if column in decided and decided[column].any()}
    kept = (note for note in trace.notes if note not in untrue)
    return replace(trace, jobs=jobs.select(*COLUMNS), notes=(*kept, *notes))


def _check_durations(jobs: pl.DataFrame, values: pl.Series, mask: pl.Series, rule: Rule) -> None:
    """An InputError names the first job that the rule would give a time that is none."""
    wrong = mask & ((values < 0) | (values > LONGEST))
    if wrong.any():
        name, us = jobs["name"].filter(wrong)[0], values.filter(wrong)[0]
        message = f"the job {shown(name)} would have {show_duration(us)} there"
        raise InputError([Problem(path_of(rule.loc), message, "times are from 0 to 100 years")])


def _holds(jobs: pl.DataFrame, rule: Rule) -> pl.Series:
    """Of which jobs the rule's conditions hold; nothing is compared with what is missing."""
    held = pl.repeat(True, jobs.height, eager=True)
    if rule.only_missing:
        held &= jobs[rule.column].is_null()
    for condition in rule.when:
        held &= _meets(jobs[condition.column], condition)
    return held


def _meets(column: pl.Series, condition: Condition) -> pl.Series:
    if condition.one_of is not None:
        return column.is_in(list(condition.one_of)).fill_null(value=False)
    met = column.is_not_null()
    if condition.above is not None:
        met &= (column > condition.above).fill_null(value=False)
    if condition.up_to is not None:
        met &= (column <= condition.up_to).fill_null(value=False)
    return met


def _values(jobs: pl.DataFrame, rule: Rule) -> pl.Series:
    """What the rule would give each job; null where it says nothing."""
    dtype = COLUMNS[rule.column]
    if rule.draw is not None:
        return _drawn(jobs, rule, dtype)
    if rule.source is None:
        return pl.repeat(rule.value, jobs.height, dtype=dtype, eager=True)
    source = jobs[rule.source]
    if rule.table is not None:
        old, new = list(rule.table), pl.Series(list(rule.table.values()), dtype=dtype)
        values = source.replace_strict(pl.Series(old, dtype=source.dtype), new, default=None, return_dtype=dtype)
    elif rule.bands is not None:
        values = _banded(source, rule, dtype)
    else:
        values = _copied(source, rule, dtype)
    return values if rule.default is None else values.fill_null(rule.default).cast(dtype)


def _banded(source: pl.Series, rule: Rule, dtype: pl.DataType) -> pl.Series:
    bands = rule.bands or ()
    values: list[Any] = [value for _, value in bands]
    if bands[-1][0] is not None:
        values.append(None)
    bounds = np.array([bound for bound, _ in bands if bound is not None], float)
    # The first band whose bound is not below the value.
    place = np.searchsorted(bounds, source.fill_null(0).to_numpy().astype(float), side="left")
    banded = pl.Series(values, dtype=dtype).gather(place)
    return banded.zip_with(source.is_not_null(), pl.repeat(None, len(source), dtype=dtype, eager=True))


def _copied(source: pl.Series, rule: Rule, dtype: pl.DataType) -> pl.Series:
    if words := TARGETS[rule.column].words:
        wrong = sorted(set(source.drop_nulls().unique().to_list()) - set(words))
        if wrong:
            message = f"the trace has {shown(wrong[0])} there, which is none of {', '.join(words)}"
            raise InputError([Problem(path_of((*rule.loc, "from")), message, "use a table")])
    if rule.times is None and kind_of(rule.source or "") != "number":
        return source.cast(dtype)
    scaled = source.cast(pl.Float64()) * (1.0 if rule.times is None else rule.times)
    return scaled.clip(-_BEYOND, _BEYOND).round().cast(dtype, strict=False)


def _drawn(jobs: pl.DataFrame, rule: Rule, dtype: pl.DataType) -> pl.Series:
    """One draw a job in the order of the trace, or one for each value of `by`, the values sorted."""
    weights = rule.draw or {}
    bounds = np.cumsum(list(weights.values()))
    values = pl.Series(list(weights), dtype=dtype)
    draws = np.random.Generator(np.random.PCG64(rule.seed))

    def draw(count: int) -> pl.Series:
        index = np.searchsorted(bounds, draws.random(count) * bounds[-1], side="right")
        return pl.Series(np.minimum(index, len(bounds) - 1))

    if rule.by is None:
        return values.gather(draw(jobs.height))
    keys = jobs[rule.by].unique().sort(nulls_last=False)
    numbers = pl.DataFrame({rule.by: keys, "draw": draw(len(keys))})
    drawn = jobs.select(rule.by).join(numbers, on=rule.by, how="left", nulls_equal=True, maintain_order="left")
    return values.gather(drawn["draw"])


def _note(rule: Rule, count: int, jobs: int) -> str:
    """One sentence that says how a column was set, and for how many jobs."""
    whom = "all jobs" if count == jobs else f"{count:,} of {jobs:,} jobs" if count else "no job"
    return f"The mapping set {rule.column} for {whom}: {_how(rule)}{_among(rule)}."


def _how(rule: Rule) -> str:
    if rule.draw is not None:
        total = sum(rule.draw.values())
        shares = [f"{_shown(rule.column, value)} {weight / total:.3g}" for value, weight in rule.draw.items()]
        each = "each job" if rule.by is None else f"each {rule.by}"
        return f"drawn for {each} with seed {rule.seed}, {_listed(shares)}"
    if rule.source is None:
        return _shown(rule.column, rule.value)
    if rule.table is not None:
        return f"by a table from {rule.source}"
    if rule.bands is not None:
        return f"by bands of {rule.source}"
    return f"copied from {rule.source}" if rule.times is None else f"{rule.source} times {rule.times:g}"


def _among(rule: Rule) -> str:
    limits = [f"where {condition.column} is as asked" for condition in rule.when]
    return "".join(f", {limit}" for limit in limits) + (", where it was missing" if rule.only_missing else "")


def _shown(column: str, value: Any) -> str:
    return str(format_duration(value)) if column in DURATIONS else shown(value)


def _listed(parts: Sequence[str]) -> str:
    more = [f"and {len(parts) - MOST_TOLD} more"] if len(parts) > MOST_TOLD else []
    return ", ".join([*parts[:MOST_TOLD], *more])
