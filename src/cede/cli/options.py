"""The arguments that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

File = Annotated[
    str, typer.Argument(metavar="FILE", help="A cluster file or Kueue's objects, YAML or JSON; `-` is standard input.")
]
MaybeFile = Annotated[
    str | None,
    typer.Argument(
        metavar="[FILE]",
        help="A cluster file or Kueue's objects, YAML or JSON; `-` is standard input; not with --live.",
    ),
]
Live = Annotated[bool, typer.Option("--live", help="Ask the running server, about its cluster as it is now.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
MaxSize = Annotated[str, typer.Option(metavar="SIZE", help="Refuse larger files; as 512Mi.")]

DEFAULT_SIZE = "256Mi"


def countable(count: int | None) -> int | None:
    """As many as a list can have at most: who asks for more wants all there are."""
    return None if count is None else min(count, sys.maxsize)


def example(command: str) -> str:
    """The last lines of a command's help, which no width of a terminal breaks."""
    return f"\b\nExample:\n  {command}"


def _doctrines(incomplete: str) -> Iterator[str]:
    """What may follow --doctrine, for the shell."""
    from cede.doctrines.catalog import usable

    for one in usable()[0]:
        for choice in (one.name, *(f"{one.name}/{edition}" for edition in one.editions)):
            if choice.startswith(incomplete):
                yield choice


Doctrine = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[/EDITION]",
        help="Decide by another doctrine or edition; FILE.py has one of its own.",
        autocompletion=_doctrines,
    ),
]
Add = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Add the workloads of another file: an entry, a list of them, or a document.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Give a value, as 'workloads[train-1].priority=3' or 'queues[a].settings.preemptible_priority=7'; "
        "null takes the key away.",
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Leave out a workload, or node/NAME (what ran there is pending again), or queue/NAME.",
    ),
]
