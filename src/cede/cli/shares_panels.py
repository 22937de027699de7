"""What is drawn of share curves: for each pool one panel, in which its children's shares grow with what it offers.

Where the sum of the children comes to what the pool itself gets, there the offer stands; what each child has at that
place is its share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ALL_SERVED = 12
"""A FIFO pool with at most this many operations is shown as a whole."""
FARTHEST = 4.0
"""A plot ends at this multiple of the offer at the latest."""
MOST_LINES = 8
"""Number of children of a pool with a colour of their own."""
TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Line:
    """How much one child gets by what its pool offers, and what it has to do with that."""

    name: str
    kind: str
    weight: float
    x: tuple[float, ...]
    y: tuple[float, ...]
    share: float
    usage: float
    demand: float
    guarantee: float
    limit: float


@dataclass(frozen=True, slots=True)
class Panel:
    """One pool. `x` is the suggestion to its lightest child; in a FIFO pool how many operations are served."""

    place: int
    tree: str
    """The name of its pool tree, if there are several."""
    path: tuple[str, ...]
    """Names from below the root down to the pool; none for the root."""
    fifo: bool
    lightest: float
    alike: bool
    offer: float
    share: float
    usage: float
    demand: float
    guarantee: float
    limit: float
    lines: tuple[Line, ...]
    sum: tuple[tuple[float, ...], tuple[float, ...]]
    end: float
    top: float

    @property
    def title(self) -> str:
        """What it is called in full."""
        if not self.path:
            return f"The root of {self.tree}" if self.tree else "The root"
        return f"{'FIFO pool' if self.fifo else 'Pool'} {' / '.join(self.path)}"

    @property
    def served(self) -> bool:
        """Whether nobody below can get more, so that the offer does not matter."""
        return all(line.share >= line.y[-1] - TINY for line in self.lines)

    @property
    def along(self) -> str:
        """What the horizontal axis counts."""
        if self.fifo:
            return "operations served, one after the other"
        whom = "each child" if self.alike else f"a child of weight {self.lightest:g}"
        return f"suggestion to {whom} (above its guarantee)"

    @property
    def offered(self) -> str:
        """Where the offer stands, in words."""
        if self.served:
            return "all have all they can get"
        if self.fifo:
            turn = int(self.offer + TINY)
            return f"{self.lines[turn].name} is served, {turn + 1} of {len(self.lines)}"
        return f"suggestion {percent(self.offer)}"


def resource_of(curves: Mapping[str, Any]) -> str:
    """The resource that is most in demand; the main one, where several are."""
    roots = [one for one in curves["elements"] if one["parent"] is None]
    main = curves["main"]

    def key(name: str) -> tuple[float, bool]:
        return max((round(root["demand_share"][name], 9) for root in roots), default=0.0), name == main

    resource: str = max(curves["resources"], key=key)
    return resource


def panels(curves: Mapping[str, Any], resource: str) -> list[Panel]:
    """A panel for every pool that has children, from the root down."""
    elements: Sequence[Mapping[str, Any]] = curves["elements"]
    below: dict[int, list[Mapping[str, Any]]] = {}
    for one in elements:
        if one["parent"] is not None:
            below.setdefault(one["parent"], []).append(one)
    trees = [tree["name"] for tree in curves["trees"]]
    several = len({one["tree"] for one in elements if one["parent"] is not None}) > 1
    return [
        _panel(elements, place, below[place], resource, trees[elements[place]["tree"]] if several else "")
        for place in sorted(below)
    ]


def _panel(
    elements: Sequence[Mapping[str, Any]], place: int, children: Sequence[Mapping[str, Any]], resource: str, tree: str
) -> Panel:
    pool = elements[place]
    fifo = pool["mode"] == "fifo"
    weights = [child["weight"] for child in children]
    lightest = min(weights)
    last = float(len(children)) if fifo else 1.0
    lines = tuple(_line(child, resource, turn if fifo else None, lightest, last) for turn, child in enumerate(children))
    if not fifo and len(lines) > MOST_LINES:
        lines = tuple(sorted(lines, key=lambda line: (-line.share, -line.demand, line.name)))
    along, heights = tuple(pool["sum"]["offer"]), tuple(pool["sum"]["share"][resource])
    share, limit, guarantee = pool["fair_share"][resource], pool["limit"][resource], pool["guarantee"][resource]
    end = _end(fifo, along, heights, pool["offer"], last)
    highest = max([0.0, *(height_at(line.x, line.y, end) for line in lines)])
    most = max(share * 1.12, highest, min(height_at(along, heights, end), limit), guarantee)
    return Panel(
        place=place,
        tree=tree,
        path=_path(elements, place),
        fifo=fifo,
        lightest=lightest,
        alike=len(set(weights)) == 1,
        offer=pool["offer"],
        share=share,
        usage=pool["usage_share"][resource],
        demand=pool["demand_share"][resource],
        guarantee=guarantee,
        limit=limit,
        lines=lines,
        sum=(along, heights),
        end=end,
        top=most * 1.04 if most > TINY else 1.0,
    )


def _line(child: Mapping[str, Any], resource: str, turn: int | None, lightest: float, last: float) -> Line:
    """A child's curve along what its pool offers; in a FIFO pool it begins when those before it have all they get."""
    s, y = child["curve"]["suggestion"], child["curve"]["share"][resource]
    if turn is None:
        x = [value * lightest / child["weight"] for value in s]
    else:
        x = [value + turn for value in s]
        if turn:
            x, y = [0.0, *x], [0.0, *y]
    if x[-1] < last:
        x, y = [*x, last], [*y, y[-1]]
    return Line(
        name=child["name"],
        kind=child["kind"],
        weight=child["weight"],
        x=tuple(x),
        y=tuple(y),
        share=child["fair_share"][resource],
        usage=child["usage_share"][resource],
        demand=child["demand_share"][resource],
        guarantee=child["guarantee"][resource],
        limit=child["limit"][resource],
    )


def _path(elements: Sequence[Mapping[str, Any]], place: int) -> tuple[str, ...]:
    names: list[str] = []
    while elements[place]["parent"] is not None:
        names.append(elements[place]["name"])
        place = elements[place]["parent"]
    return tuple(reversed(names))


def _end(fifo: bool, x: Sequence[float], y: Sequence[float], offer: float, last: float) -> float:
    """How far to the right is worth drawing: to where nobody gets more, but not too far beyond the offer."""
    if fifo:
        return last if last <= ALL_SERVED else min(last, max(float(int(offer) + 3), ALL_SERVED / 2))
    grows = next((at for at, height in zip(x, y, strict=True) if height >= y[-1] - TINY), last)
    end = grows * 1.15
    if TINY < offer < grows:
        end = min(max(end, offer * 1.15), offer * FARTHEST)
    return min(last, end) if end > TINY else last


def percent(share: float) -> str:
    """A share as a part of a hundred, as exactly as a picture can show it."""
    hundredths = f"{100 * share:.2f}".rstrip("0").rstrip(".")
    return f"{hundredths}%" if hundredths != "0" else f"{100 * share:.1g}%"


ROUNDED = 1e-9
"""Places are told to a dozen decimals."""


def height_at(x: Sequence[float], y: Sequence[float], place: float) -> float:
    """The height of a polyline at a place; at a jump the lower one, but at 0 the upper."""
    for at in range(1, len(x)):
        if x[at] >= place - ROUNDED and not (place <= 0 and x[at] <= 0):
            wide = x[at] - x[at - 1]
            part = min(1.0, (place - x[at - 1]) / wide) if wide > 0 else 0.0
            return y[at - 1] + part * (y[at] - y[at - 1])
    return y[-1]
