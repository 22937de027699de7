"""The page of a comparison, from the verdict down to the definitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from cede.sim.number_format import Scale, scale_of
from cede.sim.report.content import Content, Row, Run
from cede.sim.report.costly_table import costly_section
from cede.sim.report.html import FOOTER, Markup, data, document, element, join, prose
from cede.sim.report.measure_tables import BETTER, FIRST, UNDONE, marked, measure_section
from cede.sim.report.plots import DISTRIBUTIONS, kinds_of, plot_data
from cede.sim.verdicts import Goal, Judgement, Verdict

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
    """One row a variant: useful + lost + overhead + idle = capacity x time. Held and down only where there was any."""
    parts = {
        part: said for part, said in PARTS.items() if part not in RARE or any(_part(run, part) for run in content.runs)
    }
    scale = Scale(1.0, f"{content.resource}-hours", _decimals(content, parts))
    head = element(
        "tr",
        element("th", "Variant", scope="col"),
        element("th", "Share of capacity × time", scope="col", class_="wide"),
        *(
            element("th", element("i", class_=f"swatch {part}", aria_hidden="true"), part.capitalize(),
                    scope="col", class_="figure", title=said)
            for part, said in parts.items()
        ),
        element("th", "= Total", scope="col", class_="figure", title="capacity × time"),
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
    """None where every part or the whole is large; else as many as show that a small one is not nothing."""
    smallest = min((_part(run, part) or 1e9 for run in content.runs for part in parts), default=1e9)
    whole = max((run.balance.whole for run in content.runs), default=0.0)
    return 0 if smallest >= 10 or whole >= 10_000 else 1 if smallest >= 1 else 2


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
        *(_balance_figure(run, part, _part(run, part), scale) for part in parts),
        _balance_figure(run, "whole", whole, scale),
    )


def _part(run: Run, part: str) -> float:
    return float(getattr(run.balance, part))


def _balance_figure(run: Run, part: str, value: float, scale: Scale) -> Markup:
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


def card_section(content: Content) -> Markup:
    """The cards of the measures that all jobs have."""
    rows = {row.measure: row for grouped in content.tables[:1] for _, rows in grouped.sections for row in rows}
    return element("div", *(_card(content, rows[key]) for key in FIRST if key in rows), class_="cards")


def _card(content: Content, row: Row) -> Markup:
    values = [cell.value for cell in row.cells]
    scale = scale_of(row.unit, values)
    longest = max((abs(value) for value in values if value is not None), default=0.0)
    undone = "number undone" if row.measure in UNDONE else "number"
    lines = []
    for place, (run, cell) in enumerate(zip(content.runs, row.cells, strict=True)):
        share = 0.0 if cell.value is None or not longest else abs(cell.value) / longest
        bar = element("i", class_="fill", style=f"width:{share * 100:.3f}%")
        spread = "" if not cell.spread or cell.value is None else f"±\u202f{scale.number(cell.spread)}"
        lines.append(
            element(
                "li",
                element("span", run.label, "" if run.judged else element("small", "not judged"), class_="name"),
                element("span", marked(cell.mark),
                        element("b", scale.number(cell.value), class_=undone if cell.value else "number"),
                        element("small", spread) if spread else "", class_="amount"),
                element("span", bar, class_=f"track run-{place % 6}", aria_hidden="true", hidden=len(values) < 2),
                class_=cell.mark or (None if run.judged else "unjudged"),
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


def judgement_section(content: Content) -> Markup:
    """One screen: a sentence a run, and a row a goal; where nobody had to wait, that alone."""
    judgement = content.judgement
    assert judgement is not None, "there is one to show"
    places = {run.label: place for place, run in enumerate(content.runs)}
    about = {run.label: run.about for run in content.runs}
    return join(
        element("p", judgement.basis, class_="lead"),
        element("p", judgement.calm, class_="calm", role="note") if judgement.calm else "",
        element("p", *_not_for("None of this is for ", judgement.not_for), class_="none-for")
        if judgement.not_for
        else "",
        element("ul", *(_verdict(one, judgement, places, about) for one in judgement.verdicts), class_="verdicts"),
        _goals(judgement, places) if judgement.goals else "",
    )


def _verdict(one: Verdict, judgement: Judgement, places: dict[str, int], about: dict[str, str]) -> Markup:
    own = about[one.label]
    limits = [said for said in one.not_for if not one.judged or said not in judgement.not_for]
    return element(
        "li",
        _named_run(one.label, places),
        element("small", own) if own not in (one.label, "") else "",
        element("p", one.sentence, " ", *_not_for("Not for ", limits)),
        class_=None if one.judged else "unfit",
        data_run=one.label,
    )


def _not_for(opening: str, limits: Sequence[str]) -> list[Markup]:
    if not limits:
        return []
    return [element("span", element("b", opening), f"{'; '.join(limits)}.", class_="not-for")]


def _goals(judgement: Judgement, places: dict[str, int]) -> Markup:
    head = element(
        "tr", *(element("th", title, scope="col") for title in ("If you want", "take", "who pays", "how sure"))
    )
    table = element(
        "table",
        element("thead", head),
        element(
            "tbody",
            *(_goal(one, places) for one in judgement.goals if one.winner is not None),
            *_no_matter([one for one in judgement.goals if one.winner is None]),
        ),
        class_="goals",
    )
    return element("div", table, class_="scroll", tabindex=0, role="region", aria_label="Which variant for which goal")


def _goal(goal: Goal, places: dict[str, int]) -> Markup:
    assert goal.winner is not None, "there is one to take"
    taken = join(
        _named_run(goal.winner, places),
        *(_named_run(label, places, "=", "as good") for label in goal.equal),
        *(_named_run(label, places, "\u2248", "not told apart from it") for label in goal.like),
    )
    return element(
        "tr",
        element("th", goal.title, scope="row"),
        element("td", taken, element("span", goal.value, class_="under")),
        element("td", goal.costs),
        element("td", goal.sure),
        data_goal=goal.measure,
        data_winner=goal.winner,
    )


def _no_matter(goals: Sequence[Goal]) -> list[Markup]:
    """One row for all that no variant is better at."""
    if not goals:
        return []
    values = element("span", "; ".join(goal.value for goal in goals), class_="under")
    titles = "; ".join(goal.title if place == 0 else goal.title.lower() for place, goal in enumerate(goals))
    row = element(
        "tr",
        element("th", titles, scope="row"),
        element("td", "any of them", values),
        element("td", "\u2013"),
        element("td", "no difference to choose by"),
        data_goal=" ".join(goal.measure for goal in goals),
        data_winner="",
    )
    return [row]


def _named_run(label: str, places: dict[str, int], sign: str = "", means: str = "") -> Markup:
    dot = element("i", class_=f"dot run-{places[label] % 6}", aria_hidden="true")
    before = element("span", f"{sign}\u202f", title=means) if sign else ""
    return element("span", before, dot, label, class_="named like" if sign else "named")


SECTIONS = {
    "verdict": "Verdict",
    "glance": "At a glance",
    "timeline": "Timeline",
    "distributions": "Distributions",
    "preemptions": "Preemptions",
    "balance": "Where the capacity went",
    "measures": "Measures",
    "costly": "Costliest preemptions",
    "notes": "Read with these numbers",
    "definitions": "Definitions",
}
"""In the order of the page: what it comes to, then the plots, then everything else."""
SHORT = {"balance": "Capacity", "glance": "Glance", "costly": "Costliest", "notes": "Notes"}
"""Titles that are shorter in the bar of links."""
EACH_TIMELINE = 250
EACH_PLOT = 290
MOST_LOOPS = 20
DASHES = ("", "7 4", "2 3", "7 3 2 3", "11 4", "11 3 2 3")
"""How lines are broken, as in `report.js`: runs are told apart without colour too."""


def page(content: Content) -> str:
    """The whole document. The same content gives the same bytes."""
    return document(
        content.title,
        files("cede.sim.report").joinpath("report.js").read_text(encoding="utf-8"),
        element("a", "Skip to the measures", href="#measures", class_="skip"),
        _header(content),
        element("main", *_sections(content)),
        element("footer", FOOTER),
        element("div", id="tip", role="tooltip", hidden=True),
        data(plot_data(content), "plots"),
    )


def _header(content: Content) -> Markup:
    facts = [element("div", element("dt", name), element("dd", value)) for name, value in content.facts]
    made = _shown(content)
    links = [element("a", SHORT.get(name, title), href=f"#{name}") for name, title in SECTIONS.items() if name in made]
    assumed = (
        element("div", element("dt", "Assumed"), element("dd", element("a", f"{len(content.notes)} notes",
        href="#notes"))) if content.notes else ""
    )  # fmt: skip
    return element(
        "header",
        element("h1", content.title),
        element("dl", *facts, assumed, class_="facts"),
        "" if _judges(content) else element("ul", *map(_named, range(len(content.runs)), content.runs), class_="runs"),
        element("nav", *links, aria_label="Sections"),
    )


def _named(place: int, run: Run) -> Markup:
    sign = element("i", class_=f"dot run-{place % 6}", aria_hidden="true")
    return element("li", sign, element("b", run.label), element("span", run.about if run.about != run.label else ""))


def _judges(content: Content) -> bool:
    """Whether there are verdicts, which name the runs."""
    return content.judgement is not None and bool(content.judgement.verdicts)


def _shown(content: Content) -> frozenset[str]:
    """The sections that there is something for."""
    judgement = content.judgement
    nothing = set() if judgement is not None and (judgement.verdicts or judgement.calm) else {"verdict"}
    return frozenset(SECTIONS) - nothing - (set() if content.notes else {"notes"})


def _sections(content: Content) -> list[Markup]:
    made = {
        "verdict": judgement_section(content) if content.judgement is not None else Markup(),
        "notes": element("ul", *(element("li", prose(note)) for note in content.notes), class_="notes"),
        "glance": card_section(content),
        "balance": balance_section(content),
        "measures": join(
            element("div", measure_section(content), id="tables"),
            element("ul", *(element("li", prose(one)) for one in content.stated), class_="stated")
            if content.stated
            else "",
        ),
        "timeline": _timeline(content),
        "distributions": _distributions(content),
        "preemptions": _preemptions(content),
        "costly": costly_section(content),
        "definitions": _definitions(content),
    }
    return [
        element("section", element("h2", title, id=f"title-{name}"), made[name], id=name, class_="block",
                aria_labelledby=f"title-{name}")
        for name, title in SECTIONS.items() if name in _shown(content)
    ]  # fmt: skip


def _timeline(content: Content) -> Markup:
    height = EACH_TIMELINE * len(content.runs) + 60
    tabs, panels = [], []
    for place, (kind, names) in enumerate(zip(("queue", "priority"), kinds_of(content.runs), strict=True)):
        tabs.append(
            element("button", f"By {kind}", type="button", role="tab", id=f"tab-timeline-{kind}",
                    aria_controls=f"timeline-{kind}", aria_selected=str(place == 0).lower(),
                    tabindex=0 if place == 0 else -1)
        )  # fmt: skip
        legend = element(
            "ul",
            *(element("li", element("i", class_="kind"), _kind(kind, name)) for name in names),
            element("li", element("i", class_="line", style="color:var(--text);border-top-style:dashed"), "capacity"),
            element("li", element("i", class_="line", style="color:var(--lost)"), "waiting demand, below each"),
            class_="legend",
            data_kind=kind,
        )
        said = (
            f"{content.resource} in use by {kind}, stacked, against capacity; waiting demand below; one row a variant"
        )
        box = element("figure", legend, _plot(f"timeline_{kind}", height, said), class_="figurebox")
        panels.append(
            element("div", box, id=f"timeline-{kind}", class_="tab-panel", role="tabpanel",
                    aria_labelledby=f"tab-timeline-{kind}", hidden=place > 0)
        )  # fmt: skip
    lead = f"How much {content.resource} was in use, and how much waiting jobs asked for. "
    seed = "" if content.plotted_seed is None else f" Plots and preemptions are of seed {content.plotted_seed}."
    mouse = element("span", "Drag over a plot to look closer; double-click to go back.", class_="mouse")
    return join(
        element("p", lead, mouse, seed, class_="lead"),
        element("div", *tabs, class_="tabs", role="tablist", aria_label="Divided by"),
        *panels,
    )


def _kind(kind: str, name: str) -> str:
    return f"priority {name}" if kind == "priority" and name.lstrip("-").isdigit() else name


def _distributions(content: Content) -> Markup:
    figures = [
        _figure(f"distribution_{key}", title, below)
        for key, (title, below, _) in DISTRIBUTIONS.items()
        if all(key in run.distributions for run in content.runs)
    ]
    lead = element(
        "p",
        "How many of the jobs that every variant finished are at or below a value."
        if len(content.runs) > 1
        else "How many of the jobs are at or below a value.",
        class_="lead",
    )
    return join(lead, _legend(content), element("div", *figures, class_="plots three"))


def _preemptions(content: Content) -> Markup:
    figures = [
        _figure("preemptions", "Over time", "preemptions since the start"),
        _figure(
            "losses",
            "What each cost",
            f"preemptions by the {content.resource}-hours that each cost: work to be done again, saving and leaving",
        ),
    ]
    return join(_legend(content), element("div", *figures, class_="plots"), *map(_loops, content.runs))


def _loops(run: Run) -> Markup:
    """Jobs that preempted each other in turn, if any did."""
    if not run.loops:
        return Markup()
    more = len(run.loops) - MOST_LOOPS
    sentences = [*run.loops[:MOST_LOOPS], *([f"and {more:,} more"] if more > 0 else [])]
    title = element("h3", f"Loops found with {run.label}: {len(run.loops):,}")
    return element("div", title, element("ul", *(element("li", one) for one in sentences)), class_="loops")


def _figure(name: str, title: str, below: str) -> Markup:
    caption = element("figcaption", title, element("span", below))
    return element("figure", caption, _plot(name, EACH_PLOT, f"{title}: {below}"), class_="figurebox")


def _legend(content: Content) -> Markup:
    if len(content.runs) < 2:
        return Markup()
    entries = [
        element("li", _line(place), run.label if run.judged else f"{run.label} (not judged)")
        for place, run in enumerate(content.runs)
    ]
    return element("ul", *entries, class_="legend")


def _line(place: int) -> Markup:
    """A piece of the line that a run has in the plots: its colour, and how it is broken."""
    stroke = element("line", x1=0, x2=24, y1=4, y2=4, stroke_dasharray=DASHES[place % 6] or None)
    return element("svg", stroke, class_=f"run-{place % 6}", aria_hidden="true")


def _plot(name: str, height: int, said: str) -> Markup:
    return element(
        "div", id=f"plot-{name}", class_="plot", data_plot=name, style=f"height:{height}px", role="img", aria_label=said
    )


def _definitions(content: Content) -> Markup:
    entries = []
    for one in content.definitions:
        facts = ", ".join(fact for fact in (one.unit, BETTER.get(one.better, ("", ""))[1]) if fact)
        entries.append(
            element(
                "div",
                element("dt", one.title, element("small", facts) if facts else ""),
                element("dd", prose(one.text)),
                id=f"measure-{one.measure}",
            )
        )
    return element("dl", *entries, class_="definitions")
