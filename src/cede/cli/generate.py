"""`cede generate`: a made-up workload as a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from cede.cli import cluster_out as new_cluster
from cede.cli.options import Doctrine, Json, example

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _recipes(incomplete: str) -> Iterator[str]:
    """What may follow --recipe, for the shell."""
    from cede.sim.recipes import NAMED

    return (name for name in NAMED if name.startswith(incomplete))


@app.command(epilog=example("cede generate --recipe philly-like --jobs 1000 --seed 7 --out jobs.jsonl"))
def generate(
    recipe: Annotated[
        str,
        typer.Option(metavar="NAME", help="What to begin from; --recipes lists them.", autocompletion=_recipes),
    ] = "philly-like",
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of jobs; 10,000 by default.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The same seed gives the same jobs.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Give a number of the recipe, as 'sizes={1: 0.5, 8: 0.5}'."),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the trace so: .jsonl, .csv or .parquet.")
    ] = None,
    cluster_out: new_cluster.ClusterOut = None,
    nodes: new_cluster.Nodes = None,
    gpus: new_cluster.Gpus = None,
    cpus: new_cluster.Cpus = None,
    memory: new_cluster.Memory = None,
    doctrine: Doctrine = None,
    recipes: Annotated[bool, typer.Option("--recipes", help="List the recipes with all their numbers.")] = False,
    json: Json = False,
) -> None:
    """Make up a workload with heavy tails, bursts and gangs.

    The same recipe, numbers and seed give the same bytes. Without --out it is only told what would be in it.
    """
    from pathlib import Path

    from cede.cli.output import console, emit_json
    from cede.cli.trace_view import print_summary
    from cede.sim.generate import generate as make
    from cede.sim.recipes import parse_settings
    from cede.sim.recipes import recipe as named
    from cede.sim.traces.summary import summary

    if recipes:
        _list_recipes(json)
        return
    given = parse_settings(set_ or []) | {"seed": seed} | ({} if jobs is None else {"jobs": jobs})
    made = make(named(recipe, **given))
    if out is not None:
        from cede.sim.traces.cede_format import write

        write(made, Path(out))
    new_cluster.write_cluster(made, cluster_out, doctrine, nodes=nodes, gpus=gpus, cpus=cpus, memory=memory)
    figures = summary(made)
    if json:
        emit_json(figures)
    else:
        print_summary(console(), figures)


def _list_recipes(json: bool) -> None:
    from cede.cli.output import console, emit_json, table, text
    from cede.sim.recipes import NAMED, Recipe, shown_value
    from cede.sim.recipes import recipe as named

    made = {name: named(name) for name in NAMED}
    keys = [key for key in Recipe.model_fields if key not in ("recipe", "seed")]
    if json:
        emit_json({name: {key: shown_value(key, getattr(one, key)) for key in keys} for name, one in made.items()})
        return
    values = {"min_width": max(map(len, NAMED)), "max_width": 17}
    listed = table(("key", {"no_wrap": True}), *((name, values) for name in NAMED), ("meaning", {"ratio": 1}))
    for key in keys:
        told = [_told(shown_value(key, getattr(one, key))) for one in made.values()]
        listed.add_row(text(key, "bold"), *told, text(Recipe.model_fields[key].description or ""))
    console().print(listed)


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {one}" for key, one in value.items()) or "-"
    return f"{value:g}" if isinstance(value, float) else str(value)
