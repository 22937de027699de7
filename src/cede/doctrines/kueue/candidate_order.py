"""Candidates in the order of preemption, sorted only as far as a search looks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cede.doctrines.kueue.quota import Asked
from cede.doctrines.kueue.snapshot import Snapshot
from cede.doctrines.parts.orders import Rows, order_of
from cede.state.columns import Bools, Int64s, Uint64s

FEW = 512
"""Up to this many are sorted at once; of more, the first ones are selected before sorting."""
GROWTH = 8
OWN_LATER, LEAVING_FIRST = 1 << 33, 1 << 34

Key = tuple[int, int, str, str]
"""Sorts like the order itself."""
CandidateUsage = tuple[int, Asked]
"""A candidate's row, and all that it holds."""


def in_order(snapshot: Snapshot, at: Rows) -> Iterator[Rows]:
    """Positions by leaving first, lower priority, later reserved, uid: in stretches, each larger than the last."""
    count = FEW // 2
    while len(at) > max(FEW, 2 * count):
        here = _first(snapshot, at, count)
        yield _sorted(snapshot, at[here])
        at = at[~here]
        count *= GROWTH
    if len(at):
        yield _sorted(snapshot, at)


def _sorted(snapshot: Snapshot, at: Rows) -> Rows:
    rows = snapshot.rows[at]
    return at[order_of(snapshot.state, rows, _rank(snapshot, at), -snapshot.reserved_at(rows))]


def _rank(snapshot: Snapshot, at: Rows, own: Bools | None = None) -> Int64s:
    """One number that sorts by leaving, then other queues before the own, then priority."""
    rank = snapshot.state.work.priority[snapshot.rows[at]].astype(np.int64)
    if own is not None and own.any():
        rank[own] += OWN_LATER
    if snapshot.leaving_rows:
        rank[snapshot.leaving[at]] -= LEAVING_FIRST
    return rank


def _first(snapshot: Snapshot, at: Rows, count: int) -> Bools:
    """A mask of those that come first: at least so many, and more only where they cannot be told apart."""
    rows = snapshot.rows[at]
    keys: tuple[Int64s | Uint64s, ...] = (
        _rank(snapshot, at),
        -snapshot.reserved_at(rows),
        snapshot.state.work.uid_first[rows],
    )
    sure = np.zeros(len(at), np.bool_)
    among: Rows = np.arange(len(at))
    for key in keys:
        last = np.partition(key[among], count - 1)[count - 1]
        below = key[among] < last
        sure[among[below]] = True
        count -= int(below.sum())
        among = among[key[among] == last]
        if len(among) <= 2 * count:
            break
    sure[among] = True
    return sure


class CandidateOrder:
    """Candidates by queue. The first of a queue is found when its cohort is looked at, the rest sorted at its turn."""

    def __init__(self, snapshot: Snapshot, at: Rows, queue: int) -> None:
        self.snapshot = snapshot
        self.at = at
        self.own = queue
        self.queue = snapshot.queue[at]
        self.firsts: dict[int, Key] = {}
        counts = np.bincount(self.queue, minlength=snapshot.quotas.size)
        here = np.flatnonzero(counts)
        self._left: dict[int, int] = dict(zip(here.tolist(), counts[here].tolist(), strict=True))
        self._lines: dict[int, Iterator[tuple[CandidateUsage, Key]]] = {}
        self._next: dict[int, CandidateUsage] = {}
        self._amounts: dict[tuple[int, ...], Asked] = {}

    def queues(self) -> list[int]:
        """Those that have candidates left."""
        return list(self._left)

    def has(self, queue: int) -> bool:
        return queue in self._left

    def first(self, queue: int) -> Key:
        """The queue's first candidate as a key that compares with those of other queues."""
        if queue not in self.firsts:
            self._look_below(self.snapshot.quotas.parent[queue])
        return self.firsts[queue]

    def pop(self, queue: int) -> CandidateUsage:
        """Take the queue's first candidate off its line."""
        line = self._lines.get(queue)
        if line is None:
            line = self._lines[queue] = _line(self.snapshot, self.at[self.queue == queue], self.own, self._amounts)
            self._next[queue] = next(line)[0]
        candidate = self._next.pop(queue)
        following = next(line, None)
        if following is None:
            del self._left[queue]
        else:
            self._left[queue] -= 1
            self._next[queue], self.firsts[queue] = following
        return candidate

    def drop(self, queue: int) -> list[CandidateUsage]:
        """Take all candidates of the queue off its line."""
        dropped: list[CandidateUsage] = []
        while queue in self._left:
            dropped.append(self.pop(queue))
        return dropped

    def _look_below(self, parent: int) -> None:
        """The first of each queue of one cohort: of all keys the least in turn, until one is left."""
        snapshot = self.snapshot
        at, queues = self.at, self.queue
        if any(snapshot.quotas.parent[queue] != parent for queue in self._left):
            here = np.array(snapshot.quotas.parent, np.intp)[queues] == parent
            at, queues = at[here], queues[here]
        rows = snapshot.rows[at]
        rank = _rank(snapshot, at, queues == self.own)
        reserved = -snapshot.reserved_at(rows)
        for number in (0, 1):
            key = (rank, reserved)[number]
            least = np.full(snapshot.quotas.size, np.iinfo(np.int64).max)
            np.minimum.at(least, queues, key)
            here = key == least[queues]
            rows, queues, rank, reserved = rows[here], queues[here], rank[here], reserved[here]
        uids, names = snapshot.state.uids, snapshot.state.work_names
        which = rows.tolist()
        last = ([uids[row] for row in which], [names[row] for row in which])
        keys = zip(rank.tolist(), reserved.tolist(), *last, strict=True)
        for queue, first in zip(queues.tolist(), keys, strict=True):
            if queue not in self._lines and (queue not in self.firsts or first < self.firsts[queue]):
                self.firsts[queue] = first


def _line(
    snapshot: Snapshot, at: Rows, own: int, known: dict[tuple[int, ...], Asked]
) -> Iterator[tuple[CandidateUsage, Key]]:
    """Candidates of one queue in their order, with the keys that tell their place among those of others."""
    at = _sorted(snapshot, at)
    rows = snapshot.rows[at]
    ranks = _rank(snapshot, at, snapshot.queue[at] == own).tolist()
    reserved = (-snapshot.reserved_at(rows)).tolist()
    uids, names = snapshot.state.uids, snapshot.state.work_names
    held = zip(*(snapshot.usage(pair, rows).tolist() for pair in range(len(snapshot.quotas.pairs))), strict=True)
    for row, rank, since, amounts in zip(rows.tolist(), ranks, reserved, held, strict=True):
        amounts_by_pair = known.get(amounts)
        if amounts_by_pair is None:
            amounts_by_pair = known[amounts] = tuple(one for one in enumerate(amounts) if one[1])
        yield (row, amounts_by_pair), (rank, since, uids[row], names[row])
