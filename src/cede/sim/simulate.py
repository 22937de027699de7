"""One replay from a trace and a cluster to its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, cast, get_args

import polars as pl

from cede.doctrines.catalog import doctrine_of
from cede.doctrines.parts.doctrine import Doctrine
from cede.engine.cluster import Cluster
from cede.engine.drive.options import Backfill
from cede.engine.drive.terms import terms_of_apps
from cede.engine.load import read_source
from cede.engine.whatif import WhatIf, cluster_if
from cede.imports.formats import imported
from cede.model.cluster import ClusterFile
from cede.model.document import dump_document
from cede.model.errors import CedeError, InputError, Problem, shown
from cede.sim.allocations import Allocations, allocations_of
from cede.sim.checkpoint_assumptions import assume
from cede.sim.entries import Entries
from cede.sim.initial_workloads import InitialWorkloads, size_of, standing, told
from cede.sim.loops import loops_in, storms_of
from cede.sim.measures.conservation import check
from cede.sim.measures.costliest import costliest
from cede.sim.options import MOMENTS, ReplayChoices, ReplayOptions, Span, asked
from cede.sim.records import Records
from cede.sim.replay import Replay, Watch
from cede.sim.result import Result
from cede.sim.tables import Queue, main_of
from cede.sim.traces.cutting import begin_of, noted
from cede.sim.traces.fitting import fit
from cede.sim.traces.mapping import mapped, parse_mapping
from cede.sim.traces.reading import Shaping, read
from cede.sim.traces.trace import COLUMNS, Shape, Trace

Amounts = Mapping[str, int]


class UnlawfulError(CedeError):
    """A plan of the replay was not lawful, and was not carried out: a fault of Cede's."""


@dataclass(frozen=True, slots=True)
class Start:
    """All that a replay begins with. `jobs` are those of the cluster file, and then those of the trace.

    `allocations`: the same jobs as workloads, where some of them are several.
    """

    jobs: Trace
    sizes: tuple[Amounts, ...]
    there: tuple[InitialWorkloads, ...]
    begin: int
    capacity: Amounts
    node_capacity: Mapping[str, Amounts]
    backfill: Backfill
    allocations: Allocations | None = None


def prepare(trace: Trace, cluster: Cluster, options: ReplayOptions) -> Start:
    """The trace made to fit the cluster, beside what is there already; an InputError says what does not go."""
    document = cluster.document
    if document.doctrine is None:
        raise InputError([Problem("doctrine", "is missing", "name one in the file, or with --doctrine")])
    if not document.nodes and not document.dialect.quota:
        message = f"are missing: {document.doctrine.name} has no quota that could stand for them"
        raise InputError([Problem("nodes", message, "a replay needs something that jobs can fill")])
    by_job_priority = document.doctrine.edition in doctrine_of(document.doctrine).traits.by_job_priority
    fitted = fit(
        trace,
        document.nodes,
        document.queues,
        queue=options.queue,
        dialect=document.dialect,
        by_job_priority=by_job_priority,
    )
    backfill = _backfill(options.backfill, fitted, doctrine_of(document.doctrine))
    fitted = noted(*_walltimes(fitted, backfill, options))
    begin = _begin(fitted, document, options)
    there = standing(cluster, begin, frozenset(fitted.jobs["name"] if document.workloads else ()))
    nodes = {
        node.name: {name: nano - node.occupied.get(name, 0) for name, nano in node.capacity.items()}
        for node in document.nodes
    }
    capacity = _capacity(document, nodes)
    whole, sizes = _beside(fitted, there, capacity)
    jobs = assume(noted(whole, *told(there)), options.assumed)
    apart = None
    if doctrine_of(document.doctrine).traits.members_apart and document.nodes:
        apart = allocations_of(jobs, sizes, document.nodes, document.queues, len(there))
        jobs = jobs if apart is None else noted(jobs, apart.note(document.doctrine.name))
    return Start(jobs, sizes, there, begin, capacity, nodes, backfill, apart)


