"""Share curves as one page that needs nothing else: the tree as bars, a plot for every pool, and the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cede.cli.output import listed
from cede.cli.shares_panels import Panel, panels, resource_of
from cede.model.errors import InputError, Problem, did_you_mean
from cede.model.plan import Plan
from cede.sim.files import files_draft
from cede.sim.report.html import FOOTER, Markup, data, document, element

if TYPE_CHECKING:
    from cede.state.state import State

LEAD = (
    "A pool offers its children more and more, until together they come to what the pool itself gets: there the dashed "
    "lines cross, and what each child has at that place is its share. A child begins at its guarantee and goes up to "
    "what it asks for or may have. A FIFO pool serves one operation after the other."
)
BARS = {
    "strong": "fair share by strong guarantee",
    "integral": "by integral guarantee",
    "weight": "by weight",
    "demand": "demand",
    "usage": "usage",
}
COLUMNS = ("", "weight", "suggestion", "fair share", "usage", "demand", "guarantee", "limit", "satisfaction", "status")

STYLE = """\
.bar select { min-width: 160px; }
.stripe { display: inline-block; width: 3px; height: 14px; background: var(--text); }
.stripe { margin-right: 8px; vertical-align: -2px; }
.legend i.demand { background: transparent; border: 1px solid var(--muted); }
.numbers td, .numbers th { white-space: nowrap; padding: 4px 11px; }
#numbers .scroll { max-height: 80vh; overflow: auto; }
.note { color: var(--muted); font-size: 13px; margin: 10px 0 0; }
"""


def draw(path: Path, resource: str | None, force: bool, source: str, state: State, made: Plan) -> None:
    """Write the page, as a whole or not at all."""
    curves = _curves(state, made)
    chosen = _chosen(curves, resource)
    with files_draft([path], force=force) as draft:
        (draft / path.name).write_text(page(curves, chosen, source, made), encoding="utf-8")


def _curves(state: State, made: Plan) -> dict[str, Any]:
    from cede.doctrines.catalog import find, usable

    drawn = find(made.doctrine).curves
    if drawn is None:
        known = [one.name for one in usable()[0] if one.curves is not None]
        message = f"only {' and '.join(known)} has share curves, and the file asks for {made.doctrine}"
        raise InputError([Problem("--plot", message, f"leave it out, or ask with --doctrine {known[0]}")])
    curves = drawn(state)
    if not curves["resources"]:
        raise InputError([Problem("nodes", "there are none that count, and without them there are no shares to draw")])
    if all(one["parent"] is None for one in curves["elements"]):
        raise InputError([Problem("queues", "there are neither pools nor operations, so there is nothing to draw")])
    return curves


def _chosen(curves: dict[str, Any], resource: str | None) -> str:
    if resource is None:
        return resource_of(curves)
    if resource not in curves["resources"]:
        known = curves["resources"]
        message = f"no node has any {resource!r}; there is {', '.join(known)}"
        raise InputError([Problem("--resource", message, did_you_mean(resource, known))])
    return resource


def page(curves: Mapping[str, Any], resource: str, source: str, made: Plan) -> str:
    """The whole document; `resource` is shown first. The same curves give the same bytes."""
    title = f"Shares in {source}"
    return document(
        title,
        files("cede.cli").joinpath("shares_page.js").read_text(encoding="utf-8"),
        _header(title, curves, made),
        element("main", _choices(curves, resource), _tree(), _pools(), _numbers()),
        element("footer", FOOTER),
        data(_data(curves, resource), "shares"),
        style=STYLE,
        plotly=True,
    )


def _data(curves: Mapping[str, Any], resource: str) -> dict[str, Any]:
    """What the script draws from."""
    left_out = ("curve", "sum")
    return {
        "resource": resource,
        "elements": [{key: one[key] for key in one if key not in left_out} for one in curves["elements"]],
        "panels": {name: [_panel(one) for one in panels(curves, name)] for name in curves["resources"]},
    }


def _panel(panel: Panel) -> dict[str, Any]:
    words = {"title": panel.title, "along": panel.along, "offered": panel.offered}
    return asdict(panel) | words


def _header(title: str, curves: Mapping[str, Any], made: Plan) -> Markup:
    kinds = [one["kind"] for one in curves["elements"]]
    starving = [one["name"] for one in curves["elements"] if one["starvation"] != "non_starving"]
    several = len(curves["trees"]) > 1
    facts = [
        ("Doctrine", f"{made.doctrine} {made.edition}"),
        ("Now", str(made.now)),
        *((f"In all in {one['name']}" if several else "In all", _amounts(one["total"])) for one in curves["trees"]),
        ("Pools", str(kinds.count("pool"))),
        ("Operations", str(kinds.count("operation"))),
        ("Starving", listed(starving) or "nobody"),
    ]
    shown = [element("div", element("dt", name), element("dd", value)) for name, value in facts]
    return element("header", element("h1", title), element("dl", *shown, class_="facts"))


def _amounts(total: Mapping[str, str]) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in total.items())


def _choices(curves: Mapping[str, Any], resource: str) -> Markup:
    """What to look at: a resource, and a pool with all below it."""
    names = [element("option", name, value=name, selected=name == resource) for name in curves["resources"]]
    parents = {one["parent"] for one in curves["elements"]}
    below = [
        element("option", "\N{NO-BREAK SPACE}" * 3 * one["depth"] + _called(one), value=place)
        for place, one in enumerate(curves["elements"])
        if place in parents
    ]
    return element(
        "div",
        element("label", "Resource", for_="resource"),
        element("select", *names, id="resource"),
        element("label", "Pool", for_="pool"),
        element("select", *below, id="pool"),
        class_="bar",
        style="margin-top:26px",
    )


def _called(one: Mapping[str, Any]) -> str:
    return "the root" if one["kind"] == "root" else str(one["name"])


def _tree() -> Markup:
    signs = {
        "demand": element("i", class_="demand"),
        "usage": element("span", class_="stripe"),
    }
    legend = [element("li", signs.get(key, element("i", data_part=key)), words) for key, words in BARS.items()]
    box = element(
        "figure",
        element("ul", *legend, class_="legend"),
        element("div", id="bars", class_="plot", role="img", aria_label="Shares of all pools and operations as bars"),
        element("p", id="bars-note", class_="note"),
        class_="figurebox",
    )
    return _section("tree", "The tree", box)


def _pools() -> Markup:
    return _section(
        "pools",
        "Pool by pool",
        element("p", LEAD, class_="lead"),
        element("div", id="panels", class_="plots"),
        element("p", id="panels-note", class_="note"),
    )


def _numbers() -> Markup:
    heads = [
        element("th", name, scope="col", class_="figure" if 0 < at < 9 else None) for at, name in enumerate(COLUMNS)
    ]
    made = element("table", element("thead", element("tr", *heads)), element("tbody", id="rows"), class_="numbers")
    return _section("numbers", "Numbers", element("div", made, class_="scroll", tabindex=0))


def _section(name: str, title: str, *inner: str) -> Markup:
    return element(
        "section", element("h2", title, id=f"title-{name}"), *inner, id=name, class_="block",
        aria_labelledby=f"title-{name}",
    )  # fmt: skip
