"""`cede cancel`: end workloads for good."""

from __future__ import annotations

from typing import Annotated

import typer

from cede.cli.live.connection import Data, Token, Url
from cede.cli.live.workload_commands import Names, ask_each
from cede.cli.options import Json, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede cancel train-1 train-2"))
def cancel(
    names: Names,
    now: Annotated[bool, typer.Option("--now", help="Kill at once, without any grace.")] = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """End workloads for good.

    One that runs is told to go, and killed if it has not gone when its grace period is over.
    """
    ask_each(names, (url, token, data), lambda client, name: client.cancel(name, now=now), json=json)
