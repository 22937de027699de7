"""`cede audit`: who asked for what."""

from __future__ import annotations

from collections import deque
from typing import Annotated

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import Json, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede audit --by alice"))
def audit(
    by: Annotated[str | None, typer.Option(metavar="USER", help="Only of this user.")] = None,
    about: Annotated[str | None, typer.Option(metavar="NAME", help="Only about this workload, node or user.")] = None,
    tail: Annotated[int, typer.Option(metavar="N", min=1, help="Only the last N.")] = 100,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """List who asked for what, and what was refused."""
    from cede.cli.live.shown import ago, maybe, now
    from cede.cli.output import console, emit_json, table, text

    with connected(url, token, data) as client:
        found = list(deque(client.audit(by=by, about=about), maxlen=tail))
    if json:
        emit_json(found)
        return
    out = console()
    if not found:
        out.print(text("Nobody asked for anything."))
        return
    at = now()
    made = table(
        ("when", {"no_wrap": True, "justify": "right"}), "who", ("what", {"no_wrap": True}), "about", ("", {"ratio": 1})
    )
    for one in found:
        refused = "" if one["allowed"] else f"refused [{one['rule']}] "
        made.add_row(
            ago(one["at"], at),
            text(one["by"], "bold"),
            text(one["what"]),
            text(maybe(one["about"])),
            text(refused, "red") + text(one["detail"]),
        )
    out.print(made)
