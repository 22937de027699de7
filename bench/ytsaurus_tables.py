"""What `cede bench ytsaurus` shows of its figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

Row = tuple[str, dict[str, Any], float | None, str | None]
"""What it is, its timing, the seconds of the naive one, and which bar it has."""

WHAT = {"update": "full update", "event": "after an event", "heartbeat": "heartbeat"}


def print_report(console: Console, report: dict[str, Any]) -> None:
    """Updates and heartbeats of both trees beside naive ones, how they grow, and how exact shares are."""
    from cede.cli.output import table

    whole: dict[str, object] = {"no_wrap": True}
    right: dict[str, object] = {"no_wrap": True, "justify": "right"}
    columns = (("p50", right), ("p99", right), ("naive", right), ("faster", right), ("bar", whole))
    for tree in report["trees"]:
        shown = table((f"{tree['operations']:,} operations", whole), *columns)
        for what, timing, naive, bar in _rows(tree):
            times = [_time(timing["p50"]), _time(timing["p99"]), *_naive(timing, naive)]
            shown.add_row(what, *times, _bar(timing["p50"], report["bars_ms"].get(bar)))
        console.print(shown)
        console.print(_about(tree))
    sizes = [one["operations"] for one in report["growth"][0]["sizes"]]
    grown = [*((f"{count:,}", right) for count in sizes), ("growth", right), ("bar", whole)]
    shown = table(("p50 by operations", whole), *grown)
    for row in report["growth"]:
        bar = f"{'' if row['growth'] <= row['bar'] else 'missed '}≤{row['bar']:g}×"
        shown.add_row(WHAT[row["what"]], *(_time(one["p50"]) for one in row["sizes"]), f"{row['growth']:.1f}×", bar)
    console.print(shown)
    console.print(f"p50 of {report['updates']} updates, of {report['rounds']} rounds of everything else")


def _rows(tree: dict[str, Any]) -> Iterator[Row]:
    """A naive update after an event is one of everything."""
    naive = tree["naive"]
    yield WHAT["update"], tree["update"], naive["update"], "update"
    for kind, timing in tree["events"].items():
        yield kind, timing, naive["update"], "event"
    yield "a cycle begins", tree["start"], None, None
    for kind, timing in tree["heartbeats"].items():
        yield f"heartbeat: {kind}", timing, naive["heartbeats"][kind], "heartbeat"


def _about(tree: dict[str, Any]) -> str:
    exact = tree["accuracy"]
    found = (
        f"{tree['pools']:,} pools, {tree['nodes']:,} nodes, {tree['running']:,} allocations, {tree['waiting']:,} wait; "
        "both give the same shares and take the same victims\n"
        f"shares: {exact['naive']:.0e} from the naive ones at most, {exact['exact']:.0e} from exact ones of "
        f"{exact['pools']} pools, {exact['sums']:.0e} between a pool and its children\n"
    )
    if "plan" in tree:
        made = tree["plan"]
        found += (
            f"a whole plan: {_time(made['seconds'])}, {made['start']:,} start and {made['preempt']:,} preempt of "
            f"{made['decisions']:,}\n"
        )
    return found


def _naive(timing: dict[str, Any], naive: float | None) -> tuple[str, str]:
    return ("", "") if naive is None else (_time(naive), f"{naive / timing['p50']:,.0f}×")


def _bar(p50: float, most_ms: int | None) -> str:
    if most_ms is None:
        return ""
    return f"{'' if p50 * 1e3 < most_ms else 'missed '}<{_time(most_ms / 1e3, digits=1)}"


def _time(seconds: float, digits: int = 3) -> str:
    """A duration in the unit that suits it, with so many digits."""
    unit, size = next((one for one in (("s", 1), ("ms", 1e-3)) if seconds >= one[1]), ("µs", 1e-6))
    value = seconds / size
    places = max(0, digits - 1 if value < 10 else digits - 2 if value < 100 else 0)
    return f"{value:.{places}f} {unit}"
