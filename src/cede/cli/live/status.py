"""`cede status`: everything about one workload."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.live.workload_commands import Name
from cede.cli.options import Json, example

if TYPE_CHECKING:
    from cede.live.documents import Workload

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede status train-1"))
def status(name: Name, json: Json = False, url: Url = None, token: Token = None, data: Data = None) -> None:
    """Show everything about one workload."""
    from cede.cli.output import console, emit_json

    with connected(url, token, data) as client:
        job = client.job(name)
    if json:
        emit_json(job)
        return
    from rich.table import Table

    from cede.cli.live.formatting import state
    from cede.cli.output import text

    out = console()
    out.print(text(job["name"], "bold") + text("  ") + state(job["state"]))
    if job["why"]:
        out.print(text(job["why"]) + text(f" [{job['rule']}]" if job["rule"] else "", "dim"))
    out.print()
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for label, value in facts(job):
        made.add_row(label, text(value, most=None))
    out.print(made)


def facts(job: Workload) -> Iterator[tuple[str, str]]:
    """What there is to say, each with its label; what is nothing is left out."""
    from cede.cli.live.formatting import ago, maybe, now, where
    from cede.cli.live.workloads_view import asked, command
    from cede.model.costs import in_words

    at = now()
    yield "queue", maybe(job["queue"])
    yield "owner", ", project ".join(filter(None, (job["user"], job["project"])))
    yield "kind", f"{job['kind']}, priority {maybe(job['priority'])}"
    yield "asks for", asked(job)
    yield "command", command(job)
    yield "in", job["cwd"]
    if job["account"]:
        yield "runs as", job["account"]
    if job["nodes"]:
        yield "nodes", where(job["nodes"])
    if job["waits_for"]:
        yield "waits for", where(job["waits_for"])
    if job["claimant"]:
        yield "makes way for", job["claimant"]
    for label, moment in (("submitted", job["submitted"]), ("began", job["began"]), ("ended", job["ended"])):
        if moment:
            yield label, f"{ago(moment, at)} ({moment})"
    yield f"{job['state']} since", ago(job["since"], at)
    if job["deadline"]:
        yield "next", f"something happens {ago(job['deadline'], at)} by itself"
    if job["attempt"]:
        yield "attempt", str(job["attempt"])
    if job["walltime"]:
        yield "walltime", job["walltime"]
    yield "checkpoint", _checkpoint(job, at)
    if stake := job["at_stake"]:
        cost = in_words(stake["cost"], stake["lost_gpu_hours"])
        how = f" ({stake['saving']})" if stake["saving"] else ""
        yield "at stake", f"{stake['lost']} of work; charged as {stake['charged']}; a preemption costs {cost}{how}"
    if job["preempted"] or job["requeues"]:
        often = ": it thrashes" if job["thrashing"] else ""
        yield "gave way", f"{job['preempted']} times{often}, queued again after failing {job['requeues']} times"
    if job["exit_code"] is not None:
        yield "exit code", str(job["exit_code"])
    if job["exit_signal"] is not None:
        yield "signal", str(job["exit_signal"])
    if job.get("set_aside"):
        yield "set aside", f"{job['set_aside']}; `cede resume {job['name']}` tries it again"
    if failure := job.get("failure"):
        yield "failed", f"member {failure['member']} on {failure['node']}: {failure['why']}"
        for label, line in zip_longest(["its stderr"], failure["stderr"] or [], fillvalue=""):
            if line:
                yield label, line
    if job["parked"]:
        yield "suspended by", job["parked"]
    if job["env"]:
        yield "environment", " ".join(f"{name}={value}" for name, value in job["env"].items())


def _checkpoint(job: Workload, at: int) -> str:
    from cede.cli.live.formatting import ago, span
    from cede.model.times import parse_duration

    asked = job["checkpoint"]
    if asked["mode"] == "none":
        return "none"
    if asked["protocol"] == "none":
        return f"{asked['mode']}, but nothing asks for one: it names no protocol"
    if job["state"] == "checkpointing" and job["progress"]:
        return f"{asked['mode']} by {asked['protocol']}, {job['progress']:.0%} written"
    last = f"last {ago(asked['last'], at)}" if asked["last"] else "none written yet"
    took = f", takes {span(parse_duration(asked['time']))}" if asked["time"] else ""
    return f"{asked['mode']} by {asked['protocol']}, {last}{took}"
