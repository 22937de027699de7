"""What `cede bench sim` found, as tables of at most 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cede.cli.output import table, text
from cede.model.times import SECOND, about

if TYPE_CHECKING:
    from rich.console import Console

OTHERS = {
    "easy": "processors, EASY",
    "strict": "processors, strict",
    "large": "2,490 GPUs, bep-1014",
    "metacentrum": "68 nodes, EASY",
    "openb": "1,523 nodes, bep-1014",
    "borg": "12,583 nodes, bep-1014",
}


def print_report(console: Console, report: dict[str, Any]) -> None:
    """Both tables, what was left out, and how to read them."""
    right = {"justify": "right", "no_wrap": True}
    names = ("jobs", "jobs/s", "x bare", "bar", "growth", "kB/job", "victims")
    if report["editions"]:
        made = table(("256 GPUs", {"no_wrap": True}), *((name, right) for name in names))
        for one in report["editions"]:
            for case in one["cases"]:
                last = case is one["cases"][-1] and case["complete"]
                grown = _grown(one) if last else ("", "")
                made.add_row(one["edition"], *_figures(case, report), *grown, _victims(case))
        console.print(made)
        for line in _left_out(report["editions"]):
            console.print(text(line))
        console.print()
    made = table(("others", {"no_wrap": True}), *((name, right) for name in (*names[:4], "victims")))
    for case in report["others"]:
        made.add_row(OTHERS[case["name"]], *_figures(case, report), _victims(case))
    console.print(made)
    for name in report["absent"]:
        console.print(text(f"{OTHERS[name]}: left out, for it takes a published trace: --{name} FILE"))
    console.print()
    told = f"Bars: a job costs at most {report['growth_bar']} times as much with the most jobs as with the fewest;"
    told += f" memory grows by {report['bytes_bar'] / 1000:g} kB a job between them; victims are over"
    told += f" {report['victims_bar']:.0%} of jobs."
    console.print(text(f"{told} Refused jobs are not counted."))
    peers = "; ".join(f"{name} {rate}" for name, rate in report["peers"].items())
    console.print(text(f"Peers on a machine of this class, jobs/s: {peers}."))


def _figures(case: dict[str, Any], report: dict[str, Any]) -> tuple[str, ...]:
    name = case["name"]
    bar = f"{report['bars'][name]:g}" if name in report["bars"] else f"{report['rate_bars'][name]:,}/s"
    if not case["complete"]:
        return f"{case['jobs']:,}", "stopped", "-", bar
    ratio = case["ratio"]
    return f"{case['taken']:,}", f"{case['jobs_per_s']:,.0f}", f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}", bar


def _grown(one: dict[str, Any]) -> tuple[str, str]:
    if one["growth"] is None:
        return "-", "-"
    return f"{one['growth']:.2f}", f"{one['bytes'] / 1000:.1f}"


def _victims(case: dict[str, Any]) -> str:
    return f"{case['victims']:,}" if case["complete"] else "-"


def _left_out(editions: list[dict[str, Any]]) -> list[str]:
    lines = []
    for one in editions:
        for case in one["cases"]:
            if not case["complete"]:
                took = about(round(case["replay_s"] * SECOND))
                came = f"{case['submitted']:,} submitted"
                lines.append(f"{one['edition']}, {case['jobs']:,} jobs: stopped after {took} with {came}")
        for left in one["left_out"]:
            guess = about(round(left["about_s"] * SECOND))
            lines.append(f"{one['edition']}, {left['jobs']:,} jobs: left out, it would take about {guess}")
    return lines
