"""`cede import`: the objects of another system as a cluster file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.options import DEFAULT_SIZE, MaxSize, example

if TYPE_CHECKING:
    from cede.imports.report import Note

EXAMPLE = example("cede import kueue examples/kueue/team-a.yaml")

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help="Make a cluster file from another system's objects.",
    epilog=EXAMPLE,
)


@app.callback(epilog=EXAMPLE)
def importing() -> None:
    """Make a cluster file from another system's objects."""


@app.command(epilog=EXAMPLE)
def kueue(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Kubernetes objects, YAML or JSON; `-` is standard input."),
    ],
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Write to this file.")] = None,
    notes: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write every note to this file too, as JSON.")
    ] = None,
    now: Annotated[
        str | None, typer.Option(metavar="TIME", help="The clock, as RFC 3339; else the latest time in the objects.")
    ] = None,
    fair_sharing: Annotated[bool, typer.Option("--fair-sharing", help="Kueue is configured for fair sharing.")] = False,
    nodes: Annotated[
        bool, typer.Option("--nodes", help="Keep nodes even if it is not known where every workload runs.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of YAML.")] = False,
    max_size: MaxSize = DEFAULT_SIZE,
) -> None:
    """Make a cluster file from Kueue's objects.

    Reads what `kubectl get clusterqueues,cohorts,resourceflavors,localqueues,workloads,workloadpriorityclasses -A -o
    yaml` prints, in one file or several. Kueue's Configuration, Namespaces, Nodes and Pods are used if given. What
    has a meaning and no place in a cluster file is named on standard error.
    """
    from cede.cli.output import as_json, emit
    from cede.cli.source import read_all
    from cede.cli.yaml_writing import as_yaml, with_units
    from cede.imports.kueue.convert import from_kueue
    from cede.model.document import dump_document, parse_document

    imported = from_kueue(read_all(files, max_size), now=now, fair_sharing=fair_sharing, nodes=nodes)
    document = dump_document(parse_document(imported.document))
    text = as_json(document) if json else as_yaml(with_units(document))
    if out is None:
        emit(text)
    else:
        write(out, text)
    _tell(imported.notes)
    if notes is not None:
        write(notes, as_json([note.to_dict() for note in imported.notes]))


def _tell(notes: Sequence[Note]) -> None:
    from cede.cli.failures import printable
    from cede.imports.report import grouped

    sys.stdout.flush()
    for line in grouped(notes):
        print(f"note: {printable(line)}", file=sys.stderr)


def write(name: str, text: str) -> None:
    """The text as a file; an InputError if that cannot be."""
    from cede.model.errors import InputError, Problem

    try:
        Path(name).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError([Problem(name, f"cannot be written: {reason}")]) from None
