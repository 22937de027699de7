"""A few measures before all others, each as a card with a bar for each doctrine."""

from __future__ import annotations

from cede.sim.numbers import scale_of
from cede.sim.report.content import Content, Row
from cede.sim.report.markup import Markup, element, join
from cede.sim.report.measure_tables import BETTER, marked
from cede.sim.report.sections import FIRST


def card_section(content: Content) -> Markup:
    """The cards of the measures that all jobs have."""
    rows = {row.measure: row for grouped in content.tables[:1] for _, rows in grouped.sections for row in rows}
    return element("div", *(_card(content, rows[key]) for key in FIRST if key in rows), class_="cards")


def _card(content: Content, row: Row) -> Markup:
    values = [cell.value for cell in row.cells]
    scale = scale_of(row.unit, values)
    longest = max((abs(value) for value in values if value is not None), default=0.0)
    lines = []
    for place, (run, cell) in enumerate(zip(content.runs, row.cells, strict=True)):
        share = 0.0 if cell.value is None or not longest else abs(cell.value) / longest
        bar = element("i", class_="fill", style=f"width:{share * 100:.3f}%")
        spread = "" if not cell.spread or cell.value is None else f"±\u202f{scale.number(cell.spread)}"
        lines.append(
            element(
                "li",
                element("span", run.label, class_="name"),
                element("span", marked(cell.mark), element("b", scale.number(cell.value), class_="number"),
                        element("small", spread) if spread else "", class_="amount"),
                element("span", bar, class_=f"track run-{place % 6}", aria_hidden="true", hidden=len(values) < 2),
                class_=cell.mark or None,
                data_measure=row.measure, data_run=run.label, data_by="all", data_group="all",
                data_value="" if cell.value is None else repr(cell.value),
            )
        )  # fmt: skip
    arrow, said = BETTER.get(row.better, ("", ""))
    unit = f" {scale.unit}" if scale.unit else ""
    title = join(
        element("a", row.title, href=f"#measure-{row.measure}"),
        element("small", f"{unit} {arrow}".rstrip(), title=said),
    )
    return element("section", element("h3", title), element("ul", *lines), class_="card")
