"""Priorities of a trace as a doctrine with a range of its own takes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cede.model.cluster import Node, Queue
from cede.model.dialect import NO_DOCTRINE, Dialect
from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.model.quantities import NANO, say_quantity
from cede.model.resources import is_gpu, split_flavor
from cede.sim.traces.cutting import noted
from cede.sim.traces.derived import main_resource
from cede.sim.traces.trace import Shape, Trace


def classes_of(values: Iterable[int], allowed: tuple[int, int]) -> dict[int, int] | None:
    """What each priority becomes in the range from the lowest to the highest that is allowed, in the same order: itself
    where all are within it.

    Else they are spread over the range: each is the middle of a band, and the bands are equal. None where there are
    more priorities than the range has.
    """
    known = sorted(set(values))
    low, high = allowed
    if not known or (low <= known[0] and known[-1] <= high):
        return {value: value for value in known}
    width = high - low + 1
    if len(known) > width:
        return None
    return {value: low + (2 * place + 1) * width // (2 * len(known)) for place, value in enumerate(known)}


DEFAULT_PARTITION = "default"
"""Of nodes and queues that name none."""
_MILLI = 10**6


@dataclass(frozen=True, slots=True)
class Room:
    """What a kind of node has for jobs, in nano-units, and its labels."""

    amounts: Mapping[str, int]
    labels: Mapping[str, str]

    def takes(self, shape: Shape, members: int) -> bool:
        """Whether such a node, if empty, has room for this number of members."""
        if any(self.labels.get(key) != value for key, value in shape.labels.items()):
            return False
        return all(nano * members <= self.amounts.get(name, 0) for name, nano in shape.requests.items())

    def fewest(self, shape: Shape) -> int | None:
        """The fewest equal members of this total that fit such a node; None if none do."""
        if any(self.labels.get(key) != value for key, value in shape.labels.items()):
            return None
        fewest = 1
        for name, total in shape.requests.items():
            grain = _grain(name, total, main_resource([shape]))
            most = self.amounts.get(name, 0) // grain * grain
            if total and not most:
                return None
            fewest = max(fewest, -(-total // most) if total else 1)
        return fewest


def rooms(nodes: Iterable[Node]) -> list[Room]:
    """The kinds of node there are, each once."""
    kinds: dict[tuple[object, ...], Room] = {}
    for node in nodes:
        amounts = {name: nano - node.occupied.get(name, 0) for name, nano in node.capacity.items()}
        if node.flavor is not None:
            amounts |= {f"{name}@{node.flavor}": nano for name, nano in amounts.items()}
        key = (*sorted(amounts.items()), *sorted(node.labels.items()))
        kinds.setdefault(key, Room(amounts, node.labels))
    return list(kinds.values())


def divided(shape: Shape, among: Sequence[Room]) -> tuple[Shape, int]:
    """The shape as equal members, and how many nano-units of its main resource rounding added.

    One that fits no node however it is divided stays as it is: no cluster of these nodes can run it.
    """
    if not shape.divisible:
        return shape, 0
    counts = [fewest for room in among if (fewest := room.fewest(shape)) is not None]
    if not counts:
        return replace(shape, divisible=False), 0
    main = main_resource([shape])
    total = shape.requests.get(main, 0)
    members = _even(total, _grain(main, total, main), min(counts))
    parts = {name: _part(nano, members, _grain(name, nano, main)) for name, nano in shape.requests.items()}
    return replace(shape, requests=parts, members=members, divisible=False), parts.get(main, 0) * members - total


def _grain(name: str, total: int, main: str) -> int:
    """The nano-units that a member's part is a multiple of: whole ones, but thousandths of a CPU beside GPUs."""
    if total % NANO == 0 and (name == main or name != "cpu"):
        return NANO
    return _MILLI if total % _MILLI == 0 else 1


def _even(total: int, grain: int, fewest: int) -> int:
    """The first number of members from the fewest, below twice as many, that divides the total; else the fewest."""
    return next((m for m in range(fewest, 2 * fewest) if total % (m * grain) == 0), fewest)


