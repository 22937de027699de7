"""What `cede bench lattice` measures: one decision of Lattice's policy, by kind, beside a plain one over everybody."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bench.measures import Timing, timed
from bench.naive import lattice as naive
from bench.vclusters import HOUR, SEED, TO_ITSELF, WAITING, Entry, fresh, shape, vclusters
from cede.doctrines.catalog import find
from cede.doctrines.document import parse_document
from cede.engine.cycle import plan_state
from cede.engine.events import Ended, Submitted, Ticked, apply
from cede.model.cluster import Workload
from cede.model.errors import CedeError
from cede.model.plan import Decision
from cede.model.times import SECOND
from cede.state.build import build
from cede.state.state import State

if TYPE_CHECKING:
    from rich.console import Console

BAR_MS = 10
ROUNDS, QUICK_ROUNDS, NAIVE_ROUNDS = 100, 20, 3
BETWEEN = "before each round one that runs ends, another starts on its nodes, and a second goes by"
CLAIMANT = "in"
LONG_AGO = 30 * 24 * HOUR


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of decision: who wants in, what must become of it, and by which reason its victims must go."""

    name: str
    claim: Callable[[random.Random, Entry], Entry]
    action: str = "preempt"
    reason: str = "priority"
    misses: bool = False


def _gang(draw: random.Random, _: Entry) -> Entry:
    return {"queue": "guests", "priority": draw.randrange(7, 10), **shape(draw.randrange(4, 15), 8, whole=True)}


def _shared_gang(draw: random.Random, _: Entry) -> Entry:
    return {"queue": "guests", "priority": draw.randrange(7, 10), **shape(draw.randrange(8, 33), draw.choice((1, 2)))}


def _one_node(draw: random.Random, _: Entry) -> Entry:
    return {"queue": "guests", "priority": draw.randrange(4, 10), **shape(1, draw.randrange(2, 6))}


def _reclaim(draw: random.Random, _: Entry) -> Entry:
    return {"queue": "training", "priority": 0, **shape(draw.randrange(4, 11), 8, whole=True)}


def _sensitive(draw: random.Random, document: Entry) -> Entry:
    lent = (node["name"] for node in draw.sample(document["nodes"], 12) if node.get("home") not in TO_ITSELF)
    named = [name for name, _ in zip(lent, range(4), strict=False)]
    wanted = {"sensitive": True, "priority": 9, "constraints": {"nodes": named}}
    return {"queue": "batch", **wanted, **shape(len(named), 8, whole=True)}


def _start(draw: random.Random, _: Entry) -> Entry:
    return {"queue": "apart", "priority": 5, **shape(draw.randrange(1, 3), draw.randrange(1, 5))}


def _too_large(draw: random.Random, _: Entry) -> Entry:
    return {"queue": "guests", "priority": 9, **shape(draw.randrange(25, 40), 8, whole=True)}


CASES = (
    Case("gang, whole", _gang),
    Case("gang, shared", _shared_gang),
    Case("one member", _one_node),
    Case("reclaim", _reclaim, reason="reclaim"),
    Case("sensitive", _sensitive, reason="sensitive"),
    Case("start", _start, "start"),
    Case("wait", _too_large, "wait"),
    Case("wait, told", _too_large, "wait", misses=True),
)
"""The last is the one before with its nearest miss, which only somebody who asks is told."""


