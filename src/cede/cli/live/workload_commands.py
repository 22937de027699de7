"""Commands that ask one thing of some workloads: the shared options, and the answer in a line each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.live.completion import workloads
from cede.cli.live.connection import connected, explained

if TYPE_CHECKING:
    from cede.live.client import Client
    from cede.live.documents import Workload
    from cede.model.errors import CedeError

Name = Annotated[str, typer.Argument(metavar="NAME", help="A workload.", autocompletion=workloads)]
Names = Annotated[list[str], typer.Argument(metavar="NAME", help="Workloads.", autocompletion=workloads)]


def ask_each(
    names: Sequence[str],
    server: tuple[str | None, str | None, str | None],
    ask: Callable[[Client, str], Workload],
    *,
    json: bool,
) -> None:
    """Ask for every name; what is refused does not keep the others from it, and is told at the end."""
    from cede.cli.output import console, emit_json
    from cede.live.client import ClientError

    jobs: list[Workload] = []
    refused: list[CedeError] = []
    with connected(*server) as client:
        for name in dict.fromkeys(names):
            try:
                jobs.append(ask(client, name))
            except ClientError as error:
                if error.status == 0:
                    raise
                refused.append(explained(error, client))
    if json:
        emit_json(jobs)
    else:
        out = console()
        for job in jobs:
            out.print(line(job))
    if refused:
        raise _together(refused)


def line(job: Workload) -> object:
    """A workload, its state, and why it is there."""
    from cede.cli.live.formatting import state
    from cede.cli.output import text

    why = job["why"] or ", ".join(dict.fromkeys(job["nodes"]))
    if (failure := job.get("failure")) and job["members"] > 1:
        why += f" (member {failure['member']} on {failure['node']})"
    return text(job["name"], "bold") + text("  ") + state(job["state"]) + text(f"  {why}" if why else "")


def _together(refused: Sequence[CedeError]) -> CedeError:
    from cede.model.errors import InputError, Problem

    if len(refused) == 1:
        return refused[0]
    return InputError(Problem("", str(one)) for one in refused)
