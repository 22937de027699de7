"""Replays as a person reads them in a terminal: one run in numbers, and several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cede.cli.output import console, table, text
from cede.cli.sim_numbers import NOTHING, Scale, scale_of, shown
from cede.sim.measures.definitions import BY_KEY, PERCENTILES

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from cede.sim.comparing import Cell, Compared, Row
    from cede.sim.measures.measured import Measured

SPREADS = ("wait", "total_wait", "turnaround", "slowdown")
SINGLES = (
    "completed",
    "never_started",
    "unfinished",
    "refused",
    "failed",
    "makespan",
    "allocation",
    "goodput",
    "idle_hours",
    "preemptions",
    "preempted_share",
    "preemptions_max",
    "evictions",
    "lost_hours",
    "lost_gpu_hours",
    "overhead_hours",
    "wasted",
    "evicted_to_requested",
    "precision",
    "decision_to_freed_p95",
    "decision_to_started_p95",
    "inversion_hours",
    "jain",
    "share_deviation",
    "under_guarantee_hours",
    "starvation_hours",
    "loops",
)
OF_GROUPS = ("jobs", "wait_mean", "wait_p95", "slowdown_p95", "preemptions", "lost_hours")
HEADS = {
    "jobs": "jobs",
    "wait_mean": "wait",
    "wait_p95": "p95",
    "slowdown_p95": "slowdown p95",
    "preemptions": "preempted",
    "lost_hours": "lost",
}
COMPARED = ("never_started", "wait_mean", "wait_p50", "wait_p95", "wait_p99", "turnaround_mean", "turnaround_p95",
            "slowdown_mean", "slowdown_p95", *SINGLES[3:])  # fmt: skip
COMPARED_IN_GROUPS = ("wait_mean", "wait_p95", "slowdown_p95", "preemptions", "under_guarantee_hours")
GROUPED = ("priority", "queue")
MOST_GROUPS = 12
NAME_WIDTH, RUN_WIDTH, BETWEEN = 29, 13, 3
BEST, NEAR = "*", "~"


def print_measured(measured: Measured) -> None:
    """One replay: spreads, single numbers, then priorities and queues, then what must be said beside them."""
    out = console()
    values = measured.values["all", "all"]
    out.print(text(f"{measured.doctrine} {measured.edition}, hours and shares of {measured.resource}", "dim"))
    out.print()
    out.print(_spreads(values))
    out.print()
    out.print(_singles(values))
    out.print()
    for by in GROUPED:
        groups = {group: own for (kind, group), own in measured.values.items() if kind == by}
        if len(groups) > 1:
            out.print(_groups(by, groups))
            _print_more(out, by, len(groups))
            out.print()
    print_stated(out, measured.stated)


def print_yardstick(real: Mapping[str, Any]) -> None:
    """Preemptions of the replay beside the evictions that the trace recorded, by band of priority."""
    out = console()
    heads = ("jobs", "preempted", "a job", "of all", "in reality", "a job", "of all")
    made = table("priority", *((head, {"justify": "right"}) for head in heads))
    for one in real["bands"]:
        cells = [f"{one['jobs']:,}"]
        for side in ("replayed", "recorded"):
            share = one[f"{side}_share"]
            cells += [f"{one[side]:,}", f"{one[f'{side}_rate']:.2f}", NOTHING if share is None else f"{share:.1%}"]
        made.add_row(text(one["band"]), *map(text, cells))
    out.print()
    out.print(made)
    print_stated(out, [real["says"]])


def print_compared(compared: Compared) -> None:
    """Several runs: as many side by side as fit, the best of each row marked."""
    out = console()
    _print_rows(
        out, compared, "all jobs", [(row, _name(row)) for row in compared.rows if _is_shown(row, "all", COMPARED)]
    )
    for by in GROUPED:
        groups = list(dict.fromkeys(row.group for row in compared.rows if row.by == by))
        if len(groups) < 2:
            continue
        for key in COMPARED_IN_GROUPS:
            rows = [row for row in compared.rows if _is_shown(row, by, (key,)) and row.group in groups[:MOST_GROUPS]]
            if rows:
                _print_rows(out, compared, f"{_name(rows[0], rows)} by {by}", [(row, row.group) for row in rows], rows)
        _print_more(out, by, len(groups))
    marks = f"{BEST} best of its row"
    noise = f", {NEAR} within noise of the best" if compared.repeats > 1 else ""
    out.print(text(f"{marks}{noise}; a row without a mark has no better or worse, or all are equal.", "bold"))
    out.print()
    print_stated(out, compared.stated)


def print_stated(out: Console, sentences: Sequence[str]) -> None:
    """What must stand beside the numbers."""
    for sentence in sentences:
        out.print(text(f"- {sentence}", "dim", most=None))


def _spreads(values: Mapping[str, float | None]) -> Table:
    made = table("", *((head, {"justify": "right"}) for head in ("mean", *(f"p{p}" for p in PERCENTILES))))
    for key in SPREADS:
        keys = [f"{key}_mean", *(f"{key}_p{p}" for p in PERCENTILES)]
        title = BY_KEY[keys[0]].title.removesuffix(", mean")
        made.add_row(text(title), *(text(shown(values.get(one), BY_KEY[one].unit)) for one in keys))
    return made


def _singles(values: Mapping[str, float | None]) -> Table:
    """Two columns of what there is a number for."""
    made = table("measure", ("", {"justify": "right"}), "measure", ("", {"justify": "right"}))
    cells = [
        (text(BY_KEY[key].title), text(shown(values[key], BY_KEY[key].unit)))
        for key in SINGLES
        if values.get(key) is not None
    ]
    half = (len(cells) + 1) // 2
    empty = (text(""), text(""))
    for left, right in zip(cells[:half], [*cells[half:], empty], strict=False):
        made.add_row(*left, *right)
    return made


def _groups(by: str, groups: Mapping[str, Mapping[str, float | None]]) -> Table:
    made = table((by, {"max_width": 20}), *((HEADS[key], {"justify": "right"}) for key in OF_GROUPS))
    for group, values in list(groups.items())[:MOST_GROUPS]:
        made.add_row(text(group), *(text(shown(values.get(key), BY_KEY[key].unit)) for key in OF_GROUPS))
    return made


def _print_more(out: Console, by: str, count: int) -> None:
    if count > MOST_GROUPS:
        out.print(text(f"{count - MOST_GROUPS:,} more by {by} not shown: --json has them all", "dim"))


def _is_shown(row: Row, by: str, keys: Sequence[str]) -> bool:
    return row.by == by and row.measure.key in keys


def _scale(rows: Sequence[Row]) -> Scale:
    return scale_of([cell.value for row in rows for cell in row.cells], rows[0].measure.unit)


def _name(row: Row, rows: Sequence[Row] = ()) -> str:
    """The measure with the unit that it is shown in, here or in all these rows."""
    unit = _scale(rows or [row]).unit
    return f"{row.measure.title} [{unit}]" if unit else row.measure.title


def _print_rows(
    out: Console, compared: Compared, title: str, rows: Sequence[tuple[Row, str]], alike: Sequence[Row] = ()
) -> None:
    """A table of these rows and their names, or several below each other; `alike` are shown on one scale."""
    labels = [run.label for run in compared.runs]
    across = max(1, (out.width - NAME_WIDTH) // (RUN_WIDTH + BETWEEN))
    for first in range(0, len(labels), across):
        runs = slice(first, first + across)
        width = {"justify": "right", "min_width": RUN_WIDTH, "max_width": RUN_WIDTH}
        named = {"min_width": NAME_WIDTH, "max_width": NAME_WIDTH}
        made = table((title, named), *((label, width) for label in labels[runs]))
        for row, name in rows:
            scale = _scale(alike or [row])
            made.add_row(text(name), *(_cell(cell, scale) for cell in row.cells[runs]))
        out.print(made)
        out.print()


def _cell(cell: Cell, scale: Scale) -> Text:
    if cell.value is None:
        return text(f"{NOTHING}  ")
    mark = BEST if cell.best else NEAR if cell.within_noise else " "
    return text(f"{scale.number(cell.value)} {mark}", "bold green" if cell.best else "")
