"""What the queues use and what remains of their guarantees, seen from one asking leaf; trials are booked and undone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from cede.doctrines.yunikorn.queues import Amounts, Queues
from cede.doctrines.yunikorn.sparse_amounts import Vector, filled, least
from cede.state.columns import NONE, PREEMPTING, Int64s
from cede.state.state import State
from cede.state.units import WHOLE

Leaving = Mapping[int, Int64s]
"""By queue, what is being preempted in or below it; only queues with some."""


class Snapshot:
    """Usage by queue, less what is being preempted already; `leaf` is the queue that asks.

    Numbers are taken from the columns when a queue is first looked at, and belong to the snapshot from then on.
    """

    def __init__(self, state: State, queues: Queues, leaf: int, leaving: Leaving | None = None) -> None:
        self.queues = queues
        self.leaf = leaf
        self._state = state
        self._used: dict[int, list[int]] = {}
        self._rest: dict[int, Vector[int]] = {}
        """What `remaining` said since something was moved last."""
        self._leaving = leaving_of(state, queues) if leaving is None else leaving
        self._named = queues.names[leaf] if leaf != NONE else ""
        self._owned = leaf != NONE and queues.guaranteed[leaf] is not None

    def used(self, queue: int) -> list[int]:
        """What the queue uses of every column."""
        amounts = self._used.get(queue)
        if amounts is None:
            column = self._state.tree.usage[:, queue]
            amounts = (column - self._leaving[queue] if queue in self._leaving else column).tolist()
            self._used[queue] = amounts
        return amounts

    def read_all(self) -> None:
        """Take the numbers of every queue now, before something is booked in the columns."""
        for queue in range(self.queues.size):
            self.used(queue)

    def fresh(self) -> Snapshot:
        """The same numbers, as the columns have them now, with nothing booked."""
        return Snapshot(self._state, self.queues, self.leaf, self._leaving)

    def move(self, queue: int, amounts: Iterable[tuple[int, int]], sign: int) -> None:
        """Usage is added to the queue and to all above it, or taken from them."""
        self._rest.clear()
        for above in self.queues.path_of(queue):
            used = self._used.get(above) or self.used(above)
            for column, amount in amounts:
                used[column] += sign * amount

    def own(self, queue: int) -> Amounts | None:
        """What remains of the queue's own guarantee; below zero where it uses more."""
        guaranteed = self.queues.guaranteed[queue]
        if guaranteed is None:
            return None
        used = self.used(queue)
        return {column: amount - used[column] for column, amount in guaranteed.items()}

    def remaining(self, queue: int) -> Vector[int]:
        """What remains of the guarantees on the path of the queue, as release 1.9 works it out.

        The asking leaf's own guarantee comes before those above it. If it has one, what it shares with another leaf
        is nothing to that other: its ancestors, and by a comparison of names every queue whose name its own name
        begins with.
        """
        if queue in self._rest:
            return self._rest[queue]
        queues, leaf = self.queues, self.leaf
        rest: Vector[int] = None
        for at in queues.guaranteeing(queue):  # who guarantees nothing leaves what remains as it is
            promised, used = queues.guarantee(at), self.used(at)
            own = {column: amount - used[column] for column, amount in promised.items()}
            if at == queues.path[queue][-1]:
                rest = own
            elif at == leaf:
                rest = filled(own, rest)
            elif self._owned and self._named.startswith(queues.names[at]):
                rest = None
            else:
                rest = own if rest is None else least(own, rest)
        self._rest[queue] = rest
        return rest

    def preemptable(self, queue: int) -> Vector[int]:
        """What may go of the queue at most: what it and all above it use beyond their guarantees; unset if unused.

        Release 1.9 looks only whether some of it is below zero, and none of it ever is.
        """
        beyond: Vector[int] = None
        for at in reversed(self.queues.path_of(queue)):
            used, promised = self.used(at), self.queues.guarantee(at)
            if not any(used):
                return None
            excess = {c: amount - promised.get(c, 0) for c, amount in enumerate(used) if c != WHOLE}
            more = {column: amount for column, amount in excess.items() if amount > 0}
            beyond = {column: min(amount, (beyond or {}).get(column, amount)) for column, amount in more.items()}
        return beyond


def promised_at_most(state: State, queues: Queues, leaf: int) -> Vector[int]:
    """What would remain for the asking leaf of the guarantees on its path if nothing were used at all."""
    snapshot = Snapshot(state, queues, leaf, {})
    snapshot._used = dict.fromkeys(queues.path_of(leaf), [0] * len(state.units))
    return snapshot.remaining(leaf)


def leaving_of(state: State, queues: Queues) -> Leaving:
    """By queue, what workloads that are being preempted hold there; only queues with some."""
    if not state.between:
        return {}
    leaving: dict[int, Int64s] = {}
    size = state.work.size
    for row in np.flatnonzero(state.work.state[:size] == PREEMPTING).tolist():
        for queue in queues.path_of(int(state.work.queue[row])):
            leaving[queue] = leaving.get(queue, 0) + state.work.usage[:, row]
    return leaving
