"""One look at the running cluster, laid out for a screen of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cede.cli.live.formatting import clock, maybe, now, shortened, since, state, where
from cede.cli.live.nodes_view import LEGEND, nano, nodes_table, queues_table, tree_order
from cede.cli.live.story import moved, sentence
from cede.cli.live.workloads_view import asked, remark
from cede.cli.output import number, text
from cede.model.resources import is_gpu

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from cede.live.documents import Event, Node, Queue, Server, Workload

WAITING = ("held", "pending", "suspended")
WIDE = 110
PARTS = ("nodes", "queues", "running", "waiting", "events")
ORDERS = ("age", "priority", "name", "gpu", "cpu")
TALL = 20
"""Lines that a terminal must have for the legend to be shown."""
NAME, EVENT = 24, 20
"""Letters of a workload's name, and of one in a line about an event."""
LEAST = 2
"""Lines that a part keeps while another is scrolled."""


@dataclass(frozen=True, slots=True)
class Look:
    """Everything that is shown, at one moment."""

    server: Server
    nodes: list[Node]
    queues: list[Queue]
    workloads: list[Workload]
    events: list[Event]


@dataclass(slots=True)
class Scrolled:
    """What whoever looks has chosen: a part, how far each part is scrolled, and the order of workloads."""

    part: str | None = None
    order: str = ORDERS[0]
    turned: bool = False
    offsets: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    rows: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    """How many lines of each part were drawn last."""
    sizes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))

    def press(self, key: str) -> None:
        """One key; those that mean nothing do nothing."""
        if key == "s":
            self.order = ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        elif key == "r":
            self.turned = not self.turned
        elif key in ("tab", "back tab"):
            self._choose(1 if key == "tab" else -1)
        else:
            self._scroll(key)

    def _choose(self, step: int) -> None:
        there = [None, *(part for part in PARTS if self.sizes[part])]
        now = there.index(self.part) if self.part in there else 0
        self.part = there[(now + step) % len(there)]

    def _scroll(self, key: str) -> None:
        """The part that was chosen; else the first that has more than is shown, workloads before the rest."""
        cut = [part for part in (*PARTS[2:], *PARTS[:2]) if self.sizes[part] > self.rows[part]]
        part = self.part or next(iter(cut), None)
        if part is None:
            return
        page = max(1, self.rows[part])
        steps = {"up": -1, "down": 1, "page up": -page, "page down": page, "home": -(10**9), "end": 10**9}
        if key in steps:
            self.part = part
            self.offsets[part] = max(0, min(self.offsets[part] + steps[key], self.sizes[part] - page))

    def fit(self, sizes: Sequence[int], rows: Sequence[int]) -> list[slice]:
        """What is shown of each part; nothing is scrolled beyond its end."""
        for part, size, shown in zip(PARTS, sizes, rows, strict=True):
            self.sizes[part], self.rows[part] = size, shown
            self.offsets[part] = max(0, min(self.offsets[part], size - shown))
        return [slice(self.offsets[part], self.offsets[part] + self.rows[part]) for part in PARTS]

    def title(self, part: str, one: str) -> str:
        """The title of a part: what it is, which of how many are shown, and a sign if it is chosen."""
        first, shown, size = self.offsets[part], self.rows[part], self.sizes[part]
        count = f" {first + 1}-{first + shown}/{size}" if shown < size else ""
        return f"{'>' if self.part == part else ''}{one}{count}"


def drawn(look: Look, url: str, width: int, height: int, problem: str, at: Scrolled | None = None) -> Group:
    """As many lines as the screen has, no more: each part gets some, the chosen one what it wants of the rest."""
    from rich.console import Group

    at = at or Scrolled()
    here = in_order([job for job in look.workloads if job["state"] not in WAITING], at)
    waiting = in_order([job for job in look.workloads if job["state"] in WAITING], at)
    queues = tree_order(look.queues)
    sizes = [len(look.nodes), len(queues), len(here), len(waiting), len(look.events)]
    heads = [size > 0 for size in sizes]
    legend = height >= TALL
    favoured = None if at.part is None else PARTS.index(at.part)
    rows = allotted(sizes, height - 2 - legend - sum(heads), favoured)
    nodes, lines, present, held, told = at.fit(sizes, rows)
    parts = [
        nodes_table(look.nodes[nodes], width, bare=True, among=look.nodes, title=at.title("nodes", "node")),
        queues_table(queues[lines], bare=True, title=at.title("queues", "queue")),
        _running(here[present], width, at.title("running", "running")),
        _waiting(waiting[held], width, at.title("waiting", "waiting")),
        _events(look.events[::-1][told], width, at.title("events", "events")),
    ]
    shown = [part for part, head in zip(parts, heads, strict=True) if head]
    foot = [_keys(at, width), *([_legend(width)] if legend else [])]
    return Group(_head(look, url, here, waiting, problem), *shown, *foot)


