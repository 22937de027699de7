"""The queue tree as columns: limits as given, usage kept on every level as work comes and goes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cede.model.cluster import Queue
from cede.state.columns import NEVER, NONE, UNLIMITED, UNSET, Bools, Int32s, Int64s, Table
from cede.state.units import Units

LIMITS = ("guaranteed", "max", "borrowing_limit", "lending_limit")


class QueueColumns(Table):
    """One row a queue; a parent that no entry lists has a row without limits."""

    parent: Int32s
    partition: Int32s
    listed: Bools
    over_limit_since: Int64s
    usage: Int64s
    guaranteed: Int64s
    max: Int64s
    borrowing_limit: Int64s
    lending_limit: Int64s

    scalars: ClassVar[dict[str, Any]] = {
        "parent": np.int32,
        "partition": np.int32,
        "listed": np.bool_,
        "over_limit_since": np.int64,
    }
    vectors: ClassVar[tuple[str, ...]] = ("usage", *LIMITS)
    fills: ClassVar[dict[str, Any]] = {
        "parent": NONE,
        "partition": NONE,
        "over_limit_since": NEVER,
        **dict.fromkeys(LIMITS, UNSET),
    }


class QueueTree(QueueColumns):
    """Queues by row, with the names and the raw settings that do not fit a column.

    `derived` is where a doctrine keeps what it works out of the entries alone; it is emptied whenever one of them
    changes, or the columns do.
    """

    def __init__(self, resources: int, size: int = 0) -> None:
        super().__init__(resources, size)
        self.names: list[str] = []
        self.index: dict[str, int] = {}
        self.documents: list[Queue | None] = []
        self.derived: dict[str, Any] = {}
        self._paths: dict[int, list[int]] = {}

    def row(self, name: str) -> int:
        """The row of this queue, made without limits if it is new."""
        found = self.index.get(name)
        if found is None:
            found = self.index[name] = self.add()
            self.names.append(name)
            self.documents.append(None)
            self.derived.clear()
            self._paths.clear()
        return found

    def put(self, queue: Queue, units: Units, partition: int, *, zero_is_unset: bool = False) -> int:
        """Enter or replace a queue's own limits and settings; usage stays. The amounts were learned before.

        `zero_is_unset`: a limit or guarantee of nothing but zeros is none.
        """
        row = self.row(queue.name)
        self.derived.clear()
        self._paths.clear()
        self.documents[row] = queue
        self.listed[row] = True
        self.parent[row] = NONE if queue.parent is None else self.row(queue.parent)
        self.partition[row] = partition
        self.over_limit_since[row] = NEVER if queue.over_limit_since is None else queue.over_limit_since
        for name in LIMITS:
            limits = getattr(self, name)
            limits[:, row] = UNSET
            given = getattr(queue, name) or {}
            if zero_is_unset and not any(given.values()):
                continue
            for column, count in units.pairs(given):
                limits[column, row] = min(count, UNLIMITED)
        return row

    def path(self, row: int) -> list[int]:
        """The queue and all above it, root last; nothing for work without a queue. To look at, not to change."""
        found = self._paths.get(row)
        if found is None:
            found, at = [], row
            while at != NONE:
                found.append(at)
                at = int(self.parent[at])
            self._paths[row] = found
        return found

    def settings(self, row: int) -> dict[str, Any]:
        """The raw settings of this queue as the file gives them."""
        document = self.documents[row] if row != NONE else None
        return {} if document is None else document.settings or {}