@dataclass(slots=True)
class Standing:
    """A cluster that events keep current, and the document that says the same but for the claimant."""

    state: State
    document: Entry
    draw: random.Random = field(default_factory=lambda: random.Random(SEED))
    changes: int = 0

    @staticmethod
    def of(nodes: int) -> Standing:
        document = vclusters(nodes)
        return Standing(build(parse_document(document)), document)

    @property
    def running(self) -> list[Entry]:
        return self.document["workloads"][:-WAITING]  # type: ignore[no-any-return]

    def change(self) -> None:
        """One ends, another takes its room: every sum stays, and who may go and at what cost does not."""
        self.changes += 1
        now = self.changes
        apply(self.state, Ticked(now * SECOND))
        self.document["now"] = now
        at = self.draw.randrange(len(self.running))
        old = self.document["workloads"][at]
        new = old | fresh(f"b{now:06d}", self.draw, home=self._home(old), now=now)
        apply(self.state, Ended(old["name"]))
        apply(self.state, Submitted(Workload.model_validate(new)))
        self.document["workloads"][at] = new

    def _home(self, entry: Entry) -> str | None:
        found: str | None = self.document["nodes"][int(entry["nodes"][0][1:])].get("home")
        return found

    def claimant(self, case: Case) -> Entry:
        """One that is ahead of all who wait: it has waited for a month."""
        own = {"name": CLAIMANT, "tenant": "t00", "submitted": self.changes - LONG_AGO, "walltime": 48 * HOUR}
        return {**own, **case.claim(self.draw, self.document)}

    def decide(self, case: Case, claimant: Entry) -> tuple[float, Decision]:
        """Seconds of the decision on this claimant, who comes and goes again, and what it is."""
        apply(self.state, Submitted(Workload.model_validate(claimant)))
        made: list[Decision] = []
        seconds = timed(lambda: made.extend(self._plan(misses=case.misses)))
        apply(self.state, Ended(CLAIMANT))
        reasons = {one.reason for one in made[-1].victims}
        if made[-1].action != case.action or (reasons and case.reason not in reasons):
            raise CedeError(f"{case.name}: the claimant was meant to {case.action}: {made[-1]}")
        return seconds, made[-1]

    def exact(self, claimant: Entry) -> bool:
        """Whether the doctrine says that no other set of victims is preferred."""
        apply(self.state, Submitted(Workload.model_validate(claimant)))
        [*_, made] = self._plan(explain=True)
        apply(self.state, Ended(CLAIMANT))
        return made.account is None or made.account["best"] == "proven"

    def _plan(self, *, misses: bool = False, explain: bool = False) -> Iterable[Decision]:
        return plan_state(self.state, find("lattice"), only=CLAIMANT, misses=misses, explain=explain).decisions


@dataclass(frozen=True, slots=True)
class Decisions:
    """Those of one kind on one cluster, each after a change: seconds, and the most victims of one."""

    timing: Timing
    p95: float
    victims: int

    def figures(self) -> Entry:
        return {"p50": self.timing.p50, "p95": self.p95, "p99": self.timing.p99}


