"""How far a claimant reaches into its tree, and where it has the advantage over those it finds there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cede.doctrines.kueue.book import Book
from cede.doctrines.kueue.quota import Quotas
from cede.doctrines.kueue.search import Search
from cede.state.columns import Int8s

HIERARCHY, PRIORITY = 1, 2


@dataclass(frozen=True, slots=True)
class Branch:
    """Queues that lie above their quota under one ancestor of the claimant.

    With `advantage` the request fits the quota of `decided`, the claimant's queue or a cohort above it that does not
    contain these queues, so that whoever is here gives way as a borrower.
    """

    ancestor: int
    advantage: bool
    decided: int
    queues: tuple[int, ...]


def branches(search: Search) -> list[Branch]:
    """Per ancestor the queues above their quota, and whether the claimant has the advantage over them."""
    book, queue, quotas = search.book, search.queue, search.snapshot.quotas
    advantage = all(not book.borrows(pair, queue, amount) for pair, amount in search.asked)
    rest = {pair: max(0, amount - book.local_available(pair, queue)) for pair, amount in search.asked}
    found: list[Branch] = []
    below, decided = queue, queue
    for ancestor in quotas.path[queue][1:]:
        reached = tuple(_exceeding(book, quotas, ancestor, below, search.contested))
        found.append(Branch(ancestor, advantage, decided, reached))
        fits = all(
            book.used[pair][ancestor] + amount <= quotas.subtree[pair][ancestor] for pair, amount in rest.items()
        )
        rest = {pair: max(0, amount - book.local_available(pair, ancestor)) for pair, amount in rest.items()}
        if fits and not advantage:
            advantage, decided = True, ancestor
        below = ancestor
    return found


def _exceeding(book: Book, quotas: Quotas, cohort: int, skipped: int, contested: list[int]) -> Iterator[int]:
    """Queues above their quota below this cohort, in parts of the tree that are above theirs."""
    tables = [(book.used[pair], quotas.subtree[pair]) for pair in contested]
    for child in quotas.children[cohort]:
        if child == skipped:
            continue
        for used, subtree in tables:
            if used[child] > subtree[child]:
                break
        else:
            continue
        if quotas.children[child]:
            yield from _exceeding(book, quotas, child, skipped, contested)
        else:
            yield child


class Reach:
    """Which queues of other branches can be reached, and through which cohorts."""

    def __init__(self, search: Search) -> None:
        self.quotas = search.snapshot.quotas
        self.branch: dict[int, Branch] = {}
        self._nodes: dict[int, tuple[int, ...]] = {}
        self.branches = branches(search)
        for branch in self.branches:
            self.branch.update(dict.fromkeys(branch.queues, branch))

    @property
    def kind(self) -> Int8s:
        """By queue how those in it are reached; nothing where they are not."""
        found = np.zeros(self.quotas.size, np.int8)
        for branch in self.branches:
            found[list(branch.queues)] = HIERARCHY if branch.advantage else PRIORITY
        return found

    def queues(self, *, advantage: bool) -> list[int]:
        """Those over which the claimant has the advantage, or has not."""
        return [queue for branch in self.branches if branch.advantage == advantage for queue in branch.queues]

    def nodes(self, queue: int) -> tuple[int, ...]:
        """The queue and the cohorts between it and the ancestor it shares with the claimant."""
        found = self._nodes.get(queue)
        if found is None:
            path = self.quotas.path[queue]
            found = self._nodes[queue] = tuple(path[: path.index(self.branch[queue].ancestor)])
        return found
