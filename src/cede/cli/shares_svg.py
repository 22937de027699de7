"""Share curves as a picture: one panel a pool, drawn with nothing but text, so that the same data gives the same bytes.

The picture has its own ground, light or dark as the reader has it, and can be read on any page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from cede.cli.shares_panels import MOST_LINES, TINY, Line, Panel, percent

WIDTH = 1004
MARGIN = 20
LEFT, ACROSS, HIGH = 66, 336, 190
"""Where the plot begins, how wide and how high it is."""
NOTES = LEFT + ACROSS + 8
TABLE = 530
ABOVE, BELOW, BETWEEN = 50, 42, 26
ROW = 19
MOST_PANELS = 8
LETTERS = 18
TICKS = 5
APART = 14
"""Texts below each other need so much."""

COLOURS = ("#3b6fb0", "#c2571a", "#1f7d4f", "#a2418f", "#8a6d00", "#1593a8", "#c23b55", "#6152b8", "#5b6168")
ON_DARK = ("#78aee8", "#f09a5e", "#5cc48d", "#e08fd0", "#dcc04e", "#5fd0e0", "#f2859a", "#ada0f5", "#a3a9b1")
"""The last one is for all others."""
DASHES = ("", "8 4", "2 3", "9 3 2 3")
"""Lines that lie on each other are seen all the same."""
NUMBERS = (("gets", 742), ("asks for", 806), ("uses", 866), ("guarantee", 936), ("weight", 984))
"""The columns of the table by their right edges."""

STYLE = """\
.cede text { font: 12.5px "DejaVu Sans", Verdana, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1b1f23; }
.cede .dim { fill: #5b6168; }
.cede .small { font-size: 11.5px; }
.cede .title { font-size: 16px; font-weight: bold; }
.cede .head { font-size: 13.5px; font-weight: bold; }
.cede .num { font-variant-numeric: tabular-nums; text-anchor: end; }
.cede .ground { fill: #ffffff; stroke: #d5d5d0; }
.cede .grid { stroke: #e6e6e1; }
.cede .axis { stroke: #8b9097; }
.cede .sum { stroke: #1b1f23; stroke-width: 2.6; fill: none; }
.cede .line { stroke-width: 2; fill: none; }
.cede .mark { stroke: #1b1f23; stroke-dasharray: 4 3; fill: none; }
.cede .bound { stroke: #5b6168; stroke-dasharray: 1 3; fill: none; }
.cede .dot { stroke: #ffffff; stroke-width: 1.5; }
"""
STYLE_ON_DARK = """\
.cede text { fill: #e6e8eb; }
.cede .dim { fill: #a3a9b1; }
.cede .ground { fill: #15181c; stroke: #2d3238; }
.cede .grid { stroke: #2a2f35; }
.cede .axis { stroke: #737b85; }
.cede .sum, .cede .mark { stroke: #e6e8eb; }
.cede .bound { stroke: #a3a9b1; }
.cede .dot { stroke: #15181c; }
"""


def picture(title: str, below: str, panels: Sequence[Panel]) -> str:
    """The panels below each other, under a title and a line about them."""
    telling = [panel for panel in panels if len(panel.lines) > 1 and panel.demand > TINY] or list(panels)
    largest = sorted(telling, key=lambda panel: (-panel.share, -panel.demand, panel.place))[:MOST_PANELS]
    shown = [panel for panel in telling if panel in largest]
    body: list[str] = []
    top = MARGIN + 46
    for number, panel in enumerate(shown):
        body += _panel(panel, top, number)
        top += _height(panel) + BETWEEN
    left = [f"{len(telling) - len(shown)} more pools"] if len(telling) > len(shown) else []
    left += [f"{len(panels) - len(telling)} with one child or nothing to divide"] if len(panels) > len(telling) else []
    if left:
        body.append(text(MARGIN, top + 4, f"Not drawn: {' and '.join(left)}.", "dim small"))
        top += ROW + BETWEEN
    height = top - BETWEEN + MARGIN
    return "\n".join(
        [
            f'<svg class="cede" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{_style()}</style>",
            f'<rect class="ground" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
            text(MARGIN, MARGIN + 12, title, "title"),
            text(MARGIN, MARGIN + 32, below, "dim"),
            *body,
            "</svg>\n",
        ]
    )


def _style() -> str:
    light = "".join(f".cede .s{k} {{ stroke: {c}; }}\n.cede .f{k} {{ fill: {c}; }}\n" for k, c in enumerate(COLOURS))
    dark = "".join(f".cede .s{k} {{ stroke: {c}; }}\n.cede .f{k} {{ fill: {c}; }}\n" for k, c in enumerate(ON_DARK))
    return f"{STYLE}{light}@media (prefers-color-scheme: dark) {{\n{STYLE_ON_DARK}{dark}}}\n"


def _height(panel: Panel) -> int:
    rows = min(len(panel.lines), MOST_LINES + 1) + 2
    return ABOVE + max(HIGH + BELOW, rows * ROW)


# -- one panel ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where numbers are on the picture."""

    top: float
    end: float
    most: float

    def x(self, value: float) -> float:
        return LEFT + ACROSS * min(value / self.end, 1.0)

    def y(self, value: float) -> float:
        return self.top + HIGH * (1 - value / self.most)


def _panel(panel: Panel, top: float, number: int) -> Iterator[str]:
    frame = _Frame(top + ABOVE, panel.end, panel.top)
    yield text(MARGIN, top + 12, short(panel.title, 100), "head")
    shape = f'<rect x="{LEFT}" y="{n(frame.top - 2)}" width="{ACROSS}" height="{HIGH + 4}"/>'
    yield f'<clipPath id="cede-plot-{number}">{shape}</clipPath>'
    yield from _axes(panel, frame)
    yield f'<g clip-path="url(#cede-plot-{number})">'
    yield polyline(frame, *panel.sum, "sum")
    for place, line in reversed(list(enumerate(panel.lines))):
        yield polyline(frame, line.x, line.y, f"line s{hue(place)}", DASHES[place % len(DASHES)])
    yield "</g>"
    yield from _bounds(panel, frame)
    yield from _offer(panel, frame)
    yield from _table(panel, top + ABOVE)


def _axes(panel: Panel, frame: _Frame) -> Iterator[str]:
    for value in ticks(panel.top):
        y = n(frame.y(value))
        yield f'<path class="grid" d="M{LEFT} {y}H{LEFT + ACROSS}"/>'
        yield text(LEFT - 8, frame.y(value) + 4, percent(value), "dim small num")
    floor = frame.top + HIGH
    places = range(int(panel.end) + 1) if panel.fifo else ticks(panel.end)
    for value in places:
        yield f'<path class="axis" d="M{n(frame.x(value))} {n(floor)}v4"/>'
        yield text(frame.x(value), floor + 17, str(value) if panel.fifo else percent(value), "dim small", "middle")
    yield f'<path class="axis" d="M{LEFT} {n(floor)}H{LEFT + ACROSS}"/>'
    yield text(LEFT + ACROSS / 2, floor + 34, panel.along, "dim small", "middle")


def _bounds(panel: Panel, frame: _Frame) -> Iterator[str]:
    """What the pool gets, is promised and may have at most, as lines with their names at the right."""
    bounds = [(panel.share, f"gets {percent(panel.share)}", "mark")]
    if panel.guarantee > TINY and abs(panel.guarantee - panel.share) > TINY:
        bounds.append((panel.guarantee, f"guarantee {percent(panel.guarantee)}", "bound"))
    if panel.limit < 1 - TINY and panel.limit <= panel.top and abs(panel.limit - panel.share) > TINY:
        bounds.append((panel.limit, f"limit {percent(panel.limit)}", "bound"))
    for value, _, style in bounds:
        yield f'<path class="{style}" d="M{LEFT} {n(frame.y(value))}H{LEFT + ACROSS}"/>'
    bounds.sort(key=lambda one: -one[0])
    for place, (_, words, style) in zip(spread([frame.y(one[0]) for one in bounds]), bounds, strict=True):
        yield text(NOTES, place + 4, words, "small" if style == "mark" else "small dim")
    for place, line in enumerate(panel.lines):
        if line.guarantee > TINY:
            yield f'<path class="f{hue(place)}" d="M{LEFT - 6} {n(frame.y(line.guarantee) - 4)}l6 4l-6 4z"/>'


def _offer(panel: Panel, frame: _Frame) -> Iterator[str]:
    """The place where the offer stands, and what each child has there."""
    x = frame.x(panel.offer)
    yield f'<path class="mark" d="M{n(x)} {n(frame.top - 4)}V{n(frame.top + HIGH)}"/>'
    anchor = "start" if x < LEFT + 40 else "end" if x > LEFT + ACROSS - 40 else "middle"
    yield text(x, frame.top - 11, panel.offered, "small", anchor)
    for place, line in reversed(list(enumerate(panel.lines))):
        yield f'<circle class="dot f{hue(place)}" cx="{n(x)}" cy="{n(frame.y(line.share))}" r="4.5"/>'


def _table(panel: Panel, top: float) -> Iterator[str]:
    yield text(TABLE, top + 4, "operation, in its turn" if panel.fifo else "child", "dim small")
    for head, right in NUMBERS:
        yield text(right, top + 4, head, "dim small num")
    y = top + 4 + ROW
    for place, line in enumerate(panel.lines[:MOST_LINES]):
        dash = DASHES[place % len(DASHES)]
        yield f'<path class="line s{hue(place)}"{dashed(dash)} d="M{TABLE} {n(y - 4)}h26"/>'
        yield from _row(line, short(line.name), y, f"{line.weight:g}")
        y += ROW
    rest = panel.lines[MOST_LINES:]
    if rest:
        yield f'<path class="line s{len(COLOURS) - 1}" d="M{TABLE} {n(y - 4)}h26"/>'
        yield text(TABLE + 32, y, f"and {len(rest)} others", "dim")
        y += ROW
    yield f'<path class="sum" d="M{TABLE} {n(y - 4)}h26"/>'
    yield from _row(panel, "together", y, "")


def _row(of: Line | Panel, name: str, y: float, weight: str) -> Iterator[str]:
    yield text(TABLE + 32, y, name)
    promised = percent(of.guarantee) if of.guarantee > TINY else "–"
    values = (percent(of.share), percent(of.demand), percent(of.usage), promised, weight)
    for (_, right), words in zip(NUMBERS, values, strict=True):
        yield text(right, y, words, "num")


# -- pieces ------------------------------------------------------------------------------------------------------------


def hue(place: int) -> int:
    """The colour of a child by its place."""
    return min(place, MOST_LINES)


def polyline(frame: _Frame, x: Sequence[float], y: Sequence[float], style: str, dash: str = "") -> str:
    """A line through these points."""
    points = " ".join(f"{n(LEFT + ACROSS * a / frame.end)},{n(frame.y(b))}" for a, b in zip(x, y, strict=True))
    return f'<polyline class="{style}"{dashed(dash)} points="{points}"/>'


def dashed(dash: str) -> str:
    return f' stroke-dasharray="{dash}"' if dash else ""


def text(x: float, y: float, words: str, style: str = "", anchor: str = "") -> str:
    """Words at a place."""
    kind = f' class="{style}"' if style else ""
    held = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{n(x)}" y="{n(y)}"{kind}{held}>{escape(words)}</text>'


def n(value: float) -> str:
    """A number as short as the eye needs it."""
    return f"{value:.1f}".removesuffix(".0")


def short(words: str, most: int = LETTERS) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def ticks(most: float) -> list[float]:
    """A few round numbers from 0 on."""
    step = 10.0**-9
    for power in range(-9, 3):
        for digit in (1, 2, 5):
            step = digit * 10.0**power
            if most / step <= TICKS:
                return [step * k for k in range(int(most / step + TINY) + 1)]
    return [0.0]


def spread(places: Sequence[float]) -> list[float]:
    """Places from top to bottom, moved apart so that what is written there can be read."""
    places_apart: list[float] = []
    for place in places:
        places_apart.append(max(place, places_apart[-1] + APART) if places_apart else place)
    return places_apart
