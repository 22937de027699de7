"""One replay from a trace and a cluster to its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from cede.engine.cluster import Cluster
from cede.engine.drive.terms import Terms
from cede.engine.drive.ways import Backfill
from cede.model.cluster import ClusterFile
from cede.model.errors import CedeError, InputError, Problem
from cede.model.garbage import collecting_no_garbage
from cede.sim.entries import Entries
from cede.sim.faults import Fault
from cede.sim.loops import loops_in
from cede.sim.machine import Habits
from cede.sim.records import Records
from cede.sim.replay import Asked, Replay, Watch
from cede.sim.result import Queue, Result, main_of
from cede.sim.traces.fitting import fit
from cede.sim.traces.trace import Trace

MOMENTS = 20
"""So many of the costliest preemptions are kept with the cluster of their moment."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a user may ask of a replay. `backfill`: auto is easy where jobs have walltimes, else off."""

    backfill: str = "auto"
    until: int | None = None
    habits: Habits = field(default_factory=Habits)
    terms: Terms = field(default_factory=Terms)
    faults: Sequence[Fault] = ()
    moments: int = MOMENTS
    queue: str | None = None
    settings: Mapping[str, Any] | None = None
    """What was asked for, to be told beside the result."""


class UnlawfulError(CedeError):
    """A plan of the replay was not lawful, and was not carried out: a fault of Cede's."""


def replay(trace: Trace, cluster: Cluster, wishes: Wishes | None = None, watch: Watch | None = None) -> Result:
    """The result of this trace on this cluster. The same arguments give the same result, bit for bit."""
    wishes = wishes or Wishes()
    document = cluster.document
    if document.workloads:
        raise InputError([Problem("workloads", "a replay starts on an empty cluster", "leave them out of the file")])
    if document.doctrine is None:
        raise InputError([Problem("doctrine", "is missing", "name one in the file, or with --doctrine")])
    if not document.nodes and document.doctrine.name != "kueue":
        message = f"are missing: {document.doctrine.name} has no quota that could stand for them"
        raise InputError([Problem("nodes", message, "a replay needs something that jobs can fill")])
    fitted = fit(trace, document.nodes, document.queues, queue=wishes.queue, doctrine=document.doctrine.name)
    sizes = tuple({name: nano * shape.members for name, nano in shape.requests.items()} for shape in fitted.shapes)
    nodes = {
        node.name: {name: nano - node.occupied.get(name, 0) for name, nano in node.capacity.items()}
        for node in document.nodes
    }
    capacity = _capacity(document, nodes)
    backfill = _backfill(wishes.backfill, fitted)
    main = main_of(capacity)
    records = Records(fitted, sizes, main, wishes.moments)
    entries = Entries(fitted, wishes.terms, records)
    asked = Asked(backfill, wishes.until, wishes.habits, wishes.terms, wishes.faults)
    run = Replay(document, entries, records, asked, fitted.origin)
    with collecting_no_garbage():
        run.run(watch)
    if run.problems:
        raise UnlawfulError(f"a plan was not lawful: {run.problems[0]}")
    tables = records.tables()
    return Result(
        doctrine=document.doctrine.name,
        edition=str(document.doctrine.edition),
        settings={**(wishes.settings or {}), "backfill": backfill},
        begin=run.begin,
        end=run.now,
        complete=run.complete,
        capacity=capacity,
        node_capacity=nodes,
        sizes=sizes,
        queues=tuple(
            Queue(queue.name, queue.parent, queue.guaranteed or None, float(queue.weight or 1))
            for queue in document.queues
        ),
        jobs=tables["jobs"],
        attempts=tables["attempts"],
        holds=tables["holds"],
        decisions=tables["decisions"],
        victims=tables["victims"],
        outages=tables["outages"],
        notes=fitted.notes,
        loops=loops_in(records),
        moments=records.moments,
        events=run.events,
        plans=run.plans,
    )


def _capacity(document: ClusterFile, nodes: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Of all nodes together, or where there are none, of all guarantees."""
    total: dict[str, int] = {}
    parts = nodes.values() if nodes else (queue.guaranteed or {} for queue in document.queues)
    for part in parts:
        for name, nano in part.items():
            total[name] = total.get(name, 0) + nano
    return total


def _backfill(wanted: str, trace: Trace) -> Backfill:
    if wanted != "auto":
        if wanted not in get_args(Backfill):
            raise InputError(
                [Problem("backfill", f"{wanted!r} is none", f"one of auto, {', '.join(get_args(Backfill))}")]
            )
        return cast(Backfill, wanted)
    return "easy" if trace.jobs["walltime"].null_count() < len(trace.jobs) else "off"
