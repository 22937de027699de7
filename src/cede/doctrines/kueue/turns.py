"""In which order the heads of a pass are processed."""

from __future__ import annotations

from collections.abc import Iterator

from cede.doctrines.kueue.book import Asked
from cede.doctrines.kueue.drs import Share, Shares
from cede.doctrines.kueue.nominate import Entry
from cede.doctrines.kueue.snapshot import Snapshot
from cede.state.columns import NONE

Turn = tuple[int, int, tuple[str, str]]


def in_turn(snapshot: Snapshot, entries: list[Entry]) -> Iterator[Entry]:
    """One entry after another; with fair sharing the next one depends on what became of those before."""
    if not snapshot.mode.fair:
        yield from sorted(entries, key=lambda entry: (entry.assignment.level, entry.claimant.turn))
        return
    waiting = {entry.claimant.queue: entry for entry in entries}
    while len(waiting) > 1:
        winners = [_winner(snapshot, root, waiting) for root in {snapshot.quotas.root[queue] for queue in waiting}]
        best = min((entry for entry in winners if entry is not None), key=lambda entry: entry.claimant.turn)
        del waiting[best.claimant.queue]
        yield best
    yield from waiting.values()


def _winner(snapshot: Snapshot, node: int, waiting: dict[int, Entry]) -> Entry | None:
    """The head that comes first below this node: at each cohort the best of its children's heads."""
    quotas = snapshot.quotas
    if not quotas.is_cohort(node):
        return waiting.get(node)
    best: tuple[tuple[bool, Share, Turn], Entry] | None = None
    for child in quotas.children[node]:
        entry = _winner(snapshot, child, waiting)
        if entry is not None:
            key = (*_with_head(snapshot, child, entry), entry.claimant.turn)
            if best is None or key < best[0]:
                best = (key, entry)
    return None if best is None else best[1]


def _with_head(snapshot: Snapshot, node: int, entry: Entry) -> tuple[bool, Share]:
    """Whether the node borrows what the head asks for, and its share, both with the head's usage added."""
    book, asked, queue = snapshot.book, entry.assignment.asked, entry.claimant.queue
    assert snapshot.quotas.parent[node] != NONE
    before = _usage_of_path(snapshot, asked, queue)
    book.add_all(queue, asked)
    borrows = any(book.borrows(pair, node) for pair, _ in asked)
    share = Shares(book).share(node)
    for (pair, at), used in before.items():
        book.used[pair][at] = used
    return borrows, share


def _usage_of_path(snapshot: Snapshot, asked: Asked, queue: int) -> dict[tuple[int, int], int]:
    used = snapshot.book.used
    return {(pair, at): used[pair][at] for pair, _ in asked for at in snapshot.quotas.path[queue]}
