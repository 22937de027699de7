"""The most that a claimant could come to have, whoever went: told from sums, before anything is searched.

Whoever it takes away gives back no more than it holds, to the claimant's queue no more than that. So what is available
and all that those hold together whom its policies let it take is more than any search leads to; where that is less than
it asks for, it has no way. Nobody finds victims in other queues unless one of them is above its quota. With classical
preemption and without borrowing while preempting, the queue itself must besides end within its quota, in a tree of one
cohort: with an advantage it is there already, and without one every attempt that takes others stops only there.
"""

from __future__ import annotations

from cede.doctrines.kueue.book import Book
from cede.doctrines.kueue.hosts import Claims, lets, may_hold, took
from cede.doctrines.kueue.kinds import Kind
from cede.doctrines.kueue.settings import ANY, NEVER
from cede.doctrines.kueue.snapshot import Snapshot
from cede.state.columns import NONE, Int64s

Sums = list[int]
Reachable = tuple[Sums, Sums, Sums]
"""By pair: what the own queue keeps if all its candidates go, what is available then, and with other queues' gone."""


class Ceiling:
    """Bounds at one moment of a plan, worked out once for all of a queue and priority."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._known: dict[tuple[int, int, bool], Reachable] = {}
        self._available: dict[int, Sums] = {}
        self._hosts: dict[Claims, Int64s] = {}
        self._all: dict[Claims, Int64s] = {}

    def may_have_a_way(self, kind: Kind) -> bool:
        """False only if it certainly has none."""
        if kind.slots is None:
            return True
        key = (kind.queue, kind.priority, kind.preempts)
        reachable = self._known.get(key)
        if reachable is None:
            reachable = self._known[key] = self._reachable(kind)
        keeps, alone, together = reachable
        others = together is not alone
        if others and not self._reaches_far(kind):
            others = self._ends_within_quota(kind, keeps) and self._may_begin(kind)
        most = together if others else alone
        for slot in kind.slots:
            for asked in slot:
                for pair, amount in asked:
                    if amount > most[pair]:
                        break
                else:
                    break
            else:
                return False
        return kind.claim is None or self._has_hosts(kind, Claims(*key), others=others)

    def _ends_within_quota(self, kind: Kind, keeps: Sums) -> bool:
        """Whether its queue may, with all its own candidates gone."""
        assert kind.slots is not None
        subtree, queue = self.snapshot.quotas.subtree, kind.queue
        for slot in kind.slots:
            for asked in slot:
                for pair, amount in asked:
                    if keeps[pair] + amount > subtree[pair][queue]:
                        break
                else:
                    break
            else:
                return False
        return True

    def _may_begin(self, kind: Kind) -> bool:
        """Whether its queue is below its quota in all that is short, without which no attempt looks at others.

        Short is at least what is not available; where all is available nodes are short, and then everything is. With
        the advantage the queue is below its quota in all of it.
        """
        assert kind.slots is not None
        several = len(kind.parts) > 1 or any(len(slot) > 1 for slot in kind.slots)
        if several or kind.parts[0].min_count is not None:
            return True
        queue, used, subtree = kind.queue, self.snapshot.lasting.used, self.snapshot.quotas.subtree
        asked = [each for slot in kind.slots for each in slot[0]]
        available = self._available[queue]
        short = [pair for pair, amount in asked if amount > available[pair]] or [pair for pair, _ in asked]
        return all(used[pair][queue] < subtree[pair][queue] for pair in short)

    def _reaches_far(self, kind: Kind) -> bool:
        """Whether it may take others though its queue ends above its quota."""
        snapshot = self.snapshot
        return kind.settings.borrow or snapshot.mode.fair or len(snapshot.quotas.path[kind.queue]) > 2

    def _has_hosts(self, kind: Kind, claims: Claims, *, others: bool) -> bool:
        """Whether nodes may have room for it."""
        snapshot = self.snapshot
        claim, running = kind.claim, snapshot.running
        assert claim is not None
        if others:
            return may_hold(claim, self._with_others(claims))
        grown = running.hosts.grown(claims, running.holders)
        if kind.homeless == grown:
            return False
        if may_hold(claim, self._most(claims)):
            return True
        if not snapshot.booked and not snapshot.left:
            kind.homeless = grown
        return False

    def _most(self, claims: Claims) -> Int64s:
        found = self._hosts.get(claims)
        if found is None:
            running = self.snapshot.running
            leaving = running.those_leaving() if running.leaving else ()
            found = running.hosts.most(claims, running.holders, leaving, running.went)
            found = self._hosts[claims] = took(found, self.snapshot.booked)
        return found

    def _with_others(self, claims: Claims) -> Int64s:
        """What each node could have if all went who may, of the own queue and of those above their quota."""
        found = self._all.get(claims)
        if found is None:
            snapshot, running, quotas = self.snapshot, self.snapshot.running, self.snapshot.quotas
            policy = quotas.settings(claims.queue).reclaim
            below = 0 if policy == ANY else claims.priority
            found = self._most(claims)
            root = quotas.root[claims.queue]
            others = (other for other, sums in enumerate(running.below) if sums and quotas.root[other] == root)
            for other in others:
                if other != claims.queue and _exceeds(snapshot.lasting, other):
                    found = found + running.hosts.standing((other, policy, below), running.holders)
            self._all[claims] = found
        return found

    def _reachable(self, kind: Kind) -> Reachable:
        snapshot, settings = self.snapshot, kind.settings
        quotas, below, book = snapshot.quotas, snapshot.running.below, snapshot.lasting
        queue = kind.queue
        available = self._available.get(queue)
        if available is None:
            pairs = range(len(quotas.pairs))
            available = self._available[queue] = [book.available(pair, queue) for pair in pairs]
        keeps = [row[queue] for row in book.used]
        if not kind.preempts:
            return keeps, available, available
        alone = available[:]
        for priority, sums in below[queue].items():
            if lets(settings.within, kind.priority, priority):
                for pair, amount in enumerate(sums):
                    alone[pair] += amount
                    keeps[pair] -= amount
        together = alone
        if settings.reclaim != NEVER and quotas.parent[queue] != NONE:
            together = alone[:]
            root = quotas.root[queue]
            for other, of_queue in enumerate(below):
                if of_queue and other != queue and quotas.root[other] == root and _exceeds(book, other):
                    for priority, sums in of_queue.items():
                        if lets(settings.reclaim, kind.priority, priority):
                            for pair, amount in enumerate(sums):
                                together[pair] += amount
        return keeps, alone, together


def _exceeds(book: Book, queue: int) -> bool:
    """Whether the queue is above its quota in anything."""
    for used, subtree in zip(book.used, book.quotas.subtree, strict=True):  # noqa: SIM110 - any() takes longer
        if used[queue] > subtree[queue]:
            return True
    return False
