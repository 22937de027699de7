"""`cede trace`: what is in a trace, and the same trace in Cede's own format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cede.cli.options import Doctrine, Json, example
from cede.cli.trace_source import Format, LoadFactor, Mapping, Option, Take, TraceFile, Window

if TYPE_CHECKING:
    from cede.sim.traces.trace import Trace

app = typer.Typer(add_completion=False, rich_markup_mode=None)

DOCTRINE = "backendai"


@app.command(epilog=example("cede trace examples/replay/jobs.sacct --cluster-out cluster.yaml --nodes 4 --gpus 8"))
def trace(
    file: TraceFile,
    format: Format = None,
    option: Option = None,
    mapping: Mapping = None,
    window: Window = None,
    take: Take = None,
    load_factor: LoadFactor = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the trace so: .jsonl, .csv or .parquet.")
    ] = None,
    cluster_out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a cluster file to start from, with the queues found.")
    ] = None,
    nodes: Annotated[int | None, typer.Option(metavar="N", min=1, help="Its nodes; else the trace's own.")] = None,
    gpus: Annotated[str | None, typer.Option(metavar="N", help="GPUs of each of them.")] = None,
    cpus: Annotated[str | None, typer.Option(metavar="N", help="CPUs of each of them.")] = None,
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help="Memory of each of them, as 512Gi.")] = None,
    doctrine: Doctrine = None,
    json: Json = False,
) -> None:
    """Show what is in a trace.

    How many jobs, how much they ask for on average and at most if nobody had to wait, how large and how long they are,
    and what the trace does not say. With --out also written in Cede's own format, mapped and cut as asked.
    """
    from pathlib import Path

    from cede.cli.output import console, emit_json
    from cede.cli.trace_source import load_trace
    from cede.cli.trace_view import print_summary
    from cede.sim.traces.summary import summary

    made = load_trace(file, format, option, mapping, window, take, load_factor)
    if out is not None:
        from cede.sim.traces.cede_files import write

        write(made, Path(out))
    capacity = _capacity({"gpu": ("--gpus", gpus), "cpu": ("--cpus", cpus), "memory": ("--memory", memory)})
    if cluster_out is not None:
        _write_cluster(made, cluster_out, doctrine, nodes, capacity)
    elif nodes is not None or capacity:
        from cede.model.errors import InputError, Problem

        raise InputError([Problem("--nodes", "is for a cluster file", "add --cluster-out FILE")])
    found = summary(made)
    if json:
        emit_json(found)
    else:
        print_summary(console(), found)


def _capacity(asked: dict[str, tuple[str, str | None]]) -> dict[str, int | str]:
    """What each node is to have."""
    from cede.model.errors import InputError, Problem
    from cede.model.quantities import format_quantity, parse_quantity

    found = {}
    for name, (option, value) in asked.items():
        try:
            if value is not None:
                found[name] = format_quantity(parse_quantity(value))
        except ValueError as error:
            raise InputError([Problem(option, str(error))]) from None
    return found


def _write_cluster(made: Trace, file: str, doctrine: str | None, nodes: int | None, capacity: dict[str, Any]) -> None:
    from cede.cli.importing import write
    from cede.cli.yaml_writing import as_yaml, with_units
    from cede.sim.traces.starting import starting_cluster

    name, _, edition = (doctrine or DOCTRINE).partition("/")
    choice = {"name": name} | ({"edition": edition} if edition else {})
    write(file, as_yaml(with_units(starting_cluster(made, choice, nodes=nodes, capacity=capacity))))
