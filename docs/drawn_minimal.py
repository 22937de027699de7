"""The picture and the table of "What minimal means": the sets that the doctrines choose on one example.

What is drawn is what the commands below answer. That each is the set its notion asks for is worked out apart, by a test
that tries all subsets.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import cede
from cede.model.cluster import ClusterFile
from cede.model.workloads import Workload
from docs.blocks import ROOT
from docs.commands import prepared, ran
from docs.tables import table

EXAMPLE = "examples/minimal.yaml"
PICTURE = "docs/images/minimal.svg"
RESOURCE = "cpu"

RECLAIMS = "--set 'queues[root.prod].settings.reclaimWithinCohort=LowerPriority'"
STARVES = "--set 'apps=[{name: urgent, queue: root.prod, settings: {below_fair_share_since: -60}}]'"
CROSSING = "--set doctrine.consider_allocation_on_fair_share_bound_preemptible=true"


@dataclass(frozen=True, slots=True)
class Notion:
    """One meaning of the word, and the commands by which doctrines of that meaning choose."""

    name: str
    promise: str
    choosers: tuple[tuple[str, str], ...]
    """Name of the doctrine, options of the command."""
    how: str = ""

    @property
    def commands(self) -> list[str]:
        return [f"cede plan {EXAMPLE} {options}".strip() for _, options in self.choosers]

    @property
    def who(self) -> str:
        """Who means it so, and in which order it looks."""
        return ", ".join([name for name, _ in self.choosers] + [self.how] * bool(self.how))


NOTIONS = (
    Notion("fewest victims", "no set has fewer", (("YuniKorn", "--doctrine yunikorn"),)),
    Notion("cheapest", "no set costs less", (("Lattice", "--doctrine lattice"),)),
    Notion(
        "lowest priority first",
        "no set has lower priorities",
        (("Backend.AI", ""), ("Kueue", f"--doctrine kueue {RECLAIMS}")),
    ),
    Notion(
        "nothing superfluous",
        "each of them is needed",
        (("YTsaurus", f"--doctrine ytsaurus {STARVES} {CROSSING}"),),
        "newest first",
    ),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What one notion leads to on the example."""

    notion: Notion
    victims: frozenset[str]


def choices() -> list[Choice]:
    """What the doctrines choose; those of one notion must agree."""
    with TemporaryDirectory() as name:
        folder = prepared(Path(name))
        return [Choice(notion, _victims(notion, folder)) for notion in NOTIONS]


def _victims(notion: Notion, folder: Path) -> frozenset[str]:
    found = set()
    for command in notion.commands:
        code, printed = ran(f"{command} --json", folder)
        if code:
            raise RuntimeError(f"{command!r} ended with {code}:\n{printed}")
        [decision] = json.loads(printed)["decisions"]
        found.add(frozenset(victim["workload"] for victim in decision["victims"]))
    if len(found) != 1:
        raise RuntimeError(f"{notion.name}: the doctrines choose {found}")
    return found.pop()


def example() -> ClusterFile:
    return cede.load(ROOT / EXAMPLE).document


def jobs_of(cluster: ClusterFile) -> list[Workload]:
    """Those that run, the oldest first."""
    return sorted((one for one in cluster.workloads if one.state == "running"), key=lambda one: one.started or 0)


def size_of(job: Workload) -> int:
    return int(job.requests[RESOURCE]) // 10**9


def minutes_of(job: Workload) -> int:
    """What its preemption costs: the time to save, which is all that counts in this example."""
    return 0 if job.checkpoint is None else int(job.checkpoint.time or 0) // 60_000_000


def parts() -> dict[str, str]:
    """The table of the page."""
    jobs = {job.name: job for job in jobs_of(example())}
    rows = []
    for choice in choices():
        taken = [jobs[name] for name in jobs if name in choice.victims]
        rows.append(
            (
                choice.notion.name,
                ", ".join(f"`{job.name}`" for job in taken),
                str(len(taken)),
                f"{sum(map(minutes_of, taken))} min",
                ", ".join(str(job.priority) for job in sorted(taken, key=lambda job: -(job.priority or 0))),
                f"{sum(map(size_of, taken))}",
                choice.notion.who,
            )
        )
    heads = ("minimal as", "the set", "victims", "cost", "their priorities", "cpu freed", "chosen by")
    return {"sets": "\n".join(table(heads, rows))}


# -- the picture -----------------------------------------------------------------------------------------------------

WIDE, LEFT, BAR, LINE = 990, 206, 624, 62
TOP = 138
COLOURS = ("#3b6fb0", "#c2571a", "#1f7d4f", "#a2418f")
ON_DARK = ("#78aee8", "#f09a5e", "#5cc48d", "#e08fd0")

