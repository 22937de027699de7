"""`cede queues`: the queues of a server, what they use and what waits in them."""

from __future__ import annotations

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import Json, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede queues"))
def queues(json: Json = False, url: Url = None, token: Token = None, data: Data = None) -> None:
    """List queues: what they use, and what waits in them."""
    from cede.cli.output import console, emit_json, text

    with connected(url, token, data) as client:
        queues = client.queues()
    if json:
        emit_json(queues)
        return
    from cede.cli.live.nodes_view import queues_table, tree_order

    out = console()
    out.print(queues_table(tree_order(queues)) if queues else text("There are no queues."))
