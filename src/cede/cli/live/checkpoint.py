"""`cede checkpoint`: ask workloads for a checkpoint."""

from __future__ import annotations

import typer

from cede.cli.live.connection import Data, Token, Url
from cede.cli.live.workload_commands import Names, ask_each
from cede.cli.options import Json, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede checkpoint train-1"))
def checkpoint(
    names: Names,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Ask running workloads for a checkpoint; they go on.

    `cede status NAME` tells when it is written.
    """
    ask_each(names, (url, token, data), lambda client, name: client.checkpoint(name), json=json)
