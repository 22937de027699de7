"""`cede show`: a cluster file in its one normal form."""

from __future__ import annotations

from typing import Annotated

import typer

from cede.cli.options import DEFAULT_SIZE, Add, Doctrine, File, Json, MaxSize, Set, Without, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede show examples/gang.yaml --without sweep-a > smaller.yaml"))
def show(
    file: File,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Write out what the file leaves to its default.")
    ] = False,
    json: Json = False,
    doctrine: Doctrine = None,
    add: Add = None,
    set_: Set = None,
    without: Without = None,
    max_size: MaxSize = DEFAULT_SIZE,
) -> None:
    """Print the file as Cede reads it.

    With the changes, if there are any: a file that can be saved and planned again.
    """
    from cede.cli.output import emit, emit_json
    from cede.cli.source import cluster_of, read_what_if

    data, what_if = read_what_if(file, max_size, doctrine, add, set_, without)
    document = cluster_of(file, data, what_if).to_dict(defaults=defaults)
    if json:
        emit_json(document)
        return
    from cede.cli.yaml_writing import as_yaml, with_units

    emit(as_yaml(with_units(document)))
