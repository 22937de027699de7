"""What `cede bench yunikorn` measures: one attempt of YuniKorn's doctrine beside a plain search over all nodes."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.measures import Timing, timed
from bench.naive import yunikorn, yunikorn_laws
from bench.naive.yunikorn_cluster import cluster
from bench.tenants import EACH, QUEUES, SEED, VICTIM_QUEUES, tenants
from cede.doctrines.catalog import find
from cede.doctrines.document import parse_document
from cede.engine.cycle import plan_state
from cede.engine.events import Requeued, Started, Ticked, apply
from cede.model.errors import CedeError
from cede.model.times import SECOND
from cede.state.build import build
from cede.state.state import State

if TYPE_CHECKING:
    from rich.console import Console

BAR_MS, BAR = 10, 50
ROUNDS, QUICK_ROUNDS = 100, 20
ENOUGH_S = 10
BETWEEN = "before each round two running workloads of one shape change places and a second goes by"

Answer = tuple[str, list[str]] | None
"""The node and the names of the victims, in order of name; none where nobody is preempted."""


@dataclass(frozen=True, slots=True)
class Case:
    """One attempt: by which edition, how many must go, and whether for room on a node or within a max."""

    edition: str
    victims: int
    quota: bool = False

    @property
    def name(self) -> str:
        return f"{self.edition}, {'quota' if self.quota else 'full'}"

    @property
    def bar(self) -> int | None:
        """How much faster than the naive attempt; only 1.9 with full nodes makes its two passes on all of them."""
        return BAR if self.edition == "1.9" and not self.quota else None


CASES = (
    *(Case("laws", victims) for victims in (1, 3, 8)),
    Case("laws", 1, quota=True),
    *(Case("1.9", victims) for victims in (1, 3, 8)),
    *(Case("1.9", victims, quota=True) for victims in (1, 8)),
)


@dataclass(frozen=True, slots=True)
class Standing:
    """A cluster that events keep current, and the document that says the same."""

    state: State
    document: dict[str, Any]

    @staticmethod
    def of(nodes: int, case: Case) -> Standing:
        document = tenants(nodes, case.victims, case.edition, quota=case.quota)
        return Standing(build(parse_document(document)), document)

    def decide(self) -> Answer:
        """A whole plan of the cluster, as far as it preempts."""
        [made] = plan_state(self.state, find("yunikorn"), only=None, misses=False).decisions
        return (made.nodes[0], sorted(victim.workload for victim in made.victims)) if made.victims else None

    def change(self, draw: random.Random) -> None:
        """Two running workloads of one shape change places: every sum stays, and who may go where does not."""
        running = self.document["workloads"][:-1]
        one = draw.choice(running)
        other = draw.choice([entry for entry in running if entry["requests"] == one["requests"]])
        for entry in {one["name"]: one, other["name"]: other}.values():
            apply(self.state, Requeued(entry["name"], preempted=False))
        one["nodes"], other["nodes"] = other["nodes"], one["nodes"]
        for entry in {one["name"]: one, other["name"]: other}.values():
            apply(self.state, Started(entry["name"], tuple(entry["nodes"])))
        apply(self.state, Ticked(self.state.now + SECOND))


@dataclass(frozen=True, slots=True)
class Attempts:
    """The decisions on one cluster: seconds of the first, of those after changes, and the last answer."""

    first: float
    rounds: int
    timing: Timing
    answer: Answer

    def size(self, nodes: int) -> dict[str, Any]:
        return {
            "nodes": nodes,
            "rounds": self.rounds,
            "first": self.first,
            "p50": self.timing.p50,
            "p99": self.timing.p99,
        }


def measured(sizes: list[int], *, quick: bool, tell: Callable[[str], object]) -> dict[str, Any]:
    """Everything that `bench yunikorn` reports, as plain data; times in seconds."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    *smaller, largest = sorted(sizes)
    decisions, growth = [], []
    for case in CASES:
        times = []
        for nodes in smaller:
            tell(f"{case.name}, {case.victims} victims, {nodes:,} nodes")
            times.append(_attempts(Standing.of(nodes, case), rounds).size(nodes))
        tell(f"{case.name}, {case.victims} victims, {largest:,} nodes")
        ours = Standing.of(largest, case)
        made = _attempts(ours, rounds)
        times.append(made.size(largest))
        tell(f"{case.name}, {case.victims} victims, {largest:,} nodes, naively")
        decisions.append(_row(case, made, naively(case, ours.document, made.answer)))
        grown, most = times[-1]["p50"] / times[0]["p50"], times[-1]["nodes"] / times[0]["nodes"]
        growth.append({"case": case.name, "victims": case.victims, "sizes": times, "growth": grown, "bar": most})
    size = {"nodes": largest, "running": largest * EACH, "queues": QUEUES, "victim_queues": VICTIM_QUEUES}
    return {**size, "rounds": rounds, "between": BETWEEN, "decisions": decisions, "growth": growth}


