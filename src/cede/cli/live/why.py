"""`cede why`: the whole story of a workload."""

from __future__ import annotations

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.live.workload_commands import Name
from cede.cli.options import Json, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede why train-1"))
def why(name: Name, json: Json = False, url: Url = None, token: Token = None, data: Data = None) -> None:
    """Tell a workload's whole story, and what stands in its way.

    Every event and every decision with its rule and its numbers, what preempted what, and, of one that waits, what
    came nearest to making room.
    """
    from cede.cli.output import console, emit_json

    with connected(url, token, data) as client:
        story = client.why(name)
    if json:
        emit_json(story)
        return
    from cede.cli.live.why_view import print_story

    print_story(console(), story)
