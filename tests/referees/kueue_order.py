"""In which order the nominated heads of a pass are processed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.naive.quota import Node
from bench.naive.shares import share_of
from tests.referees.kueue_flavors import Assignment
from tests.referees.kueue_reading import Ask, Board


@dataclass(eq=False)
class Entry:
    """A head with what it was nominated for."""

    ask: Ask
    assignment: Assignment
    victims: dict[str, str] | None
    now: bool = True


def in_order(board: Board, entries: list[Entry]) -> Iterator[Entry]:
    """Each entry once; under fair sharing the tree is looked at anew before each."""
    if not board.fair:
        yield from sorted(entries, key=lambda entry: (entry.assignment.level, entry.ask.key))
        return
    rest = list(entries)
    while rest:
        winners = [_winner(board, root, rest) for root in board.tree.nodes.values() if root.parent is None]
        first = min((entry for entry in winners if entry is not None), key=lambda entry: entry.ask.key)
        rest.remove(first)
        yield first


def _winner(board: Board, node: Node, entries: list[Entry]) -> Entry | None:
    """The entry that goes first of all those at or below a node."""
    if not node.children:
        return next((entry for entry in entries if entry.ask.queue == node.name), None)
    best: Entry | None = None
    least: tuple[object, ...] | None = None
    for child in node.children:
        entry = _winner(board, child, entries)
        if entry is not None:
            key = _key(board, child, entry)
            if least is None or key < least:
                best, least = entry, key
    return best


def _key(board: Board, child: Node, entry: Entry) -> tuple[object, ...]:
    """How a child compares with its siblings once its entry's usage is added to the entry's own queue."""
    queue, usage = board.tree.nodes[entry.ask.queue], entry.assignment.usage
    board.tree.use(queue, usage)
    borrows, share = not child.within_nominal(usage), share_of(child).key
    board.tree.unuse(queue, usage)
    return borrows, share, entry.ask.key
