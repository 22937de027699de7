"""Numbers of measures as a person reads them: few digits, in a unit that suits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cede.cli.output import console, table, text
from cede.sim.measures.definitions import BY_KEY, PERCENTILES
from cede.sim.paired_test import LEAST
from cede.sim.verdicts import judge

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from cede.sim.compare import Cell, Compared, Row
    from cede.sim.measures.measure import Measured
    from cede.sim.verdicts import Judgement


NOTHING = "–"
TIMES = ((1.0, "s"), (60.0, "min"), (3600.0, "h"), (86400.0, "d"))
TURNS = 2
"""A larger unit is used from two of it on."""
COUNTS = ("jobs", "times", "loops")
SHORT = {"resource-h": "h", "GPU-h": "h", "ratio": "", "index": "", "share": "%"}


@dataclass(frozen=True, slots=True)
class Scale:
    """How the numbers of one row are written: over `size`, in `unit`, with `decimals` decimals."""

    size: float
    unit: str
    decimals: int

    def number(self, value: float) -> str:
        """The number without its unit."""
        return f"{value / self.size:,.{self.decimals}f}"


def scale_of(values: Sequence[float | None], unit: str) -> Scale:
    """One scale for numbers that are read side by side: the middle one decides, so that one that is a thousand times as
    large does not make nothing of the others."""
    sizes = sorted(abs(value) for value in values if value)
    middle = sizes[len(sizes) // 2] if sizes else 0.0
    if unit == "s":
        size, unit = next((one for one in reversed(TIMES) if middle >= TURNS * one[0]), TIMES[0])
        return Scale(size, unit, _decimals(middle / size))
    if unit in COUNTS:
        whole = all(value is None or value == int(value) for value in values)
        return Scale(1.0, "", 0 if whole else _decimals(middle))
    if unit == "money":
        return Scale(1.0, "", _decimals(middle))
    if unit == "share":
        return Scale(0.01, "%", _decimals(middle * 100))
    return Scale(1.0, SHORT.get(unit, unit), _decimals(middle))


def shown(value: float | None, unit: str) -> str:
    """One number with its unit."""
    if value is None:
        return NOTHING
    scale = scale_of([value], unit)
    return f"{scale.number(value)} {scale.unit}".rstrip()


def _decimals(size: float) -> int:
    """So that it has three digits or more; small ones keep what tells them apart."""
    return 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 1 or not size else 3


SPREADS = ("wait", "total_wait", "turnaround", "slowdown")
UNDONE = ("refused", "refused_hours", "refused_share", "never_started", "never_started_hours", "failed", "failed_share")
"""What was not done: it stands before everything else, in red where there is any."""
SINGLES = (
    *UNDONE,
    "unfinished",
    "completed",
    "makespan",
    "allocation",
    "goodput",
    "steady_goodput",
    "idle_hours",
    "preemptions",
    "preempted_share",
    "preemptions_p99",
    "preemptions_max",
    "thrashing",
    "evictions",
    "lost_hours",
    "overhead_hours",
    "lost_gpu_hours",
    "wasted",
    "target_misses",
    "cost",
    "wasted_cost",
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
IF_ASKED = ("target_misses", "cost")
"""These too, where targets or prices were given."""
HEADS = {
    "jobs": "jobs",
    "wait_mean": "wait",
    "wait_p95": "p95",
    "slowdown_p95": "slowdown p95",
    "preemptions": "preempted",
    "lost_hours": "done again",
    "target_misses": "too late",
    "cost": "cost",
}
COMPARED = ("compared", "wait_mean", "wait_p50", "wait_p95", "wait_p99", "waited_share", "turnaround_mean",
            "turnaround_p95", "slowdown_mean", "slowdown_p95", *SINGLES)  # fmt: skip
COMPARED_IN_GROUPS = ("wait_mean", "wait_p95", "target_misses", "slowdown_p95", "preemptions", "cost",
                      "under_guarantee_hours")  # fmt: skip
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
    """What it comes to, and then all of it: as many runs side by side as fit, the best of each row marked."""
    out = console()
    judgement = judge(compared)
    _print_judgement(out, judgement)
    if judgement.calm:
        rows = tuple(replace(row, cells=tuple(map(_unmarked, row.cells))) for row in compared.rows)
        compared = replace(compared, rows=rows)
    _print_rows(
        out, compared, "all jobs", [(row, _name(row)) for row in compared.rows if _is_shown(row, "all", COMPARED)]
    )
    for by in GROUPED:
        groups = list(dict.fromkeys(row.group for row in compared.rows if row.by == by))
        if len(groups) < 2:
            continue
        for key in COMPARED_IN_GROUPS:
            own = [row for row in compared.rows if _is_shown(row, by, (key,)) and row.group in groups[:MOST_GROUPS]]
            if own:
                _print_rows(out, compared, f"{_name(own[0], own)} by {by}", [(row, row.group) for row in own], own)
        _print_more(out, by, len(groups))
    if compared.repeats >= LEAST and not judgement.calm:
        marks = f"{BEST} best of its row, {NEAR} not told apart from the best"
        out.print(text(f"{marks}; a row without a mark has no better or worse, or all are equal.", "bold"))
        out.print()
    print_stated(out, compared.stated)


def _print_judgement(out: Console, judgement: Judgement) -> None:
    """A sentence for each run, and who is best for which goal."""
    out.print(text(judgement.basis, "bold", most=None))
    if judgement.calm:
        out.print(text(judgement.calm, "bold yellow", most=None))
    if judgement.not_for:
        out.print(text(f"None of this is for: {'; '.join(judgement.not_for)}.", "dim", most=None))
    for one in judgement.verdicts:
        out.print()
        out.print(text(f"{one.label}: {one.sentence}", "" if one.judged else "bold red", most=None))
        if own := [said for said in one.not_for if said not in judgement.not_for]:
            out.print(text(f"Not for: {'; '.join(own)}.", "dim", most=None))
    out.print()
    if judgement.goals:
        made = table("if you want", "take", "who pays", "how sure")
        for goal in judgement.goals:
            others = [f"{sign} {', '.join(runs)}" for sign, runs in (("=", goal.equal), (NEAR, goal.like)) if runs]
            like = f" ({'; '.join(others)})" if others else ""
            who = f"any: {goal.value}" if goal.winner is None else f"{goal.winner}{like}: {goal.value}"
            made.add_row(*(text(one, most=None) for one in (goal.title, who, goal.costs or "-", goal.sure)))
        out.print(made)
        out.print()


def _unmarked(cell: Cell) -> Cell:
    """Where nobody had to wait, nothing is better than anything."""
    return replace(cell, best=False, within_noise=False)


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
    keys = (*OF_GROUPS, *(key for key in IF_ASKED if any(own.get(key) is not None for own in groups.values())))
    made = table((by, {"max_width": 20}), *((HEADS[key], {"justify": "right"}) for key in keys))
    for group, values in list(groups.items())[:MOST_GROUPS]:
        made.add_row(text(group), *(text(shown(values.get(key), BY_KEY[key].unit)) for key in keys))
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
            bad = row.measure.key in UNDONE
            made.add_row(text(name), *(_cell(cell, scale, bad=bad) for cell in row.cells[runs]))
        out.print(made)
        out.print()


def _cell(cell: Cell, scale: Scale, *, bad: bool = False) -> Text:
    """The number; `bad`: it is what was not done, which is red where there is any."""
    if cell.value is None:
        return text(f"{NOTHING}  ")
    mark = BEST if cell.best else NEAR if cell.within_noise else " "
    style = "bold red" if bad and cell.value else "bold green" if cell.best else ""
    return text(f"{scale.number(cell.value)} {mark}", style)
