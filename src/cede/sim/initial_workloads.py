"""The workloads of a cluster file as jobs of a replay: what runs and what waits when it begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

from cede.engine.cluster import Cluster
from cede.engine.dated import NODE_CLOCKS, moved
from cede.engine.drive.job import Job
from cede.engine.drive.terms import Terms
from cede.model.cluster import ClusterFile, Node, Queue, Workload
from cede.model.errors import InputError, Problem
from cede.model.lifecycle import Phase
from cede.model.resources import split_flavor

STATES = ("running", "suspended", "pending")
"""What a replay can take up."""
BETWEEN = {
    "reserved": "which workloads it waits for, nor how long",
    "checkpointing": "for what it saves its work, nor since when",
    "preempting": "for whom it makes way, nor since when",
}
"""What a file does not say of the others."""
P = TypeVar("P", Node, Queue)
NO_END = "is missing: nobody knows when {name} ends"


@dataclass(frozen=True, slots=True)
class InitialWorkloads:
    """A workload of the file. Times in microseconds on the trace's clock, on which the file's `now` is the begin."""

    workload: Workload
    place: int
    """Its place among all workloads of the file by uid, then name."""
    submitted: int
    duration: int
    started: int | None = None
    """Of one that runs."""
    saved: int | None = None
    """When its last checkpoint was written."""

    @property
    def kept(self) -> int:
        """How much of its work is safe, of one that runs; of earlier attempts the file says nothing."""
        return max(0, self.saved - self.started) if self.started is not None and self.saved is not None else 0

    def record(self, entry: Workload, terms: Terms, origin: int) -> Job:
        """It as a driver has it that started it before the replay began."""
        assert self.started is not None, "it runs"
        since = self.started + origin
        return Job(
            entry,
            terms,
            Phase.RUNNING,
            since=since,
            attempt=1,
            nodes=tuple(self.workload.nodes or ()),
            started=since,
            began=since,
            checkpoint=None if self.saved is None else self.saved + origin,
            preempted=self.workload.preempted,
        )


def standing(cluster: Cluster, begin: int, taken: Set[str]) -> tuple[InitialWorkloads, ...]:
    """The workloads of the file: those that run, then those that wait; each by uid.

    An InputError says all that a replay cannot take up. `taken` are the names of the trace.
    """
    document = cluster.document
    if not document.workloads:
        return ()
    problems = [problem for entry in document.workloads for problem in _wrong(entry, document, taken)]
    problems = problems or list(_too_full(cluster))
    if problems:
        raise InputError(problems)
    shift = begin - int(document.now)
    ordered = sorted(document.workloads, key=lambda entry: (entry.uid or entry.name, entry.name))
    workloads = [_standing(entry, place, shift, begin) for place, entry in enumerate(ordered)]
    return tuple(sorted(workloads, key=lambda one: one.started is None))


def _standing(entry: Workload, place: int, shift: int, begin: int) -> InitialWorkloads:
    submitted = begin if entry.submitted is None else entry.submitted + shift
    walltime = entry.walltime or 0
    last = None if entry.checkpoint is None else entry.checkpoint.last
    saved = None if last is None else last + shift
    if entry.state != "running":
        return InitialWorkloads(entry, place, submitted, walltime, saved=saved)
    started = begin if entry.started is None else entry.started + shift
    # One that has run for longer than it was to ends at once.
    return InitialWorkloads(entry, place, min(submitted, started), max(walltime, begin - started), started, saved)


def _wrong(entry: Workload, document: ClusterFile, taken: Set[str]) -> Iterator[Problem]:
    name, place = entry.name, f"workloads[{entry.name}]"
    if name in taken:
        yield Problem(f"{place}.name", f"the trace has a job called {name} too", "give one of them another name")
    if entry.state in BETWEEN:
        message = f"{name} is {entry.state}, and a file does not say {BETWEEN[entry.state]}"
        yield Problem(f"{place}.state", message, f"a replay takes up what is {', '.join(STATES)}")
    elif entry.walltime is None:
        yield Problem(f"{place}.walltime", NO_END.format(name=name), "a workload of the file runs for its walltime")
    for key, time in _times(entry):
        if time is not None and time > document.now:
            yield Problem(f"{place}.{key}", f"of {name} is after the file's now")
    if entry.state == "running" and document.nodes and not entry.nodes:
        yield Problem(f"{place}.nodes", f"are missing: {name} runs, and nobody knows where")
    for part in entry.pod_sets or ():
        if part.min_count is not None and part.min_count < part.count:
            message = f"{name} may run with fewer members, and a job of a replay always has all of them"
            yield Problem(f"{place}.pod_sets[{part.name}].min_count", message, "leave it out")
    kept_for_it = [node.name for node in document.nodes if node.reserved_for == name]
    for node in kept_for_it:
        yield Problem(f"nodes[{node}].reserved_for", f"a replay begins with no node that is kept for {name}")


def _times(entry: Workload) -> tuple[tuple[str, int | None], ...]:
    last = None if entry.checkpoint is None else entry.checkpoint.last
    started = entry.started if entry.state == "running" else None
    return ("submitted", entry.submitted), ("started", started), ("checkpoint.last", last)


def _too_full(cluster: Cluster) -> Iterator[Problem]:
    """Nodes on which more stands than they have; without nodes, what is held beyond all that queues are promised."""
    state, document = cluster.state, cluster.document
    taken = {name for entry in document.workloads if entry.state == "running" for name in entry.nodes or ()}
    for name in sorted(taken):
        if (state.nodes.free[:, state.node_index[name]] < 0).any():
            yield Problem(f"nodes[{name}]", "holds more than it has: a replay cannot begin so")
    if document.nodes:
        return
    promised: dict[str, int] = {}
    for queue in document.queues:
        _add(promised, queue.guaranteed or {})
    held: dict[str, int] = {}
    for entry in document.workloads:
        if entry.state == "running":
            _add(held, size_of(entry, promised))
    for resource in sorted(held):
        if held[resource] > promised.get(resource, held[resource]):
            yield Problem("workloads", f"hold more {resource} than all queues are promised: a replay cannot begin so")


def size_of(entry: Workload, capacity: Mapping[str, int]) -> dict[str, int]:
    """What all its members ask for together, of each resource as the cluster's capacity calls it."""
    if entry.pod_sets is not None:
        parts = [(part.requests, part.count) for part in entry.pod_sets]
    else:
        parts = [(entry.requests, entry.members)] if entry.requests else [(entry.usage or {}, 1)]
    size: dict[str, int] = {}
    for requests, count in parts:
        for name, nano in requests.items():
            _add(size, {name if name in capacity else split_flavor(name)[0]: nano * count})
    return size


