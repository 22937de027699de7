"""`cede logs`: what a workload wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.live.workload_commands import Name
from cede.cli.options import countable, example

if TYPE_CHECKING:
    from cede.live.client import Client

ALL = "all"
MOST_DIGITS = 7

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog=example("cede logs train-1 --follow"))
def logs(
    name: Name,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until it has ended, through all its attempts.")
    ] = False,
    attempt: Annotated[int | None, typer.Option(metavar="N", min=1, help="Of this attempt; else the last.")] = None,
    member: Annotated[
        str,
        typer.Option(metavar="N", help="Of this member, counted from 0; or all, with its number before each line."),
    ] = "0",
    stdout: Annotated[bool, typer.Option("--stdout", help="Only what it wrote to standard output.")] = False,
    stderr: Annotated[bool, typer.Option("--stderr", help="Only what it wrote to standard error.")] = False,
    tail: Annotated[
        int | None, typer.Option(metavar="N", min=0, callback=countable, help="Only the last N lines there are.")
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print every line as a JSON string; of all members as an object that says whose."),
    ] = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Print what a workload wrote, both streams in order.

    What it wrote to both within the same millisecond may have changed places.
    """
    from cede.cli.live.job_output import LogQuery, followed, last_lines, written

    with connected(url, token, data) as client:
        if member == ALL:
            _print_all(client, name, attempt, _streams(stdout, stderr), follow=follow, tail=tail, json=json)
            return
        streams = _streams(stdout, stderr)
        wanted = LogQuery(name, attempt, _number(member), "both" if len(streams) > 1 else streams[0])
        pieces = followed(client, wanted, tail) if follow else written(client, wanted)
        if tail is not None and not follow:
            pieces = last_lines(pieces, tail)
        if json:
            _print_json(pieces)
        else:
            print_bytes(pieces)


def _streams(stdout: bool, stderr: bool) -> tuple[Literal["out", "err"], ...]:
    """Those that were asked for; both, if none was."""
    asked: tuple[Literal["out", "err"], ...] = (*(("out",) if stdout else ()), *(("err",) if stderr else ()))
    return asked or ("out", "err")


def _number(member: str) -> int:
    from cede.model.errors import InputError, Problem, shown

    if not member.isdecimal() or len(member) > MOST_DIGITS:
        raise InputError([Problem("--member", f"{shown(member)} is no number of a member", f"from 0, or {ALL}")])
    return int(member)


def _print_all(
    client: Client,
    name: str,
    attempt: int | None,
    streams: Sequence[str],
    *,
    follow: bool,
    tail: int | None,
    json: bool,
) -> None:
    """The lines of all members; with `tail` and `follow` those that are there are cut, and those that come are not."""
    from collections import deque

    from cede.cli.live.job_output import lines_of_all, prefixed

    members = client.job(name)["members"]
    lines = lines_of_all(client, name, members, attempt, streams, follow=follow)
    if tail is not None:
        before = lines_of_all(client, name, members, attempt, streams, follow=False)
        count = sum(1 for _ in before) if follow else 0
        lines = islice(lines, max(0, count - tail), None) if follow else iter(deque(lines, tail))
    if json:
        for line in lines:
            text = line.data.decode(errors="replace")
            typer.echo(_dumped({"member": line.member, "stream": line.stream, "line": text}))
    else:
        print_bytes(prefixed(line, members) for line in lines)


def print_bytes(pieces: Iterable[bytes]) -> None:
    """Every piece at once, as it stands."""
    import sys

    sys.stdout.flush()
    for piece in pieces:
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.buffer.write(piece)
        else:
            sys.stdout.write(piece.decode(errors="replace"))
        sys.stdout.flush()


def _print_json(pieces: Iterable[bytes]) -> None:
    left = b""
    for piece in pieces:
        *whole, left = (left + piece).split(b"\n")
        for line in whole:
            typer.echo(_dumped(line.decode(errors="replace")))
    if left:
        typer.echo(_dumped(left.decode(errors="replace")))


def _dumped(value: object) -> str:
    from json import dumps

    return dumps(value, ensure_ascii=False)