def replay(trace: Trace, cluster: Cluster, options: ReplayOptions | None = None, watch: Watch | None = None) -> Result:
    """The result of this trace on this cluster. The same arguments give the same result, bit for bit."""
    options = options or ReplayOptions()
    start = prepare(trace, cluster, options)
    document, jobs = cluster.document, start.jobs
    assert document.doctrine is not None, "it was looked for"
    apart = start.allocations
    submitted, sizes = (jobs, start.sizes) if apart is None else (apart.workloads, apart.sizes)
    records = Records(submitted, sizes, main_of(start.capacity), options.moments, apart)
    entries = Entries(submitted, options.terms, records, start.there, terms_of_apps(document, options.terms), apart)
    run = Replay(document, entries, records, options, start.backfill, start.begin, start.there)
    run.run(watch)
    if run.problems:
        raise UnlawfulError(f"a plan was not lawful: {run.problems[0]}")
    tables = records.tables()
    return Result(
        doctrine=document.doctrine.name,
        edition=str(document.doctrine.edition),
        settings={**(options.settings or {}), "backfill": start.backfill},
        begin=run.begin,
        end=run.now,
        complete=run.complete,
        capacity=start.capacity,
        node_capacity=start.node_capacity,
        sizes=start.sizes,
        queues=tuple(
            Queue(queue.name, queue.parent, queue.guaranteed or None, float(queue.weight or 1))
            for queue in document.promised
        ),
        jobs=tables["jobs"],
        attempts=tables["attempts"],
        holds=tables["holds"],
        decisions=tables["decisions"],
        victims=tables["victims"],
        outages=tables["outages"],
        notes=(*jobs.notes, *storms_of(run.slowed, tables["attempts"], applied=options.breaker)),
        loops=loops_in(records, apart),
        moments=records.moments,
        events=run.events,
        plans=run.plans,
        slowed=dict(sorted(run.slowed.items())),
        classes=jobs.classes,
        found=sum(one.started is not None for one in start.there),
    )


def _begin(trace: Trace, document: ClusterFile, options: ReplayOptions) -> int:
    """When the first job is submitted, or a node fails before that; with workloads in the file not before that."""
    first = begin_of(trace)
    if not document.workloads:
        first = min([first, *(fault.at for fault in options.faults[:1])])
    return first if options.until is None else min(first, options.until)


def _beside(trace: Trace, there: tuple[InitialWorkloads, ...], capacity: Amounts) -> tuple[Trace, tuple[Amounts, ...]]:
    """The trace behind what is there already, and what each shape holds."""
    sizes = [{name: nano * shape.members for name, nano in shape.requests.items()} for shape in trace.shapes]
    if not there:
        return trace, tuple(sizes)
    rows = []
    shapes = list(trace.shapes)
    for one in there:
        entry, saving = one.workload, one.workload.checkpoint
        sizes.append(size_of(entry, capacity))
        shapes.append(Shape(entry.requests, entry.size))
        row = {name: getattr(entry, name, None) for name in COLUMNS} | {
            "shape": len(shapes) - 1,
            "submitted": one.submitted,
            "duration": one.duration,
            "kind": None if entry.kind == "batch" else entry.kind,
            "checkpoint": "none" if saving is None else saving.mode,
            "checkpoint_time": None if saving is None else saving.time,
            "started": None,
        }
        rows.append([row[name] for name in COLUMNS])
    jobs = pl.DataFrame(rows, dict(COLUMNS), orient="row")
    return replace(trace, jobs=pl.concat([jobs, trace.jobs]), shapes=tuple(shapes)), tuple(sizes)


def _capacity(document: ClusterFile, nodes: Mapping[str, Amounts]) -> dict[str, int]:
    """Of all nodes together, or where there are none, of all guarantees."""
    total: dict[str, int] = {}
    parts = nodes.values() if nodes else (queue.guaranteed or {} for queue in document.queues)
    for part in parts:
        for name, nano in part.items():
            total[name] = total.get(name, 0) + nano
    return total


def _backfill(wanted: str, trace: Trace, doctrine: Doctrine) -> Backfill:
    if wanted not in ("auto", *get_args(Backfill)):
        raise InputError([Problem("backfill", f"{wanted!r} is none", f"one of auto, {', '.join(get_args(Backfill))}")])
    if doctrine.traits.no_line and wanted not in ("auto", "off"):
        message = f"{wanted} means nothing under {doctrine.dialect.name}: {doctrine.traits.no_line}"
        raise InputError([Problem("backfill", message, "leave it at auto, which is off there")])
    if wanted != "auto":
        return cast(Backfill, wanted)
    has_walltimes = trace.jobs["walltime"].null_count() < len(trace.jobs)
    return "easy" if has_walltimes and not doctrine.traits.no_line else "off"


def _walltimes(trace: Trace, backfill: Backfill, options: ReplayOptions) -> tuple[Trace, *tuple[str, ...]]:
    """The trace with its walltimes as they were asked for, and what is to be said of those that jobs ran beyond."""
    jobs = trace.jobs
    beyond = (jobs["duration"] > jobs["walltime"]).fill_null(value=False)
    count, known = int(beyond.sum()), len(jobs) - jobs["walltime"].null_count()
    if not count:
        return (trace,)
    share = f"{count:,} of {known:,} jobs with a walltime ({count / known:.1%})"
    if options.extends:
        longer = pl.when(beyond).then(pl.col("duration")).otherwise("walltime").alias("walltime")
        return replace(trace, jobs=jobs.with_columns(longer)), f"{share} ran beyond it, and theirs is extended to that."
    if backfill != "easy":
        return (trace,)
    return trace, (
        f"{share} run beyond it: EASY takes each to end at once from then on, so that what it reserves is let down "
        "again and again, and heads wait longer than on a cluster that ends such jobs. --overrun extend gives them the "
        "walltime that they needed."
    )


