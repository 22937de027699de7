"""`cede resume`: let suspended workloads queue again."""

from __future__ import annotations

import typer

from cede.cli.live.connection import Data, Token, Url
from cede.cli.live.workload_commands import Names, ask_each
from cede.cli.options import Json, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede resume train-1"))
def resume(
    names: Names,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Let suspended workloads queue again.

    They start when there is room, from their checkpoint if they have one.
    """
    ask_each(names, (url, token, data), lambda client, name: client.resume(name), json=json)
