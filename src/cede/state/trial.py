"""Book removals and placements on the live columns, and undo them to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

import numpy as np

from cede.model.workloads import PodSet
from cede.state.admission import Members, admit, ask_again, bring_back, members_as_they_are
from cede.state.columns import GONE, NONE, PREEMPTING, RESERVED, Int64s
from cede.state.refusals import refuse_unknown
from cede.state.residents import refresh
from cede.state.state import State


class Trial:
    """What would be if: victims gone, claimants booked. Leaving the block undoes everything, latest first.

    An evicted workload is GONE, one that is told to leave PREEMPTING and a booked one RESERVED while the trial lasts,
    so that none of them is pending nor a candidate to anyone who asks the columns meanwhile. Resident rows stay: only
    amounts move.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.log: list[tuple[int, int, list[tuple[int, Int64s]], Members | None]] = []

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.undo()

    def mark(self) -> int:
        """A point to come back to."""
        return len(self.log)

    def evict(self, row: int) -> None:
        """The room of a workload that holds some is free, on every node it stands on."""
        state = self.state
        work, residents = state.work, state.residents
        moves = [(int(residents.node[at]), residents.amount[:, at]) for at in state.residents_of(row)]
        before = int(work.state[row])
        self.log.append((row, before, moves, None))
        self._evict(row, before, moves, 1)
        work.state[row] = GONE

    def tell_to_leave(self, row: int) -> None:
        """A running workload is to leave, and has not: its room is free to nobody yet."""
        state = self.state
        residents = state.residents
        moves = [(int(residents.node[at]), residents.amount[:, at]) for at in state.residents_of(row)]
        self.log.append((row, int(state.work.state[row]), moves, None))
        self._tell_to_leave(moves, 1)
        state.work.state[row] = PREEMPTING

    def keep_apart(self) -> Int64s | None:
        """What is held and what is leaving take room beside each other, and do not overlap any more.

        By how much less is free on each node; none where nothing overlapped.
        """
        nodes, size = self.state.nodes, self.state.nodes.size
        if not self.state.between:
            return None
        overlap: Int64s = np.minimum(nodes.leaving[:, :size], nodes.held[:, :size])
        moves = [(int(node), overlap[:, node]) for node in np.flatnonzero(overlap.any(axis=0))]
        if not moves:
            return None
        self.log.append((NONE, NONE, moves, None))
        self._withhold(moves, 1)
        return overlap

    def book(self, row: int, nodes: Sequence[int], parts: tuple[PodSet, ...] | None = None) -> None:
        """A waiting workload's members take room, one entry a member; with `parts` it is admitted first.

        Their amounts are of columns that are known: what nodes offer, what limits and resource groups name.
        """
        state = self.state
        before = int(state.work.state[row])
        members: Members | None = None
        if parts is not None:
            refuse_unknown(state, parts)
            members = members_as_they_are(state, row)
            admit(state, row, parts)
        elif before == GONE:
            members = members_as_they_are(state, row)
            ask_again(state, row)
        moves = list(zip(nodes, state.members_of(row), strict=False))
        self.log.append((row, before, moves, members))
        self._book(row, moves, 1)
        state.work.state[row] = RESERVED
        state.booked_on[row] = tuple(nodes)

    def undo(self, mark: int = 0) -> None:
        """Back to the mark, or to the beginning."""
        work = self.state.work
        while len(self.log) > mark:
            row, before, moves, members = self.log.pop()
            if row == NONE:
                self._withhold(moves, -1)
                continue
            if work.state[row] == PREEMPTING:
                self._tell_to_leave(moves, -1)
            elif work.state[row] == GONE:
                self._evict(row, before, moves, -1)
            else:
                self._book(row, moves, -1)
                del self.state.booked_on[row]
                if members is not None:
                    bring_back(self.state, row, members)
            work.state[row] = before

    def _evict(self, row: int, before: int, moves: list[tuple[int, Int64s]], sign: int) -> None:
        nodes = self.state.nodes
        shared = {RESERVED: nodes.held, PREEMPTING: nodes.leaving}.get(before)
        for node, amount in moves:
            if shared is None:
                moved = sign * amount
                nodes.used[:, node] -= moved
                nodes.free[:, node] += moved
            else:
                shared[:, node] -= sign * amount
                refresh(self.state, node)
        self._charge(row, -sign)

    def _tell_to_leave(self, moves: list[tuple[int, Int64s]], sign: int) -> None:
        """Amounts go from what is used to what is leaving; what that overlaps with what is held is withheld."""
        nodes = self.state.nodes
        for node, amount in moves:
            held, leaving = nodes.held[:, node], nodes.leaving[:, node]
            overlap = np.minimum(leaving, held)
            nodes.used[:, node] -= sign * amount
            leaving += sign * amount
            nodes.booked[:, node] += np.minimum(leaving, held) - overlap

    def _withhold(self, moves: list[tuple[int, Int64s]], sign: int) -> None:
        """So much of each node is free to nobody."""
        nodes = self.state.nodes
        for node, amount in moves:
            nodes.booked[:, node] += sign * amount
            nodes.free[:, node] -= sign * amount

    def _book(self, row: int, moves: list[tuple[int, Int64s]], sign: int) -> None:
        self._withhold(moves, sign)
        self._charge(row, sign)

    def _charge(self, row: int, sign: int) -> None:
        work, tree = self.state.work, self.state.tree
        amount = sign * work.usage[:, row]
        for queue in tree.path(int(work.queue[row])):
            tree.usage[:, queue] += amount
