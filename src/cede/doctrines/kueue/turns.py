"""In which order the heads of a pass are processed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cede.doctrines.kueue.drs import Share, Shares
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
    """The heads by their place in the tree. Who comes first below a node depends on nothing that is not below it."""

    def __init__(self, snapshot: Snapshot, entries: list[Entry]) -> None:
        self.snapshot = snapshot
        self.waiting = {entry.claimant.queue: entry for entry in entries}
        self.bracket = _Bracket(snapshot, self.waiting)
        self.exactly = None
        if snapshot.doubts is not None:
            self.exactly = _Bracket(replace(snapshot, exact=True, doubts=None), self.waiting)

    def __iter__(self) -> Iterator[Entry]:
        waiting = self.waiting
        while len(waiting) > 1:
            best = self.bracket.winner()
            rival = best if self.exactly is None else self.exactly.winner()
            best.ahead_of = "" if rival is best else rival.claimant.name
            del waiting[best.claimant.queue]
            yield best
            self.bracket.forget(best)
            if self.exactly is not None:
                self.exactly.forget(best)
        for last in waiting.values():
            last.ahead_of = ""
            yield last


class _Bracket:
    """The tournament of the heads that wait: at each cohort the best of its children's heads goes on."""

    def __init__(self, snapshot: Snapshot, waiting: dict[int, Entry]) -> None:
        self.snapshot = snapshot
        self.waiting = waiting
        self._first: dict[int, Entry | None] = {}
        self._keys: dict[int, tuple[bool, Share, Turn]] = {}

    def winner(self) -> Entry:
        """The head that comes first; of several trees by its turn."""
        winners = [self._winner(root) for root in {self.snapshot.quotas.root[queue] for queue in self.waiting}]
        return min((entry for entry in winners if entry is not None), key=lambda entry: entry.claimant.turn)

    def forget(self, entry: Entry) -> None:
        """This head is out, and what it did changes the shares above it."""
        for node in self.snapshot.quotas.path[entry.claimant.queue]:
            self._first.pop(node, None)
            self._keys.pop(node, None)

    def _winner(self, node: int) -> Entry | None:
        """The head that comes first below this node."""
        if node not in self._first:
            self._first[node] = self._look_below(node)
        return self._first[node]

    def _look_below(self, node: int) -> Entry | None:
        quotas = self.snapshot.quotas
        if not quotas.is_cohort(node):
            return self.waiting.get(node)
        best: tuple[tuple[bool, Share, Turn], Entry] | None = None
        for child in quotas.children[node]:
            entry = self._winner(child)
            if entry is not None:
                key = self._keys.get(child)
                if key is None:
                    key = self._keys[child] = (*_with_head(self.snapshot, child, entry), entry.claimant.turn)
                if best is None or key < best[0]:
                    best = (key, entry)
        return None if best is None else best[1]


def _with_head(snapshot: Snapshot, node: int, entry: Entry) -> tuple[bool, Share]:
    """Whether the node borrows what the head asks for, and its share, both with the head's usage added."""
    book, asked, queue = snapshot.book, entry.assignment.asked, entry.claimant.queue
    assert snapshot.quotas.parent[node] != NONE
    before = book.cells(queue, asked)
    book.add_all(queue, asked)
    borrows = any(book.borrows(pair, node) for pair, _ in asked)
    share = Shares(book, exact=snapshot.exact).share(node)
    book.put_back(before)
    return borrows, share
