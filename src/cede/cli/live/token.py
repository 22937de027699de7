"""`cede token`: who may use a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import Json, example

if TYPE_CHECKING:
    from cede.live.documents import Token as Kept

EXAMPLE = example("cede token create alice --project ml")

Expires = Annotated[
    str | None, typer.Option(metavar="TIME", help="How long it stands from now on, as 720h; else what the server says.")
]

TO_THE_DAY = 2 * 86400 * 1_000_000
"""Microseconds: what stands for at least so long is told to the day."""

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
    expires_in: Expires = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Make a token for a user; it is shown this once."""
    import sys

    from cede.cli.output import emit_json

    with connected(url, token, data, _option) as client:
        made = client.make_token(user, role=role, projects=project or (), expires_in=expires_in)
    if json:
        emit_json(made)
        return
    typer.echo(made["token"])
    sys.stdout.flush()
    print(f"token {made['id']} of {made['user']}, {made['role']}{_until(made)}; it is not shown again", file=sys.stderr)


@app.command(epilog=example("cede token renew 3 --expires-in 720h"))
def renew(
    number: Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="As `cede token list` has it.")],
    expires_in: Expires = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Extend a token: an admin any, other users their own."""
    from cede.cli.output import emit_json

    with connected(url, token, data, _option) as client:
        renewed = client.renew_token(number, expires_in=expires_in)
    if json:
        emit_json(renewed)
    else:
        typer.echo(f"token {renewed['id']} of {renewed['user']} stands{_until(renewed)}")


def _option(place: str) -> str:
    return f"--{place.replace('_', '-')}" if place in ("role", "project", "expires_in") else place


def _until(token: Kept) -> str:
    return f" until {_expiry(token)}" if token["expires"] else ""


def _expiry(token: Kept) -> str:
    """When it expires: to the day, and to the minute of one that stands for less than two."""
    from cede.cli.live.formatting import instant, now

    if not token["expires"]:
        return "never"
    day, _, time = token["expires"].partition("T")
    return day if instant(token["expires"]) - now() >= TO_THE_DAY else f"{day} {time[:5]} UTC"


@app.command("list", epilog=example("cede token list"))
def list_(json: Json = False, url: Url = None, token: Token = None, data: Data = None) -> None:
    """List tokens; the tokens themselves are not kept."""
    from cede.cli.live.formatting import ago, maybe, now
    from cede.cli.output import console, emit_json, listed, table, text

    with connected(url, token, data) as client:
        tokens: list[Kept] = client.tokens()
    if json:
        emit_json(tokens)
        return
    at = now()
    made = table(("number", {"justify": "right"}), "user", "role", "projects", "made", "expires", "")
    for one in tokens:
        made.add_row(
            str(one["id"]),
            text(one["user"], "bold"),
            one["role"],
            text(maybe(listed(one["projects"]))),
            ago(one["at"], at),
            _expiry(one),
            text(_state(one, at), "red"),
        )
    console().print(made)


def _state(token: Kept, now: int) -> str:
    """Why it stands for nobody; empty if it does."""
    from cede.cli.live.formatting import instant

    if token["revoked"]:
        return "revoked"
    return "expired" if token["expires"] and instant(token["expires"]) <= now else ""


@app.command(epilog=example("cede token revoke 3"))
def revoke(
    number: Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="As `cede token list` has it.")],
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Revoke a token: from now on it is refused."""
    from cede.cli.output import emit_json

    with connected(url, token, data) as client:
        gone = client.revoke_token(number)
    if json:
        emit_json(gone)
    else:
        typer.echo(f"token {gone['id']} of {gone['user']} is revoked")
