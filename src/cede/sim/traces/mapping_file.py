"""The values that a mapping may give a column, and those it may compare a column with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

from pydantic import Field, ValidationError

from cede.model.dialect import INT32
from cede.model.errors import InputError, Loc, Problem, did_you_mean, shown
from cede.model.quantities import NANO, parse_quantity
from cede.model.reading import read_value
from cede.model.reports import Hints, findings_of
from cede.model.values import Amount, Maybe, Name, Number, Part, number, whole
from cede.model.workloads import CheckpointMode
from cede.model.workloads import Kind as WorkloadKind
from cede.model.yaml_reading import plain_scalar
from cede.sim.durations import parse_span
from cede.sim.files import bytes_of
from cede.sim.traces.derived import DERIVED, Kind, kind_of
from cede.sim.traces.trace import COLUMNS

READABLE = (*(name for name in COLUMNS if name != "shape"), *DERIVED)
"""What `from`, `by` and `when` may name."""


@dataclass(frozen=True, slots=True)
class Target:
    """A column that a mapping may set: how its values are read, and what they are in words."""

    parse: Callable[[Any], Any]
    what: str
    words: tuple[str, ...] = ()

    def copies(self, kind: Kind) -> bool:
        """Whether the values of a column of this kind can be its values."""
        if self.parse is _text or self.words:
            return kind == "text"
        if self.parse is parse_span:
            return kind == "duration"
        if self.parse is _truth:
            return kind == "truth"
        return kind in ("whole", "number")


def _text(raw: object) -> str:
    if not isinstance(raw, str):
        hint = "" if raw is None or isinstance(raw, dict | list) else "; write it in quotes"
        raise ValueError(f"{shown(raw)} is no text{hint}")
    if not raw:
        raise ValueError("must not be empty")
    return raw


def _truth(raw: object) -> bool:
    if raw is not True and raw is not False:
        raise ValueError(f"{shown(raw)} is neither true nor false")
    return raw


def _one_of(words: tuple[str, ...]) -> Callable[[Any], Any]:
    def parse(raw: object) -> str:
        if raw not in words:
            raise ValueError(f"{shown(raw)} is none of {', '.join(words)}")
        return str(raw)

    return parse


def _word(words: tuple[str, ...]) -> Target:
    return Target(_one_of(words), f"one of {', '.join(words)}", words)


_TEXT = Target(_text, "text")
_PRIORITY = Target(whole(*INT32).parse, "a whole number")
_TRUTH = Target(_truth, "true or false")
_DURATION = Target(parse_span, "a duration")

TARGETS: Mapping[str, Target] = {
    "queue": _TEXT,
    "priority": _PRIORITY,
    "job_priority": _PRIORITY,
    "user": _TEXT,
    "project": _TEXT,
    "kind": _word(get_args(WorkloadKind)),
    "preemptible": _TRUTH,
    "preempts": _TRUTH,
    "checkpoint": _word(get_args(CheckpointMode)),
    "checkpoint_interval": _DURATION,
    "checkpoint_time": _DURATION,
    "restart_time": _DURATION,
    "walltime": _DURATION,
}
"""What a mapping may set."""


def parse_value(column: str, raw: object, *, from_text: bool = False) -> Any:
    """The value of a column that may be set; `from_text`: `raw` is text even where the column holds no text."""
    target = TARGETS[column]
    if from_text and isinstance(raw, str) and target is not _TEXT:
        raw = plain_scalar(raw) if raw else raw
    return target.parse(raw)


def parse_amount(column: str, raw: object) -> float:
    """A bound for a column of numbers or durations; a ValueError where the column has neither."""
    kind = kind_of(column)
    if kind in ("duration", "time"):
        return parse_span(raw)
    if kind == "whole":
        return int(whole().parse(raw))
    if kind == "number":
        # 16Gi is a bound for memory.
        return parse_quantity(raw) / NANO if isinstance(raw, str) else float(number().parse(raw))
    raise ValueError(f"the column {shown(column)} holds no numbers to compare with")


def key_of(column: str, raw: object) -> Any:
    """A value of the column to compare with; keys of a table come as text, whatever the column holds."""
    kind = kind_of(column)
    if kind == "text":
        if isinstance(raw, int | Decimal) and not isinstance(raw, bool):
            return str(raw)
        return _text(raw)
    plain = plain_scalar(raw) if isinstance(raw, str) and raw else raw
    return _truth(plain) if kind == "truth" else parse_amount(column, plain)


MOST_BYTES = 16 * 2**20


class _Band(Part):
    up_to: Maybe[Any] = Field(None, description="The largest value of the band; left out in the last: all above.")
    value: Any


class _Rule(Part):
    """One way to set a column."""

    value: Maybe[Any] = Field(None, description="The same for all.")
    from_: Maybe[Name] = Field(None, alias="from", description="Copy this column, or look it up below.")
    table: Maybe[dict[str, Any]] = Field(None, description="What to set for each value of `from`.")
    bands: Maybe[list[_Band]] = Field(None, min_length=1, description="What to set up to which value of `from`.")
    times: Maybe[Number] = Field(None, description="Copy `from` times this.")
    default: Maybe[Any] = Field(None, description="What to set where `from` says nothing, or nothing that is listed.")
    draw: Maybe[dict[str, Number]] = Field(None, description="Values and how often each shall come.")
    seed: Maybe[Amount] = Field(None, description="Of the draw; default 0.")
    by: Maybe[Name] = Field(None, description="Draw once for each value of this column.")
    when: Maybe[dict[str, Any]] = Field(None, description="Only jobs of which this holds.")
    only_missing: bool = Field(False, description="Only jobs of which the trace does not say it.")


@dataclass(frozen=True, slots=True)
class Condition:
    """A column is one of some values, or above one number and not above another."""

    column: str
    one_of: tuple[Any, ...] | None = None
    above: Any = None
    up_to: Any = None


@dataclass(frozen=True, slots=True)
class Rule:
    """How one column is set, its values parsed. Exactly one of `value`, `source` and `draw` is given."""

    column: str
    loc: Loc
    value: Any = None
    source: str | None = None
    table: Mapping[Any, Any] | None = None
    bands: tuple[tuple[Any, Any], ...] | None = None
    times: float | None = None
    default: Any = None
    draw: Mapping[Any, float] | None = None
    seed: int = 0
    by: str | None = None
    when: tuple[Condition, ...] = ()
    only_missing: bool = False


@dataclass(slots=True)
class _Reading:
    problems: list[Problem] = field(default_factory=list)
    hints: Hints = field(default_factory=Hints)

    def wrong(self, loc: Loc, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem.at(loc, message, hint))

    def value(self, column: str, raw: object, loc: Loc) -> Any:
        """The value of this column that `raw` stands for; none where it is wrong, which is then noted."""
        return self._parsed(parse_value, column, raw, loc, TARGETS[column].words)

    def amount(self, column: str, raw: object, loc: Loc) -> Any:
        return self._parsed(parse_amount, column, raw, loc)

    def key(self, column: str, raw: object, loc: Loc) -> Any:
        return self._parsed(key_of, column, raw, loc)

    def _parsed(
        self, parse: Callable[[str, object], Any], column: str, raw: object, loc: Loc, words: Iterable[str] = ()
    ) -> Any:
        try:
            return parse(column, raw)
        except ValueError as error:
            self.wrong(loc, str(error), did_you_mean(raw, words))
        return None

    def readable(self, column: str, loc: Loc) -> bool:
        if column in READABLE:
            return True
        hint = did_you_mean(column, READABLE) or f"there are {', '.join(READABLE)}"
        self.wrong(loc, f"a trace has no column {shown(column)}", hint)
        return False


def read_mapping(path: str | Path) -> tuple[Rule, ...]:
    """The rules of a file; an InputError says everything that is wrong with it, and where."""
    name, data = str(path), bytes_of(path, MOST_BYTES, "mappings")
    return parse_mapping(read_value(data, name=name, keys_as_text=True), name=name)


def parse_mapping(data: object, *, name: str = "") -> tuple[Rule, ...]:
    """The rules that plain data describes, in the order of the file. `name` stands before every place."""
    if not isinstance(data, dict):
        raise InputError([Problem(name, f"{shown(data)} is no mapping, which is an object with a key a column")])
    reading = _Reading()
    rules: list[Rule] = []
    for column, raw in data.items():
        if column not in TARGETS:
            known = "a mapping sets " + ", ".join(TARGETS)
            reading.wrong((), f"there is no key {shown(column)}", did_you_mean(column, TARGETS) or known)
        elif isinstance(raw, list):
            rules += [_rule(column, one, (column, index), reading) for index, one in enumerate(raw)]
        else:
            rules.append(_rule(column, raw, (column,), reading))
    if reading.problems:
        raise InputError(_within(name, reading.problems))
    return tuple(rules)


def _within(name: str, problems: Iterable[Problem]) -> list[Problem]:
    """The problems with the file before their places."""
    if not name:
        return list(problems)
    return [Problem(f"{name}: {one.path}" if one.path else name, one.message, one.hint) for one in problems]


def _rule(column: str, raw: object, loc: Loc, reading: _Reading) -> Rule:
    if not isinstance(raw, dict):
        return Rule(column, loc, value=reading.value(column, raw, loc))
    try:
        given = _Rule.model_validate(raw)
    except ValidationError as error:
        reading.problems += [one.problem() for one in findings_of(error, _Rule, reading.hints, loc)]
        return Rule(column, loc)
    ways = [key for key in ("value", "from", "draw") if key in raw]
    if len(ways) != 1:
        which = f"has both '{ways[0]}' and '{ways[1]}'" if ways else "says neither 'value' nor 'from' nor 'draw'"
        reading.wrong(loc, f"{which}; exactly one of them sets a column")
        return Rule(column, loc)
    _check_company(raw, ways[0], loc, reading)
    when = tuple(one for key, want in (given.when or {}).items() for one in _condition(key, want, loc, reading))
    common: dict[str, Any] = {"when": when, "only_missing": given.only_missing}
    if ways == ["value"]:
        return Rule(column, loc, value=reading.value(column, given.value, (*loc, "value")), **common)
    if ways == ["draw"]:
        return _draw(column, given, loc, reading, common)
    return _looked_up(column, given, loc, reading, common)


COMPANY = {"table": "from", "bands": "from", "times": "from", "default": "from", "seed": "draw", "by": "draw"}


def _check_company(raw: Mapping[str, Any], way: str, loc: Loc, reading: _Reading) -> None:
    for key, wanted in COMPANY.items():
        if key in raw and way != wanted:
            reading.wrong((*loc, key), f"goes with '{wanted}', and here is '{way}'")
    ways = [key for key in ("table", "bands", "times") if key in raw]
    if len(ways) > 1:
        reading.wrong((*loc, ways[1]), f"stands beside '{ways[0]}'; give one of them")


def _draw(column: str, given: _Rule, loc: Loc, reading: _Reading, common: dict[str, Any]) -> Rule:
    weights: dict[Any, float] = {}
    for text, weight in (given.draw or {}).items():
        weights[_drawn(column, text, (*loc, "draw"), reading)] = weight
    if not sum(weights.values()) > 0:
        reading.wrong((*loc, "draw"), "gives no value a chance; write VALUE: WEIGHT")
    if given.by is not None:
        reading.readable(given.by, (*loc, "by"))
    return Rule(column, loc, draw=weights, seed=given.seed or 0, by=given.by, **common)


def _drawn(column: str, text: str, loc: Loc, reading: _Reading) -> Any:
    """A key of a draw: keys are text, whatever the column holds."""
    try:
        return parse_value(column, text, from_text=True)
    except ValueError as error:
        reading.wrong((*loc, text), str(error), did_you_mean(text, TARGETS[column].words))
    return None


def _looked_up(column: str, given: _Rule, loc: Loc, reading: _Reading, common: dict[str, Any]) -> Rule:
    source = given.from_ or ""
    if not reading.readable(source, (*loc, "from")):
        return Rule(column, loc)
    default = None if given.default is None else reading.value(column, given.default, (*loc, "default"))
    common |= {"source": source, "default": default}
    if given.table is not None:
        place = (*loc, "table")
        table = {
            reading.key(source, key, (*place, key)): reading.value(column, value, (*place, key))
            for key, value in given.table.items()
        }
        return Rule(column, loc, table=table, **common)
    if given.bands is not None:
        return Rule(column, loc, bands=_bands(column, source, given.bands, loc, reading), **common)
    if not TARGETS[column].copies(kind_of(source)):
        what = TARGETS[column].what
        reading.wrong((*loc, "from"), f"{shown(source)} cannot be copied, for {column} is {what}", "use table or bands")
    if given.times is not None and kind_of(source) not in ("number", "whole", "duration"):
        reading.wrong((*loc, "times"), f"{shown(source)} holds no numbers")
    return Rule(column, loc, times=given.times, **common)


def _bands(column: str, source: str, bands: list[_Band], loc: Loc, reading: _Reading) -> tuple[tuple[Any, Any], ...]:
    place = (*loc, "bands")
    limits: list[tuple[Any, Any]] = []
    for index, band in enumerate(bands):
        at = (*place, index)
        value = reading.value(column, band.value, (*at, "value"))
        if band.up_to is None and index + 1 < len(bands):
            reading.wrong(at, "has no 'up_to'; only the last band may be without")
        bound = None if band.up_to is None else reading.amount(source, band.up_to, (*at, "up_to"))
        before = limits[-1][0] if limits else None
        if bound is not None and before is not None and bound <= before:
            reading.wrong((*at, "up_to"), f"{shown(band.up_to)} is not above that of the band before")
        limits.append((bound, value))
    return tuple(limits)


class _Range(Part):
    above: Maybe[Any] = None
    up_to: Maybe[Any] = None


def _condition(column: str, want: object, loc: Loc, reading: _Reading) -> list[Condition]:
    at = (*loc, "when", column)
    if not reading.readable(column, at):
        return []
    if not isinstance(want, dict):
        values = want if isinstance(want, list) else [want]
        return [Condition(column, tuple(reading.key(column, one, at) for one in values))]
    try:
        bounds = _Range.model_validate(want)
    except ValidationError as error:
        reading.problems += [one.problem() for one in findings_of(error, _Range, reading.hints, at)]
        return []
    if not want:
        reading.wrong(at, "says neither 'above' nor 'up_to'")
    above = None if bounds.above is None else reading.amount(column, bounds.above, (*at, "above"))
    up_to = None if bounds.up_to is None else reading.amount(column, bounds.up_to, (*at, "up_to"))
    return [Condition(column, None, above, up_to)]


assert not set(DERIVED) & set(TARGETS), "what follows from a shape cannot be set"
