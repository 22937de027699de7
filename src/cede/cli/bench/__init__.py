"""`cede bench`: how a real server does on this machine, for whoever runs one."""

from __future__ import annotations

from collections.abc import Callable
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


@app.command(epilog="Example: cede bench live --quick")
def live(
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the jobs and rounds.")] = False,
    json: Json = False,
) -> None:
    """A real server: gangs that preempt, submissions at a fixed rate, many short jobs, and an idle one."""
    from cede.cli.bench.live import measured, print_report
    from cede.cli.bench.progress import telling

    with telling() as tell:
        _show(measured(quick=quick, tell=tell), print_report, json=json)


@app.command(epilog="Example: cede bench crash --kills 20 --faults full,clock --times 5 --doctrine all")
def crash(
    kills: Annotated[int, typer.Option(metavar="N", min=1, max=100_000, help="How often the server is killed.")] = 20,
    faults: Annotated[
        str | None, typer.Option(metavar="F,F", help="Other faults: full, read-only, clock, restored, stopped; or all.")
    ] = None,
    times: Annotated[int, typer.Option(metavar="N", min=1, max=100_000, help="How often each fault is struck.")] = 5,
    doctrine: Annotated[
        str, typer.Option(metavar="D,D", help="Doctrines, over which kills and faults are spread; or all.")
    ] = "backendai",
    seed: Annotated[int, typer.Option(metavar="N", help="Draws the same jobs and the same lots again.")] = 0,
    keep: Annotated[bool, typer.Option("--keep", help="Keep data, evidence and logs though nothing is wrong.")] = False,
    json: Json = False,
) -> None:
    """Kill a server at random moments under a stream of real jobs, and audit what they saw; 1 if anything is wrong."""
    from cede.cli.bench.crash.contention import CONTENTIONS
    from cede.cli.bench.crash.faults import FAULTS
    from cede.cli.bench.crash.report import print_report, telling
    from cede.cli.bench.crash.run import Plan, measured

    doctrines = _chosen("--doctrine", doctrine, list(CONTENTIONS))
    plan = Plan(kills, seed, doctrines, _chosen("--faults", faults or "", list(FAULTS)), times)
    with telling(plan.total) as tell:
        report = measured(plan, keep=keep, tell=tell)
    _show(report, print_report, json=json)
    if report["violations"]:
        raise typer.Exit(1)


def _chosen(option: str, given: str, known: list[str]) -> list[str]:
    """The names that are listed, each once; all of them for `all`."""
    names = list(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    if unknown := [name for name in names if name not in (*known, "all")]:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(known)}", param_hint=option)
    return known if "all" in names else names
