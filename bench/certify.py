"""What `cede bench certify` measures: victim sets of simple ways and of the fast path, beside the proven best."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.certify_instances import CLAIMANT, SHARED, WHOLE, Instance, gang, pool
from cede.doctrines.catalog import find
from cede.doctrines.parts.claim import residents_of_all
from cede.doctrines.parts.cost import PARTS
from cede.doctrines.parts.cover import VictimOrder, take_until_fits
from cede.doctrines.parts.exact import Solution, solve
from cede.doctrines.parts.fit import fits
from cede.doctrines.parts.greedy_cover import cheapest_cover
from cede.doctrines.parts.orders import Rows, ordered
from cede.doctrines.parts.question import Question
from cede.engine.cycle import plan_state
from cede.model.errors import CedeError
from cede.model.garbage import collecting_no_garbage
from cede.state.columns import Int64s

if TYPE_CHECKING:
    from rich.console import Console

POOLS, QUICK_POOLS = (50, 200, 1_000), (50, 200)
GANGS = ((8, 64), (16, 256), (128, 1_024), (64, 2_048))
INSTANCES, QUICK_INSTANCES = 20, 5
EXACT = 200
"""Up to so many candidates the doctrine itself chooses; above that its order does."""

MEAN_BAR, FAST_BAR_MS, SOLVE_BAR_S = 1.05, 10, 2
CHEAPEST, NEWEST, DOCTRINE, FAST = "cheapest-first", "newest-first", "doctrine", "fast path"
WAYS = {CHEAPEST: "cheapest", NEWEST: "newest", DOCTRINE: "doctrine", FAST: "fast"}
"""Ways to choose, and their headings."""
REPEATS = 7

Victims = Sequence[int]


@dataclass(slots=True)
class Way:
    """One way to choose: by instance, its cost beside the best, and how long it took."""

    ratios: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        return {
            "mean": statistics.fmean(self.ratios),
            "p95": float(np.percentile(self.ratios, 95)),
            "max": max(self.ratios),
            "p50_s": statistics.median(self.seconds),
            "max_s": max(self.seconds),
        }


@dataclass(frozen=True, slots=True)
class Case:
    """Instances of one kind: a pool of so many candidates, or a gang of so many members on so many nodes."""

    name: str
    about: dict[str, Any]
    draw: Callable[[int], Instance]


def pool_case(candidates: int, kind: str) -> Case:
    name = f"{candidates:,} candidates, {kind}"
    return Case(name, {"candidates": candidates, "kind": kind}, partial(pool, candidates, kind))


def gang_case(members: int, nodes: int) -> Case:
    return Case(
        f"gang of {members} on {nodes:,} nodes", {"members": members, "nodes": nodes}, partial(gang, members, nodes)
    )


def cases_of(*, quick: bool) -> tuple[list[Case], int]:
    """What is measured, and on how many instances each."""
    pools, gangs = (QUICK_POOLS, GANGS[:2]) if quick else (POOLS, GANGS)
    cases = [pool_case(candidates, kind) for candidates in pools for kind in (WHOLE, SHARED)]
    cases += [gang_case(members, nodes) for members, nodes in gangs]
    return cases, QUICK_INSTANCES if quick else INSTANCES


def measured(
    cases: Sequence[Case], *, instances: int, seed: int, seconds: float, tell: Callable[[str], object]
) -> dict[str, Any]:
    """Everything that `bench certify` reports, as plain data; times in seconds, costs as multiples of the best."""
    seeds = [seed * 1_000 + number for number in range(instances)]
    solve((small := pool(8, WHOLE, seed)).state, _question(small))  # so that the solver is loaded
    rows = [{**case.about, **_compared(case, seeds, seconds, tell)} for case in cases]
    return {"seed": seed, "instances": instances, "seconds": seconds, "cases": rows}


def _compared(case: Case, seeds: Sequence[int], seconds: float, tell: Callable[[str], object]) -> dict[str, Any]:
    ways = {way: Way() for way in WAYS}
    solving: list[float] = []
    gaps: list[float] = []
    victims: list[int] = []
    for number, seed in enumerate(seeds, 1):
        tell(f"{case.name}, {number} of {len(seeds)}")
        instance = case.draw(seed)
        gc.collect()
        begun = perf_counter()
        solved = solve(instance.state, _question(instance), seconds=seconds)
        solving.append(perf_counter() - begun)
        least = _least(instance, solved)
        gaps.append(0.0 if solved.proven else (float(solved.value or 0) - least) / least)
        for way, choose in _choosers(instance).items():
            chosen: Victims = ()
            times = []
            for _ in range(REPEATS if way == FAST else 1):
                with collecting_no_garbage():  # as in every decision
                    begun = perf_counter()
                    chosen = choose()
                    times.append(perf_counter() - begun)
            ways[way].seconds.append(min(times))
            ways[way].ratios.append(_cost(instance, f"{case.name}, seed {seed}", way, chosen) / least)
            if way == FAST:
                victims.append(len(chosen))
    return {
        "case": case.name,
        "ways": {way: figures.figures() for way, figures in ways.items()},
        "victims": statistics.fmean(victims),
        "solve": {"p50_s": statistics.median(solving), "max_s": max(solving)},
        "proven": sum(gap == 0 for gap in gaps),
        "gap": max(gaps),
        "instances": len(seeds),
    }


def _question(instance: Instance) -> Question:
    weights = instance.cost.astype(np.float64)
    return Question(instance.claim, instance.rows, "cost", weights, unit="min", scale=float(PARTS))


def _least(instance: Instance, solved: Solution) -> float:
    """The cost of the best set, or, where nothing is proven, what no set can cost less than."""
    least = solved.value if solved.proven else solved.bound
    if least is None or not 0 < least < float("inf"):
        raise CedeError(f"an instance of {len(instance.rows)} candidates has no set that costs something")
    return float(least)


def _cost(instance: Instance, name: str, way: str, chosen: Victims) -> float:
    """What a set costs; it must make room, which is looked at here again."""
    rows = np.array(list(chosen), np.intp)
    if not fits(instance.state, instance.claim, _free_without(instance, rows)):
        raise CedeError(f"{name}: the victims of {way!r} do not make room")
    return float(instance.cost[np.isin(instance.rows, rows)].sum())


# -- ways to choose --------------------------------------------------------------------------------------------------


def _choosers(instance: Instance) -> dict[str, Callable[[], Victims]]:
    state = instance.state
    begun: Int64s = -state.work.started[instance.rows]
    return {
        CHEAPEST: lambda: _until_it_fits(instance, ordered(state, instance.rows, instance.cost)),
        NEWEST: lambda: _until_it_fits(instance, ordered(state, instance.rows, begun)),
        DOCTRINE: lambda: _doctrine(instance),
        FAST: lambda: cheapest_cover(state, instance.claim, instance.rows, instance.cost) or (),
    }


def _until_it_fits(instance: Instance, turn: Rows) -> Victims:
    """The shortest beginning of an order that makes room, with nobody spared."""
    low, high = 0, len(turn)
    while high - low > 1:
        middle = (low + high) // 2
        if fits(instance.state, instance.claim, _free_without(instance, turn[:middle])):
            high = middle
        else:
            low = middle
    return [int(row) for row in turn[:high]]


def _doctrine(instance: Instance) -> Victims:
    """Whom Lattice's policy chooses; where that may be a good set and not the best, its order, taken and spared."""
    state = instance.state
    if len(instance.rows) <= EXACT:
        made = plan_state(state, find("lattice"), only=CLAIMANT, misses=False).decisions[-1]
        return [state.work_index[victim.workload] for victim in made.victims]
    open_ = np.zeros(state.work.size, np.bool_)
    open_[instance.rows] = True
    cost = np.zeros(state.work.size, np.int64)
    cost[instance.rows] = instance.cost
    order = VictimOrder(cost, state.work.priority[: state.work.size])
    return take_until_fits(state, instance.claim, open_, order, []) or ()


