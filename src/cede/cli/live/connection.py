"""How a command reaches a server, and how a refusal becomes an error of the command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated

import typer

from cede.model.errors import CedeError, InputError, Problem, did_you_mean

if TYPE_CHECKING:
    from cede.live.client import Client, ClientError

MOST_NAMES = 1000
_CA: ContextVar[str | None] = ContextVar("ca", default=None)
"""The certificates that the command of this moment was told to trust."""
NAMED = re.compile(r"no (?P<what>workload|node) called (?P<name>\S+)")
"""What the server says of a name it does not know."""
NOT_FOUND = 404

Url = Annotated[
    str | None, typer.Option(metavar="URL", help="The server; else $CEDE_URL, else the one of the data directory.")
]
Token = Annotated[str | None, typer.Option(metavar="TOKEN", help="Your token; else $CEDE_TOKEN.")]
Data = Annotated[
    str | None, typer.Option(metavar="DIR", help="The data directory of a server of this account; else $CEDE_DATA.")
]


def trust(value: str | None) -> str | None:
    """Called for every command that asks a server, whether or not it was told whom to trust."""
    _CA.set(value)
    return value


trusting = typer.Typer(add_completion=False)


@trusting.command()
def _trusting(
    ca: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Certificates (PEM) to trust of an https server; else $CEDE_CA, else the system's.",
            expose_value=False,
            callback=trust,
        ),
    ] = None,
) -> None:
    """No command: its option is one of every command that asks a server."""


@contextmanager
def connected(
    url: str | None, token: str | None, data: str | None, places: Callable[[str], str] | None = None
) -> Iterator[Client]:
    """A client of the server; what it refuses is an error with a sentence and the rule.

    `places` writes a place of what was sent as the option it came from.
    """
    from cede.live.client import Client, ClientError

    try:
        client = Client(url, token, data=data, ca=_CA.get())
    except ClientError as error:
        raise CedeError(error.detail) from None
    with client:
        try:
            yield client
        except ClientError as error:
            raise explained(error, client, places) from None


def explained(error: ClientError, client: Client, places: Callable[[str], str] | None = None) -> CedeError:
    """The refusal as a command tells it."""
    if error.status == 0:
        nobody = error.detail.startswith("no answer")
        return CedeError(f"{error.detail} (`cede serve` starts a server)" if nobody else error.detail)
    if error.errors:
        return InputError(
            Problem(
                (places or str)(one.get("place") or ""),
                f"{one['message']}{_by(error.rule)}",
                one.get("hint"),
            )
            for one in error.errors
        )
    hint = _nearest(error, client) if error.status == NOT_FOUND else None
    return CedeError(f"{error.detail}{_by(error.rule)}{f' ({hint})' if hint else ''}")


def _by(rule: str) -> str:
    """The rule behind a sentence; not where it says no more than that something is wrong."""
    return f" [{rule}]" if rule and rule != "live.invalid" else ""


def _nearest(error: ClientError, client: Client) -> str | None:
    """The name that was perhaps meant."""
    from cede.live.client import ClientError as Refused

    match = NAMED.search(error.detail)
    if match is None:
        return None
    with suppress(Refused):
        if match["what"] == "node":
            return did_you_mean(match["name"], [node["name"] for node in client.nodes()])
        return did_you_mean(match["name"], [job["name"] for job in client.jobs(limit=MOST_NAMES)])
    return None
