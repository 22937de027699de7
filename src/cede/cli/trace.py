"""`cede trace`: what is in a trace, and the same trace in Cede's own format."""

from __future__ import annotations

from typing import Annotated

import typer

from cede.cli import cluster_out as new_cluster
from cede.cli.options import Doctrine, Json, example
from cede.cli.trace_source import Format, LoadFactor, Mapping, Option, Take, TraceFile, Window

app = typer.Typer(add_completion=False, rich_markup_mode=None)


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
    cluster_out: new_cluster.ClusterOut = None,
    nodes: new_cluster.Nodes = None,
    gpus: new_cluster.Gpus = None,
    cpus: new_cluster.Cpus = None,
    memory: new_cluster.Memory = None,
    doctrine: Doctrine = None,
    json: Json = False,
) -> None:
    """Show what is in a trace.

    How many jobs, how much they ask for on average and at most if none had to wait, how large and how long they are,
    and what the trace does not say. With --out also written in Cede's own format, mapped and cut as asked.
    """
    from pathlib import Path

    from cede.cli.output import console, emit_json
    from cede.cli.trace_source import load_trace
    from cede.cli.trace_view import print_summary
    from cede.sim.traces.summary import summary

    made = load_trace(file, format, option, mapping, window, take, load_factor)
    if out is not None:
        from cede.sim.traces.cede_format import write

        write(made, Path(out))
    new_cluster.write_cluster(made, cluster_out, doctrine, nodes=nodes, gpus=gpus, cpus=cpus, memory=memory)
    figures = summary(made)
    if json:
        emit_json(figures)
    else:
        print_summary(console(), figures)
