"""Columns that grow: one array an attribute, one row a thing, no object a row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Int8s = npt.NDArray[np.int8]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
Uint64s = npt.NDArray[np.uint64]

NONE = -1
"""No node, no queue, no user: the code of an absent name."""
UNSET = -(1 << 61)
"""No limit given; told apart from every amount, also from a free amount below zero."""
UNLIMITED = 1 << 62
"""The count of a quota or limit that is so large or larger: no sum of what is there and asked for reaches it."""
NEVER = np.iinfo(np.int64).max
"""The time of what has not happened: later than everything that has."""

STATES = ("gone", "pending", "suspended", "reserved", "running", "checkpointing", "preempting")
"""In this order everything from RESERVED on holds room."""
GONE, PENDING, SUSPENDED, RESERVED, RUNNING, CHECKPOINTING, PREEMPTING = range(len(STATES))
KINDS = ("batch", "interactive", "inference", "service", "system")
SYSTEM = KINDS.index("system")
PLACEMENTS = ("any", "tight", "spread")
ANY, TIGHT, SPREAD = range(3)
CHECKPOINTS = ("none", "auto", "manual")
NODE_STATES = ("ready", "cordoned", "down")
READY, CORDONED, DOWN = range(3)


def limits_added(one: Int64s, other: Int64s) -> Int64s:
    """Sums of limits that are given; what comes to more than can be counted is unlimited."""
    return np.where(one > UNLIMITED - other, UNLIMITED, one + other)


class Names:
    """Strings and the small integers that stand for them."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names: list[str] = []
        self.index: dict[str, int] = {}
        for name in names:
            self.code(name)

    def code(self, name: str | None) -> int:
        if name is None:
            return NONE
        found = self.index.get(name)
        if found is None:
            found = self.index[name] = len(self.names)
            self.names.append(name)
        return found

    def name(self, code: int) -> str | None:
        return None if code < 0 else self.names[code]


class Table:
    """Named columns of equal length, with rows handed out and taken back in constant time.

    `scalars` are one-dimensional; `vectors` have one row a resource, so that a resource is contiguous. Columns of one
    type are views of one block, so that a whole row is written or cleared at once.
    """

    scalars: ClassVar[dict[str, Any]] = {}
    vectors: ClassVar[tuple[str, ...]] = ()
    fills: ClassVar[dict[str, Any]] = {}

    def __init__(self, resources: int, size: int = 0) -> None:
        self.size = 0
        self.resources = resources
        self.unused: list[int] = []
        self._room = max(size, 8)
        self._make()

    def add(self) -> int:
        """A row, blank."""
        if self.unused:
            return self.unused.pop()
        if self.size == self._room:
            self._grow(self._room * 2)
        self.size += 1
        return self.size - 1

    def drop(self, row: int) -> None:
        """Give a row back; it is blank until it is handed out again."""
        self.blank(row)
        self.unused.append(row)

    def blank(self, row: int) -> None:
        for block, blank in zip(self.blocks, self._blanks, strict=True):
            block[:, row] = blank

    def image(self, row: int) -> list[npt.NDArray[Any]]:
        """All that stands in a row, for `lay`."""
        return [block[:, row].copy() for block in self.blocks]

    def lay(self, row: int, image: list[npt.NDArray[Any]]) -> None:
        for block, column in zip(self.blocks, image, strict=True):
            block[:, row] = column

    def widen(self, resources: int) -> None:
        """Room for more resources, all zero."""
        before = {name: getattr(self, name) for name in (*self.scalars, *self.vectors)}
        known, self.resources = self.resources, resources
        self._make()
        for name in self.scalars:
            getattr(self, name)[:] = before[name]
        for name in self.vectors:
            getattr(self, name)[:known] = before[name]

    def rescale(self, column: int, factor: int) -> None:
        """Count this resource in a finer unit."""
        for name in self.vectors:
            counts = getattr(self, name)[column]
            if self.fills.get(name) == UNSET:
                given = counts != UNSET
                counts[given] = np.where(counts[given] > UNLIMITED // factor, UNLIMITED, counts[given] * factor)
            else:
                counts *= factor

    @property
    def nbytes(self) -> int:
        return sum(block.nbytes for block in self.blocks)

    def _grow(self, room: int) -> None:
        before, known = self.blocks, self._room
        self._room = room
        self._make()
        for block, old in zip(self.blocks, before, strict=True):
            block[:, :known] = old

    def _make(self) -> None:
        """Blank blocks of the present size, and the columns as views of them."""
        by_type: dict[Any, list[str]] = {}
        for name, dtype in self.scalars.items():
            by_type.setdefault(dtype, []).append(name)
        self.blocks: list[npt.NDArray[Any]] = []
        self._blanks: list[npt.NDArray[Any]] = []
        for dtype, names in by_type.items():
            blank = np.array([self.fills.get(name, 0) for name in names], dtype)
            block = np.repeat(blank[:, None], self._room, axis=1)
            for at, name in enumerate(names):
                setattr(self, name, block[at])
            self.blocks.append(block)
            self._blanks.append(blank)
        wide = [self.fills.get(name, 0) for name in self.vectors for _ in range(self.resources)]
        blank = np.array(wide, np.int64)
        block = np.repeat(blank[:, None], self._room, axis=1)
        for at, name in enumerate(self.vectors):
            setattr(self, name, block[at * self.resources : (at + 1) * self.resources])
        self.blocks.append(block)
        self._blanks.append(blank)


class WorkloadColumns(Table):
    """One row a workload that is known, pending or holding room.

    `uid_first` and `uid_next` are the first sixteen bytes of its uid as numbers that sort like the text.
    """

    queue: Int32s
    user: Int32s
    project: Int32s
    domain: Int32s
    tenant: Int32s
    app: Int32s
    kind: Int8s
    state: Int8s
    placement: Int8s
    checkpoint: Int8s
    priority: Int32s
    job_priority: Int32s
    members: Int32s
    preempted: Int32s
    required_node: Int32s
    partition: Int32s
    submitted: Int64s
    started: Int64s
    walltime: Int64s
    checkpoint_last: Int64s
    checkpoint_time: Int64s
    exclusive: Bools
    preemptible: Bools
    preempts: Bools
    originator: Bools
    sensitive: Bools
    usage_given: Bools
    resident: Int32s
    uid_first: Uint64s
    uid_next: Uint64s
    need: Int64s
    usage: Int64s

    scalars: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("queue", "user", "project", "domain", "tenant", "app", "required_node"), np.int32),
        **dict.fromkeys(("priority", "job_priority", "members", "preempted", "partition", "resident"), np.int32),
        **dict.fromkeys(("kind", "state", "placement", "checkpoint"), np.int8),
        **dict.fromkeys(("submitted", "started", "walltime", "checkpoint_last", "checkpoint_time"), np.int64),
        **dict.fromkeys(("exclusive", "preemptible", "preempts", "originator", "sensitive", "usage_given"), np.bool_),
        **dict.fromkeys(("uid_first", "uid_next"), np.uint64),
    }
    vectors: ClassVar[tuple[str, ...]] = ("need", "usage")
    fills: ClassVar[dict[str, Any]] = {
        "state": GONE,
        **dict.fromkeys(("queue", "user", "project", "domain", "tenant", "app", "required_node", "resident"), NONE),
        **dict.fromkeys(("started", "walltime", "checkpoint_last", "checkpoint_time"), NEVER),
    }


