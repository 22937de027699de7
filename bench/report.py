"""`cede bench plan`: runs the measures at every size and shows them with bars and growth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench import measures
from bench.clusters import GPUS
from cede.cli.bench.progress import shown_time, telling
from cede.doctrines.document import parse_document
from cede.model.errors import InputError, Problem
from cede.state.build import build

if TYPE_CHECKING:
    from rich.console import Console

LOAD_BAR = 10
EVENT_BAR = 2
BYTES_BAR = 1000


def sizes_of(text: str) -> list[int]:
    """Numbers of nodes, as given on the command line."""
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1 or max(sizes) > 100_000:
        raise InputError([Problem("--sizes", f"{text!r} is no list of numbers from 1 to 100000, as in 1000,10000")])
    return sizes


def measured(sizes: list[int], *, quick: bool) -> dict[str, Any]:
    """Everything that `bench plan` reports, as plain data; times in seconds."""
    report: dict[str, Any] = {"decisions": [], "events": [], "load": [], "memory": []}
    with telling() as tell:
        for nodes in sizes:
            for case in measures.CASES:
                tell(f"{case.edition}, {case.name}, {nodes} nodes")
                report["decisions"].append(_decision(nodes, case, quick))
            document = measures.cluster(nodes, nodes * GPUS, "bep-1014", {})
            tell(f"events, {nodes} nodes")
            state = build(parse_document(document))
            for kind, timing in measures.events(state, 200 if quick else 2000).items():
                report["events"].append({"event": kind, "nodes": nodes, "p50": timing.p50, "p99": timing.p99})
            tell(f"loading, {nodes} nodes")
            report["load"].append(_load(document, nodes * GPUS, quick))
            tell(f"memory, {nodes} nodes")
            each = measures.bytes_a_workload(document, nodes * GPUS)
            report["memory"].append({"running": nodes * GPUS, "bytes_each": each, "bar": BYTES_BAR})
    return report


def _decision(nodes: int, case: measures.Case, quick: bool) -> dict[str, Any]:
    state = build(parse_document(measures.cluster(nodes, nodes * GPUS, case.edition, case.settings)))
    measures.decisions(state, case, 5)
    ours, stick = measures.decisions(state, case, 20 if quick else 200)
    return {
        "edition": case.edition,
        "case": case.name,
        "nodes": nodes,
        "running": nodes * GPUS,
        "p50": ours.p50,
        "p99": ours.p99,
        "yardstick_p50": stick.p50,
        "ratio": ours.p50 / stick.p50,
        "bar": case.bar,
    }


def _load(document: dict[str, Any], workloads: int, quick: bool) -> dict[str, Any]:
    ours, theirs, size = measures.loading(document, 1 if quick else 3)
    return {
        "workloads": workloads,
        "bytes": size,
        "load": ours,
        "json_loads": theirs,
        "ratio": ours / theirs,
        "bar": LOAD_BAR,
    }


def print_report(console: Console, report: dict[str, Any]) -> None:
    """Tables: what, how long, beside what, and how it grows with size."""
    from cede.cli.output import table

    right: dict[str, object] = {"justify": "right"}
    shown = table("one decision", "nodes", "running", ("p50", right), ("p99", right), ("x yardstick", right))
    for row in report["decisions"]:
        verdict = "" if row["bar"] is None else f" (bar {row['bar']})"
        shown.add_row(
            f"{row['edition']}, {row['case']}",
            f"{row['nodes']:,}",
            f"{row['running']:,}",
            shown_time(row["p50"]),
            shown_time(row["p99"]),
            f"{row['ratio']:.1f}{verdict}",
        )
    console.print(shown)
    stick = min(row["yardstick_p50"] for row in report["decisions"])
    console.print(
        f"yardstick: np.flatnonzero((a < 5) & (b != 3)) over 100,000 int32, {shown_time(stick)} in this run\n"
    )
    _print_events(console, report["events"])
    shown = table("load", ("file", right), ("load", right), ("json.loads", right), ("ratio", right))
    for row in report["load"]:
        shown.add_row(
            f"{row['workloads']:,} workloads",
            f"{row['bytes'] / 2**20:.1f} MiB",
            shown_time(row["load"]),
            shown_time(row["json_loads"]),
            f"{row['ratio']:.1f} (bar {row['bar']})",
        )
    console.print(shown)
    shown = table("state", ("bytes a running workload", right))
    for row in report["memory"]:
        shown.add_row(f"{row['running']:,} running", f"{row['bytes_each']:.0f} (bar {row['bar']})")
    console.print(shown)


def _print_events(console: Console, events: list[dict[str, Any]]) -> None:
    from cede.cli.output import table

    sizes = sorted({row["nodes"] for row in events})
    right: dict[str, object] = {"justify": "right"}
    shown = table(
        "one event", *((f"{nodes:,} nodes, p50", right) for nodes in sizes), ("p99", right), ("growth", right)
    )
    for kind in dict.fromkeys(row["event"] for row in events):
        rows = {row["nodes"]: row for row in events if row["event"] == kind}
        growth = rows[sizes[-1]]["p50"] / rows[sizes[0]]["p50"]
        shown.add_row(
            kind,
            *(shown_time(rows[nodes]["p50"]) for nodes in sizes),
            shown_time(rows[sizes[-1]]["p99"]),
            f"{growth:.2f} (bar {EVENT_BAR})",
        )
    console.print(shown)
