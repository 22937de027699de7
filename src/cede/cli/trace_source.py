"""Traces as the options of a command ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cede.sim.traces.trace import Trace


def _formats(incomplete: str) -> Iterator[str]:
    """What may follow --format, for the shell."""
    from cede.sim.traces.reading import FORMATS

    return (name for name in FORMATS if name.startswith(incomplete))


TraceFile = Annotated[
    str, typer.Argument(metavar="TRACE", help="A trace: Cede's own, SWF, sacct, or one of those that are published.")
]
Format = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The trace's format; else it is found by looking.", autocompletion=_formats),
]
Option = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the format's reader.")
]
Mapping = Annotated[
    str | None, typer.Option(metavar="FILE", help="Set queues, priorities and checkpoints by this mapping file.")
]
Window = Annotated[
    str | None,
    typer.Option(metavar="BEGIN..END", help="Only jobs submitted then: 2d..9d from the start, or RFC 3339."),
]
Take = Annotated[int | None, typer.Option(metavar="N", min=1, help="Only the first N jobs, of the window if any.")]
LoadFactor = Annotated[
    float | None, typer.Option(metavar="X", help="Jobs arrive X times as dense: 2 halves the time between them.")
]


def load_trace(
    file: str,
    format: str | None = None,
    option: list[str] | None = None,
    mapping: str | None = None,
    window: str | None = None,
    take: int | None = None,
    load_factor: float | None = None,
) -> Trace:
    """The trace of this file, mapped and cut as asked."""
    from pathlib import Path

    from cede.sim.traces.reading import Shaping, read

    trace = read(Path(file), format, **_options(option or ()))
    return Shaping(None if mapping is None else Path(mapping), window, take, load_factor).of(trace)


def _options(texts: list[str] | tuple[()]) -> dict[str, str]:
    from cede.model.errors import InputError, Problem

    options = {}
    for text in texts:
        name, is_set, value = text.partition("=")
        if not is_set:
            raise InputError([Problem(f"--option {text}", "gives no value; write NAME=VALUE")])
        options[name.strip().replace("-", "_")] = value
    return options
