"""`cede import`: the objects of another system as a cluster file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.options import DEFAULT_SIZE, MaxSize, example

if TYPE_CHECKING:
    from cede.imports.report import Imported, Note

EXAMPLE = example("cede import kueue examples/kueue/team-a.yaml")
OF_YUNIKORN = example("cede import yunikorn examples/yunikorn/queues.yaml --state examples/yunikorn/fullstatedump.json")
OF_YTSAURUS = example(
    "cede import ytsaurus examples/ytsaurus/import/pools.yson --nodes examples/ytsaurus/import/nodes.yson"
)

Out = Annotated[str | None, typer.Option(metavar="FILE", help="Write to this file.")]
Notes = Annotated[str | None, typer.Option(metavar="FILE", help="Write every note to this file too, as JSON.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of YAML.")]

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
    out: Out = None,
    notes: Notes = None,
    now: Annotated[
        str | None, typer.Option(metavar="TIME", help="The clock, as RFC 3339; else the latest time in the objects.")
    ] = None,
    fair_sharing: Annotated[bool, typer.Option("--fair-sharing", help="Kueue is configured for fair sharing.")] = False,
    nodes: Annotated[
        bool, typer.Option("--nodes", help="Keep nodes even if it is not known where every workload runs.")
    ] = False,
    json: Json = False,
    max_size: MaxSize = DEFAULT_SIZE,
) -> None:
    """Make a cluster file from Kueue's objects.

    Reads what `kubectl get clusterqueues,cohorts,resourceflavors,localqueues,workloads,workloadpriorityclasses -A -o
    yaml` prints, in one file or several. Kueue's Configuration, Namespaces, Nodes and Pods are used if given. What
    has a meaning and no place in a cluster file is named on standard error.
    """
    from cede.cli.source import read_all
    from cede.imports.kueue.convert import from_kueue

    imported = from_kueue(read_all(files, max_size), now=now, fair_sharing=fair_sharing, nodes=nodes)
    _deliver(imported, out, notes, json)


@app.command(epilog=OF_YUNIKORN)
def yunikorn(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="The queue configuration, or the ConfigMap with it; `-` is standard input."
        ),
    ],
    state: Annotated[
        str | None, typer.Option(metavar="FILE", help="What /ws/v1/fullstatedump answers: nodes and applications.")
    ] = None,
    objects: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Pods and PriorityClasses, which say what may preempt and be preempted."),
    ] = None,
    partition: Annotated[
        str | None, typer.Option(metavar="NAME", help="The partition to take; else `default`, or the only one.")
    ] = None,
    edition: Annotated[str, typer.Option(metavar="EDITION", help="The edition to plan with: 1.9 or laws.")] = "1.9",
    now: Annotated[
        str | None, typer.Option(metavar="TIME", help="The clock, as RFC 3339; else the time of the state dump.")
    ] = None,
    out: Out = None,
    notes: Notes = None,
    json: Json = False,
    max_size: MaxSize = DEFAULT_SIZE,
) -> None:
    """Make a cluster file from YuniKorn's queue configuration.

    Reads a `queues.yaml` as YuniKorn does, and refuses what it would refuse. With --state the nodes, applications,
    allocations and asks of a running scheduler come along. What has a meaning and no place in a cluster file is named
    on standard error.
    """
    from cede.cli.source import read_all
    from cede.imports.yunikorn.convert import from_yunikorn

    files = [file, *([] if state is None else [state]), *(objects or ())]
    configuration, *others = read_all(files, max_size)
    dump, pods = (None, others) if state is None else (others[0], others[1:])
    imported = from_yunikorn(configuration, dump, pods, partition=partition, edition=edition, now=now)
    _deliver(imported, out, notes, json)


@app.command(epilog=OF_YTSAURUS)
def ytsaurus(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The pool tree with its attributes, YSON, JSON or YAML; `-` is standard input.",
        ),
    ],
    nodes: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The nodes: of //sys/cluster_nodes with attributes, or of a cluster file."),
    ] = None,
    operations: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Operations by id, with their allocations and what they still need."),
    ] = None,
    tree: Annotated[
        str | None, typer.Option(metavar="NAME", help="The pool tree to take, if the file holds several.")
    ] = None,
    edition: Annotated[str, typer.Option(metavar="EDITION", help="The edition to plan with: 25.4 or docs.")] = "25.4",
    now: Annotated[
        str | None, typer.Option(metavar="TIME", help="The clock, as RFC 3339; else the latest time of the operations.")
    ] = None,
    out: Out = None,
    notes: Notes = None,
    json: Json = False,
    max_size: MaxSize = DEFAULT_SIZE,
) -> None:
    """Make a cluster file from a pool tree of YTsaurus.

    Reads what `yt get //sys/pool_trees/TREE` prints with attributes, or a plain YAML file of pools, and refuses what
    YTsaurus would refuse. Nodes and operations come along if given. Durations that are numbers are milliseconds. What
    has a meaning and no place in a cluster file is named on standard error.
    """
    from cede.cli.source import read_all
    from cede.imports.ytsaurus.convert import from_ytsaurus

    files = [file, *([] if nodes is None else [nodes]), *(operations or ())]
    pools, *others = read_all(files, max_size, _yson_too)
    machines, work = (None, others) if nodes is None else (others[0], others[1:])
    imported = from_ytsaurus(pools, machines, work, tree=tree, edition=edition, now=now)
    _deliver(imported, out, notes, json)


def _yson_too(data: bytes, *, name: str) -> object:
    """The plain data of a file; YSON beside YAML and JSON."""
    from cede.imports.ytsaurus.yson import is_yson, read_yson
    from cede.model.reading import read_text

    return read_yson(data, name=name) if is_yson(data) else read_text(data, name=name)


def _deliver(imported: Imported, out: str | None, notes: str | None, json: bool) -> None:
    """The cluster file where it is wanted, and what it does not hold."""
    from cede.cli.output import as_json, emit
    from cede.cli.yaml_writing import as_yaml, with_units
    from cede.doctrines.document import parse_document
    from cede.model.document import dump_document

    document = dump_document(parse_document(imported.document))
    text = as_json(document) if json else as_yaml(with_units(document))
    told = as_json([note.to_dict() for note in imported.notes])
    _write_all([(name, content) for name, content in ((out, text), (notes, told)) if name is not None])
    if out is None:
        emit(text)
    _tell(imported.notes)


def _tell(notes: Sequence[Note]) -> None:
    from cede.cli.failures import printable
    from cede.imports.report import grouped

    sys.stdout.flush()
    for line in grouped(notes):
        print(f"note: {printable(line)}", file=sys.stderr)


def _write_all(files: Sequence[tuple[str, str]]) -> None:
    """The texts as files of these names; if one cannot be written, none is."""
    from cede.model.errors import InputError, Problem

    for name, _ in files[1:]:
        with _writing(name) as path:
            is_new = not path.exists()
            path.open("a").close()
            if is_new:
                path.unlink()
    if len({Path(name).resolve() for name, _ in files}) < len(files):
        raise InputError([Problem("--notes", "this is the file of --out", "give another name")])
    for name, text in files:
        write(name, text)


def write(name: str, text: str) -> None:
    """The text as a file; an InputError if that cannot be."""
    with _writing(name) as path:
        path.write_text(text, encoding="utf-8")


@contextmanager
def _writing(name: str) -> Iterator[Path]:
    from cede.model.errors import InputError, Problem

    try:
        yield Path(name)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError([Problem(name, f"cannot be written: {reason}")]) from None
