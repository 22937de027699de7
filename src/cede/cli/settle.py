"""`cede settle`: where a cluster ends if cycle follows cycle, and whether it ends at all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.options import DEFAULT_SIZE, Add, Doctrine, File, Json, MaxSize, Set, Without, example

if TYPE_CHECKING:
    from rich.console import Console

    from cede.model.plan import Preemption, Settled

app = typer.Typer(add_completion=False, rich_markup_mode=None)

MOST_ROWS = 200
PATIENCE_S = 0.5
"""How long a run may take before it shows how far it is."""


@app.command(epilog=example("cede settle examples/gang.yaml --interval 10s"))
def settle(
    file: File,
    cycles: Annotated[int, typer.Option(metavar="N", help="Stop after this many cycles.")] = 1000,
    interval: Annotated[str, typer.Option(metavar="TIME", help="How far the clock goes on between cycles.")] = "1s",
    json: Json = False,
    doctrine: Doctrine = None,
    add: Add = None,
    set_: Set = None,
    without: Without = None,
    max_size: MaxSize = DEFAULT_SIZE,
) -> None:
    """Run cycle after cycle: where does this end?

    Plans, applies the plan, lets time pass, and again, until nothing changes any more, a state comes back (a loop), or
    the cycles are used up. What starts never ends by itself.
    """
    from cede.cli.output import console, emit_json
    from cede.cli.source import cluster_of, read_what_if
    from cede.engine.settle import settle as run

    data, what_if = read_what_if(file, max_size, doctrine, add, set_, without)
    cluster = cluster_of(file, data, what_if)
    step: float | str = float(interval) if interval.replace(".", "", 1).isdigit() else interval
    with progress(cycles) as tell:
        ended = run(cluster, cycles=cycles, interval=step, progress=tell)
    if json:
        emit_json(ended.to_dict())
    else:
        print_settled(console(), ended)


@contextmanager
def progress(cycles: int) -> Iterator[Callable[[int], None] | None]:
    """A bar on standard error, if that is a terminal and the run takes long."""
    if not sys.stderr.isatty():
        yield None
        return
    from time import monotonic

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    began = monotonic()
    columns = (TextColumn("cycle"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("", total=cycles)

    def tell(cycle: int) -> None:
        if not bar.live.is_started and monotonic() - began > PATIENCE_S:
            bar.start()
        bar.update(task, completed=cycle)

    try:
        yield tell
    finally:
        bar.stop()


def print_settled(out: Console, ended: Settled) -> None:
    """How it ended, which workloads were preempted on the way, and what runs and waits now."""
    from cede.cli.output import counted, listed, number, table, text

    out.print(text(*_verdict(ended)))
    if ended.loop is not None:
        _print_loop(out, ended.loop)
    if ended.preemptions:
        out.print()
        out.print(text("Preemptions", "bold"))
        made = table(("cycle", {"justify": "right"}), "victim", "claimant", ("rule", {"ratio": 1}))
        for one in ended.preemptions[:MOST_ROWS]:
            made.add_row(str(one.at), text(one.victim), text(one.claimant or "(nobody)"), text(one.rule, "dim"))
        out.print(made)
        _print_more(out, len(ended.preemptions), "preemption")
    else:
        out.print("Nobody was preempted.")
    for title, header, rows in (
        ("Running", "on", [(name, counted(nodes)) for name, nodes in ended.running.items()]),
        ("Pending", "waits by", list(ended.pending.items())),
    ):
        if rows:
            out.print()
            out.print(text(title, "bold"), text(number(len(rows), "workload"), "dim"))
            said = any(what for _, what in rows)
            made = table("workload", *([header] if said else []))
            for name, what in rows[:MOST_ROWS]:
                made.add_row(text(name), *([text(what)] if said else []))
            out.print(made)
            _print_more(out, len(rows), "workload")
    if ended.ended:
        out.print()
        out.print(text("Ended", "bold"), text(listed(ended.ended)))


def _verdict(ended: Settled) -> tuple[str, str]:
    from cede.cli.output import number

    cycles = number(ended.cycles, "cycle")
    if ended.loop is not None:
        return f"LOOP: after {cycles} the cluster is where it was before, and it will be there again.", "bold red"
    if ended.settled:
        return f"Settled after {cycles}: nothing changes any more.", "bold green"
    return f"Still changing after {cycles}; --cycles N looks further.", "bold yellow"


def _print_loop(out: Console, loop: tuple[Preemption, ...]) -> None:
    """Which workload preempts which, first as a chain that ends where it began."""
    from cede.cli.output import text

    circle = chain(loop)
    if circle:
        out.print(text(f"  {' -> '.join([*(str(one.claimant) for one in circle), circle[-1].victim])}", "bold"))
    for one in circle or loop:
        out.print(text(f"  {one.claimant or 'nobody'} preempts {one.victim} in cycle {one.at} [{one.rule}]"))


def chain(loop: tuple[Preemption, ...]) -> list[Preemption]:
    """Preemptions of which each one's victim is the next one's claimant, and the last one's victim the first one's."""
    by_claimant: dict[str | None, list[Preemption]] = {}
    for one in loop:
        by_claimant.setdefault(one.claimant, []).append(one)
    path: dict[str | None, Preemption] = {}
    name = next((one.claimant for one in loop if one.victim in by_claimant), None)
    while name in by_claimant and name not in path:
        onward = [one for one in by_claimant[name] if one.victim in by_claimant]
        path[name] = (onward or by_claimant[name])[0]
        name = path[name].victim
    names = list(path)
    return [path[step] for step in names[names.index(name) :]] if name in path else []


def _print_more(out: Console, count: int, noun: str) -> None:
    from cede.cli.output import number, text

    if count > MOST_ROWS:
        out.print(text(f"{number(count - MOST_ROWS, f'more {noun}')} not shown: --json has them all", "dim"))
