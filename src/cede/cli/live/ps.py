"""`cede ps`: the workloads of a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.live.completion import queues
from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import Json, example

if TYPE_CHECKING:
    from cede.live.client import Client
    from cede.live.documents import Workload

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _states(incomplete: str) -> list[str]:
    from cede.model.lifecycle import Phase

    return [str(phase) for phase in Phase if phase.startswith(incomplete)]


@app.command(epilog=example("cede ps --all --queue default"))
def ps(
    every: Annotated[bool, typer.Option("--all", "-a", help="Those that have ended too.")] = False,
    state: Annotated[
        list[str] | None, typer.Option(metavar="STATE", help="Only in this state.", autocompletion=_states)
    ] = None,
    queue: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only of this queue.", autocompletion=queues)
    ] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only your own.")] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on showing them as they change.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="How many at most, the newest first.")] = 1000,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """List workloads: those under way, or all."""
    from cede.cli.output import console, emit_json

    states = _wanted(state, every)
    with connected(url, token, data) as client:

        def look(most: int = limit) -> list[Workload]:
            users = [client.server()["you"]["name"]] if mine else []
            return client.jobs(state=states, queue=queue, user=users, limit=most)

        if json:
            emit_json(look())
        elif watch:
            _watch(client, look)
        else:
            from cede.cli.live.workloads_view import print_workloads

            jobs = look(limit + 1)  # whether there is one more
            more = len(jobs) > limit
            print_workloads(console(), jobs[:limit], everything=every or bool(state), more=more)


def _wanted(state: list[str] | None, every: bool) -> list[str]:
    from cede.model.errors import InputError, Problem, did_you_mean, shown
    from cede.model.lifecycle import FINAL, Phase

    known = [str(phase) for phase in Phase]
    for one in state or ():
        if one not in known:
            hint = did_you_mean(one, known) or f"one of {', '.join(known)}"
            raise InputError([Problem("--state", f"{shown(one)} is no state", hint)])
    if state:
        return state
    return [] if every else [str(phase) for phase in Phase if phase not in FINAL]


def _watch(client: Client, look: Callable[[], list[Workload]]) -> None:
    from rich.console import Group

    from cede.cli.live.screen import watched
    from cede.cli.live.workloads_view import workloads_table
    from cede.cli.output import text

    def draw(jobs: list[Workload], width: int, height: int, problem: str) -> Group:
        foot = text(problem, "bold red") if problem else text("q ends", "dim")
        return Group(workloads_table(jobs, width, most=max(1, height - 3)), foot)

    watched(client, look, draw)
