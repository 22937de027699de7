"""The values that a mapping may give a column, and those it may compare a column with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, get_args

from cede.model.dialect import INT32
from cede.model.errors import shown
from cede.model.quantities import NANO, parse_quantity
from cede.model.values import number, whole
from cede.model.workloads import CheckpointMode
from cede.model.workloads import Kind as WorkloadKind
from cede.model.yaml_scalars import plain_scalar
from cede.sim.spans import parse_span
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
