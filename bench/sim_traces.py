"""Jobs that `cede bench sim` replays: of a file or made up, brought to the load, the classes and the size asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from cede.model.quantities import NANO
from cede.model.times import SECOND, parse_duration
from cede.sim.generate import generate
from cede.sim.recipes import recipe
from cede.sim.traces.cutting import take
from cede.sim.traces.reading import read
from cede.sim.traces.trace import Trace

SEED = 2026
NODES, GPUS = 32, 8
LOAD = 0.95
CLASSES = {10: 0.5, 50: 0.3, 90: 0.2}
CHECKPOINTING = 0.5
INTERVAL, WRITE, RESTART = (int(parse_duration(text)) for text in ("30m", "30s", "1m"))
SIZES = {1: 0.85, 2: 0.05, 4: 0.05, 8: 0.04, 16: 0.01}
LONGEST = "1d"
LARGE_GPUS, LARGE_PER_HOUR = 2490, 250.0
MACHINES = "machine-dist-cpu-memory-capacity.csv"


def arrivals(jobs: int, file: str | None, *, one_node: bool = False) -> Trace:
    """So many jobs that arrive as Philly's did, at the load of 256 GPUs, of three classes, half of which checkpoint.

    `one_node`: only jobs that a node has room for, where gangs over several would be refused.
    """
    spare = jobs // 10 if one_node else 0
    if file is None:
        made = recipe("philly-like", jobs=jobs + spare, seed=SEED, queues=4, sizes=SIZES, longest=LONGEST)
        trace = generate(made.model_copy(update={"priorities": CLASSES, "checkpointing": CHECKPOINTING}))
    else:
        trace = _with_classes(read(Path(file)))
    if one_node:
        small = [index for index, size in enumerate(gpus_of(trace)) if size <= GPUS]
        trace = replace(trace, jobs=trace.jobs.filter(pl.col("shape").is_in(small)))
    return at_load(take(trace, jobs))


def at_load(trace: Trace) -> Trace:
    """The same jobs, submitted as densely as makes this load of the nodes."""
    jobs = trace.jobs
    work = int((jobs["duration"] * pl.Series(gpus_of(trace)).gather(jobs["shape"])).sum())
    first = int(jobs["submitted"].min())  # type: ignore[arg-type]
    span = max(1, int(jobs["submitted"].max()) - first)  # type: ignore[arg-type]
    denser = work / (LOAD * NODES * GPUS) / span
    moved = ((pl.col("submitted") - first) * denser).cast(pl.Int64)
    return replace(trace, jobs=jobs.with_columns(submitted=moved), origin=None)


def _with_classes(trace: Trace) -> Trace:
    """A trace that says neither, with classes and checkpoints drawn from a seed."""
    draws = np.random.default_rng(SEED)
    count = len(trace.jobs)
    classes = draws.choice(list(CLASSES), count, p=list(CLASSES.values()))
    saves = pl.Series(draws.random(count) < CHECKPOINTING)
    spans = {"checkpoint_interval": INTERVAL, "checkpoint_time": WRITE, "restart_time": RESTART}
    columns = {name: pl.when(saves).then(pl.lit(span)) for name, span in spans.items()}
    words = pl.when(saves).then(pl.lit("auto")).otherwise(pl.lit("none"))
    made = {"priority": pl.lit(pl.Series(classes)), "checkpoint": words, **columns}
    schema = trace.jobs.schema
    return replace(trace, jobs=trace.jobs.with_columns(**{name: one.cast(schema[name]) for name, one in made.items()}))


def large(jobs: int) -> Trace:
    """Philly-like jobs for a cluster of its size."""
    return generate(recipe("philly-like", jobs=jobs, seed=SEED, per_hour=LARGE_PER_HOUR))


def processors(jobs: int, file: str | None) -> Trace:
    """Jobs with walltimes, of a file or like those of a machine with 100 processors."""
    return generate(recipe("hpc-like", jobs=jobs, seed=SEED)) if file is None else take(read(Path(file)), jobs)


def published(jobs: int, file: str) -> Trace:
    """The first jobs of a trace that names its nodes, or has a list of its machines beside it."""
    machines = Path(file).parent / MACHINES
    return take(read(Path(file), None, **({"machines": machines} if machines.exists() else {})), jobs)


def gpus_of(trace: Trace, main: str = "gpu", unit: int = NANO) -> list[int]:
    """What a job of each shape holds of it in all."""
    return [shape.requests.get(main, 0) * shape.members // unit for shape in trace.shapes]


def plain(trace: Trace, main: str, last: str, of: int = NANO) -> list[tuple[int, int, int, int]]:
    """When each comes, how long it runs, what it takes, and its walltime or priority: what a bare loop reads."""
    sizes = gpus_of(trace, main, of)
    columns = (trace.jobs[name].fill_null(0).to_list() for name in ("submitted", "duration", "shape", last))
    unit = SECOND if last == "walltime" else 1
    return [(s // SECOND, d // SECOND, sizes[shape], says // unit) for s, d, shape, says in zip(*columns, strict=True)]
