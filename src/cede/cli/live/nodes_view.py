"""How full something is, as a bar: used, leaving, held and free are told apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from cede.cli.live.formatting import NOTHING, amount, amounts, shortened, state
from cede.cli.output import listed, text
from cede.model.resources import is_gpu

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from cede.live.documents import Node, Queue


USED, LEAVING, PROMISED, HELD, FREE = "#", "-", "=", "+", "."
LEGEND = f"{USED} used, {LEAVING} leaving, {PROMISED} leaving and held for another, {HELD} held, {FREE} free"
STYLES = {USED: "green", LEAVING: "yellow", PROMISED: "magenta", HELD: "magenta", FREE: "dim"}


def nano(amounts: Mapping[str, Any], resource: str) -> int:
    """The amount of a resource, none if it is not named."""
    from cede.model.quantities import parse_quantity

    return parse_quantity(amounts.get(resource, 0))


def bar(total: int, used: int, leaving: int, held: int, cells: int) -> Text:
    """What is used, then what is being left, part of it for another, then what is held beyond that."""
    if total <= 0:
        return text(FREE * cells, STYLES[FREE])
    promised = min(leaving, held)
    sizes = _cells([used, leaving - promised, promised, held - promised], total, cells)
    made = text("")
    for sign, size in zip((USED, LEAVING, PROMISED, HELD), sizes, strict=True):
        made += text(sign * size, STYLES[sign])
    return made + text(FREE * (cells - sum(sizes)), STYLES[FREE])


def _cells(amounts: list[int], total: int, cells: int) -> list[int]:
    """How many cells each takes; what there is has at least one, and all together no more than there are."""
    sizes: list[int] = []
    left = cells
    for one in amounts:
        size = 0 if one <= 0 else max(1, round(one * cells / total))
        sizes.append(min(size, left))
        left -= sizes[-1]
    return sizes


def level(resource: str, total: int, used: int) -> str:
    """`used/total` as people read it."""
    from cede.model.quantities import format_quantity

    return f"{amount(resource, format_quantity(used))}/{amount(resource, format_quantity(total))}"


FIRST = ("cpu", "memory", "gpu")
WIDE = 110
BARS = (10, 8, 6, 4, 3, 0)
"""How many cells a bar may have; with none there are only numbers."""
GAP = 3
WHO = 9
"""What is left for the names of workloads, at least: as much as its title takes."""
NAMES = (20, 14, 10, 8)
QUEUE = 28
"""Letters of a queue's name, with how far it is set in."""
LIMITS: tuple[tuple[str, Literal["guaranteed", "max"]], ...] = (("guaranteed", "guaranteed"), ("most", "max"))


class Layout(NamedTuple):
    """What a table of nodes has room for."""

    resources: tuple[str, ...]
    cells: int
    name: int
    who: int
    """For the names of workloads."""


def layout_of(nodes: Sequence[Node], width: int, title: str = "node") -> Layout:
    """As much as the width has room for. Cores, memory and GPUs are always there: bars shrink first, then names.

    Other resources are shown as far as they fit beside these with bars of some size.
    """
    every = resources_of([node["capacity"] for node in nodes])
    needed = tuple(name for name in every if is_key(name))
    beside = [name for name in every if name not in needed]
    longest = max(len(title), *(len(node["name"]) for node in nodes)) if nodes else len(title)
    states = max((len(node["state"]) for node in nodes), default=0)
    room = {name: max(len(name), *(len(_level(node, name)) for node in nodes)) for name in every}

    def made(resources: Sequence[str], cells: int, name: int) -> Layout:
        bars = sum(room[one] + (cells + 1 if cells else 0) + GAP for one in resources)
        return Layout((*resources,), cells, name, width - (min(name, longest) + GAP + max(states, 5) + GAP + bars))

    bars = BARS if width >= WIDE else BARS[1:]
    for count in range(len(beside), -1, -1):
        for cells in bars[:-2] if count else bars:
            layout = made((*needed, *beside[:count]), cells, NAMES[0])
            if layout.who >= WHO:
                return layout
    tight = [made(needed, 0, name) for name in NAMES]
    return next((one for one in tight if one.who >= WHO), tight[-1])


def is_key(resource: str) -> bool:
    """Whether people look for this one first."""
    return resource in FIRST or is_gpu(resource)


