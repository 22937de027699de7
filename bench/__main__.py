"""`make bench NAME=...`: seeded clusters, and measures that are ratios of two timings of one run.

What is measured lives here; no test asserts a time, because a time says more of the machine than of the code.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cede.cli.options import Json

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
    help="Measure Cede beside a yardstick, in one run.",
)


@app.callback()
def bench() -> None:
    """Measure Cede beside a yardstick, in one run."""


def _show(report: dict[str, Any], print_report: Callable[[Console, dict[str, Any]], None], *, json: bool) -> None:
    from cede.cli.output import console, emit_json

    if json:
        emit_json(report)
    else:
        print_report(console(), report)


@app.command(epilog="Example: make bench NAME=plan --quick")
def plan(
    sizes: Annotated[
        str, typer.Option(metavar="N,N", help="Numbers of nodes; ten workloads run on each node.")
    ] = "1000,10000",
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats, for a look.")] = False,
    json: Json = False,
) -> None:
    """One preempting decision, one event, loading a file, memory: at several sizes, with the growth between them."""
    from bench.report import measured, print_report, sizes_of

    _show(measured(sizes_of(sizes), quick=quick), print_report, json=json)


@app.command(epilog="Example: make bench NAME=sim --quick")
def sim(
    doctrine: Annotated[
        str, typer.Option(metavar="D,D", help="Editions, as kueue/0.20,lattice/core; all, or none.")
    ] = "all",
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Jobs with GPUs for the editions; default: Philly-like ones.")
    ] = None,
    easy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Jobs with walltimes to replay with EASY; default: made up.")
    ] = None,
    strict: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Jobs to replay strictly in order; default: made up.")
    ] = None,
    metacentrum: Annotated[
        Path | None, typer.Option(metavar="FILE", help="That trace (SWF, 2013), on its 68 nodes with EASY.")
    ] = None,
    openb: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Pods of openb 2023, with the list of nodes beside it.")
    ] = None,
    borg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Tasks of Borg 2011, with the list of machines beside it.")
    ] = None,
    budget: Annotated[
        float, typer.Option(metavar="S", min=1, help="A replay that would take longer is left out, and told.")
    ] = 240,
    quick: Annotated[bool, typer.Option("--quick", help="250 and 1,000 jobs, and a twentieth of the others.")] = False,
    json: Json = False,
) -> None:
    """Replays under every edition, with EASY, strictly in order and of a large cluster, each beside a bare loop."""
    from bench.sim import EDITIONS, Files, measured
    from bench.sim_tables import print_report
    from cede.cli.bench.progress import telling

    editions = [] if doctrine == "none" else _chosen("--doctrine", doctrine, EDITIONS)
    given = (trace, easy, strict, metacentrum, openb, borg)
    files = Files(*(None if file is None else str(file) for file in given))
    with telling() as tell:
        report = measured(files=files, editions=editions, budget_s=budget, quick=quick, tell=tell)
    _show(report, print_report, json=json)


@app.command(epilog="Example: make bench NAME=kueue --quick")
def kueue(
    quick: Annotated[bool, typer.Option("--quick", help="A fifth of the queues, a tenth of the victims.")] = False,
    json: Json = False,
) -> None:
    """One decision that evicts 1, 100 or 20,000 of 50,000 workloads of a cohort, beside a naive search."""
    from bench.kueue import measured, print_report
    from cede.cli.bench.progress import telling

    with telling() as tell:
        _show(measured(quick=quick, tell=tell), print_report, json=json)


@app.command(epilog="Example: make bench NAME=yunikorn --quick")
def yunikorn(
    sizes: Annotated[
        str, typer.Option(metavar="N,N", help="Numbers of nodes; ten workloads run on each node.")
    ] = "1250,2500,5000",
    quick: Annotated[bool, typer.Option("--quick", help="A fifth of the nodes and of the rounds.")] = False,
    json: Json = False,
) -> None:
    """One attempt of either edition on full nodes of 50 queues over their guarantee, beside a plain search over all."""
    from bench.report import sizes_of
    from bench.yunikorn import measured, print_report
    from cede.cli.bench.progress import telling

    wanted = [max(1, nodes // 5) if quick else nodes for nodes in sizes_of(sizes)]
    with telling() as tell:
        _show(measured(wanted, quick=quick, tell=tell), print_report, json=json)


@app.command(epilog="Example: make bench NAME=ytsaurus --quick")
def ytsaurus(
    sizes: Annotated[
        str, typer.Option(metavar="N,N", help="Numbers of operations; forty allocations run of each.")
    ] = "1250,2500,5000",
    quick: Annotated[bool, typer.Option("--quick", help="A fifth of the operations, and fewer rounds.")] = False,
    json: Json = False,
) -> None:
    """Fair share updates and heartbeats of a production tree's size and larger ones, beside plain ones over all."""
    from bench.report import sizes_of
    from bench.ytsaurus import QUICK_PART, measured
    from bench.ytsaurus_tables import print_report
    from cede.cli.bench.progress import telling

    wanted = [max(1, round(count * QUICK_PART)) if quick else count for count in sizes_of(sizes)]
    with telling() as tell:
        _show(measured(wanted, quick=quick, tell=tell), print_report, json=json)


