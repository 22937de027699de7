"""What is in a trace, as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cede.cli.output import number, table, text
from cede.model.times import SECOND, about

if TYPE_CHECKING:
    from rich.console import Console

MOST_ROWS = 12


def print_summary(out: Console, summary: dict[str, Any]) -> None:
    """The summary of a trace for people, and its notes below."""
    begin = f", from {summary['begin']}" if summary["begin"] else ""
    head = f"{number(summary['jobs'], 'job')} over {_time(summary['span'])}{begin}"
    out.print(text(f"{head} ({summary['format']})", "bold"))
    out.print()
    out.print(_demand(summary))
    out.print()
    out.print(_times(summary))
    out.print()
    out.print(_sizes(summary))
    for title, key in (("queue", "queues"), ("priority", "priorities"), ("kind", "kinds")):
        if any(one["value"] is not None for one in summary[key]):
            out.print()
            out.print(_groups(title, summary[key], summary["jobs"]))
    if summary["notes"]:
        out.print()
    for note in summary["notes"]:
        out.print(text(f"note: {note}", "cyan"))


def _demand(summary: dict[str, Any]) -> Any:
    right = {"justify": "right", "no_wrap": True}
    made = table("resource", ("mean", right), ("peak", right), ("the nodes", right), ("load", right), ("hours", right))
    for name, one in summary["demand"].items():
        binary = name.partition("@")[0] == "memory"
        load = "-" if one["load"] is None else f"{one['load']:.2f}"
        amounts = (one["mean"], one["peak"], one["capacity"])
        made.add_row(
            text(name, "bold"), *(_amount(amount, binary) for amount in amounts), load, _amount(one["hours"], binary)
        )
    return made


def _amount(value: float | None, binary: bool) -> str:
    if value is None:
        return "-"
    if binary:
        return f"{value / 2**30:,.0f}Gi"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _times(summary: dict[str, Any]) -> Any:
    right = {"justify": "right", "no_wrap": True}
    keys = ("mean", "p5", "p50", "p95", "p99", "max")
    made = table("", ("jobs", right), *((key, right) for key in keys))
    for title, key in (("run time", "durations"), ("walltime", "walltimes")):
        if summary[key] is not None:
            made.add_row(text(title, "bold"), f"{summary[key]['known']:,}", *(_time(summary[key][k]) for k in keys))
    return made


def _sizes(summary: dict[str, Any]) -> Any:
    right = {"justify": "right", "no_wrap": True}
    made = table((f"size ({summary['resource']})", {}), ("jobs", right), ("of jobs", right), ("of work", right))
    for one in summary["sizes"]:
        made.add_row(_band(one), f"{one['jobs']:,}", _share(one["jobs"] / summary["jobs"]), _share(one["work"]))
    return made


def _band(one: dict[str, Any]) -> str:
    if one["up_to"] is None:
        return f"above {one['above']}"
    lowest = one["above"] + 1
    return str(one["up_to"]) if lowest >= one["up_to"] else f"{lowest} to {one['up_to']}"


def _groups(title: str, groups: list[dict[str, Any]], jobs: int) -> Any:
    right = {"justify": "right", "no_wrap": True}
    made = table(title, ("jobs", right), ("of jobs", right))
    for one in groups[:MOST_ROWS]:
        name = "-" if one["value"] is None else str(one["value"])
        made.add_row(text(name, "bold"), f"{one['jobs']:,}", _share(one["jobs"] / jobs))
    if len(groups) > MOST_ROWS:
        rest = sum(one["jobs"] for one in groups[MOST_ROWS:])
        made.add_row(f"{len(groups) - MOST_ROWS} more", f"{rest:,}", _share(rest / jobs))
    return made


def _share(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.0005 or share == 0 else "<0.1 %"


def _time(seconds: float) -> str:
    return about(round(seconds * SECOND))