STYLE = """\
.minimal text { font: 12.5px "DejaVu Sans", Verdana, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1b1f23; }
.minimal .small { font-size: 11px; fill: #5b6168; }
.minimal .title { font-size: 15px; font-weight: bold; }
.minimal .name { font-weight: bold; }
.minimal .mid { text-anchor: middle; }
.minimal .end { text-anchor: end; }
.minimal .ground { fill: #ffffff; stroke: #d5d5d0; }
.minimal .job { fill: #e9ebee; stroke: #ffffff; stroke-width: 2; }
.minimal .stays { fill: #f4f5f6; stroke: #ffffff; stroke-width: 2; }
.minimal .stays-name { fill: #9aa0a7; }
.minimal .goes { stroke: #ffffff; stroke-width: 2; }
.minimal text.goes-name { fill: #ffffff; font-weight: bold; stroke: none; }
.minimal .rule { stroke: #e3e3de; }
.minimal .arrow { stroke: #8b9097; fill: none; }
"""
DARK = """\
.minimal text { fill: #e6e8eb; }
.minimal .small { fill: #a3a9b1; }
.minimal .ground { fill: #15181c; stroke: #2d3238; }
.minimal .job { fill: #2f353c; stroke: #15181c; }
.minimal .stays { fill: #1d2126; stroke: #15181c; }
.minimal .stays-name { fill: #6b737d; }
.minimal .goes { stroke: #15181c; }
.minimal text.goes-name { fill: #15181c; }
.minimal .rule { stroke: #2d3238; }
"""


def pictures() -> dict[str, str]:
    return {PICTURE: picture()}


def picture() -> str:
    """The node with its jobs, and below it for each notion who of them goes, as SVG."""
    cluster = example()
    height = TOP + LINE * len(NOTIONS) + 10
    lines = [
        f'<svg class="minimal" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {height}" '
        f'width="{WIDE}" height="{height}" role="img">',
        f"<title>Four meanings of minimal in {EXAMPLE}</title>",
        "<style>",
        STYLE + "".join(f".minimal .n{at} {{ fill: {colour}; }}\n" for at, colour in enumerate(COLOURS)),
        "@media (prefers-color-scheme: dark) {",
        DARK + "".join(f".minimal .n{at} {{ fill: {colour}; }}\n" for at, colour in enumerate(ON_DARK)) + "}",
        "</style>",
        f'<rect class="ground" x="0.5" y="0.5" width="{WIDE - 1}" height="{height - 1}" rx="8"/>',
        *_node(cluster),
    ]
    for at, choice in enumerate(choices()):
        lines += _choice(cluster, choice, at)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _node(cluster: ClusterFile) -> Iterator[str]:
    """What runs, with the numbers that the notions look at."""
    [claimant] = [one for one in cluster.workloads if one.state == "pending"]
    [node] = cluster.nodes
    whole = int(node.capacity[RESOURCE]) // 10**9
    needs = size_of(claimant)
    yield _text(
        18, 28, f"{claimant.name} needs {needs} of {whole} {RESOURCE}, and {node.name} is full. Who goes?", "title"
    )
    yield _text(LEFT, 50, "oldest", "small")
    yield _text(LEFT + BAR, 50, "newest", "small end")
    yield f'<path class="arrow" d="M{LEFT + 46} 46 H{LEFT + BAR - 58} m-6 -4 l6 4 l-6 4"/>'
    for row, label in enumerate(("running job", RESOURCE, "priority", "time to save")):
        yield _text(LEFT - 14, 74 + 15 * row, label, "small end")
    for job, x, wide in _laid_out(cluster):
        yield f'<rect class="job" x="{x:g}" y="58" width="{wide:g}" height="71" rx="4"/>'
        middle = x + wide / 2
        yield _text(middle, 74, job.name, "name mid")
        for row, said in enumerate((f"{size_of(job)}", f"{job.priority}", f"{minutes_of(job)} min")):
            yield _text(middle, 89 + 15 * row, said, "small mid")


def _choice(cluster: ClusterFile, choice: Choice, at: int) -> Iterator[str]:
    """One notion: its name, the node once more with those marked who go, and what comes of it."""
    y = TOP + LINE * at
    taken = [job for job in jobs_of(cluster) if job.name in choice.victims]
    yield f'<path class="rule" d="M18 {y + 4.5} H{WIDE - 18}"/>'
    yield _text(18, y + 30, choice.notion.name, "name")
    yield _text(18, y + 47, choice.notion.who, "small")
    yield f'<g data-notion="{escape(choice.notion.name)}" data-victims="{escape(" ".join(sorted(choice.victims)))}">'
    for job, x, wide in _laid_out(cluster):
        goes = job in taken
        box = f"goes n{at}" if goes else "stays"
        yield f'<rect class="{box}" x="{x:g}" y="{y + 15}" width="{wide:g}" height="36" rx="4"/>'
        yield _text(x + wide / 2, y + 37, job.name, "mid goes-name" if goes else "mid stays-name")
    yield "</g>"
    count = f"{len(taken)} victim{'s' if len(taken) > 1 else ''}"
    at_x = LEFT + BAR + 14
    yield _text(at_x, y + 30, f"{count}, {sum(map(minutes_of, taken))} min", "")
    priorities = ", ".join(str(one) for one in sorted((job.priority or 0 for job in taken), reverse=True))
    yield _text(at_x, y + 47, f"priority {priorities}; frees {sum(map(size_of, taken))}", "small")


def _laid_out(cluster: ClusterFile) -> Iterator[tuple[Workload, float, float]]:
    """Each job with where its box begins and how wide it is."""
    jobs = jobs_of(cluster)
    scale = BAR / sum(map(size_of, jobs))
    x = float(LEFT)
    for job in jobs:
        wide = size_of(job) * scale
        yield job, x, wide
        x += wide


def _text(x: float, y: float, said: str, look: str) -> str:
    style = f' class="{look}"' if look else ""
    return f'<text{style} x="{x:g}" y="{y:g}">{escape(said)}</text>'