def nodes_table(
    nodes: Sequence[Node], width: int, *, bare: bool = False, among: Sequence[Node] | None = None, title: str = "node"
) -> Table:
    """One line a node; a bar a resource, as far as there is room. `among`: all nodes, if these are some of them."""
    shown = layout_of(among or nodes, width, title)
    made = _table(bare)
    made.add_column(title, no_wrap=True, overflow="ellipsis", max_width=shown.name)
    made.add_column("state", no_wrap=True)
    for resource in shown.resources:
        made.add_column(resource, no_wrap=True)
    last: dict[str, Any] = {"ratio": 1} if bare else {"max_width": max(1, shown.who)}
    made.add_column("workloads", no_wrap=True, overflow="ellipsis", **last)
    for node in nodes:
        made.add_row(
            text(shortened(node["name"], shown.name), "bold"),
            state(node["state"]),
            *(_filled(node, resource, shown.cells) for resource in shown.resources),
            text(_who(node)),
        )
    return made


def left_out(nodes: Sequence[Node], width: int) -> list[str]:
    """Resources that the table has no room for."""
    shown = layout_of(nodes, width).resources
    return [name for name in resources_of([node["capacity"] for node in nodes]) if name not in shown]


def _level(node: Node, resource: str) -> str:
    total = nano(node["capacity"], resource)
    inside = nano(node["used"], resource) + nano(node["occupied"], resource) + nano(node["leaving"], resource)
    return level(resource, total, inside) if total else NOTHING


def _filled(node: Node, resource: str, cells: int) -> Text:
    total = nano(node["capacity"], resource)
    if not total:
        return text(NOTHING, "dim")
    leaving = nano(node["leaving"], resource)
    inside = nano(node["used"], resource) + nano(node["occupied"], resource)
    said = _level(node, resource)
    if not cells:
        return text(said)
    return bar(total, inside, leaving, nano(node["held"], resource), cells) + text(f" {said}")


def _who(node: Node) -> str:
    names = [*node["workloads"], *([f"{node['others']} of others"] if node["others"] else [])]
    return listed(names) or NOTHING


def queues_table(queues: Sequence[tuple[int, Queue]], *, bare: bool = False, title: str = "queue") -> Table:
    """One line a queue, in the order of `tree_order`."""
    made = _table(bare)
    made.add_column(title, no_wrap=True, overflow="ellipsis", max_width=QUEUE)
    for label in ("running", "held", "waiting"):
        made.add_column(label, justify="right", no_wrap=True)
    limits = [(label, key) for label, key in LIMITS if any(queue[key] for _, queue in queues)]
    for label in ("uses", *(label for label, _ in limits)):
        made.add_column(label, no_wrap=bare, overflow="ellipsis" if bare else "fold", ratio=1)
    for depth, queue in queues:
        made.add_row(
            text(f"{'  ' * depth}{shortened(queue['name'], max(2, QUEUE - 2 * depth))}", "bold"),
            str(queue["running"]),
            _count(queue["held"], "magenta"),
            _count(queue["pending"], "cyan"),
            text(amounts(queue["usage"])),
            *(text(_limits(queue[key])) for _, key in limits),
        )
    return made


def _count(count: int, style: str) -> Text:
    return text(str(count), style if count else "dim")


def _limits(limits: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {amount(name, raw)}" for name, raw in limits.items()) or NOTHING


def tree_order(queues: Sequence[Queue]) -> list[tuple[int, Queue]]:
    """Every queue behind its parent, with how deep it stands."""
    below: dict[str | None, list[Queue]] = {}
    names = {queue["name"] for queue in queues}
    for queue in queues:
        below.setdefault(queue["parent"] if queue["parent"] in names else None, []).append(queue)

    def walk(parent: str | None, depth: int) -> Iterable[tuple[int, Queue]]:
        for queue in below.get(parent, ()):
            yield depth, queue
            yield from walk(queue["name"], depth + 1)

    return list(walk(None, 0))


def resources_of(capacities: Iterable[Mapping[str, Any]]) -> list[str]:
    """Every resource there is, those that people look for first."""
    names = {name for capacity in capacities for name in capacity}
    first = [name for name in FIRST if name in names]
    return first + sorted(names - set(first), key=lambda name: (not is_key(name), name))


def _table(bare: bool) -> Table:
    """An empty table; a bare one spends no line on its frame, and is as wide as the screen."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(
        box=None if bare else SIMPLE_HEAD,
        expand=bare,
        pad_edge=False,
        show_edge=False,
        header_style="bold underline" if bare else "bold",
        padding=(0, 2, 0, 0),
    )
