"""What `cede bench crash` shows of a run, while it goes on and in the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cede.cli.bench.crash.run import Tell
from cede.cli.bench.progress import shown_time

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("kills", "faults", "jobs", "preempted", "lost", "doubled", "stuck", "other")
PHASES = ("pending", "held", "starting", "running", "checkpointing", "preempting", "cancelling", "suspended")


def print_report(console: Console, report: dict[str, Any]) -> None:
    """One run in full, or a line for each of several; then what was wrong."""
    from cede.cli.output import number, table, text

    runs = report["runs"]
    if len(runs) == 1:
        shown = table("crash test", ("figure", {"justify": "right"}), "")
        for what, figure, more in _rows(next(iter(runs.values()))):
            shown.add_row(text(what), figure, text(more, "dim"))
    else:
        shown = table("doctrine", *((name, {"justify": "right"}) for name in COLUMNS))
        for doctrine, run in runs.items():
            shown.add_row(text(doctrine), *(str(figure) for figure in _figures(run)))
    console.print(shown)
    if report["faults"]:
        console.print(text(f"faults, each with a kill after it: {_listed(report['faults'])}", most=None))
    for kind, why in report["skipped"].items():
        console.print(text(f"{kind} was left out: {why}", most=None), soft_wrap=True)
    wrong = ", ".join(f"{kind} {count}" for kind, count in report["wrong"].items())
    violations = report["violations"]
    style = "bold red" if violations else "bold green"
    console.print(text(f"{number(len(violations), 'violation')}: {wrong}", style))
    for violation in violations:
        console.print(text(f"  {violation}", most=None), soft_wrap=True)
    for folder in report["folders"]:
        console.print(text(f"data, evidence and logs are in {folder}", most=None), soft_wrap=True)


def _figures(run: dict[str, Any]) -> tuple[int, ...]:
    """As `COLUMNS` has them."""
    return (
        run["kills"],
        sum(run["faults"].values()),
        sum(run["jobs"].values()),
        run["preemptions"]["victims"],
        *run["wrong"].values(),
    )


def _rows(report: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    killed, ready, gaps = report["killed"], report["ready_s"], report["between_kills_s"]
    also, jobs, attempts = report["also_killed"], report["jobs"], report["attempts"]
    asked, preempted = report["submissions"], report["preemptions"]
    yield "kills", f"{report['kills']:,}", f"{killed['serving']} serving, {killed['starting']} while starting"
    if report["faults"]:
        yield "faults", f"{sum(report['faults'].values())}", _listed(report["faults"])
    if asked["set_back_by_a_restore"] or asked["missing_after_a_restore"]:
        gone = f"jobs that restored stores knew less of; {asked['missing_after_a_restore']} more they knew nothing of"
        yield "set back", f"{asked['set_back_by_a_restore']}", gone
    yield "time between kills", shown_time(gaps["p50"]), f"p50; longest {shown_time(gaps['max'])}"
    yield "also killed", f"{sum(also.values())}", _listed(also)
    met = report["kills_that_met"]
    yield "kills that met", "", ", ".join(f"{phase} {met[phase]}" for phase in PHASES if phase in met)
    yield "between store and act", f"{met.get('ordered', 0)}", "kills with orders that nobody had begun to carry out"
    yield "start to ready", shown_time(ready["p50"]), f"p50; longest {shown_time(ready['max'])}; modules were loaded"
    yield "jobs", f"{sum(jobs.values()):,}", _listed(dict(sorted(jobs.items())))
    open_ones = f"{asked['not_asked_again']} not asked again, {asked['of_these_there']} of them there"
    yield "answers lost", f"{asked['unanswered']}", f"{asked['there_after_all']} were there after all; {open_ones}"
    yield "attempts", f"{attempts['recorded']:,}", f"{attempts['resumed']} resumed from a checkpoint"
    yield "ended before a line", f"{attempts['ended_before_a_line']}", "told to go before they could write one"
    yield "lost a supervisor", f"{attempts['lost_their_supervisor']}", "and were queued again"
    yield (
        "finished after saving",
        f"{attempts['finished_after_saving']}",
        "had answered that they leave; ran on from there",
    )
    yield "photo finishes", f"{attempts['photo_finishes']}", "told to go between their last line and their end"
    drained = f"jobs gave way {preempted['counted']:,} times, drained nodes counted"
    yield "preemptions", f"{preempted['victims']:,}", f"in {preempted['decisions']:,} decisions; {drained}"
    yield "duration", f"{report['seconds']:.0f} s", f"seed {report['seed']}, jobs ran as {report['account']}"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


@contextmanager
def telling(total: int) -> Iterator[Tell]:
    """A bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _what, _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("loading the server", total=total)
        yield lambda what, done: progress.update(task, description=what, completed=done)