def measured(sizes: list[int], *, quick: bool, tell: Callable[[str], object]) -> Entry:
    """Everything that `bench lattice` reports, as plain data; times in seconds."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    *smaller, largest = sorted(sizes)
    times: dict[str, list[Entry]] = {case.name: [] for case in CASES}
    for nodes in smaller:
        standing = Standing.of(nodes)
        for case in CASES:
            tell(f"{case.name}, {nodes:,} nodes")
            times[case.name].append({"nodes": nodes, **decided(standing, case, rounds).figures()})
    standing = Standing.of(largest)
    decisions = []
    for case in CASES:
        tell(f"{case.name}, {largest:,} nodes")
        made = decided(standing, case, rounds)
        times[case.name].append({"nodes": largest, **made.figures()})
        tell(f"{case.name}, {largest:,} nodes, naively")
        decisions.append(_row(case, made, naively(standing, case)))
    growth = [
        {"case": name, "sizes": rows, "growth": rows[-1]["p50"] / rows[0]["p50"], "bar": largest / min(sizes)}
        for name, rows in times.items()
    ]
    running = standing.running
    return {
        "nodes": largest,
        "running": len(running),
        "on_several_nodes": sum(len(entry["nodes"]) > 1 for entry in running) / len(running),
        "waiting": WAITING,
        "rounds": rounds,
        "between": BETWEEN,
        "decisions": decisions,
        "growth": growth,
    }


def decided(standing: Standing, case: Case, rounds: int) -> Decisions:
    """One decision that is not counted, then one a round."""
    samples: list[float] = []
    victims = 0
    gc.collect()
    for _ in range(rounds + 1):
        standing.change()
        seconds, made = standing.decide(case, standing.claimant(case))
        samples.append(seconds)
        victims = max(victims, len(made.victims))
    return Decisions(Timing.of(samples[1:]), float(np.percentile(samples[1:], 95)), victims)


def naively(standing: Standing, case: Case) -> tuple[float, bool]:
    """The middle of the seconds of the naive decision in a few rounds more, and whether all were proven the best.

    Where the doctrine says that its victims are the preferred ones, the naive decision must take the same.
    """
    samples: list[float] = []
    proven = True
    for _ in range(NAIVE_ROUNDS):
        standing.change()
        claimant = standing.claimant(case)
        _, made = standing.decide(case, claimant)
        ours = made.action, sorted(victim.workload for victim in made.victims)
        found: list[tuple[str, list[str]]] = []
        samples.append(timed(lambda: found.append(naive.decide(standing.document, claimant))))  # noqa: B023
        if found[0] == ours:
            continue
        if standing.exact(claimant):
            raise CedeError(f"{case.name}: decided {ours}, the naive decision is {found[0]}")
        proven = False
    return float(np.percentile(samples, 50)), proven


def _row(case: Case, made: Decisions, beside: tuple[float, bool]) -> Entry:
    naive_p50, same = beside
    return {
        "case": case.name,
        "action": case.action,
        "victims": made.victims,
        **made.figures(),
        "naive": naive_p50,
        "ratio": naive_p50 / made.timing.p50,
        "same": same,
        "bar_ms": None if case.misses else BAR_MS,
    }


def print_report(console: Console, report: Entry) -> None:
    """Two tables: one decision of each kind beside the naive one at the largest size, and how it grows up to there."""
    from cede.cli.output import table

    whole: dict[str, object] = {"no_wrap": True}
    right: dict[str, object] = {"no_wrap": True, "justify": "right"}
    times = tuple((name, right) for name in ("p50", "p95", "p99", "naive", "faster"))
    shown = table(("one decision", whole), ("victims", right), *times, ("bar", whole))
    for row in report["decisions"]:
        seconds = (_time(row[key]) for key in ("p50", "p95", "p99", "naive"))
        shown.add_row(row["case"], f"{row['victims']}", *seconds, f"{row['ratio']:,.0f}×", _bar(row))
    console.print(shown)
    others = [row["case"] for row in report["decisions"] if not row["same"]]
    agree = f"not always the same victims: {', '.join(others)}" if others else "both take the same victims"
    console.print(
        f"{report['nodes']:,} nodes, {report['running']:,} run, {report['on_several_nodes']:.0%} of them on several "
        f"nodes, {report['waiting']} wait; {agree}\n"
    )
    sizes = [one["nodes"] for one in report["growth"][0]["sizes"]]
    shown = table(
        ("p50 by nodes", whole), *((f"{nodes:,}", right) for nodes in sizes), ("growth", right), ("bar", whole)
    )
    for row in report["growth"]:
        bar = f"{'' if row['growth'] <= row['bar'] else 'missed '}≤{row['bar']:g}×"
        seconds = (_time(one["p50"]) for one in row["sizes"])
        shown.add_row(row["case"], *seconds, f"{row['growth']:.1f}×", bar)
    console.print(shown)
    console.print(f"p50 of {report['rounds']} rounds; {report['between']}")


def _bar(row: Entry) -> str:
    if row["bar_ms"] is None:
        return ""
    return f"<{row['bar_ms']} ms" if row["p50"] * 1e3 < row["bar_ms"] else "missed"


def _time(seconds: float) -> str:
    """A duration in the unit that suits it, with three digits."""
    unit, size = next((one for one in (("s", 1), ("ms", 1e-3)) if seconds >= one[1]), ("µs", 1e-6))
    value = seconds / size
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
