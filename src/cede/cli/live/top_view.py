"""One look at the running cluster, laid out for a screen of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cede.cli.live.bars import LEGEND
from cede.cli.live.nodes_view import nodes_table, queues_table
from cede.cli.live.shown import clock, maybe, now, since, state, where
from cede.cli.live.story import moved, sentence
from cede.cli.live.workloads_view import asked, remark
from cede.cli.output import number, text

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from cede.live.client.results import Event, Node, Queue, Server, Workload

WAITING = ("held", "pending", "suspended")
WIDE = 110


@dataclass(frozen=True, slots=True)
class Look:
    """Everything that is shown, at one moment."""

    server: Server
    nodes: list[Node]
    queues: list[Queue]
    workloads: list[Workload]
    events: list[Event]


def drawn(look: Look, url: str, width: int, height: int, problem: str) -> Group:
    """As many lines as the screen has, no more: each part gets some, and the busiest gets what is left."""
    from rich.console import Group

    here = [job for job in look.workloads if job["state"] not in WAITING]
    waiting = sorted(
        (job for job in look.workloads if job["state"] in WAITING), key=lambda job: WAITING.index(job["state"])
    )
    sizes = [len(look.nodes), len(look.queues), len(here), len(waiting), len(look.events)]
    heads = [size > 0 for size in sizes]
    rows = allotted(sizes, height - 2 - sum(heads))
    parts = [
        nodes_table(look.nodes[: rows[0]], width, bare=True),
        queues_table(look.queues[: rows[1]], bare=True),
        _running(here[: rows[2]], width),
        _waiting(waiting[: rows[3]], width),
        _events(look.events[len(look.events) - rows[4] :], width),
    ]
    shown = [part for part, head in zip(parts, heads, strict=True) if head]
    left_out = sum(sizes[:4]) - sum(rows[:4])
    return Group(_head(look, url, here, waiting, problem), *shown, _foot(left_out, width))


def allotted(wanted: Sequence[int], lines: int) -> list[int]:
    """How many lines each part gets: in turn one more, until it has all it wants or there are no more."""
    given = [0] * len(wanted)
    while lines > 0 and any(have < want for have, want in zip(given, wanted, strict=True)):
        for index, want in enumerate(wanted):
            if given[index] < want and lines > 0:
                given[index] += 1
                lines -= 1
    return given


def _head(look: Look, url: str, here: Sequence[Workload], waiting: Sequence[Workload], problem: str) -> Text:
    if problem or look.server["problem"]:
        return text(f"cede  {problem or look.server['problem']}", "bold red reverse")
    counts = f"{number(len(look.nodes), 'node')}, {len(here)} running, {len(waiting)} waiting"
    made_by = f"{look.server['doctrine']} {look.server['edition']}"
    made = text("cede ", "bold") + text(f"{url}  {made_by}  ", "dim") + text(counts, "bold")
    made.no_wrap, made.overflow = True, "ellipsis"
    return made


def _foot(left_out: int, width: int) -> Text:
    more = f"; {left_out} more do not fit" if left_out else ""
    made = text(f"q ends  {LEGEND}{more}", "dim")
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


def _running(jobs: Sequence[Workload], width: int) -> Table:
    wide = width >= WIDE
    made = _table(
        ("running", 24), ("state", None), ("prio", None), ("for", None), *_if(wide, ("asks for", 30)), ("", 0)
    )
    at = now()
    for job in jobs:
        made.add_row(
            text(job["name"], "bold"),
            state(job["state"]),
            maybe(job["priority"]),
            since(job["began"] or job["since"], at),
            *([text(asked(job))] if wide else []),
            remark(job),
        )
    return made


def _waiting(jobs: Sequence[Workload], width: int) -> Table:
    wide = width >= WIDE
    made = _table(
        ("waiting", 24), ("state", None), ("prio", None), ("for", None), *_if(wide, ("asks for", 30)), ("why", 0)
    )
    at = now()
    for job in jobs:
        held = f"room on {where(job['nodes'])} until {where(job['waits_for'])} left"
        made.add_row(
            text(job["name"], "bold"),
            state(job["state"]),
            maybe(job["priority"]),
            since(job["since"], at),
            *([text(asked(job))] if wide else []),
            text(held if job["state"] == "held" else job["why"]),
        )
    return made


def _events(events: Sequence[Event], width: int) -> Table:
    made = _table(("events", None), ("", 20), ("", None), ("", 0))
    for event in reversed(events):
        went = moved(event) if width >= WIDE else state(event["after"])
        made.add_row(text(clock(event["at"])[:8], "dim"), text(event["workload"]), went, text(sentence(event)))
    return made


def _if(condition: bool, column: tuple[str, int | None]) -> list[tuple[str, int | None]]:
    return [column] if condition else []
