"""`cede simulate`: a trace replayed on a cluster in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cede.cli import sim_options as sim
from cede.cli.failures import INTERRUPTED
from cede.cli.options import Doctrine, Json, example
from cede.cli.trace_source import Format, LoadFactor, Mapping, Option, Take, TraceFile, Window

if TYPE_CHECKING:
    from cede.sim.compare import Compared
    from cede.sim.measures.measure import Measured
    from cede.sim.result import Result

app = typer.Typer(add_completion=False, rich_markup_mode=None)

MOST_LOOPS = 5
EXAMPLE = example("cede simulate examples/replay/jobs.sacct --cluster examples/replay/cluster.yaml")


@app.command(epilog=EXAMPLE)
def simulate(
    trace: TraceFile,
    cluster: sim.Cluster,
    doctrine: Doctrine = None,
    set_: sim.Set = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Write tables, numbers and moments to this folder.")
    ] = None,
    tables: Annotated[str, typer.Option(metavar="KIND", help="Of tables in --out: parquet or csv.")] = "parquet",
    report: Annotated[str | None, typer.Option(metavar="FILE", help="Write a report to look at, as HTML.")] = None,
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
    shake_by: sim.ShakeBy = None,
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
    """Replay a trace: what would have become of these jobs.

    The engine that runs live decides, in virtual time; jobs start, save, make way and end as the trace and these
    options say. The same input gives the same bytes. Ctrl-C stops the replay, and what there is is written and printed
    (exit code 130); a second one aborts.
    """
    options = locals()
    from cede.cli.output import emit_json
    from cede.cli.sim_files import check_tables, folder_for, pages_for, write_folder, write_pages
    from cede.cli.sim_progress import Bar, Interrupts, told
    from cede.cli.source import cluster_of
    from cede.cli.trace_source import load_trace
    from cede.sim.measures.measure import measure
    from cede.sim.measures.recorded_evictions import held_against
    from cede.sim.options import ReplayChoices
    from cede.sim.output import summary_of
    from cede.sim.progress import ReplayProgress, watch_of
    from cede.sim.simulate import check_doctrine, checked_replay

    sim.check_warm_up(warm_up)
    yard = sim.yard_of(target, price)
    check_tables(tables)
    choices = ReplayChoices.among(options)
    check_doctrine(None if doctrine is None else sim.doctrine_text(doctrine))
    made = load_trace(trace, format, option, mapping, window, take, load_factor)
    on = cluster_of(cluster, *sim.read_cluster(cluster, doctrine, set_))
    sim.check_yard(yard, made, on)
    shaping = sim.given(
        format=format, option=option, mapping=mapping, window=window, take=take, load_factor=load_factor
    )
    settings = {
        **sim.given(trace=trace, cluster=cluster, doctrine=doctrine, set=set_),
        **shaping,
        **choices.told(),
        **({"warm_up": warm_up} if warm_up else {}),
        **sim.given(target=target, price=price),
    }
    with folder_for(out, force) as folder, pages_for(report, "--report", force) as page:
        interrupts = Interrupts()
        with interrupts, Bar("replaying", wanted=not no_progress) as bar:

            def tell(seen: ReplayProgress) -> bool:
                bar.show(seen.share, told(seen, len(made.jobs)), seen.finished)
                return not interrupts.stopped

            result = checked_replay(made, on, choices, settings, watch_of(made, choices, tell))
        measured = measure(result, warm_up=warm_up, yard=yard)
        real = held_against(result, made)
        if folder is not None:
            write_folder(folder, result, measured, on, settings, tables, real)
        if page is not None:
            write_pages(page, _alone(result, measured, seed), [result], trace, cluster)
    if json:
        emit_json(summary_of(result, measured, real))
    else:
        _print(result, measured, real, out, report)
    if interrupts.stopped:
        raise typer.Exit(INTERRUPTED)


def _alone(result: Result, measured: Measured, seed: int) -> Compared:
    """One replay as a comparison that has nothing beside it."""
    from cede.sim.compare import Run, table

    label = f"{result.doctrine} {result.edition}"
    return table([Run(label, result.doctrine, result.settings, [measured], (seed,), result.edition)])


def _print(
    result: Result, measured: Measured, real: dict[str, Any] | None, out: str | None, report: str | None
) -> None:
    from cede.cli.output import console, listed, number, text
    from cede.cli.sim_view import print_measured, print_yardstick

    page = console()
    print_measured(measured)
    if real is not None:
        print_yardstick(real)
    page.print()
    for loop in result.loops[:MOST_LOOPS]:
        page.print(text(f"LOOP: {loop}", "bold red"))
    if len(result.loops) > MOST_LOOPS:
        page.print(text(f"and {len(result.loops) - MOST_LOOPS:,} more loops", "bold red"))
    resources = listed(sorted(result.capacity))
    page.print(
        text(
            f"Checked: work, loss, overhead and idle time are capacity x time, of {resources}; every job is in"
            f" one state."
        )
    )
    if out is not None:
        moments = number(len(result.moments), "moment")
        page.print(text(f"Written: {out}, with {moments} for `cede plan --explain`"))
    if report is not None:
        page.print(text(f"Report: {report}"))
