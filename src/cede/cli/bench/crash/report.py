"""What `cede bench crash` shows of a run, while it goes on and in the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cede.cli.bench.crash.run import Tell
from cede.cli.bench.report import shown_time

if TYPE_CHECKING:
    from rich.console import Console

PHASES = ("pending", "held", "starting", "running", "checkpointing", "preempting", "cancelling", "suspended")


def print_report(console: Console, report: dict[str, Any]) -> None:
    """A table of figures, then what was wrong."""
    from cede.cli.output import number, table, text

    shown = table("crash test", ("figure", {"justify": "right"}), "")
    for what, figure, more in _rows(report):
        shown.add_row(text(what), figure, text(more, "dim"))
    console.print(shown)
    violations = report["violations"]
    style = "bold red" if violations else "bold green"
    console.print(text(f"{number(len(violations), 'violation')}", style))
    for violation in violations:
        console.print(text(f"  {violation}", most=None), soft_wrap=True)
    if report["folder"]:
        console.print(text(f"data, evidence and logs are in {report['folder']}", most=None), soft_wrap=True)


def _rows(report: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    killed, ready, gaps = report["killed"], report["ready_s"], report["between_kills_s"]
    also, jobs, attempts = report["also_killed"], report["jobs"], report["attempts"]
    asked, preempted = report["submissions"], report["preemptions"]
    yield "kills", f"{report['kills']:,}", f"{killed['serving']} serving, {killed['starting']} while starting"
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
    yield "preemptions", f"{preempted['victims']:,}", f"in {preempted['decisions']:,} decisions"
    yield "duration", f"{report['seconds']:.0f} s", f"seed {report['seed']}, jobs ran as {report['account']}"


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


@contextmanager
def telling(kills: int) -> Iterator[Tell]:
    """A bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _what, _done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("loading the server", total=kills)
        yield lambda what, done: progress.update(task, description=what, completed=done)
