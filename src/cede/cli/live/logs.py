"""`cede logs`: what a workload wrote."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from cede.cli.live.asking import Name
from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede logs train-1 --follow"))
def logs(
    name: Name,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until it has ended, through all its attempts.")
    ] = False,
    attempt: Annotated[int | None, typer.Option(metavar="N", min=1, help="Of this attempt; else the last.")] = None,
    member: Annotated[int, typer.Option(metavar="N", min=0, help="Of this member, counted from 0.")] = 0,
    stderr: Annotated[bool, typer.Option("--stderr", help="What it wrote to standard error.")] = False,
    tail: Annotated[int | None, typer.Option(metavar="N", min=0, help="Only the last N lines there are.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print every line as a JSON string.")] = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Print what a workload wrote, as it was written.

    That to standard output; with --stderr that to standard error.
    """
    from cede.cli.live.output_of import Wanted, followed, last_lines, written

    wanted = Wanted(name, attempt, member, "err" if stderr else "out")
    with connected(url, token, data) as client:
        pieces = followed(client, wanted, tail) if follow else written(client, wanted)
        if tail is not None and not follow:
            pieces = last_lines(pieces, tail)
        if json:
            _print_json(pieces)
        else:
            print_bytes(pieces)


def print_bytes(pieces: Iterable[bytes]) -> None:
    """Every piece at once, as it stands."""
    import sys

    sys.stdout.flush()
    for piece in pieces:
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.buffer.write(piece)
        else:
            sys.stdout.write(piece.decode(errors="replace"))
        sys.stdout.flush()


def _print_json(pieces: Iterable[bytes]) -> None:
    from json import dumps

    left = b""
    for piece in pieces:
        *whole, left = (left + piece).split(b"\n")
        for line in whole:
            typer.echo(dumps(line.decode(errors="replace"), ensure_ascii=False))
    if left:
        typer.echo(dumps(left.decode(errors="replace"), ensure_ascii=False))
