"""A walk over nodes to the best victim set: bounds for every node at once, then the exact choice where they are best.

No node can have a better set than its bound says, so that nodes are looked at in the order of their bounds, and the
walk ends where what was found is better than all that is left could be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cede.doctrines.parts.orders import Rows, tie_break
from cede.doctrines.yunikorn.choice import Item, Puzzle, Tier
from cede.doctrines.yunikorn.covers import Covers, node_of, unwilling
from cede.doctrines.yunikorn.slack import Slack
from cede.state.columns import NONE, Int64s
from cede.state.state import State

FAR = np.iinfo(np.int64).max
PATIENCE = 16
"""After so many nodes the bounds of the others are made sharper, at some cost."""

MANY = 8
"""More different priorities than this are not told apart in the first bounds."""

WIDE = 4096
"""Priorities further apart than this are not told apart there either."""
SMALL = 127
"""So many of these fit one key: eight counts of seven bits."""

Key = tuple[Tier, tuple[int, ...], tuple[int, ...], int]
"""The first counts of a set, its priorities, highest first, its submissions, youngest first, and the node's place."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Victims, and the node they stand on; NONE where the file has no nodes. `elsewhere`: it is not the claimant's."""

    node: int
    victims: list[int]
    elsewhere: bool = False


class Walk:
    """Nodes in the order of what they could have at best, with the best set so far."""

    def __init__(self, state: State, covers: Covers, slack: Slack, single: int | None) -> None:
        self.state = state
        self.covers = covers
        self.slack = slack
        self.last = tie_break(state)
        self.best_key: tuple[Key, list[tuple[str, str]]] | None = None
        self.found: Chosen | None = None
        self.place = np.full(state.work.size, NONE, np.int64)
        """By workload, its place among the candidates."""
        self.place[covers.rows] = np.arange(len(covers.rows))
        self.rank = state.node_rank() if state.nodes.size else np.zeros(1, np.int64)
        if single is not None:
            self._keep(node_of(state, single), [self._item(single, (), ())])

    def best(self) -> Chosen | None:
        """The best set of all; none if there is none."""
        nodes, tiers = self._turn()
        levels, most, youngest = self._levels(tiers[2])
        keys = [*packed(tiers, nodes), *packed(most[::-1], nodes), -youngest[nodes], self.rank[nodes]]
        turn = nodes[np.lexsort(keys[::-1])]
        for tried, node in enumerate(turn.tolist()):
            if tried == PATIENCE:
                return self._go_on(turn[tried:], tiers)
            out, leading, count = (int(tier[node]) for tier in tiers)
            counts = zip(levels[::-1], (int(each[node]) for each in most[::-1]), strict=True)
            priorities = tuple([level for level, held in counts for _ in range(held)])
            bound = ((out, leading, count), priorities, (-int(youngest[node]),) * count, int(self.rank[node]))
            if self.best_key is not None and bound > self.best_key[0]:
                break
            self._look_at(node)
        return self.found

    def _levels(self, count: Int64s) -> tuple[list[int], list[Int64s], Int64s]:
        """Priorities, ascending; by node how many of each so many victims have at best, taking the lowest there are;
        and the youngest of those that come into question then. Of very many priorities only the lowest is looked at.
        """
        rows, node, nodes = self.covers.rows, self.covers.node, len(self.covers.allowed)
        priority = self.state.work.priority[rows].astype(np.int64)
        lowest, span = int(priority.min()), int(priority.max() - priority.min()) + 1
        levels = np.flatnonzero(np.bincount(priority - lowest)) if span <= WIDE else np.zeros(1, np.intp)
        if len(levels) > MANY:
            levels = levels[:1]
        size = len(levels)
        place = np.searchsorted(levels, priority - lowest) if size > 1 else np.zeros(len(rows), np.intp)
        at = node * size + place
        there = np.bincount(at, minlength=nodes * size).reshape(nodes, size).cumsum(axis=1)
        upto = np.minimum(count[:, None], there)
        most = np.diff(upto, axis=1, prepend=0)
        latest = np.full(nodes * size, -FAR, np.int64)
        np.maximum.at(latest, at, self.state.work.submitted[rows])
        youngest: Int64s = np.where(most > 0, latest.reshape(nodes, size), -FAR).max(axis=1)
        return (levels + lowest).tolist(), [most[:, level] for level in range(size)], youngest

    def _turn(self) -> tuple[Rows, tuple[Int64s, Int64s, Int64s]]:
        """Nodes whose candidates cover everything together, and by node the first three counts at best."""
        covers, nodes = self.covers, len(self.covers.allowed)
        enough = covers.total()
        kind = unwilling(self.state, covers.rows)
        out, leading = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
        if kind.any():
            willing, agreed = covers.total(kind > 0), covers.total(kind > 1)
            out[~agreed] = 1
            leading[~willing & agreed] = 1
        return np.flatnonzero(enough), (out, leading, covers.fewest())

    def _go_on(self, nodes: Rows, tiers: tuple[Int64s, Int64s, Int64s]) -> Chosen | None:
        """The rest of the walk, with bounds from what each node has of everything, and of what its queues may lose."""
        nodes = nodes[self.covers.within(self.slack)[nodes]]
        for key, node in sorted(self._sharp(nodes, tiers)):
            if self.best_key is not None and key > self.best_key[0]:
                break
            self._look_at(node)
        return self.found

    def _sharp(self, nodes: Rows, tiers: tuple[Int64s, Int64s, Int64s]) -> Iterator[tuple[Key, int]]:
        """For each node no set can be better than its lowest priorities and, apart from that, its youngest."""
        work = self.state.work
        counts = tiers[2][nodes]
        there = np.bincount(self.covers.node, minlength=len(self.covers.allowed))
        begins = np.concatenate(([0], np.cumsum(there)))
        for count in np.unique(counts).tolist():
            same = nodes[counts == count]
            same = same[there[same] >= count]
            lowest = self._first(work.priority[self.covers.rows].astype(np.int64), begins[same], count)[:, ::-1]
            youngest = self._first(-work.submitted[self.covers.rows], begins[same], count)
            firsts = zip(*(tier[same].tolist() for tier in tiers[:2]), strict=True)
            places = self.rank[same].tolist()
            table = zip(firsts, lowest.tolist(), youngest.tolist(), places, same.tolist(), strict=True)
            for (out, leading), low, young, place, node in table:
                yield ((out, leading, count), tuple(low), tuple(young), place), node

    def _first(self, values: Int64s, begins: Rows, count: int) -> Int64s:
        """Of each node the smallest of these values of its candidates, so many, ascending; it begins at `begins`."""
        ordered = values[np.lexsort((values, self.covers.node))]
        found: Int64s = ordered[begins[:, None] + np.arange(count)]
        return found

    def _on(self, node: int) -> Rows:
        """The places of the candidates of a node."""
        if not self.state.nodes.size:
            return np.arange(len(self.covers.rows))
        places = self.place[self.state.residents.work[self.state.node_residents[node]]]
        found: Rows = places[places != NONE]
        return found

    def _look_at(self, node: int) -> None:
        covers = self.covers
        at = self._on(node)
        rows = covers.rows[at].tolist()
        queues = self.state.work.queue[covers.rows[at]].tolist()
        short = [int(each[node]) for each in covers.short]
        wanted = [index for index, each in enumerate(short) if each > 0]
        gives = [covers.gives[index][at].tolist() for index in wanted]
        takes, caps = self._caps(rows, queues)
        items = [
            self._item(row, tuple([given[place] for given in gives]), tuple([taken[place] for taken in takes]))
            for place, row in enumerate(rows)
        ]
        puzzle = Puzzle(items, tuple([short[index] for index in wanted]), caps)
        decisive = [at for at, index in enumerate(wanted) if index in covers.decisive]
        # Where nothing is short but limits, the best set has nobody that they do not need.
        puzzles = puzzle.for_these_alone(decisive) if 0 < len(decisive) < len(wanted) else (puzzle,)
        for each in puzzles:
            found = each.best(None if self.best_key is None else self.best_key[0][0])
            if found is not None:
                self._keep(node if self.state.nodes.size else NONE, found)

    def _caps(self, rows: list[int], queues: list[int]) -> tuple[list[list[int]], tuple[int, ...]]:
        """What each takes of the queues that could not lose them all, and how much those may lose."""
        takes: list[list[int]] = []
        caps: list[int] = []
        slack, usage = self.slack, self.state.work.usage
        for pair in sorted({pair for queue in set(queues) for pair in slack.of_leaf.get(queue, ())}):
            _, column, most = slack.pairs[pair]
            inside = {queue for queue in set(queues) if pair in slack.of_leaf.get(queue, ())}
            each = [int(usage[column, row]) if queue in inside else 0 for row, queue in zip(rows, queues, strict=True)]
            if sum(each) > most:
                takes.append(each)
                caps.append(most)
        return takes, tuple(caps)

    def _item(self, row: int, gives: tuple[int, ...], takes: tuple[int, ...]) -> Item:
        work = self.state.work
        return Item(
            row,
            not work.preemptible[row],
            bool(work.originator[row]),
            int(work.priority[row]),
            int(work.submitted[row]),
            self.last(row),
            gives,
            takes,
        )

    def _keep(self, node: int, items: list[Item]) -> None:
        key: Key = (
            (sum(item.opted for item in items), sum(item.originator for item in items), len(items)),
            tuple(sorted((item.priority for item in items), reverse=True)),
            tuple(sorted(-item.submitted for item in items)),
            int(self.rank[node]) if node != NONE else 0,
        )
        whole = (key, sorted(item.last for item in items))
        if self.best_key is None or whole < self.best_key:
            self.best_key = whole
            self.found = Chosen(node, [item.row for item in items])


def packed(counts: Sequence[Int64s], at: Rows) -> list[Int64s]:
    """Keys that sort like these counts, the first one first; a single one where all are small."""
    taken = [count[at] for count in counts]
    if len(taken) > MANY or any(count.max(initial=0) > SMALL for count in taken):
        return taken
    key = np.zeros(len(at), np.int64)
    for count in taken:
        key = key * (SMALL + 1) + count
    return [key]
