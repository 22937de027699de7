"""Any trace file as a trace: the format is found by its name and its first line, unless it is said."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.sim.traces import cede_format
from cede.sim.traces.cutting import load_factor, take, window_of
from cede.sim.traces.formats import borg, chronus, itp, kalos, openb, philly, sacct, swf
from cede.sim.traces.mapping import mapped, read_mapping
from cede.sim.traces.source import head_of, source_of
from cede.sim.traces.trace import Trace


class Format(NamedTuple):
    """A format: what people call it, its reader, and whether a file's name and first bytes are of it."""

    title: str
    read: Callable[..., Trace]
    recognises: Callable[[str, bytes], bool]


FORMATS: Mapping[str, Format] = {
    "cede": Format("Cede's own JSON Lines, CSV or Parquet", cede_format.read, cede_format.recognises),
    "swf": Format("Standard Workload Format", swf.read, swf.recognises),
    "openb": Format("Alibaba openb 2023, pods", openb.read, openb.recognises),
    "philly": Format("Microsoft Philly 2017, reduced CSV", philly.read, philly.recognises),
    "chronus": Format("Chronus MIX2, from Philly", chronus.read, chronus.recognises),
    "itp": Format("Microsoft ITP 2021", itp.read, itp.recognises),
    "kalos": Format("Acme Kalos 2023, converted CSV", kalos.read, kalos.recognises),
    "borg": Format("Google Borg 2011, tasks", borg.read, borg.recognises),
    "sacct": Format("Slurm, sacct -P", sacct.read, sacct.recognises),
}


def read(path: Path, format: str | None = None, **options: Any) -> Trace:
    """The trace in the file. Options are those of the format's reader; an InputError says what is wrong and where."""
    path = Path(path)
    name = format_of(path) if format is None else format
    if name not in FORMATS:
        raise InputError(
            [Problem("format", f"{shown(name)} is none of {', '.join(FORMATS)}", did_you_mean(name, FORMATS))]
        )
    return FORMATS[name].read(path, **_checked(name, options))


def format_of(path: Path) -> str:
    """The name of the format that the file has; an InputError lists all if it has none of them."""
    head = head_of(source_of(path))
    if not head:
        raise InputError([Problem(str(path), "the file is empty")])
    for name, known in FORMATS.items():
        if known.recognises(path.name, head):
            return name
    listed = ", ".join(f"{name} ({known.title})" for name, known in FORMATS.items())
    raise InputError([Problem(str(path), f"has none of the formats that Cede reads: {listed}", "say which it is")])


def options_of(name: str) -> dict[str, Any]:
    """The options of a format, each with its default."""
    parameters = list(inspect.signature(FORMATS[name].read).parameters.values())
    return {one.name: one.default for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}


def _checked(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, each one that the reader has."""
    known = options_of(name)
    for option in options:
        if option not in known:
            has = f"has {', '.join(known)}" if known else "has no options"
            raise InputError([Problem(option, f"is no option: the format {name} {has}", did_you_mean(option, known))])
    hints = get_type_hints(FORMATS[name].read)
    return {option: _fitting(option, value, hints[option]) for option, value in options.items()}


def _fitting(option: str, value: object, hint: object) -> object:
    """The value as the reader wants it: one of its words, or a truth."""
    if hint is bool and value in ("true", "false"):
        return value == "true"
    if hint is bool and not isinstance(value, bool):
        raise InputError([Problem(option, f"{shown(value)} is neither true nor false")])
    if get_origin(hint) is Literal and value not in get_args(hint):
        words = get_args(hint)
        raise InputError([Problem(option, f"{shown(value)} is none of {', '.join(words)}", did_you_mean(value, words))])
    return value


@dataclass(frozen=True, slots=True)
class Shaping:
    """What is asked for; None leaves the trace as it is. `window` is a text like `2d..9d`."""

    mapping: Path | None = None
    window: str | None = None
    take: int | None = None
    load_factor: float | None = None

    def of(self, trace: Trace) -> Trace:
        """The trace in this shape.

        The mapping comes first, so that what it draws for a job does not depend on what is cut; the load factor last,
        so that a window is one of the trace's own time.
        """
        if self.mapping is not None:
            trace = mapped(trace, read_mapping(self.mapping))
        if self.window is not None:
            trace = window_of(trace, self.window)
        if self.take is not None:
            trace = take(trace, self.take)
        return trace if self.load_factor is None else load_factor(trace, self.load_factor)
