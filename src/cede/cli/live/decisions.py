"""`cede decisions`: what was decided, why, and from what."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cede.cli.certificate_option import Certify, Certifying, seconds_of
from cede.cli.live.completion import workloads
from cede.cli.live.connection import Data, Token, Url, connected
from cede.cli.options import Json, countable, example

if TYPE_CHECKING:
    from rich.console import Console

    from cede.live.documents import Decision

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=Certifying, epilog=example("cede decisions 12"))
def decisions(
    number: Annotated[int | None, typer.Argument(metavar="[NUMBER]", min=1, help="One, with everything.")] = None,
    about: Annotated[
        str | None,
        typer.Option("--for", metavar="NAME", help="Only with this claimant or victim.", autocompletion=workloads),
    ] = None,
    tail: Annotated[int, typer.Option(metavar="N", min=1, callback=countable, help="Only the last N.")] = 50,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Print the cluster file that the decision was made from.")
    ] = False,
    certify: Certify = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """List what was decided and carried out, or show one decision.

    `cede decisions NUMBER --cluster | cede plan -` decides it again.
    """
    from cede.cli.output import console, emit, emit_json
    from cede.model.errors import InputError, Problem

    if cluster and number is None:
        raise InputError([Problem("--cluster", "of which decision?", "give its number")])
    seconds = seconds_of(certify, live=True)
    if seconds is not None and number is None:
        raise InputError([Problem("--certify", "of which decision?", "give its number")])
    with connected(url, token, data, _option) as client:
        if number is None:
            decisions = list(deque(client.decisions(workload=about), maxlen=tail))
            if json:
                emit_json(decisions)
            else:
                _print_list(console(), decisions)
            return
        if cluster:
            from cede.cli.yaml_writing import as_yaml, with_units

            document = client.decision_cluster(number)
            emit_json(document) if json else emit(as_yaml(with_units(document)))
            return
        one = client.decision(number, certify=seconds)
    if json:
        emit_json(one)
    else:
        _print_one(console(), one)


def _option(place: str) -> str:
    """The option that a place of the question came from."""
    return "--certify" if place == "certify" else place


def _print_list(out: Console, decisions: Sequence[Decision]) -> None:
    from cede.cli.live.formatting import now, since
    from cede.cli.live.story import decided
    from cede.cli.output import table, text

    if not decisions:
        out.print(text("Nothing was decided yet."))
        return
    at = now()
    made = table(("number", {"justify": "right"}), ("ago", {"justify": "right", "no_wrap": True}), "what", "why")
    for one in decisions:
        made.add_row(
            str(one["number"]),
            since(one["at"], at),
            text(decided(one), "bold" if one["victims"] else ""),
            text(one["why"]) + text(f" [{one['rule']}]", "dim"),
        )
    out.print(made)


def _print_one(out: Console, one: Decision) -> None:
    from cede.cli.live.formatting import ago, now
    from cede.cli.output import text
    from cede.cli.plan_view import print_plan
    from cede.model.plan import Decision as Decided
    from cede.model.plan import Plan

    out.print(text(f"decision {one['number']}, {ago(one['at'], now())} ({one['at']})", "bold"))
    out.print(text(f"settings {one['settings_hash'][:16]}, cluster file {one['cluster_hash'][:16] or '-'}", "dim"))
    print_plan(Plan(one["doctrine"], one["edition"], one["at"], (Decided.from_dict(one["decision"]),)))
