"""What `cede bench kueue` measures: whole decisions of Kueue's doctrine beside a naive search for the same victims."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.cohorts import CPU, cohort, naive_tree
from bench.measures import Timing, timed
from bench.naive import classical, fair
from cede.doctrines.catalog import find
from cede.doctrines.document import parse_document
from cede.engine.cycle import plan_state
from cede.model.errors import CedeError
from cede.state.build import build

if TYPE_CHECKING:
    from rich.console import Console

ONE_VICTIM_MS = 5
BARS = {"Classical": 5, "FairSharing": 20}
QUEUES, MOST = 1_000, 20_000
QUICK_QUEUES, QUICK_MOST = 200, 2_000


@dataclass(frozen=True, slots=True)
class Case:
    """One decision: how victims are chosen, how deep the tree is, how many must go."""

    fair: bool
    levels: int
    victims: int

    @property
    def mode(self) -> str:
        return "FairSharing" if self.fair else "Classical"


def measured(*, quick: bool, tell: Callable[[str], object]) -> dict[str, Any]:
    """Everything that `bench kueue` reports, as plain data; times in seconds."""
    queues, most = (QUICK_QUEUES, QUICK_MOST) if quick else (QUEUES, MOST)
    cases = [Case(fair, levels, victims) for fair in (False, True) for levels in (2, 3) for victims in (1, 100, most)]
    rows = []
    for case in cases:
        tell(f"{case.mode}, {case.levels} levels, {case.victims} victims")
        rows.append(_measure(case, queues))
    return {"queues": queues, "running": queues * 50, "decisions": rows}


def _measure(case: Case, queues: int) -> dict[str, Any]:
    document = cohort(queues, case.victims, fair=case.fair, levels=case.levels)
    state = build(parse_document(document))
    doctrine = find("kueue")

    def decide() -> set[str]:
        return plan_state(state, doctrine, misses=False).victims

    tree, preemptor = naive_tree(document)
    search = fair.search if case.fair else classical.search

    def naively() -> set[str]:
        return set(search(tree, preemptor, [CPU]) or ())

    ours, theirs = decide(), naively()
    if ours != theirs or len(ours) != case.victims:
        raise CedeError(f"{case}: {len(ours)} victims, the naive search finds {len(theirs)}")
    gc.collect()
    repeats = 100 if case.victims == 1 else 20 if case.victims == 100 else 3
    timing = Timing.of([timed(decide) for _ in range(repeats)])
    gc.collect()
    naive = min(timed(naively) for _ in range(1 if case.victims > 100 and case.fair else 3))
    bar = BARS[case.mode] if case.victims > 100 else None
    return {
        "mode": case.mode,
        "levels": case.levels,
        "victims": case.victims,
        "p50": timing.p50,
        "p99": timing.p99,
        "naive": naive,
        "ratio": naive / timing.p50,
        "bar": bar,
        "bar_ms": ONE_VICTIM_MS if case.victims == 1 else None,
    }


def print_report(console: Console, report: dict[str, Any]) -> None:
    """One table: what must go, how long the whole decision takes, how long the naive search for the same victims."""
    from cede.cli.output import table

    whole: dict[str, object] = {"no_wrap": True}
    right: dict[str, object] = {"no_wrap": True, "justify": "right"}
    columns = (("victims", right), ("p50", right), ("p99", right), ("naive", right), ("faster", right), ("bar", whole))
    shown = table(("mode, levels", whole), *columns)
    for row in report["decisions"]:
        shown.add_row(
            f"{row['mode']}, {row['levels']}",
            f"{row['victims']:,}",
            _time(row["p50"]),
            _time(row["p99"]),
            _time(row["naive"]),
            f"{_short(row['ratio'])}×",
            _bar(row),
        )
    console.print(shown)
    console.print(
        f"{report['queues']:,} queues with {report['running']:,} running workloads; both find the same victims"
    )


def _bar(row: dict[str, Any]) -> str:
    """What p50 or the ratio must keep to, and whether it does not."""
    if row["bar_ms"] is not None:
        bar, kept = f"<{row['bar_ms']} ms", row["p50"] * 1e3 < row["bar_ms"]
    elif row["bar"] is not None:
        bar, kept = f"≥{row['bar']}×", row["ratio"] >= row["bar"]
    else:
        return ""
    return bar if kept else f"{bar} missed"


def _time(seconds: float) -> str:
    """A duration in the unit that suits it, as short as a column of a narrow table."""
    unit, size = next((one for one in (("s", 1), ("ms", 1e-3)) if seconds >= one[1]), ("µs", 1e-6))
    return f"{_short(seconds / size)} {unit}"


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"