def in_order(jobs: Sequence[Workload], at: Scrolled) -> list[Workload]:
    """Workloads, given in the order of their submission, as they are sorted: the oldest, the most important, the first
    by name, or the largest first."""

    def key(place: int) -> tuple[Any, ...]:
        job = jobs[place]
        if at.order == "age":
            return WAITING.index(job["state"]) if job["state"] in WAITING else 0, place
        if at.order == "priority":
            return -(job["priority"] or 0), place
        return job["name"] if at.order == "name" else -asked_of(job, at.order), place

    return [jobs[place] for place in sorted(range(len(jobs)), key=key, reverse=at.turned)]


def asked_of(job: Workload, resource: str) -> int:
    """What all its members ask for together; of GPUs whatever they are called."""
    parts = job["pod_sets"] or [{"name": "", "count": job["members"], "requests": job["requests"]}]
    return sum(
        part["count"] * nano(part["requests"], name)
        for part in parts
        for name in part["requests"]
        if name.partition("@")[0] == resource or (resource == "gpu" and is_gpu(name))
    )


def allotted(wanted: Sequence[int], lines: int, favoured: int | None = None) -> list[int]:
    """How many lines each part gets: in turn one more, until it has all it wants or there are no more.

    One that is favoured has what it wants as soon as each of the others has a few.
    """
    given = [0] * len(wanted)

    def deal(most: int | None) -> None:
        nonlocal lines
        goals = [want if most is None else min(want, most) for want in wanted]
        while lines > 0 and any(have < goal for have, goal in zip(given, goals, strict=True)):
            for index, goal in enumerate(goals):
                if given[index] < goal and lines > 0:
                    given[index] += 1
                    lines -= 1

    if favoured is not None:
        deal(LEAST)
        more = max(0, min(lines, wanted[favoured] - given[favoured]))
        given[favoured] += more
        lines -= more
    deal(None)
    return given


def _head(look: Look, url: str, here: Sequence[Workload], waiting: Sequence[Workload], problem: str) -> Text:
    if problem or look.server["problem"]:
        return text(f"cede  {problem or look.server['problem']}", "bold red reverse")
    counts = f"{number(len(look.nodes), 'node')}, {len(here)} running, {len(waiting)} waiting"
    made_by = f"{look.server['doctrine']} {look.server['edition']}"
    made = text("cede ", "bold") + text(f"{url}  {made_by}  ", "dim") + text(counts, "bold")
    made.no_wrap, made.overflow = True, "ellipsis"
    return made


def _keys(at: Scrolled, width: int) -> Text:
    order = f"{at.order}{', turned' if at.turned else ''}"
    made = text(f"q ends  tab chooses a part  arrows, pages scroll  s sorts ({order})  r turns", "dim")
    made.truncate(width)
    return made


def _legend(width: int) -> Text:
    made = text(LEGEND, "dim")
    made.truncate(width)
    return made


def _table(*columns: tuple[str, int | None]) -> Table:
    """A table of single lines; the last column has what the others leave."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold underline", padding=(0, 2, 0, 0), expand=True)
    for title, most in columns[:-1]:
        made.add_column(title, no_wrap=True, overflow="ellipsis", max_width=most)
    made.add_column(columns[-1][0], no_wrap=True, overflow="ellipsis", ratio=1)
    return made


def _running(jobs: Sequence[Workload], width: int, title: str) -> Table:
    wide = width >= WIDE
    made = _table((title, NAME), ("state", None), ("prio", None), ("for", None), *_if(wide, ("asks for", 30)), ("", 0))
    at = now()
    for job in jobs:
        made.add_row(
            text(shortened(job["name"], NAME), "bold"),
            state(job["state"]),
            maybe(job["priority"]),
            since(job["began"] or job["since"], at),
            *([text(asked(job))] if wide else []),
            remark(job),
        )
    return made


def _waiting(jobs: Sequence[Workload], width: int, title: str) -> Table:
    wide = width >= WIDE
    made = _table(
        (title, NAME), ("state", None), ("prio", None), ("for", None), *_if(wide, ("asks for", 30)), ("why", 0)
    )
    at = now()
    for job in jobs:
        held = f"room on {where(job['nodes'])} until {where(job['waits_for'])} left"
        made.add_row(
            text(shortened(job["name"], NAME), "bold"),
            state(job["state"]),
            maybe(job["priority"]),
            since(job["since"], at),
            *([text(asked(job))] if wide else []),
            text(held if job["state"] == "held" else job["why"]),
        )
    return made


def _events(events: Sequence[Event], width: int, title: str) -> Table:
    made = _table((title, None), ("", EVENT), ("", None), ("", 0))
    for event in events:
        went = moved(event) if width >= WIDE else state(event["after"])
        name = shortened(event["workload"], EVENT)
        made.add_row(text(clock(event["at"])[:8], "dim"), text(name), went, text(sentence(event)))
    return made


def _if(condition: bool, column: tuple[str, int | None]) -> list[tuple[str, int | None]]:
    return [column] if condition else []
