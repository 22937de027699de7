"""What `cede bench sim` measures: replays of whole traces, each beside a bare event loop over the same jobs."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cede.cli.bench import bare
from cede.model.times import SECOND

if TYPE_CHECKING:
    from rich.console import Console

    from cede.sim.traces.trace import Trace

GPUS, NODE = 2490, 8
PER_HOUR = 250.0
BARS = {"easy": 10, "preempting": 20, "memory": 3000}
PEERS = {"AccaSim": "470-950", "pyss EASY": "2,900", "Alea, preemptive": "2,300", "Tiresias, preemptive": "136"}


def measured(*, trace: Path | None, jobs: int, quick: bool, tell: Callable[[str], object]) -> dict[str, Any]:
    """Everything that `bench sim` reports, as plain data; each case in a process of its own, so that memory is its."""
    sizes = [jobs // 10, jobs]
    cases: list[tuple[str, int]] = [("easy", 2_000 if quick else 28_467)]
    cases += [("preempting", size // 20 if quick else size) for size in sizes]
    found = []
    for kind, size in cases:
        tell(f"{kind}, {size:,} jobs")
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found.append(pool.submit(one_case, kind, size, None if trace is None else str(trace)).result())
    small, large = found[1:]
    growth = (large["replay_s"] / large["jobs"]) / (small["replay_s"] / small["jobs"])
    return {"cases": found, "growth": growth, "bars": BARS, "peers": PEERS}


def one_case(kind: str, size: int, file: str | None) -> dict[str, Any]:
    """One trace, replayed once after its bare loop; the bare loop's time is the best of three."""
    from cede.sim.simulate import Wishes, replay

    trace = _trace(kind, size, file)
    plain = _plain(trace, kind)
    capacity = 100 if kind == "easy" else GPUS
    bare_s = min(_timed(kind, plain, capacity) for _ in range(3))
    cluster = _machine() if kind == "easy" else _gpus(trace)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    result = replay(trace, cluster, Wishes(backfill="easy" if kind == "easy" else "off", queue="q", moments=0))
    replay_s = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "kind": kind,
        "jobs": len(trace.jobs),
        "trace": file if kind == "easy" and file else trace.format,
        "bare_s": bare_s,
        "replay_s": replay_s,
        "ratio": replay_s / bare_s,
        "jobs_per_s": len(trace.jobs) / replay_s,
        "bare_jobs_per_s": len(trace.jobs) / bare_s,
        "events": result.events,
        "preemptions": len(result.victims),
        "bytes_per_job": (peak - before) * 1024 / len(trace.jobs),
        "peak_mb": peak / 1024,
    }


def _timed(kind: str, plain: list[bare.Job], capacity: int) -> float:
    began = time.perf_counter()
    if kind == "easy":
        bare.easy(plain, capacity)
    else:
        bare.preempting(plain, capacity)
    return time.perf_counter() - began


def _trace(kind: str, size: int, file: str | None) -> Trace:
    from cede.sim.generate import generate
    from cede.sim.recipes import recipe
    from cede.sim.traces.cutting import take
    from cede.sim.traces.reading import read

    if kind == "easy" and file is not None:
        return take(read(Path(file)), size)
    if kind == "easy":
        return generate(recipe("hpc-like", jobs=size, seed=2026))
    return generate(recipe("philly-like", jobs=size, seed=2026, per_hour=PER_HOUR))


def _plain(trace: Trace, kind: str) -> list[bare.Job]:
    main = "cpu" if kind == "easy" else "gpu"
    sizes = [shape.requests[main] * shape.members // 10**9 for shape in trace.shapes]
    last = "walltime" if kind == "easy" else "priority"
    columns = (trace.jobs[name].to_list() for name in ("submitted", "duration", "shape", last))
    unit = SECOND if kind == "easy" else 1
    return [(s // SECOND, d // SECOND, sizes[shape], says // unit) for s, d, shape, says in zip(*columns, strict=True)]


def _machine() -> Any:
    from cede.engine.load import load

    nodes = [{"name": "machine", "capacity": {"cpu": 100}}]
    return load({"cede": 1, "doctrine": "backendai", "nodes": nodes, "queues": [{"name": "q"}]})


def _gpus(trace: Trace) -> Any:
    """So many GPUs in nodes of eight, and one node with the rest; enough of everything else."""
    from cede.engine.load import load

    others = {name: "1000" for shape in trace.shapes for name in shape.requests if name != "gpu"}
    if "memory" in others:
        others["memory"] = "4Ti"
    nodes = [
        {"name": "node", "count": GPUS // NODE, "capacity": {"gpu": NODE, **others}},
        {"name": "rest", "capacity": {"gpu": GPUS % NODE, **others}},
    ]
    settings = {"preemptible_priority": 50, "preemption_mode": "suspend"}
    queues = [{"name": "q", "settings": settings}]
    return load({"cede": 1, "doctrine": "backendai", "nodes": nodes, "queues": queues})


def print_report(console: Console, report: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(title="replay beside a bare event loop", title_justify="left")
    for heading in ("case", "jobs", "jobs/s", "bare jobs/s", "times slower", "bar", "bytes/job", "preemptions"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for case in report["cases"]:
        table.add_row(
            case["kind"],
            f"{case['jobs']:,}",
            f"{case['jobs_per_s']:,.0f}",
            f"{case['bare_jobs_per_s']:,.0f}",
            f"{case['ratio']:.1f}",
            f"{report['bars'][case['kind']]}",
            f"{case['bytes_per_job']:,.0f}",
            f"{case['preemptions']:,}",
        )
    console.print(table)
    console.print("Both sides have the trace in memory when they begin. Memory has a bar of 3,000 bytes a job.")
    console.print(f"Time a job at ten times as many jobs: {report['growth']:.2f} times as long.")
    peers = "; ".join(f"{name} {rate}" for name, rate in report["peers"].items())
    console.print(f"Peers on a machine of this class, jobs/s: {peers}.")
