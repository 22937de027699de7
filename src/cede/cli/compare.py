"""`cede compare`: several doctrines, or settings, on one trace side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli import sim_options as sim
from cede.cli.failures import INTERRUPTED
from cede.cli.options import Json, example
from cede.cli.trace_source import Format, LoadFactor, Mapping, Option, Take, TraceFile, Window

if TYPE_CHECKING:
    from cede.sim.compare import Compared, Outcome, Task

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EXAMPLE = example(
    "cede compare examples/replay/jobs.sacct --cluster examples/replay/cluster.yaml "
    "--vary kueue:@examples/replay/kueue.yaml --take 50"
)
SHAKEN = 5
"""Number of replays of each with --shake, by default."""


@app.command(epilog=EXAMPLE)
def compare(
    trace: TraceFile,
    cluster: sim.Cluster,
    doctrines: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Doctrines to compare, each NAME or NAME/EDITION; `all` is all five."),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL:CHANGE,...",
            help="One run more, with these changes: PATH=VALUE in the cluster file, doctrine=NAME/EDITION, @FILE for "
            "another cluster file.",
        ),
    ] = None,
    set_: sim.Set = None,
    repeat: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Replay each with N seeds; 5 with --shake, else 1.")
    ] = None,
    shake: Annotated[
        bool, typer.Option("--shake", help="Move arrivals a little with each seed, to tell differences from noise.")
    ] = False,
    shake_by: Annotated[str | None, typer.Option(metavar="TIME", help="By up to this; 1m by default.")] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes at a time; as many as there are cores.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a report to look at, as HTML, with its JSON beside it.")
    ] = None,
    force: sim.Force = False,
    format: Format = None,
    option: Option = None,
    mapping: Mapping = None,
    queue: sim.Queue = None,
    window: Window = None,
    take: Take = None,
    load_factor: LoadFactor = None,
    until: sim.Until = None,
    seed: sim.Seed = 0,
    faults: sim.Faults = None,
    mtbf: sim.Mtbf = None,
    mttr: sim.Mttr = None,
    backfill: sim.Backfill = "auto",
    overrun: sim.Overrun = "keep",
    breaker: sim.Breaker = False,
    checkpoint: sim.Checkpoint = None,
    checkpoint_interval: sim.CheckpointInterval = None,
    checkpoint_time: sim.CheckpointTime = None,
    restart_time: sim.RestartTime = None,
    grace: sim.Grace = None,
    stop_time: sim.StopTime = None,
    start_delay: sim.StartDelay = None,
    warm_up: sim.WarmUp = 0.0,
    target: sim.Target = None,
    price: sim.Price = None,
    json: Json = False,
    no_progress: sim.NoProgress = False,
) -> None:
    """Replay a trace under several doctrines, or settings.

    Each runs on the same jobs and the same cluster file, side by side on the cores of this machine. With --shake what
    is within noise is marked as such. Ctrl-C ends it with what is complete by then (exit code 130); a second aborts it.
    """
    options = locals()
    from cede.cli.output import emit_json
    from cede.cli.sim_files import pages_for, write_pages
    from cede.cli.sim_options import variants_of
    from cede.cli.sim_progress import Bar, Interrupts
    from cede.cli.trace_source import load_trace
    from cede.engine.whatif import cluster_if
    from cede.sim.compare import compared, tasks_of, to_json
    from cede.sim.options import ReplayChoices
    from cede.sim.pool import run_all
    from cede.sim.progress import ReplayProgress
    from cede.sim.verdicts import judge
    from cede.sim.verdicts import to_json as judgement_of

    sim.check_warm_up(warm_up)
    yard = sim.yard_of(target, price)
    moved = shake_by if shake_by is not None else "1m" if shake else None
    repeats = repeat or (1 if moved is None else SHAKEN)
    _check_repeats(repeats, moved, mtbf)
    choices = ReplayChoices.among({**options, "shake_by": moved})
    plain, what_if = sim.read_cluster(cluster, None, set_)
    variants = variants_of(doctrines, vary or (), what_if)
    made = load_trace(trace, format, option, mapping, window, take, load_factor)
    if target or price:
        sim.check_yard(yard, made, cluster_if(plain, what_if))
    settings = {
        **sim.given(trace=trace, cluster=cluster, format=format, option=option, mapping=mapping, window=window),
        **sim.given(take=take, load_factor=load_factor),
        **choices.told(),
        **({"warm_up": warm_up} if warm_up else {}),
        **sim.given(target=target, price=price),
    }
    tasks = tasks_of(variants, made, plain, choices, settings, repeats=repeats)
    with pages_for(out, "--out", force) as page:
        interrupts = Interrupts()
        with interrupts, Bar("replaying", wanted=not no_progress) as bar:

            def look(seen: Sequence[ReplayProgress]) -> bool:
                done = sum(one.share >= 1 for one in seen)
                state = f"{done} of {len(tasks)} replays done"
                bar.show(sum(one.share for one in seen) / len(seen), state, sum(one.finished for one in seen))
                return not interrupts.stopped

            outcomes = run_all(tasks, look, jobs)
        notes = _missing(tasks, outcomes)
        comparison, results = compared(tasks, outcomes, warm_up=warm_up, yard=yard)
        if not results:
            print("nothing was complete when it was interrupted: there is nothing to compare", file=sys.stderr)
            raise KeyboardInterrupt
        if page is not None:
            write_pages(page, comparison, results, trace, cluster, notes)
    if json:
        emit_json(to_json(comparison, judgement_of(judge(comparison))))
    else:
        _print(comparison, notes, out)
    if interrupts.stopped:
        raise typer.Exit(INTERRUPTED)


def _check_repeats(repeats: int, moved: str | None, mtbf: str | None) -> None:
    from cede.model.errors import InputError, Problem

    if repeats > 1 and moved is None and mtbf is None:
        message = "would replay the same again: nothing is drawn"
        raise InputError([Problem("--repeat", message, "add --shake, which moves arrivals a little with each seed")])


def _missing(tasks: Sequence[Task], outcomes: Sequence[Outcome | None]) -> list[str]:
    """What must be said of a comparison that was interrupted."""
    done = sum(one is not None and not one.interrupted for one in outcomes)
    if done == len(tasks):
        return []
    return [f"The comparison was interrupted: {done:,} of {len(tasks):,} replays were done, and only they are in it."]


def _print(comparison: Compared, notes: Sequence[str], out: str | None) -> None:
    from pathlib import Path

    from cede.cli.output import console, text
    from cede.cli.sim_files import json_of, moments_of
    from cede.cli.sim_view import print_compared, print_stated

    print_compared(comparison)
    page = console()
    print_stated(page, notes)
    if out is not None:
        path = Path(out)
        page.print()
        page.print(text(f"Report: {path}; its numbers: {json_of(path)}; clusters of moments: {moments_of(path)}"))
