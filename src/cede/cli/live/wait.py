"""`cede wait`: wait until workloads have ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.live.asking import Names, line
from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import Json, example

if TYPE_CHECKING:
    from cede.live.client.results import Workload

TOO_LATE = 124
"""As `timeout` has it."""

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

    Exit codes: 0 all completed; 1 one ended otherwise; 124 not all have ended in time.
    """
    import time

    from cede.cli.live.times import seconds
    from cede.cli.output import console, emit_json

    limit_s = None if timeout is None else seconds("--timeout", timeout)
    ends = None if limit_s is None else time.monotonic() + limit_s
    found: list[Workload] = []
    out = console()
    with connected(url, token, data) as client:
        for name in dict.fromkeys(names):
            try:
                left_s = None if ends is None else max(0.0, ends - time.monotonic())
                found.append(client.wait(name, left_s))
            except TimeoutError:
                _tell_late(client.job(name), limit_s or 0)
                raise typer.Exit(TOO_LATE) from None
            if not json:
                out.print(line(found[-1]))
    if json:
        emit_json(found)
    raise typer.Exit(code_of(found))


def _tell_late(job: Workload, limit_s: float) -> None:
    from cede.cli.failures import printable
    from cede.cli.live.shown import span

    why = f": {job['why']}" if job["why"] else ""
    typer.echo(printable(f"{job['name']} is still {job['state']} after {span(int(limit_s * 1e6))}{why}"), err=True)


def code_of(found: Sequence[Workload]) -> int:
    """The exit code for workloads that have ended."""
    return 0 if all(job["state"] == "completed" for job in found) else 1
