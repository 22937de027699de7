"""Workloads as a table: one line each, as much of it as the terminal is wide."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cede.cli.live.formatting import NOTHING, STATE_STYLES, amounts, maybe, now, shortened, since, state, where
from cede.cli.output import cut, listed, number, text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from cede.live.documents import Workload

WIDE = 110
VERY_WIDE = 150
PRESENT = ("starting", "running", "checkpointing", "preempting", "cancelling")


def print_workloads(out: Console, jobs: Sequence[Workload], *, everything: bool, more: bool = False) -> None:
    """The table, and a line that counts; `more`: there are older ones too."""
    if not jobs:
        out.print(text("There are no workloads." if everything else "Nothing is under way. (--all shows what ended.)"))
        return
    out.print(workloads_table(jobs, out.width))
    counts = Counter(job["state"] for job in jobs)
    out.print()
    words = [f"{count:,} {word}" for word, count in sorted(counts.items(), key=lambda one: _order(one[0]))]
    which = f"the newest {number(len(jobs), 'workload')}" if more else number(len(jobs), "workload")
    out.print(text(f"{which}: {', '.join(words)}", "dim"))
    if more:
        out.print(text("There are older ones: --limit N shows more, --state STATE those of one state.", "yellow"))


def _order(word: str) -> int:
    return list(STATE_STYLES).index(word) if word in STATE_STYLES else len(STATE_STYLES)


def workloads_table(jobs: Sequence[Workload], width: int, most: int | None = None) -> Table:
    """One line a workload; what the last column says depends on its state."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    wide, very_wide = width >= WIDE, width >= VERY_WIDE
    name, queue = (36, 20) if wide else (22, 10)
    made = Table(
        box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 2, 0, 0), expand=True
    )
    made.add_column("name", no_wrap=True, overflow="ellipsis", max_width=name)
    made.add_column("state", no_wrap=True)
    if wide:
        made.add_column("user", no_wrap=True, overflow="ellipsis", max_width=12)
    made.add_column("queue", no_wrap=True, overflow="ellipsis", max_width=queue)
    made.add_column("prio", justify="right", no_wrap=True)
    made.add_column("for", justify="right", no_wrap=True)
    if wide:
        made.add_column("asks for", no_wrap=True, overflow="ellipsis", max_width=30)
    if very_wide:
        made.add_column("command", no_wrap=True, overflow="ellipsis", max_width=40)
    made.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    at = now()
    for job in jobs[:most]:
        made.add_row(
            text(shortened(job["name"], name), "bold"),
            state(job["state"]),
            *([text(job["user"])] if wide else []),
            text(shortened(maybe(job["queue"]), queue)),
            maybe(job["priority"]),
            since(job["since"], at),
            *([text(asked(job))] if wide else []),
            *([text(command(job))] if very_wide else []),
            remark(job),
        )
    return made


def asked(job: Workload) -> str:
    """What it asks for, with its members: those that ask for the same together, and the first few of many kinds."""
    if job["pod_sets"]:
        counts = Counter[str]()
        for part in job["pod_sets"]:
            counts[amounts(part["requests"])] += part["count"]
        return listed([f"{count}× {asks}" for asks, count in counts.items()], "; ")
    members = f"{job['members']}× " if job["members"] > 1 else ""
    return f"{members}{amounts(job['requests'])}"


def command(job: Workload) -> str:
    """What it runs, as a shell would read it."""
    return shlex.join(job["command"])


def remark(job: Workload) -> Text:
    """Of one that runs where; of one that waits why; of one that ended how."""
    if job["state"] in PRESENT:
        words = [f"on {where(job['nodes'])}"]
        if job["claimant"]:
            words.append(f"makes way for {job['claimant']}")
        if job["state"] == "checkpointing" and job["progress"]:
            words.append(f"{job['progress']:.0%} written")
        if job["attempt"] > 1:
            words.append(f"attempt {job['attempt']}")
        return text(", ".join(words))
    if job["state"] == "held":
        return text(f"on {where(job['nodes'])}, waits for {where(job['waits_for'])}")
    return text(cut(ending(job), 200), "red" if job["state"] == "failed" else "dim")


def ending(job: Workload) -> str:
    """Why it is where it is; of one that ended by itself its exit code if it says nothing else."""
    if job["why"]:
        return job["why"]
    if job["exit_signal"] is not None:
        return f"ended by signal {job['exit_signal']}"
    return NOTHING if not job["exit_code"] else f"exit code {job['exit_code']}"
