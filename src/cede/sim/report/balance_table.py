"""Where capacity x time went: a bar for each doctrine, and the sum in numbers beside it."""

from __future__ import annotations

from collections.abc import Iterable

from cede.sim.numbers import Scale
from cede.sim.report.content import Content, Run
from cede.sim.report.markup import Markup, element, join

PARTS = {
    "useful": "work that was kept",
    "lost": "work that had to be done again",
    "overhead": "restoring, writing checkpoints, leaving",
    "held": "free, and held for a claimant",
    "idle": "free",
    "down": "nodes that were down",
}
RARE = ("held", "down")


def balance_section(content: Content) -> Markup:
    """One row a doctrine: useful + lost + overhead + idle = capacity x time. Held and down only where there was any."""
    parts = {
        part: said for part, said in PARTS.items() if part not in RARE or any(_part(run, part) for run in content.runs)
    }
    scale = Scale(1.0, f"{content.resource}-hours", _decimals(content, parts))
    head = element(
        "tr",
        element("th", "Doctrine", scope="col"),
        element("th", "Share of capacity × time", scope="col", class_="wide"),
        *(
            element("th", element("i", class_=f"swatch {part}", aria_hidden="true"), part.capitalize(),
                    scope="col", class_="figure", title=said)
            for part, said in parts.items()
        ),
        element("th", "= Capacity × time", scope="col", class_="figure"),
    )  # fmt: skip
    table = element(
        "table",
        element("thead", head),
        element("tbody", *(_row(run, list(parts), scale) for run in content.runs)),
        class_="balance",
    )
    said = "; ".join(f"{part}: {meaning}" for part, meaning in parts.items())
    return join(
        element("p", f"In {scale.unit}. {said[0].upper()}{said[1:]}.", class_="lead"),
        element("div", table, class_="scroll", tabindex=0, role="region", aria_label="Where capacity × time went"),
    )


def _decimals(content: Content, parts: Iterable[str]) -> int:
    """None where every part is large; else so many that a small one can be told from nothing."""
    smallest = min((_part(run, part) or 1e9 for run in content.runs for part in parts), default=1e9)
    return 0 if smallest >= 10 else 1 if smallest >= 1 else 2


def _row(run: Run, parts: list[str], scale: Scale) -> Markup:
    whole = run.balance.whole
    shares = {part: _part(run, part) / whole if whole else 0.0 for part in parts}
    said = ", ".join(f"{part} {share:.1%}" for part, share in shares.items())
    pieces = [
        element("i", f"{share:.0%}" if share >= 0.07 else "", class_=part, style=f"flex-basis:{share * 100:.4f}%",
                title=f"{part}: {share:.2%}")
        for part, share in shares.items()
        if share > 0
    ]  # fmt: skip
    return element(
        "tr",
        element("th", run.label, scope="row"),
        element("td", element("div", *pieces, class_="stack", role="img", aria_label=said), class_="wide"),
        *(_figure(run, part, _part(run, part), scale) for part in parts),
        _figure(run, "whole", whole, scale),
    )


def _part(run: Run, part: str) -> float:
    return float(getattr(run.balance, part))


def _figure(run: Run, part: str, value: float, scale: Scale) -> Markup:
    return element(
        "td",
        element("span", scale.number(value), class_="number", title=repr(value)),
        class_="figure",
        data_measure=part,
        data_run=run.label,
        data_by="balance",
        data_group="all",
        data_value=repr(value),
    )
