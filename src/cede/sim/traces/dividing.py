"""Totals divided over nodes: how many equal members a job has of which a trace knows only what it held in all.

The rule: a job whose total fits a node is one member. Else it has the fewest equal members that fit a node; if its GPUs
(or CPUs, where it has none) do not divide evenly by that number, the next number below twice as many by which they do;
if there is none, the fewest, and each member's part is rounded up. On nodes of 8, 12 GPUs are 2 times 6, 9 are 3 times
3, 37 are 5 times 8, which is 3 more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cede.model.cluster import Node, Queue
from cede.model.quantities import NANO, say_quantity
from cede.sim.traces.cutting import noted
from cede.sim.traces.derived import main_resource
from cede.sim.traces.trace import Shape, Trace

DEFAULT_PARTITION = "default"
"""Of nodes and queues that name none."""
_MILLI = 10**6


@dataclass(frozen=True, slots=True)
class Room:
    """What a kind of node has for jobs, in nano-units, and its labels."""

    amounts: Mapping[str, int]
    labels: Mapping[str, str]

    def takes(self, shape: Shape, members: int) -> bool:
        """Whether such a node has room for so many members, if it is empty."""
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
    found: dict[tuple[object, ...], Room] = {}
    for node in nodes:
        amounts = {name: nano - node.occupied.get(name, 0) for name, nano in node.capacity.items()}
        if node.flavor is not None:
            amounts |= {f"{name}@{node.flavor}": nano for name, nano in amounts.items()}
        key = (*sorted(amounts.items()), *sorted(node.labels.items()))
        found.setdefault(key, Room(amounts, node.labels))
    return list(found.values())


def divided(shape: Shape, among: Sequence[Room]) -> tuple[Shape, int]:
    """The shape as equal members, and how many nano-units of its main resource rounding added.

    One that fits no node however it is divided stays as it is: no cluster of these nodes can run it.
    """
    if not shape.divisible:
        return shape, 0
    found = [fewest for room in among if (fewest := room.fewest(shape)) is not None]
    if not found:
        return replace(shape, divisible=False), 0
    main = main_resource([shape])
    total = shape.requests.get(main, 0)
    members = _even(total, _grain(main, total, main), min(found))
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
