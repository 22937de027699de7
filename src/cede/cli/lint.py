"""`cede lint`: what a cluster file, or the running cluster, says that cannot be meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.live.connection import Data, Token, Url
from cede.cli.options import DEFAULT_SIZE, Doctrine, Json, Live, MaxSize, MaybeFile, example

if TYPE_CHECKING:
    from cede.model.lint import Finding

app = typer.Typer(add_completion=False, rich_markup_mode=None)

MOST_FINDINGS = 200


@app.command(epilog=example("cede lint examples/swap-own-jobs.yaml --strict"))
def lint(
    file: MaybeFile = None,
    live: Live = False,
    json: Json = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if there is any finding.")] = False,
    doctrine: Doctrine = None,
    max_size: MaxSize = DEFAULT_SIZE,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Find what cannot be meant.

    Limits that contradict each other, settings that can never act, work that can never run. With --live, in the running
    cluster: also workloads that promise checkpoints which nothing there can ask for. Exits with 0, whatever is found,
    unless --strict is given.
    """
    from cede.cli.output import console, emit_json, number, text
    from cede.cli.source import cluster_of, file_or_live, read_what_if
    from cede.engine.lint import lint as look
    from cede.model.errors import InputError, Problem

    asked = file_or_live(file, live, url, token, data)
    if asked is None and doctrine is not None:
        raise InputError([Problem("--doctrine", "is for a file; a running server has its doctrine", "leave it out")])
    if asked is None:
        findings = _live(url, token, data)
    else:
        findings = look(cluster_of(asked, *read_what_if(asked, max_size, doctrine, None, None, None)))
    if json:
        emit_json([finding.to_dict() for finding in findings])
    else:
        from rich.padding import Padding

        out = console()
        for finding in findings[:MOST_FINDINGS]:
            out.print(text(finding.path, "bold"), text(f"[{finding.rule}]", "dim"))
            out.print(Padding(text(finding.message), (0, 0, 0, 2)))
            out.print(Padding(text(f"hint: {finding.hint}", "cyan"), (0, 0, 1, 2)))
        if len(findings) > MOST_FINDINGS:
            out.print(text(f"{number(len(findings) - MOST_FINDINGS, 'more finding')} not shown: --json has them all"))
            out.print()
        out.print(text(number(len(findings), "finding") if findings else "No findings.", "bold"))
    if strict and findings:
        raise typer.Exit(1)


def _live(url: str | None, token: str | None, data: str | None) -> list[Finding]:
    """Findings about the running cluster as a file, and about what only a server knows."""
    from cede.cli.live.connection import connected
    from cede.engine.drive.rules import NOBODY_ASKS
    from cede.engine.lint import finding
    from cede.engine.lint import lint as look
    from cede.engine.load import load
    from cede.model.lifecycle import FINAL, Phase

    with connected(url, token, data) as client:
        document = client.snapshot()
        jobs = client.jobs(state=[str(phase) for phase in Phase if phase not in FINAL])
        notices = client.server()["notices"]
    dumps = next((notice for notice in notices if "cannot be dumped" in notice), "it names none")
    findings = look(load(dict(document)))
    for job in sorted(jobs, key=lambda job: job["name"]):
        checkpoint = job["checkpoint"]
        if checkpoint["mode"] != "none" and checkpoint["protocol"] == "none":
            hint = "submit it with --checkpoint MODE:PROTOCOL, as auto:signal"
            path = f"workloads[{job['name']}].checkpoint"
            findings.append(finding(NOBODY_ASKS, path, hint, workload=job["name"], mode=checkpoint["mode"], why=dumps))
    return findings
