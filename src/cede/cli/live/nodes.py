"""`cede nodes`: the nodes of a server, how full they are, and taking one out of service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.live.completion import nodes as names
from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import Json, example

if TYPE_CHECKING:
    from cede.live.documents import Node

EXAMPLE = example("cede nodes drain n1 --evict")
NodeName = Annotated[str, typer.Argument(metavar="NODE", help="A node.", autocompletion=names)]

app = typer.Typer(add_completion=False, rich_markup_mode=None, epilog=EXAMPLE)


@app.callback(invoke_without_command=True, epilog=EXAMPLE)
def nodes(ctx: typer.Context, json: Json = False, url: Url = None, token: Token = None, data: Data = None) -> None:
    """List nodes and how full they are; drain one, or undrain it."""
    if ctx.invoked_subcommand is not None:
        ctx.obj = (json, url, token, data)
        return
    with connected(url, token, data) as client:
        nodes = client.nodes()
    _print(nodes, json=json)


@app.command(epilog=EXAMPLE)
def drain(
    ctx: typer.Context,
    node: NodeName,
    evict: Annotated[
        bool, typer.Option("--evict", help="Send away what runs there, instead of letting it end.")
    ] = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Let nothing new start on a node."""
    json, url, token, data = _given(ctx, json, url, token, data)
    with connected(url, token, data) as client:
        _print([client.drain(node, evict=evict)], json=json)


@app.command(epilog=example("cede nodes undrain n1"))
def undrain(
    ctx: typer.Context,
    node: NodeName,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Bring a node back into service."""
    json, url, token, data = _given(ctx, json, url, token, data)
    with connected(url, token, data) as client:
        _print([client.undrain(node)], json=json)


def _given(
    ctx: typer.Context, json: bool, url: str | None, token: str | None, data: str | None
) -> tuple[bool, str | None, str | None, str | None]:
    """The options, which may stand before the word or behind it."""
    above = ctx.obj or (False, None, None, None)
    return json or above[0], url or above[1], token or above[2], data or above[3]


def _print(nodes: list[Node], *, json: bool) -> None:
    from cede.cli.live.nodes_view import LEGEND, left_out, nodes_table
    from cede.cli.output import console, emit_json, text

    if json:
        emit_json(nodes)
        return
    out = console()
    if not nodes:
        out.print(text("There are no nodes: only quota is decided."))
        return
    out.print(nodes_table(nodes, out.width))
    out.print()
    if lacking := left_out(nodes, out.width):
        out.print(text(f"no room for {', '.join(lacking)}: a wider terminal or --json shows them", "dim"))
    out.print(text(LEGEND, "dim"))
