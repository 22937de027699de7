"""The report as one page: its sections, its style and its script."""

from __future__ import annotations

from importlib.resources import files

from cede.sim.report.balance_table import balance_section
from cede.sim.report.cards import card_section
from cede.sim.report.content import Content, Run
from cede.sim.report.costly_table import costly_section
from cede.sim.report.document import FOOTER, document
from cede.sim.report.judgement import judgement_section
from cede.sim.report.markup import Markup, data, element, join
from cede.sim.report.measure_tables import BETTER, measure_section
from cede.sim.report.plots import DISTRIBUTIONS, kinds_of, plot_data

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
        "notes": element("ul", *(element("li", note) for note in content.notes), class_="notes"),
        "glance": card_section(content),
        "balance": balance_section(content),
        "measures": join(
            element("div", measure_section(content), id="tables"),
            element("ul", *(element("li", one) for one in content.stated), class_="stated") if content.stated else "",
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
            f"{content.resource} in use by {kind}, stacked, against capacity; waiting demand below; one row a doctrine"
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
        _figure("preemptions", "Over time", "preemptions since the begin"),
        _figure("losses", "What each lost", f"preemptions by the {content.resource}-hours that each lost"),
    ]
    return join(_legend(content), element("div", *figures, class_="plots"), *map(_loops, content.runs))


def _loops(run: Run) -> Markup:
    """Who preempted each other in turn, if anybody did."""
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
                element("dd", one.text),
                id=f"measure-{one.measure}",
            )
        )
    return element("dl", *entries, class_="definitions")
