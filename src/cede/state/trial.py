"""Book removals and placements on the live columns, and undo them to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

import numpy as np

from cede.state.columns import GONE, RESERVED, Int64s
from cede.state.state import State


class Trial:
    """What would be if: victims gone, claimants booked. Leaving the block undoes everything, latest first.

    An evicted workload is GONE and a booked one RESERVED while the trial lasts, so that neither is pending
    nor a candidate to anyone who asks the columns meanwhile. Resident rows stay: only amounts move.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self._log: list[tuple[int, int, tuple[tuple[int, Int64s], ...]]] = []

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.undo()

    def mark(self) -> int:
        """A point to come back to."""
        return len(self._log)

    def evict(self, row: int) -> None:
        """A running workload's room is free, on every node it stands on."""
        state = self.state
        freed = tuple(
            (int(state.residents.node[resident]), -state.residents.amount[:, resident])
            for resident in state.residents_of(row)
        )
        self._apply(row, freed, GONE, -1)

    def book(self, row: int, nodes: Sequence[int]) -> None:
        """A waiting workload's members take room, one entry a member."""
        taken: dict[int, Int64s] = {}
        for node, vector in zip(nodes, self.state.members_of(row), strict=False):
            taken[node] = taken[node] + vector if node in taken else vector.copy()
        self._apply(row, tuple(taken.items()), RESERVED, 1)

    def undo(self, mark: int = 0) -> None:
        """Back to the mark, or to the beginning."""
        while len(self._log) > mark:
            row, before, moves = self._log.pop()
            sign = 1 if self.state.work.state[row] == GONE else -1
            self._move(row, tuple((node, -amount) for node, amount in moves), sign)
            self.state.work.state[row] = before

    def _apply(self, row: int, moves: tuple[tuple[int, Int64s], ...], state: int, sign: int) -> None:
        self._log.append((row, int(self.state.work.state[row]), moves))
        self._move(row, moves, sign)
        self.state.work.state[row] = state

    def _move(self, row: int, moves: tuple[tuple[int, Int64s], ...], sign: int) -> None:
        state = self.state
        for node, amount in moves:
            state.nodes.used[:, node] += amount
            state.nodes.free[:, node] -= amount
        usage = sign * state.work.usage[:, row]
        for queue in state.tree.path(int(state.work.queue[row])):
            np.add(state.tree.usage[:, queue], usage, out=state.tree.usage[:, queue])
