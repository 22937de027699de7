"""The most that a claimant could come to have, whoever went: told from sums, before anything is searched.

Whoever it takes away gives back no more than it holds, to the claimant's queue no more than that. So what is available
and all that those hold together whom its policies let it take is more than any search leads to; where that is less than
it asks for, it has no way. Nobody finds victims in other queues unless one of them is above its quota. With classical
preemption and without borrowing while preempting, the queue itself must besides end within its quota, in a tree of one
cohort: with an advantage it is there already, and without one every attempt that takes others stops only there.
"""

from __future__ import annotations

from typing import NamedTuple

from cede.doctrines.kueue.hosts import Amounts, Bounds, Claims, Holding, Members, Places, Reclaimable, Terms
from cede.doctrines.kueue.kinds import Kind
from cede.doctrines.kueue.settings import ANY, LOWER_OR_NEWER, NEVER
from cede.doctrines.kueue.snapshot import Snapshot
from cede.state.columns import NONE

Sums = list[int]


class Reachable(NamedTuple):
    """What all with the same candidates could come to have.

    By pair: what is available with all candidates of the own queue gone, and with what can be reclaimed of others too;
    and what the own queue has `left` of its quota then. `far`: they may take others though their queue ends above it.
    """

    bounds: Bounds
    alone: Sums
    together: Sums
    left: Sums
    far: bool


