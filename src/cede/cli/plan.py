"""`cede plan`: what one scheduling cycle decides on a cluster file."""

from __future__ import annotations

from typing import Annotated

import typer

from cede.cli.options import DEFAULT_SIZE, Add, Doctrine, File, Json, MaxSize, Set, Without, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede plan examples/threshold.yaml --explain"))
def plan(
    file: File,
    for_: Annotated[str | None, typer.Option("--for", metavar="NAME", help="Decide this workload only.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every workload that was looked at, and why.")
    ] = False,
    shares: Annotated[bool, typer.Option("--shares", help="Show what the doctrine computed before deciding.")] = False,
    json: Json = False,
    doctrine: Doctrine = None,
    add: Add = None,
    set_: Set = None,
    without: Without = None,
    max_size: MaxSize = DEFAULT_SIZE,
) -> None:
    """Decide who starts, who gives way to whom, and who waits.

    One scheduling cycle over all pending workloads, with the rule and the reason of every decision. Nothing is
    changed: a plan is a proposal.
    """
    from cede.cli.output import emit_json
    from cede.cli.source import cluster_of, read_what_if
    from cede.engine.cycle import plan as decide

    data, what_if = read_what_if(file, max_size, doctrine, add, set_, without)
    made = decide(cluster_of(file, data, what_if), only=for_, explain=explain, shares=shares, misses=True)
    if json:
        emit_json(made.to_dict())
        return
    from cede.cli.plan_view import print_plan

    print_plan(made)