def _free_without(instance: Instance, gone: Rows) -> Int64s:
    state = instance.state
    free = state.nodes.free[:, : state.nodes.size].copy()
    rows = residents_of_all(state, gone)
    for column in range(len(free)):
        np.add.at(free[column], state.residents.node[rows], state.residents.amount[column, rows])
    return free


# -- the tables ------------------------------------------------------------------------------------------------------


def print_report(console: Console, report: dict[str, Any]) -> None:
    """Two tables: what each way's victims cost beside the best, and how long that took and the proof."""
    from cede.cli.output import table

    whole: dict[str, object] = {"no_wrap": True}
    right: dict[str, object] = {"no_wrap": True, "justify": "right"}
    shown = table(("mean, p95", whole), *((heading, right) for heading in WAYS.values()), ("bar", whole))
    for row in report["cases"]:
        each = (f"{_ratio(one['mean'])} {_ratio(one['p95'])}" for one in row["ways"].values())
        shown.add_row(_case(row), *each, _mean_bar(row))
    console.print(shown)
    shown = table(
        ("p50", whole), *((heading, right) for heading in ("fast path", "proof", "longest", "proven", "gap")),
        ("bar", whole),
    )  # fmt: skip
    for row in report["cases"]:
        shown.add_row(
            _case(row),
            _time(row["ways"][FAST]["p50_s"]),
            _time(row["solve"]["p50_s"]),
            _time(row["solve"]["max_s"]),
            f"{row['proven']}/{row['instances']}",
            f"{row['gap']:.1%}",
            _time_bar(row),
        )
    console.print(shown)
    console.print(
        f"seed {report['seed']}, {report['instances']} instances each; costs are beside the proven best, or what "
        f"no set can cost less than, where {report['seconds']:g} s were not enough for a proof"
    )


def _case(row: dict[str, Any]) -> str:
    if "kind" in row:
        return f"{row['candidates']:,}, {row['kind'].split()[0]}"
    return f"gang {row['members']}/{row['nodes']:,}"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _mean_bar(row: dict[str, Any]) -> str:
    if "kind" not in row:
        return ""
    kept = row["ways"][FAST]["mean"] <= MEAN_BAR
    return f"≤{MEAN_BAR:g}" if kept else f"≤{MEAN_BAR:g} missed"


def _time_bar(row: dict[str, Any]) -> str:
    if "kind" in row:
        bar, kept = f"<{FAST_BAR_MS} ms", row["ways"][FAST]["p50_s"] * 1e3 < FAST_BAR_MS
    elif (row["members"], row["nodes"]) == GANGS[-1]:
        bar, kept = f"proof <{SOLVE_BAR_S} s", row["solve"]["max_s"] < SOLVE_BAR_S and row["gap"] == 0
    else:
        return ""
    return bar if kept else f"{bar} missed"


def _time(seconds: float) -> str:
    """A duration in the unit that suits it, as short as a column of a narrow table."""
    unit, size = next((one for one in (("s", 1), ("ms", 1e-3)) if seconds >= one[1]), ("µs", 1e-6))
    value = seconds / size
    return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