class Ceiling:
    """Bounds at one moment of a plan, worked out once for all of a queue and priority."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.began = snapshot.moment == (0, 0)
        self._available: dict[int, Sums] = {}
        self._changed: dict[Reclaimable, tuple[list[Holding], list[Holding]]] = {}
        self._instead: dict[tuple[Claims, bool], Amounts] = {}

    def may_have_a_way(self, kind: Kind, reach: Reachable) -> bool:
        """False only if it certainly has none; where that stays so as long as nothing grows, it knows of what it is
        short."""
        if kind.slots is None:
            return True
        others = reach.together is not reach.alone
        if others and not reach.far:
            others = _enough(kind, reach.left)
            if others and not self._may_begin(kind):  # whether it may can change though nothing grows
                return _enough(kind, reach.alone) and self._has_hosts(kind, reach, others=False)
        if not _enough(kind, reach.together if others else reach.alone) or not self._has_hosts(
            kind, reach, others=others
        ):
            if self.began:
                kind.short_of = reach.bounds.version
            return False
        return True

    def _may_begin(self, kind: Kind) -> bool:
        """Whether its queue is below its quota in all that is short, without which no attempt looks at others.

        Short is at least what is not available; where all is available nodes are short, and then everything is. With
        the advantage the queue is below its quota in all of it.
        """
        asked = kind.plain
        if asked is None or len(kind.parts) > 1 or kind.parts[0].min_count is not None:
            return True
        queue, used, subtree = kind.queue, self.snapshot.lasting.used, self.snapshot.quotas.subtree
        available = self._available[queue]
        short = [pair for pair, amount in asked if amount > available[pair]] or [pair for pair, _ in asked]
        return all(used[pair][queue] < subtree[pair][queue] for pair in short)

    def _has_hosts(self, kind: Kind, reach: Reachable, *, others: bool) -> bool:
        """Whether nodes may have room for it."""
        if kind.claim is None:
            return True
        bounds = reach.bounds
        table = bounds.together if others else bounds.alone
        members = kind.members.get(others)
        if members is None or members.table is not table or members.claim is not kind.claim:
            members = kind.members[others] = Members(kind.claim, table)
        return members.enough({} if self.began else self._otherwise(kind.claims, bounds, others=others))

    def _otherwise(self, claims: Claims, bounds: Bounds, *, others: bool) -> Amounts:
        """What nodes could have of which that is not what it was when the plan began."""
        found = self._instead.get((claims, others))
        if found is None:
            snapshot = self.snapshot
            more: Amounts = {}
            for places in snapshot.booked:
                _add(more, places, -1)
            for held in snapshot.running.went:
                if not bounds.lets_go(held):
                    _add(more, held.places, 1)
            for other in bounds.others(snapshot.touched) if others else ():
                for sign, moved in zip((1, -1), self._moved(other), strict=True):
                    for held in moved:
                        _add(more, held.places, sign)
            found = self._instead[claims, others] = {}
            for node, amounts in more.items():
                have = bounds.alone_at(node)
                if others:
                    have = bounds.together_at(node, have)
                found[node] = [one + other for one, other in zip(have, amounts, strict=True)]
        return found

    def _moved(self, other: Reclaimable) -> tuple[list[Holding], list[Holding]]:
        """Who can be reclaimed besides those of when the plan began, and who cannot any more.

        Need be asked of queues only that the plan touched: of any other nobody left and the usage is what it was, so
        that the first ones up to its quota are those of then.
        """
        found = self._changed.get(other)
        if found is None:
            running, queue = self.snapshot.running, other.queue
            lasting, began = self.snapshot.lasting, running.book
            found = ([], [])
            if running.gone or any(
                now[queue] != before[queue] for now, before in zip(lasting.used, began.used, strict=True)
            ):
                found = other.otherwise(lasting, running.gone)
            self._changed[other] = found
        return found

    def _terms(self, kind: Kind) -> Terms | None:
        """How those of this kind take from other queues; none if they do not."""
        settings = kind.settings
        if not kind.preempts or settings.reclaim == NEVER or self.snapshot.quotas.parent[kind.queue] == NONE:
            return None
        in_order = not (self.snapshot.mode.fair or settings.borrow or settings.reclaim == LOWER_OR_NEWER)
        return Terms(settings.reclaim, 0 if settings.reclaim == ANY else kind.priority, in_order)

    def bounds(self, kind: Kind) -> Bounds:
        """The bounds for all with the candidates of this kind, when they were last brought up to date.

        On which terms follows from the claims as long as queues and settings stay, and with those go the bounds.
        """
        hosts = self.snapshot.running.hosts
        return hosts.known(kind.claims) or hosts.bounds(kind.claims, self._terms(kind))

    def reachable(self, kind: Kind, bounds: Bounds) -> Reachable:
        """What all with the candidates of this kind could come to have."""
        snapshot = self.snapshot
        book, running, quotas, queue = snapshot.lasting, snapshot.running, snapshot.quotas, kind.queue
        bounds.follow(running.book)
        available = self._available.get(queue)
        if available is None:
            available = self._available[queue] = [book.available(pair, queue) for pair in running.pairs]
        own = bounds.own.sums
        if running.went:
            own = own[:]
            for held in running.went:
                if bounds.lets_go(held):
                    for pair, amount in held.amounts:
                        own[pair] -= amount
        alone = [have + more for have, more in zip(available, own, strict=True)]
        left = [
            quota[queue] - used[queue] + more for quota, used, more in zip(quotas.subtree, book.used, own, strict=True)
        ]
        together, tree = alone, bounds.tree
        if tree is not None:
            mine = tree.queues[queue].sums
            together = [have + more - less for have, more, less in zip(alone, tree.sums, mine, strict=True)]
            for other in () if self.began else bounds.others(snapshot.touched):
                for sign, moved in zip((1, -1), self._moved(other), strict=True):
                    for held in moved:
                        for pair, amount in held.amounts:
                            together[pair] += sign * amount
        if self.began:
            bounds.grew([*alone, *together, *left])
        far = kind.settings.borrow or snapshot.mode.fair or len(quotas.path[queue]) > 2
        return Reachable(bounds, alone, together, left, far)

    def grew(self, bounds: Bounds) -> bool:
        """Whether anything may be more than when the plan began.

        When nobody left, starts took quota and room and gave none; but what they took may bring a queue above its
        quota, and more can be reclaimed then.
        """
        return bool(self.snapshot.left) or any(self._moved(other)[0] for other in bounds.others(self.snapshot.touched))


def _enough(kind: Kind, most: Sums) -> bool:
    """Whether this is enough quota for it, in some flavor."""
    if kind.plain is not None:
        for pair, amount in kind.plain:  # noqa: SIM110 - all() takes longer
            if amount > most[pair]:
                return False
        return True
    assert kind.slots is not None
    return all(any(all(amount <= most[pair] for pair, amount in asked) for asked in slot) for slot in kind.slots)


def _add(amounts: Amounts, places: Places, sign: int) -> None:
    for place in places:
        have = amounts.get(place.node)
        more = (sign * place.amounts).tolist()
        amounts[place.node] = more if have is None else [one + other for one, other in zip(have, more, strict=True)]