STOPPED = "The replay was interrupted: nothing is known of what comes after."


class UnsoundError(Exception):
    """A replay broke a rule or does not add up: a fault of Cede's, not of what was given."""


def check_doctrine(choice: str | None) -> None:
    """An InputError if there is no such doctrine or edition, or it is not built; said before any word on settings."""
    if choice is not None:
        doctrine_of(cluster_if({"cede": 1}, WhatIf(choice)).document.doctrine)


def ready(trace: Trace, cluster: Cluster, choices: ReplayChoices) -> None:
    """Everything that can be known to be wrong before a replay begins, as an InputError."""
    document = cluster.document
    doctrine_of(document.doctrine)
    made, options = asked(trace, cluster, choices, {})
    prepare(made, cluster, options)


def checked_replay(
    trace: Trace, cluster: Cluster, choices: ReplayChoices, settings: Mapping[str, Any], watch: Watch | None = None
) -> Result:
    """The result, of which everything adds up; an UnsoundError if it does not.

    `settings` are told beside it. Of the moments those of the costliest preemptions are kept.
    """
    doctrine_of(cluster.document.doctrine)
    made, options = asked(trace, cluster, choices, settings)
    interrupted = False

    def looks(now: int, submitted: int, finished: int) -> bool:
        nonlocal interrupted
        interrupted = watch is not None and not watch(now, submitted, finished)
        return not interrupted

    try:
        result = replay(made, cluster, options, looks)
    except UnlawfulError as error:
        raise UnsoundError(str(error)) from error
    if wrong := check(result):
        raise UnsoundError(f"the replay does not add up: {wrong[0]}")
    wanted = costliest(result, choices.moments)["decision"].to_list()
    moments = {number: result.moments[number] for number in sorted(set(wanted)) if number in result.moments}
    return replace(result, moments=moments, notes=(*result.notes, STOPPED) if interrupted else result.notes)


Place = str | PathLike[str]


def simulate(
    trace: Place | Trace,
    cluster: Place | Mapping[str, Any] | Cluster,
    *,
    doctrine: str | None = None,
    set: Sequence[str] = (),
    until: Span = None,
    seed: int = 0,
    load_factor: float = 1.0,
    take: int | None = None,
    window: str | None = None,
    mapping: Place | Mapping[str, Any] | None = None,
    faults: Place | Sequence[Mapping[str, Any]] | None = None,
    mtbf: Span = None,
    mttr: Span = None,
    backfill: str = "auto",
    overrun: str = "keep",
    queue: str | None = None,
    checkpoint: str | None = None,
    checkpoint_interval: Span = None,
    checkpoint_time: Span = None,
    restart_time: Span = None,
    grace: Span = None,
    stop_time: Span = None,
    start_delay: Span = None,
    shake_by: Span = None,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    moments: int = MOMENTS,
    watch: Watch | None = None,
) -> Result:
    """The trace replayed on the cluster; `result.jobs`, `attempts`, `decisions` and `timeline()` are Polars tables.

    Trace and cluster are files, or what was read from them; a cluster may be plain data too. The rest is as the options
    of `cede simulate`. `watch(now, submitted, finished)` is called now and then, and says whether to go on.
    """
    choices = ReplayChoices.among(locals())
    made = trace if isinstance(trace, Trace) else read(_path(trace), format, **(options or {}))
    if isinstance(mapping, Mapping):
        made = mapped(made, parse_mapping(mapping))
    file = None if mapping is None or isinstance(mapping, Mapping) else _path(mapping)
    made = Shaping(file, window, take, load_factor).of(made)
    check_doctrine(doctrine)
    on = cluster_if(_document(cluster), WhatIf(doctrine, set=tuple(set)))
    given = {
        "trace": None if isinstance(trace, Trace) else str(trace),
        "cluster": str(cluster) if isinstance(cluster, str | PathLike) else None,
        "doctrine": doctrine,
        "set": list(set) or None,
        "mapping": mapping if file is None else str(file),
        "window": window,
        "take": take,
        "load_factor": None if load_factor == 1 else load_factor,
    }
    settings = {name: value for name, value in given.items() if value is not None} | choices.told()
    return checked_replay(made, on, choices, settings, watch)


def _path(given: object) -> Path:
    if not isinstance(given, str | PathLike):
        raise InputError([Problem("", f"{shown(given)} is no file", "give a file's name, or what was read from one")])
    return Path(given)


def _document(cluster: Place | Mapping[str, Any] | Cluster) -> object:
    """The plain data of a cluster file."""
    if isinstance(cluster, Cluster):
        return dump_document(cluster.document)
    data = dict(cluster) if isinstance(cluster, Mapping) else read_source(cluster)
    made = imported(data)
    return data if made is None else made.document
