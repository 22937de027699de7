"""What `cede bench sim` measures: replays of whole traces, each beside a bare event loop over the same jobs."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from bench import bare
from cede.doctrines.catalog import DOCUMENTED, find
from cede.model.quantities import NANO

if TYPE_CHECKING:
    from cede.engine.cluster import Cluster
    from cede.sim.traces.trace import Trace

EDITIONS = [f"{name}/{edition}" for name in DOCUMENTED for edition in find(name).editions]
SIZES, QUICK_SIZES = (1_000, 4_000, 16_000), (250, 1_000)
EASY_JOBS, STRICT_JOBS, LARGE_JOBS = 28_467, 122_055, 100_000
PUBLISHED_JOBS = {"metacentrum": 17_898, "openb": 7_255, "borg": 20_000}
"""Traces of machines with many nodes, which nothing that is made up stands for."""
QUICK_PART = 20
BUDGET_S = 240.0
METACENTRUM = (("zewura", 20, 80), ("zegox", 48, 12))
"""Machines as the list beside that trace has them: name, how many, and processors of each."""
METACENTRUM_CPUS = sum(count * cpus for _, count, cpus in METACENTRUM)
MILLI = NANO // 1000
"""A bare loop counts thousandths of a processor, where jobs ask for parts of one."""
GROWS = 1.5
"""What a job may cost more at the next size, when it is guessed whether that stays within the budget."""
BARS = {
    "backendai/bep-1014": 40,
    "kueue/0.20": 130,
    "yunikorn/laws": 130,
    "ytsaurus/docs": 130,
    "lattice/policy": 130,
    "backendai/26.8": 240,
    "yunikorn/1.9": 240,
    "ytsaurus/25.4": 240,
    "lattice/core": 240,
    "easy": 12.8,
    "strict": 14,
    "large": 30,
}
RATE_BARS = {"metacentrum": 10_000, "openb": 8_000, "borg": 5_000}
GROWTH_BAR, BYTES_BAR, VICTIMS_BAR = 1.3, 3000, 0.05
PEERS = {"AccaSim": "470-950", "pyss EASY": "2,900", "Alea, preemptive": "2,300", "Tiresias, preemptive": "136"}


@dataclass(frozen=True, slots=True)
class Case:
    """One replay: an edition on the arrivals, or one of the others under the default doctrine."""

    name: str
    jobs: int
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Files:
    """Traces to replay instead of what is made up; of the last three nothing is made up."""

    arrivals: str | None = None
    easy: str | None = None
    strict: str | None = None
    metacentrum: str | None = None
    openb: str | None = None
    borg: str | None = None


def measured(
    *, files: Files, editions: Sequence[str], budget_s: float, quick: bool, tell: Callable[[str], object]
) -> dict[str, Any]:
    """Everything that `bench sim` reports, as plain data; each case in a process of its own, so that memory is its."""
    part = QUICK_PART if quick else 1
    found = [_edition(name, files.arrivals, budget_s, quick, tell) for name in editions]
    others = [
        Case("easy", EASY_JOBS // part, files.easy),
        Case("strict", STRICT_JOBS // part, files.strict),
        Case("large", LARGE_JOBS // part),
    ]
    given = {name: getattr(files, name) for name in PUBLISHED_JOBS}
    others += [Case(name, PUBLISHED_JOBS[name] // part, file) for name, file in given.items() if file is not None]
    return {
        "editions": found,
        "others": [_alone(case, budget_s, tell) for case in others],
        "absent": [name for name, file in given.items() if file is None],
        "bars": BARS,
        "rate_bars": RATE_BARS,
        "growth_bar": GROWTH_BAR,
        "bytes_bar": BYTES_BAR,
        "victims_bar": VICTIMS_BAR,
        "peers": PEERS,
    }


def _edition(
    name: str, file: str | None, budget_s: float, quick: bool, tell: Callable[[str], object]
) -> dict[str, Any]:
    """One edition at each size that the budget allows, and what grows between the smallest and the largest."""
    cases: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
    for jobs in QUICK_SIZES if quick else SIZES:
        if cases:
            last = cases[-1]
            guess_s = last["replay_s"] * jobs / last["jobs"] * GROWS
            if left_out or not last["complete"] or guess_s > budget_s:
                left_out.append({"jobs": jobs, "about_s": guess_s})
                continue
        cases.append(_alone(Case(name, jobs, file), budget_s, tell))
    whole = [case for case in cases if case["complete"]]
    found: dict[str, Any] = {"edition": name, "cases": cases, "left_out": left_out, "growth": None, "bytes": None}
    if len(whole) > 1:
        small, large = whole[0], whole[-1]
        found["growth"] = (large["replay_s"] / large["taken"]) / (small["replay_s"] / small["taken"])
        found["bytes"] = (large["peak_bytes"] - small["peak_bytes"]) / (large["jobs"] - small["jobs"])
    return found


def _alone(case: Case, budget_s: float, tell: Callable[[str], object]) -> dict[str, Any]:
    tell(f"{case.name}, {case.jobs:,} jobs")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(one_case, case, budget_s).result()


def one_case(case: Case, budget_s: float) -> dict[str, Any]:
    """One trace, replayed once after its bare loop; the bare loop's time is the best of three.

    Jobs that were refused cost next to nothing and are not counted.
    """
    from cede.sim.options import ReplayOptions
    from cede.sim.simulate import replay

    trace, cluster, yardstick = _prepared(case)
    bare_s = min(_timed(yardstick) for _ in range(3))
    began = time.perf_counter()
    submitted = 0

    def within_budget(_now: int, came: int, _ended: int) -> bool:
        nonlocal submitted
        submitted = came
        return time.perf_counter() - began < budget_s

    backfill = {"easy": "easy", "strict": "strict", "metacentrum": "easy"}.get(case.name, "off")
    one_queue = "/" not in case.name and case.name not in ("openb", "borg")
    wishes = ReplayOptions(backfill=backfill, moments=0, queue="q" if one_queue else None)
    result = replay(trace, cluster, wishes, within_budget)
    replay_s = time.perf_counter() - began
    taken = result.jobs.height - result.jobs["state"].to_list().count("refused")
    return {
        **asdict(case),
        "complete": result.complete,
        "submitted": result.jobs.height if result.complete else submitted,
        "taken": taken,
        "bare_s": bare_s,
        "replay_s": replay_s,
        "ratio": (replay_s / taken) / (bare_s / len(trace.jobs)) if result.complete else None,
        "jobs_per_s": taken / replay_s if result.complete else None,
        "bare_jobs_per_s": len(trace.jobs) / bare_s,
        "events": result.events,
        "plans": result.plans,
        "victims": len(result.victims),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _timed(yardstick: Callable[[], object]) -> float:
    began = time.perf_counter()
    yardstick()
    return time.perf_counter() - began


def _prepared(case: Case) -> tuple[Trace, Cluster, Callable[[], object]]:
    """The trace, what it is replayed on, and the bare loop over the same jobs."""
    from bench import sim_traces as traces
    from cede.engine.load import load
    from cede.sim.traces.starting_cluster import starting_cluster

    if "/" in case.name:
        name, _, edition = case.name.partition("/")
        trace = traces.arrivals(case.jobs, case.file, one_node=find(name).traits.one_node)
        capacity = {"gpu": traces.GPUS, "cpu": 64, "memory": "1Ti"}
        file = starting_cluster(trace, {"name": name, "edition": edition}, nodes=traces.NODES, capacity=capacity)
        jobs = traces.plain(trace, "gpu", "priority")
        return trace, load(file), lambda: bare.preempting(jobs, traces.NODES * traces.GPUS)
    if case.name == "large":
        trace = traces.large(case.jobs)
        jobs = traces.plain(trace, "gpu", "priority")
        return trace, load(_large()), lambda: bare.preempting(jobs, traces.LARGE_GPUS)
    if case.name in ("openb", "borg"):
        assert case.file is not None, "they are not made up"
        trace = traces.published(case.jobs, case.file)
        file = starting_cluster(trace, {"name": "backendai", "edition": "bep-1014"})
        jobs = traces.plain(trace, "cpu", "priority", MILLI)
        whole = sum(node.capacity["cpu"] for node in trace.nodes) // MILLI
        return trace, load(file), lambda: bare.preempting(jobs, whole)
    trace = traces.processors(case.jobs, case.file)
    if case.name == "metacentrum":
        jobs = traces.plain(trace, "cpu", "walltime")
        return trace, load(_metacentrum()), lambda: bare.easy(jobs, METACENTRUM_CPUS)
    processors = sum(node.capacity["cpu"] for node in trace.nodes) // 10**9 or 100
    loop = bare.easy if case.name == "easy" else bare.strict
    jobs = traces.plain(trace, "cpu", "walltime")
    return replace(trace, nodes=()), load(_machine(processors)), lambda: loop(jobs, processors)


def _metacentrum() -> dict[str, Any]:
    nodes = [{"name": name, "count": count, "capacity": {"cpu": cpus}} for name, count, cpus in METACENTRUM]
    return {"cede": 1, "doctrine": "backendai", "nodes": nodes, "queues": [{"name": "q"}]}


def _machine(processors: int) -> dict[str, Any]:
    nodes = [{"name": "machine", "capacity": {"cpu": processors}}]
    return {"cede": 1, "doctrine": "backendai", "nodes": nodes, "queues": [{"name": "q"}]}


def _large() -> dict[str, Any]:
    """So many GPUs in nodes of eight, and one node with the rest; enough of everything else."""
    from bench.sim_traces import GPUS, LARGE_GPUS

    others = {"cpu": "1000", "memory": "4Ti"}
    nodes = [
        {"name": "node", "count": LARGE_GPUS // GPUS, "capacity": {"gpu": GPUS, **others}},
        {"name": "rest", "capacity": {"gpu": LARGE_GPUS % GPUS, **others}},
    ]
    settings = {"preemptible_priority": 50, "preemption_mode": "suspend"}
    return {"cede": 1, "doctrine": "backendai", "nodes": nodes, "queues": [{"name": "q", "settings": settings}]}