def on_clock(document: ClusterFile, by: int, *, instants: bool) -> ClusterFile:
    """The file with the clocks of nodes, queues and apps moved by so much; `instants`: as dates, else as seconds."""
    document = moved(document, by, instant=instants)
    nodes = [_moved(node, NODE_CLOCKS, by) for node in document.nodes]
    queues = [_moved(queue, ("over_limit_since",), by) for queue in document.queues]
    return document.model_copy(update={"nodes": nodes, "queues": queues})


def _moved(part: P, clocks: Sequence[str], by: int) -> P:
    running = {key: at for key in clocks if (at := getattr(part, key)) is not None}
    return part.model_copy(update={key: at + by for key, at in running.items()}) if running else part


def _add(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, nano in amounts.items():
        total[name] = total.get(name, 0) + nano


def told(there: Sequence[InitialWorkloads]) -> Iterator[str]:
    """What must stand beside the numbers of a replay that begins with these."""
    if not there:
        return
    runs = sum(one.started is not None for one in there)
    yield (
        f"The cluster file has {runs:,} running and {len(there) - runs:,} waiting workloads at its now, which is the "
        "begin; each runs for its walltime."
    )
    whole = sum(one.workload.exclusive for one in there)
    if whole:
        yield f"Workloads of the file that take whole nodes, {whole:,}, count in hours and shares as what they ask for."
