"""Which measures stand together in the tables, and which are shown first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cede.sim.number_format import Scale, scale_of
from cede.sim.paired_test import LEAST
from cede.sim.report.content import Cell, Content, Grouped, Mark, Row
from cede.sim.report.html import Markup, element, hidden, join

SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Not done", ("refused", "refused_hours", "refused_share", "failed", "failed_hours", "failed_share",
                  "never_started", "never_started_hours", "unfinished")),
    ("Jobs", ("jobs", "completed", "compared")),
    ("Waiting", ("wait_", "waited_share", "target_misses", "total_wait_")),
    ("Completion", ("turnaround_", "slowdown_", "makespan", "throughput")),
    ("Use of the cluster", ("allocation", "goodput", "steady_goodput", "idle_hours", "lost_hours", "overhead_hours",
                            "wasted", "cost", "wasted_cost")),
    ("Preemption", ("preemptions", "preempted_share", "preemptions_", "thrashing", "evictions", "lost_gpu_hours",
                    "evicted_to_requested", "collateral_hours", "precision", "loops")),
    ("Speed of preemption", ("decision_to_freed_", "freed_to_started_", "decision_to_started_")),
    ("Fairness", ("jain", "share_deviation", "under_guarantee_hours", "starvation_hours", "inversion_hours")),
)  # fmt: skip
"""Keys of measures, or how the keys of a family begin, by the heading they stand under."""

OTHER = "Other"

FIRST = ("refused_share", "wait_mean", "wait_p95", "slowdown_p95", "steady_goodput", "wasted")
"""What is shown before all tables, a card each."""


def section_of(key: str) -> str:
    """The heading that the measure stands under."""
    for title, keys in SECTIONS:
        if any(key == one or (one.endswith("_") and key.startswith(one)) for one in keys):
            return title
    return OTHER


def divided(keys: Iterable[str]) -> dict[str, list[str]]:
    """The keys by heading, headings in their order, keys in the order they came in."""
    by_title: dict[str, list[str]] = {title: [] for title, _ in SECTIONS}
    by_title[OTHER] = []
    for key in keys:
        by_title[section_of(key)].append(key)
    return {title: own_keys for title, own_keys in by_title.items() if own_keys}


KINDS = {"all": "All jobs", "priority": "Priority", "queue": "Queue", "size": "Size"}
"""How groups are called, in the order in which they are offered."""

MARKS: Mapping[Mark, tuple[str, str]] = {"best": ("●", "best"), "near": ("≈", "not told apart from the best")}
MOST_WIDE = 3
"""With more runs than this columns are narrow, so that all of them are in sight."""
UNDONE = ("refused", "refused_hours", "refused_share", "never_started", "never_started_hours", "failed", "failed_hours",
          "failed_share")  # fmt: skip
"""What was not done: in red where there is any."""
BETTER = {"low": ("↓", "lower is better"), "high": ("↑", "higher is better")}


def measure_section(content: Content) -> Markup:
    """The selector of the group, the key to the marks, and every table; the first is shown."""
    return join(
        element("div", *_selector(content), _key(content), class_="bar"),
        *(_panel(content, place, grouped) for place, grouped in enumerate(content.tables)),
    )


def named(grouped: Grouped) -> str:
    """The group as a heading has it."""
    kind = KINDS.get(grouped.by, grouped.by.capitalize())
    return kind if grouped.by == "all" else f"{kind} {grouped.group}"


def _selector(content: Content) -> Iterator[Markup]:
    if len(content.tables) < 2:
        return
    yield element("label", "Jobs", for_="group")
    options = []
    for by, kind in KINDS.items():
        entries = [(place, grouped) for place, grouped in enumerate(content.tables) if grouped.by == by]
        made = [
            element("option", f"{named(grouped)} ({grouped.jobs:,})", value=place, selected=place == 0)
            for place, grouped in entries
        ]
        options += made if by == "all" else [element("optgroup", *made, label=f"By {kind.lower()}")] if made else []
    yield element("select", *options, id="group", autocomplete="off", aria_controls="tables")


def _key(content: Content) -> Markup:
    entries = []
    if len(content.runs) > 1 and content.seeds >= LEAST:
        entries = [
            join(marked("best"), " best in its row"),
            join(marked("near"), " not told apart from the best (paired t test, 5 %)"),
        ]
    elif len(content.runs) > 1:
        entries = [Markup(f"no marks: they take {LEAST} seeds or more")]
    if content.seeds > 1:
        entries.append(Markup(f"± spread between {content.seeds} seeds"))
    entries.append(Markup("↓ lower is better, ↑ higher is better"))
    return element("p", *(element("span", entry) for entry in entries), class_="key")


def _panel(content: Content, place: int, grouped: Grouped) -> Markup:
    head = element(
        "tr",
        element("th", "Measure", scope="col"),
        element("th", "Unit", scope="col", class_="unit"),
        *(
            element(
                "th",
                run.label,
                "" if run.judged else element("small", "not judged"),
                scope="col",
                class_="figure" if run.judged else "figure unjudged",
                data_run=run.label,
            )
            for run in content.runs
        ),
    )
    bodies = [
        element(
            "tbody",
            element("tr", element("th", title, scope="rowgroup", colspan=len(content.runs) + 2), class_="part"),
            *map(_row, rows),
        )
        for title, rows in grouped.sections
        if rows
    ]
    table = element(
        "table",
        element("caption", join(named(grouped), element("span", f"{grouped.jobs:,} jobs", class_="aside"))),
        element("thead", head),
        *bodies,
        class_="measures many" if len(content.runs) > MOST_WIDE else "measures",
        style=f"--runs:{len(content.runs)}",
    )
    return element(
        "div",
        element("div", table, class_="scroll", tabindex=0, role="region", aria_label=f"Measures: {named(grouped)}"),
        class_="group",
        hidden=place > 0,
        data_by=grouped.by,
        data_group=grouped.group,
    )


def _row(row: Row) -> Markup:
    """What is said once for the row is not said again in its cells: there are thousands of them on a page."""
    scale = scale_of(row.unit, [cell.value for cell in row.cells])
    arrow, said = BETTER.get(row.better, ("", ""))
    title = element("a", row.title, href=f"#measure-{row.measure}")
    return element(
        "tr",
        element("th", title, element("span", arrow, class_="better", title=said) if arrow else "",
                scope="row"),
        element("td", scale.unit, class_="unit"),
        *(_cell(row.measure, cell, scale) for cell in row.cells),
        data_measure=row.measure,
    )  # fmt: skip


def _cell(measure: str, cell: Cell, scale: Scale) -> Markup:
    """The number rounded, and as its title to the last digit."""
    value, spread = cell.value, cell.spread
    bad = bool(value) and measure in UNDONE
    return element(
        "td",
        marked(cell.mark),
        element("span", scale.number(value), class_="number"),
        "" if value is None or not spread else element("span", f"±\u202f{scale.number(spread)}", class_="spread"),
        class_=" ".join(["figure", *([cell.mark] if cell.mark else []), *(["undone"] if bad else [])]),
        title=None if value is None else repr(value),
    )


def marked(mark: Mark) -> Markup:
    """The sign of the mark, with words for who hears it."""
    if not mark:
        return Markup()
    sign, said = MARKS[mark]
    return join(element("span", sign, class_=f"mark {mark}", aria_hidden="true"), hidden(f"{said}: "))