def _part(total: int, members: int, grain: int) -> int:
    """An equal part of the total, rounded up to the grain."""
    return -(-total // (members * grain)) * grain


def with_members(trace: Trace, nodes: Sequence[Node], queues: Sequence[Queue]) -> Trace:
    """The trace with every total divided over the nodes of its queue's partition; none is divisible any more."""
    if not nodes or not any(shape.divisible for shape in trace.shapes):
        return replace(trace, shapes=tuple(replace(shape, divisible=False) for shape in trace.shapes))
    among, partition = by_partition(trace, nodes, queues)
    # A shape may come out differently in each partition, so it is one of its own in each.
    pair = trace.jobs["shape"].to_numpy().astype(np.int64) * len(among) + partition
    distinct, place, jobs = np.unique(pair, return_inverse=True, return_counts=True)
    made = [
        (trace.shapes[shape], *divided(trace.shapes[shape], among[where]))
        for shape, where in (divmod(one, len(among)) for one in distinct.tolist())
    ]
    fitted = replace(
        trace,
        jobs=trace.jobs.with_columns(pl.Series("shape", place, pl.Int32())),
        shapes=tuple(new for _, new, _ in made),
    )
    return noted(fitted, *_told(made, jobs.tolist(), main_resource(trace.shapes)))


def by_partition(
    trace: Trace, nodes: Sequence[Node], queues: Sequence[Queue]
) -> tuple[list[list[Room]], NDArray[np.int64]]:
    """The kinds of node of each partition, and of each job in which of these its queue is."""
    partitions = sorted({_partition(node) for node in nodes} | {_partition(queue) for queue in queues})
    among = [rooms(node for node in nodes if _partition(node) == name) for name in partitions]
    number = {name: index for index, name in enumerate(partitions)}
    of_queue = {queue.name: number[_partition(queue)] for queue in queues}
    default = number.get(DEFAULT_PARTITION, 0)
    partition = trace.jobs["queue"].replace_strict(of_queue, default=default, return_dtype=pl.Int64())
    return among, partition.to_numpy()


def _partition(part: Node | Queue) -> str:
    return part.partition or DEFAULT_PARTITION


def _told(made: Sequence[tuple[Shape, Shape, int]], jobs: Sequence[int], main: str) -> list[str]:
    """What was done, in sentences."""
    every = sum(jobs)
    several = sum(count for (old, new, _), count in zip(made, jobs, strict=True) if old.divisible and new.members > 1)
    rounded = sum(count for (_, _, more), count in zip(made, jobs, strict=True) if more)
    added = sum(more * count for (_, _, more), count in zip(made, jobs, strict=True))
    told = []
    if several:
        told.append(
            f"The trace knows only totals: {several:,} of {every:,} jobs do not fit a node and are divided into equal "
            "members, the fewest that fit and divide evenly."
        )
    if rounded:
        told.append(
            f"{rounded:,} of them cannot be divided evenly and ask for more, {say_quantity(main, added)} {main} in all."
        )
    return told


MOST_QUEUES = 10
MOST_CLASSES = 12
ONLY = "default"
"""The queue of jobs that name none, where there is such a one."""
REMEDY = "set it with --mapping, or give --queue NAME for all jobs"


def fit(
    trace: Trace,
    nodes: Sequence[Node],
    queues: Sequence[Queue],
    *,
    queue: str | None = None,
    dialect: Dialect = NO_DOCTRINE,
    by_job_priority: bool = False,
) -> Trace:
    """The trace as this cluster takes it, with a note of everything that was changed.

    Its resources are called as the nodes call them, and those that no node has are not asked for. Every job is in a
    queue of the cluster: its own, `queue` for all, or the only one there is. Jobs of which only a total is known have
    members. Priorities are within the range of its doctrine's `dialect`, and with `by_job_priority` also in
    the field by which that one chooses victims. An InputError says what does not go.
    """
    named = _with_resources(trace, nodes, queues)
    placed = _with_queues(named, queues, queue)
    ranked = _with_priorities(placed, dialect)
    return with_members(_with_job_priorities(ranked) if by_job_priority else ranked, nodes, queues)


# -- resources -------------------------------------------------------------------------------------------------


def _with_resources(trace: Trace, nodes: Sequence[Node], queues: Sequence[Queue]) -> Trace:
    known = _resources(nodes, queues)
    if not known:
        return trace
    asked = sorted({name for shape in trace.shapes for name, nano in shape.requests.items() if nano})
    called = {name: _called(name, known) for name in asked}
    shapes = tuple(replace(shape, requests=_renamed(shape.requests, called)) for shape in trace.shapes)
    _refuse_empty(trace, shapes, known)
    notes = [
        f"{name} of the trace is {new} of the cluster."
        for name, new in called.items()
        if new is not None and new != name
    ]
    for name, new in called.items():
        if new is None:
            jobs = _count(trace, [bool(shape.requests.get(name)) for shape in trace.shapes])
            notes.append(f"{name} is not asked for: the cluster has none ({jobs:,} jobs of the trace ask for it).")
    return noted(replace(trace, shapes=shapes), *notes)


def _resources(nodes: Sequence[Node], queues: Sequence[Queue]) -> set[str]:
    """What the nodes have, or what the queues are promised where there are no nodes; NAME and NAME@FLAVOR."""
    if nodes:
        plain = {name for node in nodes for name, nano in node.capacity.items() if nano}
        return plain | {f"{name}@{node.flavor}" for node in nodes if node.flavor for name in node.capacity}
    given = {name for queue in queues for amounts in (queue.guaranteed, queue.max) for name in amounts or ()}
    return given | {split_flavor(name)[0] for name in given}


def _called(name: str, known: set[str]) -> str | None:
    """What the cluster calls this resource: the same, or its only GPU, or nothing."""
    if name in known:
        return name
    base, _ = split_flavor(name)
    if base in known:
        return base
    gpus = sorted(one for one in known if is_gpu(one) and "@" not in one)
    if not is_gpu(base) or not gpus:
        return None
    if len(gpus) > 1:
        message = f"the trace asks for {name}, and the cluster has {' and '.join(gpus)}"
        raise InputError([Problem("resources", message, "which of them is meant cannot be known")])
    return gpus[0]


def _renamed(requests: Mapping[str, int], called: Mapping[str, str | None]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for name, nano in requests.items():
        new = called.get(name)
        if new is not None:
            amounts[new] = amounts.get(new, 0) + nano
    return amounts


def _refuse_empty(trace: Trace, shapes: Sequence[Shape], known: set[str]) -> None:
    """A job of which nothing is left would run anywhere: that cannot be meant."""
    empty = [not new.requests and any(old.requests.values()) for old, new in zip(trace.shapes, shapes, strict=True)]
    jobs = _count(trace, empty)
    if jobs:
        lost = sorted(
            {name for shape, gone in zip(trace.shapes, empty, strict=True) if gone for name in shape.requests}
        )
        has = ", ".join(sorted(name for name in known if "@" not in name))
        message = f"{jobs:,} jobs of the trace ask for {' and '.join(lost)} alone, and the cluster has only {has}"
        raise InputError([Problem("resources", message, "give the nodes of the cluster file such a capacity")])


def _count(trace: Trace, of_shape: Sequence[bool]) -> int:
    return int(pl.Series(of_shape, dtype=pl.Boolean()).gather(trace.jobs["shape"]).sum()) if of_shape else 0


# -- queues ----------------------------------------------------------------------------------------------------


def _with_queues(trace: Trace, queues: Sequence[Queue], queue: str | None) -> Trace:
    known = {one.name for one in queues} | {one.parent for one in queues if one.parent is not None}
    if queue is not None:
        queue = _full(queue, queues, known)
        if queue not in known:
            raise InputError(
                [Problem("--queue", f"the cluster has no queue {shown(queue)}", did_you_mean(queue, known))]
            )
        return noted(_all_in(trace, queue), f"All jobs are in the queue {queue}, because it was asked for.")
    trace = _with_paths(trace, queues, known)
    named = trace.jobs["queue"]
    if not known:
        if named.null_count() == len(named):
            return trace
        return noted(_all_in(trace, None), "The queues of the trace mean nothing here: the cluster has none.")
    missing = named.null_count()
    if missing == len(named) and len(known) == 1:
        [only] = known
        return noted(_all_in(trace, only), f"All jobs are in {only}, the only queue there is.")
    problems = _unknown(named, known)
    if missing and (only := _full(ONLY, queues, known)) in known:
        note = f"{missing:,} of {len(named):,} jobs name no queue and are in {only}."
        trace = noted(replace(trace, jobs=trace.jobs.with_columns(queue=named.fill_null(only))), note)
    elif missing:
        message = f"{missing:,} jobs of the trace name no queue, and the cluster has {len(known)}"
        problems.append(Problem("queue", message, REMEDY))
    if problems:
        raise InputError(problems)
    return trace


def _with_paths(trace: Trace, queues: Sequence[Queue], known: set[str]) -> Trace:
    """The jobs in queues by their full paths, where the trace has the ends of those."""
    named = trace.jobs["queue"]
    paths = {name: _full(name, queues, known) for name in named.drop_nulls().unique().sort().to_list()}
    if all(name == path for name, path in paths.items()):
        return trace
    return replace(trace, jobs=trace.jobs.with_columns(queue=named.replace(paths)))


def _full(name: str, queues: Sequence[Queue], known: set[str]) -> str:
    """The queue of this name; failing that the only leaf whose path ends so."""
    if name in known:
        return name
    parents = {one.parent for one in queues}
    ends = [one.name for one in queues if one.name.endswith(f".{name}") and one.name not in parents]
    return ends[0] if len(ends) == 1 else name


def _all_in(trace: Trace, queue: str | None) -> Trace:
    return replace(trace, jobs=trace.jobs.with_columns(queue=pl.lit(queue, pl.String())))


def _unknown(named: pl.Series, known: set[str]) -> list[Problem]:
    counts = Counter(dict(named.drop_nulls().value_counts().sort("queue").iter_rows()))
    unknown = [(name, count) for name, count in counts.most_common() if name not in known]
    if not unknown:
        return []
    parts = [f"{shown(name)} ({count:,} jobs)" for name, count in unknown[:MOST_QUEUES]]
    if len(unknown) > MOST_QUEUES:
        parts.append(f"{len(unknown) - MOST_QUEUES} more")
    has = f"it has {', '.join(sorted(known)[:MOST_QUEUES])}"
    return [Problem("queue", f"the cluster has no queue {', '.join(parts)}; {has}", REMEDY)]


# -- priorities ------------------------------------------------------------------------------------------------


def _with_priorities(trace: Trace, dialect: Dialect) -> Trace:
    given = trace.jobs["priority"]
    classes = classes_of(given.drop_nulls().to_list(), dialect.priorities)
    low, high = dialect.priorities
    if classes is None:
        message = f"the jobs have {given.drop_nulls().n_unique():,} of them, from {given.min()!r} to {given.max()!r}"
        message += f", and under {dialect.name} priorities go from {low} to {high}"
        raise InputError([Problem("priority", message, "set it with --mapping, by a table or by bands")])
    if all(value == own for own, value in classes.items()):
        return trace
    became = given.replace_strict(list(classes), list(classes.values()), return_dtype=given.dtype)
    told = f"Under {dialect.name} priorities go from {low} to {high}: {_listed(classes)}."
    back = {value: own for own, value in classes.items()}
    return noted(replace(trace, jobs=trace.jobs.with_columns(priority=became), classes=back), told)


def _listed(classes: Mapping[int, int]) -> str:
    parts = [f"{own} is {value}" for own, value in classes.items()]
    if len(parts) > MOST_CLASSES:
        parts[MOST_CLASSES:] = [f"and so on for {len(parts) - MOST_CLASSES} more"]
    return ", ".join(parts)


def _with_job_priorities(trace: Trace) -> Trace:
    """A trace of a system that knows one priority: it is that of the job too."""
    jobs = trace.jobs
    if jobs["job_priority"].null_count() < len(jobs) or jobs["priority"].null_count() == len(jobs):
        return trace
    told = "Job priorities say who may preempt whom, and the trace has none: that of a job is its priority."
    return noted(replace(trace, jobs=jobs.with_columns(job_priority=pl.col("priority"))), told)
