"""`cede diff`: what a change to a cluster file, or to the running cluster, would change in the plan."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import typer

from cede.cli.certificate_option import Certify, Certifying, seconds_of
from cede.cli.live.connection import Data, Token, Url
from cede.cli.options import DEFAULT_SIZE, Add, Doctrine, Json, Live, MaxSize, MaybeFile, Set, Without, example
from cede.model.errors import InputError, Problem

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from cede.engine.diff import Difference
    from cede.model.plan import Decision

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(
    cls=Certifying,
    epilog=example("cede diff examples/nearest-miss.yaml --set 'queues[default].settings.preemptible_priority=6'"),
)
def diff(
    file: MaybeFile = None,
    live: Live = False,
    certify: Certify = None,
    json: Json = False,
    doctrine: Doctrine = None,
    add: Add = None,
    set_: Set = None,
    without: Without = None,
    max_size: MaxSize = DEFAULT_SIZE,
    url: Url = None,
    token: Token = None,
    data: Data = None,
) -> None:
    """Tell what a change would do: will it evict anyone?

    Compares the plan of the file, or of the running cluster, as it is with the plan as it would be. Unchanged decisions
    are counted only.
    """
    from cede.cli.output import console, emit_json
    from cede.cli.source import cluster_of, file_or_live, read_what_if

    difference: Difference
    asked = file_or_live(file, live, url, token, data)
    seconds = seconds_of(certify, live=asked is None)
    nothing = Problem("", "there is nothing to compare", "give at least one of --set, --add, --without and --doctrine")
    if asked is None:
        if not (doctrine or add or set_ or without):
            raise InputError([nothing])
        from cede.cli.live.whatif import Question

        difference = Question.read(max_size, doctrine, add, set_, without).diff((url, token, data), certify=seconds)
    else:
        from cede.engine.diff import diff as compare

        plain, what_if = read_what_if(asked, max_size, doctrine, add, set_, without)
        if not what_if:
            raise InputError([nothing])
        difference = compare(cluster_of(asked, plain), cluster_of(asked, plain, what_if), certify=seconds)
    if json:
        emit_json(difference.to_dict())
    else:
        print_difference(console(), difference)


def print_difference(out: Console, difference: Difference) -> None:
    """The answer in the first line, then one table of all that changes."""
    from cede.cli.output import listed, number, text

    out.print(text(answer(difference), "bold yellow" if difference.evicted or difference.displaced else "bold green"))
    if difference.spared:
        out.print(text(f"Evicted before, and no longer: {listed([gone.workload for gone in difference.spared])}"))
    if difference.changes or difference.evicted or difference.spared:
        out.print()
        out.print(_table(difference))
        _print_certificates(out, difference)
    if difference.unchanged or difference.changes:
        rest = (
            f"{number(difference.unchanged, 'decision')} unchanged"
            if difference.unchanged
            else "No decision is unchanged"
        )
        out.print()
        out.print(text(f"{rest}.", "dim"))


def _print_certificates(out: Console, difference: Difference) -> None:
    """How near the victims of what would be decided are to the best, if that was asked for."""
    from cede.cli.certificate_option import worded
    from cede.cli.output import text

    for change in difference.changes:
        if not isinstance(change.after, str) and change.after.certificate is not None:
            proof = f"{change.workload or '(nobody)'}: {worded(change.after.certificate)}"
            out.print(text("certificate  ", "bold green") + text(proof, most=None))


def answer(difference: Difference) -> str:
    """Will this evict anyone?"""
    from cede.cli.output import listed

    count = len(difference.evicted)
    lost = len(difference.displaced)
    words = []
    if count:
        names = listed([eviction.workload for eviction in difference.evicted])
        words.append(f"{count} more {'workload is' if count == 1 else 'workloads are'} evicted: {names}")
    if lost:
        names = listed(difference.displaced)
        words.append(f"{lost} {'workload loses its' if lost == 1 else 'workloads lose their'} place: {names}")
    return f"Yes: {'; '.join(words)}" if words else "No one is evicted that was not before."


def _table(difference: Difference) -> Table:
    from cede.cli.output import styled, table, text

    made = table(("workload", {"max_width": 24}), ("is", {"max_width": 24}), ("would be", {"max_width": 24}), "why")
    for change in difference.changes:
        pairs = ((change.before, change.after), (change.after, change.before))
        shown = (styled(word) + text(rest) for word, rest in (_side(one, other) for one, other in pairs))
        why = "" if isinstance(change.after, str) else change.after.why
        made.add_row(text(change.workload or "(nobody)", "bold"), *shown, text(why))
    for eviction in difference.evicted:
        would = styled("victim") + text(f" of {eviction.claimant or 'nobody'}")
        made.add_row(text(eviction.workload, "bold"), text("running"), would, text(f"{eviction.fate}, {eviction.rule}"))
    for eviction in difference.spared:
        was = styled("victim") + text(f" of {eviction.claimant or 'nobody'}")
        made.add_row(text(eviction.workload, "bold"), was, text("running"), text(""))
    return made


def _side(side: Decision | str, other: Decision | str) -> tuple[str, str]:
    """An action and its objects, or the state of a workload that is not decided."""
    from cede.engine.diff import place

    if isinstance(side, str):
        return ("-", "") if side == "absent" else (side, "")
    there = None if isinstance(other, str) else other
    moved = there is not None and any(place(there)) and place(side) != place(there)
    where = _where(side, there) if side.action == "start" or moved else ""
    return side.action, f"{_victims(side, there)}{f' on {where}' if where else ''}"


def _victims(side: Decision, other: Decision | None) -> str:
    """The victims, and their fate only where that is what differs."""
    from cede.cli.output import listed
    from cede.cli.plan_view import evicted

    fates = {victim.workload: victim.fate for victim in other.victims} if other else {}
    if any(fates.get(victim.workload, victim.fate) != victim.fate for victim in side.victims):
        return f" {evicted(side.victims)}"
    going = listed([victim.workload for victim in side.victims if not victim.leaving])
    gone = evicted(tuple(victim for victim in side.victims if victim.leaving))
    return f" {'; '.join(filter(None, (going, gone)))}" if side.victims else ""


def _where(side: Decision, other: Decision | None) -> str:
    """Where it goes: nodes that only this side has come first, and the default flavor is named beside another."""
    from dataclasses import replace

    from cede.cli.plan_view import placed

    default = other is not None and bool(other.flavors) and side.flavors != other.flavors
    if other is not None and placed(side) == placed(other):
        own = list((Counter(side.nodes) - Counter(other.nodes)).elements())
        side = replace(side, nodes=(*own, *(Counter(side.nodes) - Counter(own)).elements()))
    return placed(side, default=default)