class NodeColumns(Table):
    """One row a node; `free` is kept current: capacity - occupied - used - booked - max(leaving, held).

    `used` is what residents that run or write a checkpoint hold, `leaving` what preempting ones do, `held` what
    reserved ones do, `booked` what a trial has placed and no resident stands for; outside of trials it is zero.
    """

    partition: Int32s
    flavor: Int32s
    home: Int32s
    group: Int32s
    labels: Int32s
    state: Int8s
    reserved_for: Int32s
    reserved_since: Int64s
    overcommitted_since: Int64s
    last_preemptive_attempt: Int64s
    capacity: Int64s
    occupied: Int64s
    used: Int64s
    booked: Int64s
    leaving: Int64s
    held: Int64s
    free: Int64s

    scalars: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(("partition", "flavor", "home", "group", "labels", "reserved_for"), np.int32),
        "state": np.int8,
        **dict.fromkeys(("reserved_since", "overcommitted_since", "last_preemptive_attempt"), np.int64),
    }
    vectors: ClassVar[tuple[str, ...]] = ("capacity", "occupied", "used", "booked", "leaving", "held", "free")
    fills: ClassVar[dict[str, Any]] = {
        "state": DOWN,
        **dict.fromkeys(("partition", "flavor", "home", "group", "labels", "reserved_for"), NONE),
        **dict.fromkeys(("reserved_since", "overcommitted_since", "last_preemptive_attempt"), NEVER),
    }


class ResidentColumns(Table):
    """One row for each node a workload holds room on; a blank row has count 0 and no amount.

    `WorkloadColumns.resident` is a workload's first row here, `sibling` leads to its next.
    """

    work: Int32s
    node: Rows
    count: Int32s
    sibling: Int32s
    amount: Int64s

    scalars: ClassVar[dict[str, Any]] = {**dict.fromkeys(("work", "count", "sibling"), np.int32), "node": np.intp}
    vectors: ClassVar[tuple[str, ...]] = ("amount",)
    fills: ClassVar[dict[str, Any]] = {"sibling": NONE}
