"""`cede schema`: the JSON Schema of the cluster file."""

from __future__ import annotations

import typer

from cede.cli.options import Json, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede schema > cluster-file.schema.json"))
def schema(json: Json = True) -> None:  # noqa: ARG001  # it is JSON in any case
    """Print the JSON Schema of the cluster file.

    For editors that complete and check while one types, and for checking files without Cede.
    """
    from cede.cli.output import emit_json
    from cede.doctrines.document import json_schema

    emit_json(json_schema())
