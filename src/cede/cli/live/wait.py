"""`cede wait`: wait until workloads have ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.live.workload_commands import Names, line
from cede.cli.options import Json, example

if TYPE_CHECKING:
    from cede.live.documents import Workload

TOO_LATE = 124
"""As `timeout` has it."""
SIGNALLED = 128
"""With the number of the signal, as a shell has it."""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede wait train-1 train-2 --timeout 10m"))
def wait(
    names: Names,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Give up after this, with exit code 124; as 30s or 10m.")
    ] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Wait until workloads have ended.

    Exit codes: of one workload its own, 128+N if signal N ended it, 1 if it ended badly without either; of several 0 if
    all completed, else 1; 124 not all have ended in time. --json tells them apart: it prints every workload, those that
    have not ended too, with state, exit_code and exit_signal; and nothing where the command itself failed.
    """
    import time

    from cede.cli.live.option_values import seconds
    from cede.cli.output import console, emit_json

    limit_s = None if timeout is None else seconds("--timeout", timeout)
    ends = None if limit_s is None else time.monotonic() + limit_s
    done: list[Workload] = []
    late: list[Workload] = []
    out = console()
    with connected(url, token, data) as client:
        for name in dict.fromkeys(names):
            try:
                left_s = None if ends is None else max(0.0, ends - time.monotonic())
                done.append(client.wait(name, left_s))
            except TimeoutError:
                late.append(client.job(name))
                _tell_late(late[-1], limit_s or 0)
                continue
            if not json:
                out.print(line(done[-1]))
    if json:
        emit_json(done + late)
    raise typer.Exit(TOO_LATE if late else code_of(done))


def _tell_late(job: Workload, limit_s: float) -> None:
    from cede.cli.failures import printable
    from cede.cli.live.formatting import span

    why = f": {job['why']}" if job["why"] else ""
    typer.echo(printable(f"{job['name']} is still {job['state']} after {span(int(limit_s * 1e6))}{why}"), err=True)


def code_of(jobs: Sequence[Workload]) -> int:
    """The exit code for workloads that have ended: of one as a shell would have it, of several whether all is well."""
    if all(job["state"] == "completed" for job in jobs):
        return 0
    if len(jobs) > 1:
        return 1
    [job] = jobs
    if job["exit_signal"] is not None:
        return SIGNALLED + job["exit_signal"]
    return job["exit_code"] or 1
