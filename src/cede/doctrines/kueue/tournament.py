"""Which queue gives way next: from the root down, always into the largest share.

Every cohort keeps its children in a heap. A change of usage changes the shares of one queue and of the cohorts
above it; those get a new entry, and an entry that is out of date is dropped when it comes up. Usage only goes down
while a tournament lasts, so that what borrows no more, or has nobody left, is out for good.
"""

from __future__ import annotations

from collections.abc import Container
from heapq import heapify, heappop, heappush

from cede.doctrines.kueue.drs import Shares
from cede.doctrines.kueue.standing import Held, Key, Standing
from cede.state.columns import NONE

Entry = tuple[int, float, Key | int, int]
"""Of a heap: the share, negated so that the largest comes first; what breaks a tie; the node."""


class Tournament:
    """The tree above the candidates; `next` names a queue, `pop` takes its first candidate."""

    def __init__(self, shares: Shares, queue: int, standing: Standing) -> None:
        self.shares = shares
        self.quotas = shares.book.quotas
        self.queue = queue
        self.standing = standing
        self.root = self.quotas.root[queue]
        self.mine = set(self.quotas.path[queue])
        self.pruned: set[int] = set()
        self.above_queues: set[int] = set()
        self.current: dict[int, Entry] = {}
        self.queues: dict[int, list[Entry]] = {}
        self.cohorts: dict[int, list[Entry]] = {}
        self._enter_all()

    def has(self, queue: int) -> bool:
        return self.standing.has(queue)

    def pop(self, queue: int) -> Held:
        """The queue's first candidate and what it holds; the queue comes up again only after `changed`."""
        self.current.pop(queue, None)
        return self.standing.pop(queue)

    def drop(self, queue: int) -> list[Held]:
        """The queue is out, and these were its candidates."""
        self.pruned.add(queue)
        return self.standing.drop(queue)

    def changed(self, queue: int) -> None:
        """The candidates or the usage of this queue changed, and with it that of the cohorts above."""
        self._enter_queue(queue)
        for cohort in self.quotas.path[queue][1:-1]:
            self._enter_cohort(cohort)

    def next(self) -> int | None:
        """The queue whose turn it is; None when nobody is left."""
        if self.root == self.queue:
            return self.queue if self.has(self.queue) and self.queue not in self.pruned else None
        cohorts, own = self.cohorts, (self.queue,)
        while self.root not in self.pruned:
            node = self.root
            while True:
                queue, cohort = self._best(self._queues_of(node), own), self._best(cohorts.get(node), self.mine)
                if queue is None and cohort is None:
                    self.pruned.add(node)
                    break
                if cohort is None or (queue is not None and queue[:2] < cohort[:2]):
                    assert queue is not None
                    return queue[-1]
                node = cohort[-1]
        return None

    # -- heaps: the smallest key is the largest share -----------------------------------------------------------

    def _enter_all(self) -> None:
        """Every cohort on the way to a queue with candidates; its queues when it comes to them."""
        parents = self.quotas.parent
        self.above_queues = {parents[queue] for queue in self.standing.queues()} - {NONE}
        for cohort in {node for parent in self.above_queues for node in self.quotas.path[parent][:-1]}:
            self.cohorts.setdefault(parents[cohort], []).append(self._entry(cohort, self._rank(cohort)))
        for heap in self.cohorts.values():
            heapify(heap)

    def _queues_of(self, cohort: int) -> list[Entry] | None:
        """The queues of a cohort that have candidates, entered when they are first looked at."""
        heap = self.queues.get(cohort)
        if heap is None and cohort in self.above_queues:
            heap = self.queues[cohort] = []
            has, first, share, current = self.standing.has, self.standing.first, self.shares.share, self.current
            for child in self.quotas.children[cohort]:
                if has(child):
                    infinite, scaled = share(child)
                    entry = current[child] = (-infinite, -scaled, first(child), child)
                    heap.append(entry)
            heapify(heap)
        return heap

    def _entry(self, node: int, then: Key | int) -> Entry:
        infinite, scaled = self.shares.share(node)
        entry = self.current[node] = (-infinite, -scaled, then, node)
        return entry

    def _rank(self, cohort: int) -> int:
        """Equal cohorts are taken by name; children stand in the order of their names."""
        return self.quotas.children[self.quotas.parent[cohort]].index(cohort)

    def _enter_queue(self, queue: int) -> None:
        heap = self.queues.get(self.quotas.parent[queue])
        if heap is not None and self.has(queue):
            heappush(heap, self._entry(queue, self.standing.first(queue)))

    def _enter_cohort(self, cohort: int) -> None:
        if cohort in self.current:
            heappush(self.cohorts[self.quotas.parent[cohort]], self._entry(cohort, self._rank(cohort)))

    def _best(self, heap: list[Entry] | None, excused: Container[int]) -> Entry | None:
        """The largest share that is up to date; who borrows nothing, and is not excused from that, is out."""
        while heap:
            entry = heap[0]
            node = entry[-1]
            if node in self.pruned or entry is not self.current.get(node):
                heappop(heap)
            elif not entry[1] and node not in excused and not self.shares.borrowing(node):
                self.pruned.add(node)
                heappop(heap)
            else:
                return entry
        return None