def _attempts(ours: Standing, rounds: int) -> Attempts:
    """One decision on the cluster as it was built; then one a round, each on one that changed since.

    The rounds end early when their decisions took ten seconds.
    """
    draw = random.Random(SEED)
    samples: list[float] = []
    answers: list[Answer] = []
    gc.collect()
    first = timed(ours.decide)
    while len(samples) < rounds and sum(samples) < ENOUGH_S:
        ours.change(draw)
        samples.append(timed(lambda: answers.append(ours.decide())))
    return Attempts(first, len(samples), Timing.of(samples), answers[-1])


def naively(case: Case, document: dict[str, Any], answer: Answer) -> float:
    """Seconds of the naive attempt on the cluster as it stands after the last round, which must answer the same."""
    prepared = cluster(document)
    search = yunikorn.attempt if case.edition == "1.9" else yunikorn_laws.search
    answers: list[Answer] = []
    gc.collect()
    seconds = timed(lambda: answers.append(search(prepared)))
    found = answers[0] and (answers[0][0], sorted(answers[0][1]))
    if found != answer:
        raise CedeError(f"{case.name}, {case.victims} victims: decided {answer}, the naive attempt finds {found}")
    return seconds


def _row(case: Case, made: Attempts, naive: float) -> dict[str, Any]:
    return {
        "case": case.name,
        "edition": case.edition,
        "quota": case.quota,
        "needed": case.victims,
        "victims": len(made.answer[1]) if made.answer else 0,
        "rounds": made.rounds,
        "first": made.first,
        "p50": made.timing.p50,
        "p99": made.timing.p99,
        "naive": naive,
        "ratio": naive / made.timing.p50,
        "bar_ms": BAR_MS,
        "bar": case.bar,
    }


def print_report(console: Console, report: dict[str, Any]) -> None:
    """Two tables: one attempt beside the naive one at the largest size, and how it grows up to there."""
    from cede.cli.output import table

    whole: dict[str, object] = {"no_wrap": True}
    right: dict[str, object] = {"no_wrap": True, "justify": "right"}
    columns = (("victims", right), ("p50", right), ("p99", right), ("naive", right), ("faster", right), ("bar", whole))
    shown = table(("one attempt", whole), *columns)
    for row in report["decisions"]:
        middles = (_time(row[key]) for key in ("p50", "p99", "naive"))
        shown.add_row(row["case"], f"{row['victims']}", *middles, f"{row['ratio']:,.0f}×", _bar(row))
    console.print(shown)
    console.print(
        f"{report['nodes']:,} nodes, {report['queues']} queues, {report['running']:,} running in "
        f"{report['victim_queues']} of them; both find the same victims\n"
    )
    sizes = [one["nodes"] for one in report["growth"][0]["sizes"]]
    times = [*((f"{nodes:,}", right) for nodes in sizes), ("growth", right), ("bar", whole), ("first", right)]
    shown = table(("p50 by nodes", whole), *times)
    for row in report["growth"]:
        bar = f"{'' if row['growth'] <= row['bar'] else 'missed '}≤{row['bar']:g}×"
        middles = (_time(one["p50"]) for one in row["sizes"])
        first = _time(row["sizes"][-1]["first"])
        shown.add_row(f"{row['case']}, {row['victims']}", *middles, f"{row['growth']:.1f}×", bar, first)
    console.print(shown)
    console.print(f"p50 of {report['rounds']} rounds, or as many as ten seconds hold; {report['between']}")


def _bar(row: dict[str, Any]) -> str:
    """What p50 and the ratio must keep to, or which of them do not."""
    bars = [(f"<{row['bar_ms']} ms", row["p50"] * 1e3 < row["bar_ms"])]
    if row["bar"] is not None:
        bars.append((f"≥{row['bar']}×", row["ratio"] >= row["bar"]))
    missed = " ".join(bar for bar, kept in bars if not kept)
    return f"missed {missed}" if missed else " ".join(bar for bar, _ in bars)


def _time(seconds: float) -> str:
    """A duration in the unit that suits it, with three digits."""
    unit, size = next((one for one in (("s", 1), ("ms", 1e-3)) if seconds >= one[1]), ("µs", 1e-6))
    value = seconds / size
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
