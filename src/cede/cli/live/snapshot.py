"""`cede snapshot`: the live state as a cluster file."""

from __future__ import annotations

from typing import Annotated

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede snapshot --out now.yaml"))
def snapshot(
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Write to this file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of YAML.")] = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Save the live state as a cluster file.

    `cede plan` reads it, and so do all commands about files.
    """
    from cede.cli.import_command import write
    from cede.cli.output import as_json, emit
    from cede.cli.yaml_writing import as_yaml, with_units

    with connected(url, token, data) as client:
        document = client.snapshot()
    text = as_json(document) if json else as_yaml(with_units(document))
    if out is None:
        emit(text)
    else:
        write(out, text)
