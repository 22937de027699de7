"""The victims of one node as release 1.9 lists them: two passes over its candidates, the youngest first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.parts.orders import Rows, tie_break
from cede.doctrines.yunikorn.ask import Ask
from cede.doctrines.yunikorn.queues import Amounts
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.doctrines.yunikorn.vectors import over, within
from cede.state.state import State
from cede.state.units import WHOLE


@dataclass(frozen=True, slots=True)
class Found:
    """A node, the place of the first victim after which the ask fits (-1: it fits as it is), and victims up to it."""

    node: int
    index: int
    victims: list[int]


@dataclass(frozen=True, slots=True)
class _One:
    """A candidate: what it takes of its queues, and what it frees of the columns that are asked for."""

    row: int
    queue: int
    amounts: Amounts
    frees: list[int]


class NodeWalk:
    """Walks nodes one after the other; what a walk books in the snapshot is undone."""

    def __init__(self, state: State, snapshot: Snapshot, ask: Ask, rows: Rows) -> None:
        self.state = state
        self.snapshot = snapshot
        self.ask = ask
        self.open = np.zeros(state.work.size, np.bool_)
        self.open[rows] = True
        self.columns = ask.claim.columns
        self.need = [int(ask.claim.vectors[0][column]) for column in self.columns]

    def on(self, node: int) -> Found | None:
        """The list of this node; none if it does not make room."""
        free = [int(self.state.nodes.free[column, node]) for column in self.columns]
        listed = self._first_pass(self._candidates(node), free)
        return self._second_pass(node, listed, free) if listed else None

    def _candidates(self, node: int) -> list[_One]:
        """Those that may be preempted first, then no originators, then the youngest, leaf by leaf if of one age."""
        state, work = self.state, self.state.work
        last, rank = tie_break(state), self.snapshot.queues.rank
        found = [
            (
                *(not work.preemptible[row], bool(work.originator[row]), -int(work.submitted[row])),
                *(int(rank[work.queue[row]]), last(row), row, resident),
            )
            for resident in state.node_residents[node]
            if self.open[row := int(state.residents.work[resident])]
        ]
        ones = []
        for *_, row, resident in sorted(found):
            usage = work.usage[:, row].tolist()
            held = state.residents.amount[:, resident].tolist()
            amounts = {column: amount for column, amount in enumerate(usage) if amount and column != WHOLE}
            ones.append(_One(row, int(work.queue[row]), amounts, [held[column] for column in self.columns]))
        return ones

    def _first_pass(self, candidates: list[_One], free: list[int]) -> list[_One]:
        """Who counts, those first that shrink what is short; one that the asking leaf is not owed ends the pass."""
        snapshot, leaf, asked = self.snapshot, self.ask.leaf, self.ask.amounts
        room = list(free)
        booked: list[_One] = []
        head: list[_One] = []
        tail: list[_One] = []
        for one in candidates:
            rest = snapshot.remaining(one.queue)
            if rest is not None and not over(asked, rest):
                continue
            snapshot.move(one.queue, one.amounts.items(), -1)
            owed = snapshot.remaining(leaf)
            if owed is None or not within(owed, one.amounts):
                snapshot.move(one.queue, one.amounts.items(), 1)
                break
            if any(freed and have < need for freed, have, need in zip(one.frees, room, self.need, strict=True)):
                snapshot.move(leaf, one.amounts.items(), 1)
                booked.append(one)
                room = [have + freed for have, freed in zip(room, one.frees, strict=True)]
                head.append(one)
            else:
                snapshot.move(one.queue, one.amounts.items(), 1)
                tail.append(one)
        for one in booked:
            snapshot.move(leaf, one.amounts.items(), -1)
            snapshot.move(one.queue, one.amounts.items(), 1)
        return head + tail

    def _second_pass(self, node: int, listed: list[_One], free: list[int]) -> Found | None:
        """Of those on the list, in order, who counts when nobody else is charged; up to the first that is enough."""
        snapshot, asked = self.snapshot, self.ask.amounts
        room = list(free)
        taken: list[_One] = []
        index = -1
        for one in listed:
            rest = snapshot.remaining(one.queue)
            if rest is not None and not over(asked, rest):
                continue
            snapshot.move(one.queue, one.amounts.items(), -1)
            room = [have + freed for have, freed in zip(room, one.frees, strict=True)]
            taken.append(one)
            if all(have >= need for have, need in zip(room, self.need, strict=True)):
                index = len(taken) - 1
                break
        for one in taken:
            snapshot.move(one.queue, one.amounts.items(), 1)
        return None if index < 0 else Found(node, index, [one.row for one in taken])
