"""`cede export`: what a running server has done so far, as a trace."""

from __future__ import annotations

from typing import Annotated

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import Json, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede export --out history.jsonl"))
def export(
    out: Annotated[str, typer.Option(metavar="FILE", help="Write the trace so: .jsonl, .csv or .parquet.")],
    queue: Annotated[str | None, typer.Option(metavar="NAME", help="Only workloads of this queue.")] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Write a running server's history as a trace.

    Every workload that has begun: when it was submitted and started, how long it ran without what was lost, how often
    it was preempted, what it asked for. `cede simulate` and `cede compare` replay it: what would another doctrine, or
    another setting, have done to these jobs? A caller that does not see all workloads gets those it sees.
    """
    from pathlib import Path

    from cede.cli.output import console, emit_json
    from cede.cli.trace_view import print_summary
    from cede.sim.traces.cede_format import write
    from cede.sim.traces.served import served_trace
    from cede.sim.traces.summary import summary

    with connected(url, token, data) as client:
        # The jobs last: what they say of themselves is then no older than the events.
        events = list(client.events(after=0))
        nodes = client.nodes()
        jobs = client.jobs(queue=queue, order="oldest")
        now = client.server()["now"]
    trace = served_trace(jobs, events, nodes, now)
    write(trace, Path(out))
    figures = summary(trace)
    if json:
        emit_json(figures)
    else:
        print_summary(console(), figures)
