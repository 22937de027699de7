"""In which order the heads of a pass are processed."""

from __future__ import annotations

from collections.abc import Iterator

from cede.doctrines.kueue.dominant_share import ZERO, Share, Shares
from cede.doctrines.kueue.nominate import Entry
from cede.doctrines.kueue.snapshot import Snapshot
from cede.state.columns import NONE

Turn = tuple[int, int, tuple[str, str]]


def in_turn(snapshot: Snapshot, entries: list[Entry]) -> Iterator[Entry]:
    """One entry after another; with fair sharing the next one depends on what became of those before."""
    if len(entries) == 1:
        yield entries[0]
    elif not snapshot.mode.fair:
        yield from sorted(entries, key=lambda entry: (entry.assignment.level, entry.claimant.turn))
    else:
        yield from _Heads(snapshot, entries)


class _Heads:
    """The heads by their place in the tree. Which comes first below a node depends on nothing outside of it."""

    def __init__(self, snapshot: Snapshot, entries: list[Entry]) -> None:
        self.waiting = {entry.claimant.queue: entry for entry in entries}
        rankings = _Rankings(snapshot)
        self.tournament = _Tournament(rankings, self.waiting, exact=False)
        self.exactly = None if snapshot.rounding_check is None else _Tournament(rankings, self.waiting, exact=True)

    def __iter__(self) -> Iterator[Entry]:
        waiting = self.waiting
        while len(waiting) > 1:
            best = self.tournament.winner()
            rival = best if self.exactly is None else self.exactly.winner()
            best.ahead_of = "" if rival is best else rival.claimant.name
            del waiting[best.claimant.queue]
            yield best
            self.tournament.forget(best)
            if self.exactly is not None:
                self.exactly.forget(best)
        for last in waiting.values():
            last.ahead_of = ""
            yield last


Key = tuple[bool, Share, Turn]
RankedHead = tuple[Entry, tuple[Key, Key]]
"""A head, and how the child of a cohort compares with its siblings with it: as shipped, and by exact fractions."""


class _Rankings:
    """How nodes compare with their siblings, each with its head's usage added; worked out once for both brackets."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.shares = Shares(snapshot.quota_usage, exact=snapshot.exact)
        self.known: dict[int, RankedHead] = {}

    def work_out(self, node: int, entry: Entry) -> RankedHead:
        """Whether the node borrows what the head asks for, and its share."""
        snapshot, turn = self.snapshot, entry.claimant.turn
        quota_usage, asked, queue = snapshot.quota_usage, entry.assignment.asked, entry.claimant.queue
        assert snapshot.quotas.parent[node] != NONE
        before = quota_usage.cells(queue, asked)
        quota_usage.add_all(queue, asked)
        borrows = any(quota_usage.borrows(pair, node) for pair, _ in asked)
        share = self.shares.share(node)
        exact = share if snapshot.rounding_check is None or share == ZERO else self.shares.exact_share(node)
        quota_usage.put_back(before)
        ranked = self.known[node] = (entry, ((borrows, share, turn), (borrows, exact, turn)))
        return ranked


class _Tournament:
    """The tournament of the heads that wait: at each cohort the best of its children's heads goes on."""

    def __init__(self, rankings: _Rankings, waiting: dict[int, Entry], *, exact: bool) -> None:
        self.rankings = rankings
        self.quotas = rankings.snapshot.quotas
        self.waiting = waiting
        self.which = int(exact)
        self._first: dict[int, Entry | None] = {}

    def winner(self) -> Entry:
        """The head that comes first; of several trees by its turn."""
        winners = [self._winner(root) for root in {self.quotas.root[queue] for queue in self.waiting}]
        return min((entry for entry in winners if entry is not None), key=lambda entry: entry.claimant.turn)

    def forget(self, entry: Entry) -> None:
        """This head is out, and what it did changes the shares above it."""
        for node in self.quotas.path[entry.claimant.queue]:
            self._first.pop(node, None)
            self.rankings.known.pop(node, None)

    def _winner(self, node: int) -> Entry | None:
        """The head that comes first below this node."""
        if node not in self._first:
            self._first[node] = self._look_below(node)
        return self._first[node]

    def _look_below(self, node: int) -> Entry | None:
        if not self.quotas.is_cohort(node):
            return self.waiting.get(node)
        best: RankedHead | None = None
        for child in self.quotas.children[node]:
            entry = self._winner(child) if self.quotas.children[child] else self.waiting.get(child)
            if entry is not None:
                ranked = self.rankings.known.get(child)
                if ranked is None or ranked[0] is not entry:
                    ranked = self.rankings.work_out(child, entry)
                if best is None or ranked[1][self.which] < best[1][self.which]:
                    best = ranked
        return None if best is None else best[0]
