"""`cede shares`: what a doctrine computes before it decides, as tables, as JSON or as a page with plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.options import DEFAULT_SIZE, Add, Doctrine, File, Json, MaxSize, Set, Without, example

if TYPE_CHECKING:
    from cede.engine.cluster import Cluster
    from cede.model.plan import Plan

PAGES = (".html", ".htm")

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede shares examples/ytsaurus/shares.yaml"))
def shares(
    file: File,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the share curves as a page (.html). YTsaurus only."),
    ] = None,
    resource: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The resource that is drawn; else the one that is most in demand."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what --plot finds in its place.")] = False,
    json: Json = False,
    doctrine: Doctrine = None,
    add: Add = None,
    set_: Set = None,
    without: Without = None,
    max_size: MaxSize = DEFAULT_SIZE,
) -> None:
    """Show what each queue is entitled to and what it has.

    What `plan --shares` shows, without a plan: the shares, amounts and turns that the doctrine works out before it
    decides. Of a running server `cede snapshot` saves such a file.
    """
    from cede.cli.output import console, emit_json, text
    from cede.cli.source import cluster_of, read_what_if

    _check(plot, resource, force)
    data, what_if = read_what_if(file, max_size, doctrine, add, set_, without)
    cluster = cluster_of(file, data, what_if)
    made = computed(cluster)
    if plot is not None:
        _draw(plot, resource, force, file, cluster, made)
    if json:
        document = made.to_dict()
        del document["decisions"]
        emit_json(document)
        return
    from cede.cli.shares_view import print_shares

    out = console()
    out.print(text(f"{made.doctrine} {made.edition}, now {made.now}", "dim"))
    out.print()
    print_shares(out, made)
    if plot is not None:
        out.print(text(f"Drawn: {plot}"))


def computed(cluster: Cluster) -> Plan:
    """A plan that decides nothing, and holds what its doctrine computed."""
    from cede.doctrines.catalog import doctrine_of
    from cede.model.plan import Plan
    from cede.model.times import format_time

    choice, state = cluster.document.doctrine, cluster.state
    doctrine = doctrine_of(choice)
    assert choice is not None, "a file without a doctrine was refused"
    values = doctrine.shares(state, choice.edition)
    return Plan(doctrine.name, choice.edition, format_time(state.now, state.instant), (), shares=values)


def _check(plot: str | None, resource: str | None, force: bool) -> None:
    """An InputError for options that cannot be meant, before anything is read."""
    from cede.model.errors import InputError, Problem

    if plot is None:
        for option, given in (("--resource", resource), ("--force", force)):
            if given:
                raise InputError([Problem(option, "is about what is drawn", "add --plot FILE")])
    elif not plot.endswith(PAGES):
        hint = "end it in .html; each plot of the page can be saved as SVG"
        raise InputError([Problem("--plot", f"{plot} is no page", hint)])


def _draw(plot: str, resource: str | None, force: bool, file: str, cluster: Cluster, made: Plan) -> None:
    from pathlib import Path

    from cede.cli.failures import about
    from cede.cli.shares_page import draw
    from cede.cli.source import name_of

    with about(name_of(file)):
        draw(Path(plot), resource, force, name_of(file), cluster.state, made)
