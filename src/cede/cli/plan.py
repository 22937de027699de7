"""`cede plan`: what one scheduling cycle decides on a cluster file, or on the running cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.certificate_option import Certify, Certifying, seconds_of
from cede.cli.live.connection import Data, Token, Url
from cede.cli.options import DEFAULT_SIZE, Add, Doctrine, Json, Live, MaxSize, MaybeFile, Set, Without, example

if TYPE_CHECKING:
    from cede.model.plan import Plan

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=Certifying, epilog=example("cede plan examples/threshold.yaml --explain"))
def plan(
    file: MaybeFile = None,
    live: Live = False,
    for_: Annotated[str | None, typer.Option("--for", metavar="NAME", help="Decide this workload only.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every workload that was looked at, and why.")
    ] = False,
    shares: Annotated[bool, typer.Option("--shares", help="Show what the doctrine computed before deciding.")] = False,
    certify: Certify = None,
    json: Json = False,
    doctrine: Doctrine = None,
    add: Add = None,
    set_: Set = None,
    without: Without = None,
    max_size: MaxSize = DEFAULT_SIZE,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Decide what starts, what preempts what, and what waits.

    One scheduling cycle over all pending workloads, with the rule and the reason of every decision. Nothing is
    changed: a plan is a proposal. With --live the running server is asked, and goes on undisturbed.
    """
    from cede.cli.output import emit_json
    from cede.cli.source import cluster_of, file_or_live, read_what_if, tell_lookalikes

    made: Plan
    asked = file_or_live(file, live, url, token, data)
    seconds = seconds_of(certify, live=asked is None)
    if asked is None:
        from cede.cli.live.whatif import Question

        question = Question.read(max_size, doctrine, add, set_, without)
        made = question.plan((url, token, data), only=for_, explain=explain, shares=shares, certify=seconds)
    else:
        from cede.engine.cycle import plan as decide

        plain, what_if = read_what_if(asked, max_size, doctrine, add, set_, without)
        cluster = cluster_of(asked, plain, what_if)
        tell_lookalikes(cluster)
        made = decide(cluster, only=for_, explain=explain, shares=shares, misses=True, certify=seconds)
    if json:
        emit_json(made.to_dict())
        return
    from cede.cli.plan_view import print_plan

    print_plan(made)
