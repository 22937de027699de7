"""`cede demo`: a server, a few real jobs, and an urgent one that makes another give way and come back."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cede.cli.options import example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede demo --once"))
def demo(
    once: Annotated[
        bool, typer.Option("--once", help="End when the story is over; exit code 0 only if it happened.")
    ] = False,
    data: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where the server keeps everything; else a temporary place.")
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="The server's port; 0 takes a free one.")
    ] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print what happened as one JSON object, at the end.")] = False,
) -> None:
    """Run real jobs and watch one make way and come back.

    An urgent job preempts one that saves its progress when it is asked; that one resumes from its checkpoint and
    finishes. Then the server stays up until Ctrl-C, to be tried out.
    """
    from cede.cli.live.demo_server import serving
    from cede.cli.live.demo_story import play
    from cede.cli.output import console, emit_json

    out = console()
    with serving(data, port) as server:
        if not json:
            server.introduce(out)
        outcome = play(server, None if json else out)
        if json:
            emit_json(outcome.to_dict())
        else:
            outcome.print(out)
        if not outcome.happened:
            sys.stdout.flush()
            raise typer.Exit(1)
        if not once:
            if not json:
                server.invite(out)
            server.stay()
