"""`cede suspend`: keep workloads from running until they are resumed."""

from __future__ import annotations

from typing import Annotated

import typer

from cede.cli.live.connection import Data, Token, Url
from cede.cli.live.workload_commands import Names, ask_each
from cede.cli.options import Json, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede suspend train-1"))
def suspend(
    names: Names,
    force: Annotated[bool, typer.Option("--force", help="Give up work that no checkpoint would save.")] = False,
    now: Annotated[
        bool, typer.Option("--now", help="Kill at once: what was done since the last checkpoint is lost.")
    ] = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Keep workloads from running until they are resumed.

    One that runs leaves with a checkpoint, if it can write one. `cede resume` lets it queue again.
    """
    ask_each(names, (url, token, data), lambda client, name: client.suspend(name, force=force, now=now), json=json)
