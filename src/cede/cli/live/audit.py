"""`cede audit`: who asked for what."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import Json, countable, example

if TYPE_CHECKING:
    from cede.live.client import Client

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede audit --by alice"))
def audit(
    by: Annotated[str | None, typer.Option(metavar="USER", help="Only of this user.")] = None,
    about: Annotated[str | None, typer.Option(metavar="NAME", help="Only about this workload, node or user.")] = None,
    tail: Annotated[int, typer.Option(metavar="N", min=1, callback=countable, help="Only the last N.")] = 100,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Check that the trail is as it was written, and say so; exit code 1 if it is not."
        ),
    ] = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """List requests: who asked for what, and what was refused.

    Every record has the hash of the one before it, and its own: whatever is changed, taken out or put in shows.
    """
    from cede.cli.live.formatting import ago, maybe, now
    from cede.cli.output import console, emit_json, table, text

    with connected(url, token, data) as client:
        if verify:
            raise typer.Exit(_verified(client, json=json))
        records = list(deque(client.audit(by=by, about=about), maxlen=tail))
    if json:
        emit_json(records)
        return
    out = console()
    if not records:
        out.print(text("Nobody asked for anything."))
        return
    at = now()
    made = table(
        ("when", {"no_wrap": True, "justify": "right"}), "who", ("what", {"no_wrap": True}), "about", ("", {"ratio": 1})
    )
    for one in records:
        refused = "" if one["allowed"] else f"refused [{one['rule']}] "
        made.add_row(
            ago(one["at"], at),
            text(one["by"], "bold"),
            text(one["what"]),
            text(maybe(one["about"])),
            text(refused, "red") + text(one["detail"]),
        )
    out.print(made)


def _verified(client: Client, *, json: bool) -> int:
    """Says whether the trail is as it was written; the exit code."""
    from cede.cli.output import console, emit_json, text

    chain = client.audit_chain()
    if json:
        emit_json(chain)
    elif chain["intact"]:
        records = "1 record" if chain["records"] == 1 else f"{chain['records']} records"
        console().print(text(f"{records}, each as it was written. The last has the hash {chain['head']}"))
        if chain["decisions"]:
            decisions = "1 decision" if chain["decisions"] == 1 else f"{chain['decisions']} decisions"
            told = f"{decisions} with their victims, the same. The last has the hash {chain['decision_head']}"
            console().print(text(told))
    else:
        console().print(text(f"broken at {chain['what']} {chain['broken']}: ", "bold red") + text(chain["why"]))
    return 0 if chain["intact"] else 1
