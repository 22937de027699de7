"""Which queue gives the next victim: from the root down, always towards the largest share."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from bench.naive.candidates import order
from bench.naive.quota import Node, Workload
from bench.naive.shares import Share, share_of


class Tournament:
    """Candidates by queue, in the order given; queues and cohorts that cannot give any are pruned for good."""

    def __init__(self, queue: Node, candidates: Iterable[Workload]) -> None:
        self.queue = queue
        self.key = order(queue.name)
        self.path = {queue, *queue.ancestors()}
        self.groups: dict[str, deque[Workload]] = {}
        for candidate in candidates:
            self.groups.setdefault(candidate.queue, deque()).append(candidate)
        self.pruned: set[Node] = set()

    def left(self, queue: Node) -> bool:
        return bool(self.groups.get(queue.name))

    def pop(self, queue: Node) -> Workload:
        return self.groups[queue.name].popleft()

    def drop(self, queue: Node) -> None:
        self.pruned.add(queue)

    def next(self) -> Node | None:
        """The queue whose first candidate is next, or None when none is left."""
        root = self.queue.root()
        if not root.children:
            return root if root not in self.pruned and self.left(root) else None
        while root not in self.pruned:
            found = self._below(root)
            if found is not None:
                return found
        return None

    def _below(self, cohort: Node) -> Node | None:
        """The winner below the cohort; None if it had to be pruned, so that the way down begins anew."""
        queue, queue_share = self._best_queue(cohort)
        child, child_share = self._best_cohort(cohort)
        if child is not None and child_share is not None:
            if queue_share is None or child_share.key >= queue_share.key:
                return self._below(child)
        elif queue is None:
            self.pruned.add(cohort)
        return queue

    def _best_queue(self, cohort: Node) -> tuple[Node | None, Share | None]:
        best: Node | None = None
        largest: Share | None = None
        for queue in cohort.children:
            if queue.children or queue in self.pruned:
                continue
            if not self.left(queue):
                self.pruned.add(queue)
                continue
            share = share_of(queue)
            if not share.borrowing and queue is not self.queue:
                self.pruned.add(queue)
            elif best is None or largest is None or self._ahead(queue, share, best, largest):
                best, largest = queue, share
        return best, largest

    def _ahead(self, queue: Node, share: Share, best: Node, largest: Share) -> bool:
        if share.key != largest.key:
            return share.key > largest.key
        return self.key(self.groups[queue.name][0]) < self.key(self.groups[best.name][0])

    def _best_cohort(self, cohort: Node) -> tuple[Node | None, Share | None]:
        best: Node | None = None
        largest: Share | None = None
        for child in cohort.children:
            if not child.children or child in self.pruned:
                continue
            share = share_of(child)
            if not share.borrowing and child not in self.path:
                self.pruned.add(child)
            elif largest is None or share.key > largest.key:
                best, largest = child, share
        return best, largest
