"""`cede events`: what happened to workloads, and what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.live.completion import workloads
from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import countable, example

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cede.live.client import Client
    from cede.live.documents import Event

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede events --follow"))
def events(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Only of this workload.", autocompletion=workloads)
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what happens.")] = False,
    after: Annotated[int | None, typer.Option(metavar="N", min=0, help="Only behind this one.")] = None,
    tail: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, callback=countable, help="Only the last N; 50 unless --after is given."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")] = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Print what happened to workloads, a line an event."""
    from json import dumps

    from cede.cli.live.story import event_line
    from cede.cli.output import console

    out = console()
    with connected(url, token, data) as client:
        for event in _wanted(client, name, after, tail, follow):
            if json:
                typer.echo(dumps(event, ensure_ascii=False))
            else:
                out.print(event_line(event))


def _wanted(client: Client, name: str | None, after: int | None, tail: int | None, follow: bool) -> Iterator[Event]:
    from collections import deque

    if tail is None and after is None:
        tail = 50
    past = client.events(after=after, workload=name)
    kept: list[Event] | deque[Event] = list(past) if tail is None else deque(past, maxlen=max(tail, 1))
    last = kept[-1]["number"] if kept else after or 0
    yield from (kept if tail != 0 else ())
    if follow:
        yield from client.events(after=last, workload=name, follow=True)
