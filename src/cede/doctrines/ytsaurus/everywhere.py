"""The running allocations of all nodes, each judged as a heartbeat of its node would: what stages could take where."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.here import is_running, levels_of
from cede.doctrines.ytsaurus.numbers import Numbers
from cede.state.columns import Bools, Int64s, Rows


class Everywhere:
    """All nodes as things stand when this is made. `ssd`: nodes whose disks have priority."""

    def __init__(self, numbers: Numbers, ssd: Bools) -> None:
        update = numbers.update
        state, residents = update.state, update.state.residents
        cut = numbers.all_groups()
        group = np.zeros(state.work.size, np.int8)
        group[cut.rows] = cut.group
        works = residents.work[: residents.size].astype(np.intp)
        self._residents: Rows = np.flatnonzero((residents.count[: residents.size] > 0) & is_running(state, works))
        rows = works[self._residents]
        self.state, self.node = state, residents.node[self._residents]
        self.operation = update.standing.operation[rows]
        self._level, self._shielded, self._from_normal = levels_of(
            update, rows, self.operation, group[rows], ssd[self.node]
        )
        self._known: dict[tuple[int, bool], Int64s] = {}

    def open(self, least: int, *, normal: bool) -> Bools:
        """Whom a stage may take that takes this level and all above."""
        found: Bools = (self._level >= least) & ~self._shielded
        return found & ~self._from_normal if normal else found

    def discount(self, least: int, *, normal: bool) -> Int64s:
        """What such a stage could take on each node, (columns, nodes)."""
        found = self._known.get((least, normal))
        if found is None:
            open_ = self.open(least, normal=normal)
            node, taken = self.node[open_], self._residents[open_]
            found = np.zeros((len(self.state.units), self.state.nodes.size), np.int64)
            for column, amounts in enumerate(self.state.residents.amount):
                np.add.at(found[column], node, amounts[taken])
            self._known[least, normal] = found
        return found
