"""`cede token`: who may use a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import Json, example

if TYPE_CHECKING:
    from cede.live.client.results import Token as Kept

EXAMPLE = example("cede token create alice --project ml")

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, epilog=EXAMPLE)


@app.callback(epilog=EXAMPLE)
def tokens() -> None:
    """Make, list and revoke tokens, which say who somebody is."""


@app.command(epilog=EXAMPLE)
def create(
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose token it is.")],
    role: Annotated[
        str | None,
        typer.Option(metavar="ROLE", help="admin, user or viewer; else what the configuration says, else user."),
    ] = None,
    project: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A project of the user.")] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Make a token for a user; it is shown this once."""
    import sys

    from cede.cli.output import emit_json

    with connected(url, token, data, lambda place: f"--{place}" if place in ("role", "project") else place) as client:
        made = client.make_token(user, role=role, projects=project or ())
    if json:
        emit_json(made)
        return
    typer.echo(made["token"])
    sys.stdout.flush()
    print(f"token {made['id']} of {made['user']}, {made['role']}; it is not shown again", file=sys.stderr)


@app.command("list", epilog=example("cede token list"))
def list_(json: Json = False, url: Url = None, token: Token = None, data: Data = None) -> None:
    """List tokens; the tokens themselves are not kept."""
    from cede.cli.live.shown import ago, maybe, now
    from cede.cli.output import console, emit_json, listed, table, text

    with connected(url, token, data) as client:
        found: list[Kept] = client.tokens()
    if json:
        emit_json(found)
        return
    at = now()
    made = table(("number", {"justify": "right"}), "user", "role", "projects", "made", "")
    for one in found:
        made.add_row(
            str(one["id"]),
            text(one["user"], "bold"),
            one["role"],
            text(maybe(listed(one["projects"]))),
            ago(one["at"], at),
            text("revoked" if one["revoked"] else "", "red"),
        )
    console().print(made)


@app.command(epilog=example("cede token revoke 3"))
def revoke(
    number: Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="As `cede token list` has it.")],
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Let a token stand for nobody from now on."""
    from cede.cli.output import emit_json

    with connected(url, token, data) as client:
        gone = client.revoke_token(number)
    if json:
        emit_json(gone)
    else:
        typer.echo(f"token {gone['id']} of {gone['user']} is revoked")
