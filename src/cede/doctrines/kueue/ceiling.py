"""The most that a claimant could come to have, whoever went: told from sums, before anything is searched.

Whoever it takes away gives back no more than it holds, to the claimant's queue no more than that. So what is available
and all that those hold together whom its policies let it take is more than any search leads to; where that is less than
it asks for, it has no way. Nobody finds victims in other queues unless one of them is above its quota. With classical
preemption and without borrowing while preempting, the queue itself must besides end within its quota, in a tree of one
cohort: with an advantage it is there already, and without one every attempt that takes others stops only there.
"""

from __future__ import annotations

from cede.doctrines.kueue.hosts import Amounts, Bounds, Claims, Gift, Members, Terms, changed, given, lets
from cede.doctrines.kueue.kinds import Kind
from cede.doctrines.kueue.settings import ANY, LOWER_OR_NEWER, NEVER
from cede.doctrines.kueue.snapshot import Snapshot
from cede.state.columns import NONE

Sums = list[int]
Reachable = tuple[Sums, Sums, Sums]
"""By pair: what the own queue keeps if all its candidates go, what is available then, and with what others give."""


class Ceiling:
    """Bounds at one moment of a plan, worked out once for all of a queue and priority."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.began = snapshot.moment == (0, 0)
        self._known: dict[Claims, tuple[Bounds, Reachable]] = {}
        self._available: dict[int, Sums] = {}
        self._gifts: dict[tuple[int, Terms], Gift] = {}
        self._instead: dict[tuple[Claims, bool], Amounts] = {}

    def may_have_a_way(self, kind: Kind) -> bool:
        """False only if it certainly has none."""
        if kind.slots is None:
            return True
        claims = Claims(kind.queue, kind.priority, kind.preempts)
        known = self._known.get(claims)
        if known is None:
            known = self._known[claims] = self._reachable(kind, claims)
        bounds, (keeps, alone, together) = known
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
        return kind.claim is None or self._has_hosts(kind, claims, bounds, others=others)

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

    def _has_hosts(self, kind: Kind, claims: Claims, bounds: Bounds, *, others: bool) -> bool:
        """Whether nodes may have room for it."""
        assert kind.claim is not None
        table = bounds.together if others else bounds.alone
        members = kind.members.get(others)
        if members is None or members.table is not table or members.claim is not kind.claim:
            members = kind.members[others] = Members(kind.claim, table)
        return members.enough({} if self.began else self._otherwise(claims, bounds, others=others))

    def _otherwise(self, claims: Claims, bounds: Bounds, *, others: bool) -> Amounts:
        """What nodes could have of which that is not what it was when the plan began."""
        found = self._instead.get((claims, others))
        if found is None:
            snapshot = self.snapshot
            more: dict[int, list[int]] = {}
            for places in snapshot.booked:
                for node, amounts, _ in places:
                    _add(more, node, [-amount for amount in amounts.tolist()])
            for held in snapshot.running.went:
                if not bounds.lets_go(held):
                    for node, amounts, _ in held.places:
                        _add(more, node, amounts.tolist())
            gifts: list[Gift] = []
            if others and bounds.terms is not None:
                for other in bounds.others:
                    gift = self._gift(other, bounds)
                    gifts.append(gift)
                    if gift is not bounds.gifts[other]:
                        for node in changed(bounds.gifts[other].nodes, gift.nodes):
                            more.setdefault(node, [])
            found = self._instead[claims, others] = {}
            for node, amounts in more.items():
                alone = bounds.alone_at(node)
                if amounts:
                    alone = [have + other for have, other in zip(alone, amounts, strict=True)]
                found[node] = given(alone, gifts, node)
        return found

    def _gift(self, other: int, bounds: Bounds) -> Gift:
        """What another queue gives now."""
        assert bounds.terms is not None
        if self.began:
            return bounds.gifts[other]
        key = (other, bounds.terms)
        found = self._gifts.get(key)
        if found is None:
            snapshot, running = self.snapshot, self.snapshot.running
            found = bounds.gifts[other]
            used, began = snapshot.lasting.used, running.book.used
            if running.gone or any(now[other] != before[other] for now, before in zip(used, began, strict=True)):
                found = running.hosts.gift_at(other, bounds.terms, snapshot.lasting, running.gone)
            self._gifts[key] = found
        return found

    def _terms(self, kind: Kind) -> Terms | None:
        """How those of this kind take from other queues; none if they do not."""
        settings = kind.settings
        if not kind.preempts or settings.reclaim == NEVER or self.snapshot.quotas.parent[kind.queue] == NONE:
            return None
        in_order = not (self.snapshot.mode.fair or settings.borrow or settings.reclaim == LOWER_OR_NEWER)
        return Terms(settings.reclaim, 0 if settings.reclaim == ANY else kind.priority, in_order)

    def _reachable(self, kind: Kind, claims: Claims) -> tuple[Bounds, Reachable]:
        snapshot = self.snapshot
        book, running, queue = snapshot.lasting, snapshot.running, kind.queue
        bounds = running.hosts.bounds(claims, self._terms(kind), running.book)
        available = self._available.get(queue)
        if available is None:
            available = self._available[queue] = [book.available(pair, queue) for pair in running.pairs]
        keeps = [row[queue] for row in book.used]
        if not kind.preempts:
            return bounds, (keeps, available, available)
        alone = available[:]
        for priority, sums in running.below[queue].items():
            if lets(kind.settings.within, kind.priority, priority):
                for pair, amount in enumerate(sums):
                    alone[pair] += amount
                    keeps[pair] -= amount
        together = alone
        if bounds.terms is not None:
            together = alone[:]
            for other in bounds.others:
                for pair, amount in enumerate(self._gift(other, bounds).sums):
                    together[pair] += amount
        return bounds, (keeps, alone, together)


def _add(amounts: Amounts, node: int, more: Sums) -> None:
    have = amounts.get(node)
    amounts[node] = more if have is None else [one + other for one, other in zip(have, more, strict=True)]
