"""`cede top`: the running cluster, full screen."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import example

if TYPE_CHECKING:
    from rich.console import Group

    from cede.live.documents import Event

app = typer.Typer(add_completion=False, rich_markup_mode=None)

MOST_EVENTS = 50
MOST_WORKLOADS = 2000


@app.command(epilog=example("cede top"))
def top(
    json: Annotated[bool, typer.Option("--json", help="Print one look as JSON, and end.")] = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Watch nodes, queues, workloads and events, full screen.

    It is drawn anew when something happens. Tab chooses a part, the arrows and the page keys scroll it, s sorts
    workloads by another of age, priority, name, gpu and cpu, r turns the order round. q or Ctrl-C ends it.
    """
    from dataclasses import asdict

    from cede.cli.live.screen import watched
    from cede.cli.live.top_view import Look, Scrolled, drawn
    from cede.cli.output import emit_json
    from cede.model.lifecycle import FINAL, Phase

    under_way = [str(phase) for phase in Phase if phase not in FINAL]
    with connected(url, token, data) as client:
        events: deque[Event] = deque(client.events(), maxlen=MOST_EVENTS)

        def look() -> Look:
            jobs = client.jobs(state=under_way, limit=MOST_WORKLOADS, order="oldest")
            return Look(client.server(), client.nodes(), client.queues(), jobs, list(events))

        if json:
            emit_json(asdict(look()))
        else:
            at = Scrolled()

            def draw(view: Look, width: int, height: int, problem: str) -> Group:
                return drawn(view, client.url, width, height, problem, at)

            watched(client, look, draw, events.append, at.press)
