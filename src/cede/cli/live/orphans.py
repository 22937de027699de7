"""`cede orphans`: work that no record accounts for, and what becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import Json, example

if TYPE_CHECKING:
    from cede.live.documents import OrphanList

EXAMPLE = example("cede orphans list")

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, epilog=EXAMPLE)

Name = Annotated[str, typer.Argument(metavar="NAME", help="As `cede orphans list` has it.")]


@app.callback(epilog=EXAMPLE)
def orphans() -> None:
    """Decide about work without a record, after a restore."""


@app.command("list", epilog=EXAMPLE)
def list_(json: Json = False, url: Url = None, token: Token = None, data: Data = None) -> None:
    """List work without a record, and say what the store has lost."""
    with connected(url, token, data) as client:
        orphans = client.orphans()
    _show(orphans, json=json)


@app.command(epilog=example("cede orphans end train-7"))
def end(name: Name, json: Json = False, url: Url = None, token: Token = None, data: Data = None) -> None:
    """Kill all processes of work without a record; its files stay."""
    with connected(url, token, data) as client:
        orphans = client.end_orphan(name)
    _show(orphans, json=json)


@app.command(epilog=example("cede orphans forget train-7"))
def forget(name: Name, json: Json = False, url: Url = None, token: Token = None, data: Data = None) -> None:
    """Delete the logs and checkpoints of work without a record; its name is free then."""
    with connected(url, token, data) as client:
        orphans = client.forget_orphan(name)
    _show(orphans, json=json)


@app.command(epilog=example("cede orphans acknowledge"))
def acknowledge(json: Json = False, url: Url = None, token: Token = None, data: Data = None) -> None:
    """Say that you know what the store has lost: health does not tell of it any more."""
    with connected(url, token, data) as client:
        orphans = client.acknowledge_loss()
    _show(orphans, json=json)


def _show(orphans: OrphanList, *, json: bool) -> None:
    from cede.cli.live.formatting import ago, maybe, now
    from cede.cli.output import console, emit_json, listed, table, text

    if json:
        emit_json(orphans)
        return
    out = console()
    if orphans["loss"]:
        out.print(text(orphans["loss"], "bold red"))
    if not orphans["orphans"]:
        out.print(text("Every attempt has its record."))
        return
    at = now()
    made = table(
        ("name", {"no_wrap": True}), ("attempt", {"justify": "right"}), "state", "on", "began", ("why", {"ratio": 1})
    )
    for one in orphans["orphans"]:
        made.add_row(
            text(one["name"], "bold"),
            str(one["attempt"]),
            "running" if one["running"] else "ended",
            text(maybe(listed(one["nodes"]))),
            ago(one["began"], at) if one["began"] else "-",
            text(one["why"]),
        )
    out.print(made)
