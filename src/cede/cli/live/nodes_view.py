"""Nodes and queues as tables with bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from cede.cli.live.bars import bar, level, nano
from cede.cli.live.shown import NOTHING, amount, amounts, state
from cede.cli.output import listed, text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from cede.live.client.results import Node, Queue

FIRST = ("cpu", "memory", "gpu")
WIDE = 110
LIMITS: tuple[tuple[str, Literal["guaranteed", "max"]], ...] = (("guaranteed", "guaranteed"), ("most", "max"))


def nodes_table(nodes: Sequence[Node], width: int, *, bare: bool = False) -> Table:
    """One line a node; a bar a resource, as many as the terminal has room for."""
    shown = resources_of([node["capacity"] for node in nodes])[: 3 if width >= WIDE else 2]
    made = _table(bare)
    made.add_column("node", no_wrap=True, overflow="ellipsis", max_width=20)
    made.add_column("state", no_wrap=True)
    for resource in shown:
        made.add_column(resource, no_wrap=True)
    made.add_column("workloads", no_wrap=True, overflow="ellipsis", ratio=1)
    cells = 10 if width >= WIDE else 8
    for node in nodes:
        made.add_row(
            text(node["name"], "bold"),
            state(node["state"]),
            *(_filled(node, resource, cells) for resource in shown),
            text(_who(node)),
        )
    return made


def _filled(node: Node, resource: str, cells: int) -> Text:
    total = nano(node["capacity"], resource)
    if not total:
        return text(NOTHING, "dim")
    leaving = nano(node["leaving"], resource)
    inside = nano(node["used"], resource) + nano(node["occupied"], resource)
    made = bar(total, inside, leaving, nano(node["held"], resource), cells)
    return made + text(f" {level(resource, total, inside + leaving)}")


def _who(node: Node) -> str:
    names = [*node["workloads"], *([f"{node['others']} of others"] if node["others"] else [])]
    return listed(names) or NOTHING


def queues_table(queues: Sequence[Queue], *, bare: bool = False) -> Table:
    """One line a queue, below its parent."""
    made = _table(bare)
    made.add_column("queue", no_wrap=True, overflow="ellipsis", max_width=28)
    for label in ("running", "held", "waiting"):
        made.add_column(label, justify="right", no_wrap=True)
    limits = [(label, key) for label, key in LIMITS if any(queue[key] for queue in queues)]
    for label in ("uses", *(label for label, _ in limits)):
        made.add_column(label, no_wrap=bare, overflow="ellipsis" if bare else "fold", ratio=1)
    for depth, queue in _tree(queues):
        made.add_row(
            text(f"{'  ' * depth}{queue['name']}", "bold"),
            str(queue["running"]),
            _count(queue["held"], "magenta"),
            _count(queue["pending"], "cyan"),
            text(amounts(queue["usage"])),
            *(text(_limits(queue[key])) for _, key in limits),
        )
    return made


def _count(count: int, style: str) -> Text:
    return text(str(count), style if count else "dim")


def _limits(found: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {amount(name, raw)}" for name, raw in found.items()) or NOTHING


def _tree(queues: Sequence[Queue]) -> Iterable[tuple[int, Queue]]:
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
    found = {name for capacity in capacities for name in capacity}
    return [*(name for name in FIRST if name in found), *sorted(found - set(FIRST))]


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