@app.command(epilog="Example: make bench NAME=lattice --quick")
def lattice(
    sizes: Annotated[
        str, typer.Option(metavar="N,N", help="Numbers of nodes; about two workloads run for each, most on several.")
    ] = "1250,2500,5000,10000",
    quick: Annotated[bool, typer.Option("--quick", help="A fifth of the nodes and of the rounds.")] = False,
    json: Json = False,
) -> None:
    """One decision of each kind of Lattice's policy on full nodes of several vClusters, beside a plain one over all."""
    from bench.lattice import measured, print_report
    from bench.report import sizes_of
    from cede.cli.bench.progress import telling

    wanted = [max(1, nodes // 5) if quick else nodes for nodes in sizes_of(sizes)]
    with telling() as tell:
        _show(measured(wanted, quick=quick, tell=tell), print_report, json=json)


@app.command(epilog="Example: make bench NAME=certify --quick")
def certify(
    instances: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=1_000, help="Seeded clusters of each kind; default 20.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Draws the same clusters again.")] = 13,
    seconds: Annotated[float, typer.Option(metavar="S", min=0.1, help="How long one proof may take.")] = 30,
    quick: Annotated[bool, typer.Option("--quick", help="Five clusters of the smaller kinds.")] = False,
    json: Json = False,
) -> None:
    """What victims cost that are chosen in simple ways and by the fast path, beside the proven best; and the time."""
    from bench.certify import cases_of, measured, print_report
    from cede.cli.bench.progress import telling

    cases, number = cases_of(quick=quick)
    with telling() as tell:
        report = measured(cases, instances=instances or number, seed=seed, seconds=seconds, tell=tell)
    _show(report, print_report, json=json)


@app.command(epilog="Example: make bench NAME=soak --jobs 2000")
def soak(
    jobs: Annotated[int, typer.Option(metavar="N", min=10, max=10_000_000, help="Short jobs to run.")] = 20_000,
    json: Json = False,
) -> None:
    """Run many short jobs on one server: its memory, files and database after each tenth; then retention."""
    from bench.soak import measured, print_report
    from cede.cli.bench.progress import telling

    with telling() as tell:
        report = measured(jobs, tell=tell)
    _show(report, print_report, json=json)
    if report["lost"] or report["retention"]["rows_left"] or report["retention"]["folders_left"]:
        raise typer.Exit(1)


def _chosen(option: str, given: str, known: list[str]) -> list[str]:
    """The names that are listed, each once; all of them for `all`."""
    names = list(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    if unknown := [name for name in names if name not in (*known, "all")]:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(known)}", param_hint=option)
    return known if "all" in names else names


if __name__ == "__main__":
    app(prog_name="bench")
