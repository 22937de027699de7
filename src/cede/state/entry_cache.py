"""Entries of one snapshot that the next takes over: those of which nothing changed in the columns since."""

from __future__ import annotations

from typing import Any

import numpy as np

from cede.model.cluster import Node, Workload
from cede.state.columns import NONE, Bools, Rows, Table
from cede.state.state import State

Image = list[np.ndarray[Any, Any]]


class EntryCache:
    """Entries by row. They never change, so that snapshots share them: a snapshot costs what changed since the last,
    and the memory of those alone.

    What an entry says follows from its row, from the rows of its residents, from what is kept beside the columns under
    its row, and from the time, if it came just then. Nodes, queues and units that changed, and other settings, drop
    everything.
    """

    def __init__(self) -> None:
        self.work: dict[int, Workload] = {}
        self.nodes: dict[int, Node] = {}
        self._of: State | None = None
        self._static: object = None
        self._reshaped = self._now = 0
        self._images: list[Image] = []
        self._owners: Rows = np.zeros(0, np.intp)
        self._names: list[list[str]] = []
        self._beside: dict[int, tuple[object, ...]] = {}

    def follow(self, state: State) -> None:
        """Entries that may say something else by now are dropped."""
        tables: tuple[Table, ...] = (state.work, state.residents, state.nodes)
        beside = _beside(state)
        if self._of is state and self._static is state.static and self._reshaped == state.journal.reshaped:
            self._drop(state, beside, *(_changed(*pair) for pair in zip(tables, self._images, strict=True)))
        else:
            self.work.clear()
            self.nodes.clear()
        self._of, self._static, self._reshaped, self._now = state, state.static, state.journal.reshaped, state.now
        self._images = [[block[:, : table.size].copy() for block in table.blocks] for table in tables]
        self._owners = state.residents.work[: state.residents.size].astype(np.intp)
        self._names, self._beside = [list(state.work_names), list(state.uids)], beside

    def _drop(
        self, state: State, beside: dict[int, tuple[object, ...]], work: Bools, residents: Bools, nodes: Bools
    ) -> None:
        if state.now != self._now:  # of one that came just now, an entry does not say when
            submitted = state.work.submitted[: state.work.size]
            work |= (submitted == self._now) | (submitted == state.now)
        rows = {
            *np.flatnonzero(work).tolist(),
            *state.residents.work[: state.residents.size][residents].tolist(),
            *self._owners[residents[: len(self._owners)]].tolist(),
            *_renamed(state.work_names, self._names[0]),
            *_renamed(state.uids, self._names[1]),
            *(row for row in beside.keys() | self._beside.keys() if not _same(beside.get(row), self._beside.get(row))),
        }
        for row in rows:
            self.work.pop(row, None)
        nodes |= state.nodes.reserved_for[: state.nodes.size] != NONE  # they name a workload
        for row in np.flatnonzero(nodes).tolist():
            self.nodes.pop(row, None)


def _beside(state: State) -> dict[int, tuple[object, ...]]:
    """What is kept of workloads beside the columns."""
    sides = (state.parts, state.odd_requests, state.odd_usages, state.constraints, state.admitted, state.placed)
    rows = {row for side in sides for row in side}
    return {row: tuple(side.get(row) for side in sides) for row in rows}


def _same(now: tuple[object, ...] | None, then: tuple[object, ...] | None) -> bool:
    return now is not None and then is not None and all(one is other for one, other in zip(now, then, strict=True))


def _changed(table: Table, image: Image) -> Bools:
    """Rows that are new, or not what they were."""
    found = np.ones(table.size, np.bool_)
    known = image[0].shape[1]
    same = np.ones(known, np.bool_)
    for block, before in zip(table.blocks, image, strict=True):
        same &= (block[:, :known] == before).all(axis=0)
    found[:known] = ~same
    return found


def _renamed(names: list[str], before: list[str]) -> list[int]:
    return [row for row, (name, old) in enumerate(zip(names, before, strict=False)) if name != old]
