"""A mapping file, read and checked: which columns of a trace are set, and from what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from cede.model.errors import InputError, Loc, Problem, did_you_mean, shown
from cede.model.reading import read_value
from cede.model.reports import Hints, findings_of
from cede.model.values import Amount, Maybe, Name, Number, Part
from cede.sim.small_files import bytes_of
from cede.sim.traces.derived import DERIVED, kind_of
from cede.sim.traces.mapping_values import READABLE, TARGETS, key_of, parse_amount, parse_value

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
    found: list[tuple[Any, Any]] = []
    for index, band in enumerate(bands):
        at = (*place, index)
        value = reading.value(column, band.value, (*at, "value"))
        if band.up_to is None and index + 1 < len(bands):
            reading.wrong(at, "has no 'up_to'; only the last band may be without")
        bound = None if band.up_to is None else reading.amount(source, band.up_to, (*at, "up_to"))
        before = found[-1][0] if found else None
        if bound is not None and before is not None and bound <= before:
            reading.wrong((*at, "up_to"), f"{shown(band.up_to)} is not above that of the band before")
        found.append((bound, value))
    return tuple(found)


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
        found = _Range.model_validate(want)
    except ValidationError as error:
        reading.problems += [one.problem() for one in findings_of(error, _Range, reading.hints, at)]
        return []
    if not want:
        reading.wrong(at, "says neither 'above' nor 'up_to'")
    above = None if found.above is None else reading.amount(column, found.above, (*at, "above"))
    up_to = None if found.up_to is None else reading.amount(column, found.up_to, (*at, "up_to"))
    return [Condition(column, None, above, up_to)]


assert not set(DERIVED) & set(TARGETS), "what follows from a shape cannot be set"
