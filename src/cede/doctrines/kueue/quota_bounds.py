"""Upper bounds on what a claimant could come to have, told from sums before any search.

A victim frees at most what it holds, and lending and borrowing limits pass on at most that much to the claimant's
queue. So what is available, plus all that the candidates of its policies hold, is no less than any search can reach;
a request that is larger has no way, and is not searched for. Of other queues only what can be reclaimed counts
(`node_bounds`).

With classical preemption, borrowWithinCohort Never and a single cohort, victims in other queues are of use only if the
claimant's queue ends within its quota: with the advantage the request fits in it as it is, and without it the attempt
that may borrow takes nothing of other queues, while the other one must end within the quota. So the own quota, with all
own candidates gone, is a second bound there; `_may_begin` is the condition without which no attempt looks at others.
"""

from __future__ import annotations

from typing import NamedTuple

from cede.doctrines.kueue.kinds import Group, Kind, Need
from cede.doctrines.kueue.node_bounds import (
    AdmittedWorkload,
    Amounts,
    Bounds,
    Claims,
    MemberCounts,
    NodeUsages,
    Reclaimable,
    ReclaimTerms,
    Tree,
)
from cede.doctrines.kueue.quota import Asked
from cede.doctrines.kueue.settings import ANY, LOWER_OR_NEWER, NEVER
from cede.doctrines.kueue.snapshot import Snapshot
from cede.state.columns import NONE

Sums = list[int]
MOST = 1 << 62
"""More than there ever is."""


class AttainableQuota(NamedTuple):
    """What all with the same candidates could come to have.

    By pair that any of them asks for: what is `available`, what with all candidates of the own queue gone, and with
    what can be reclaimed of others too; and what the own queue has `left` of its quota then. `far`: they may take
    others though their queue ends above it. `even`: what is available is what is free in the tree.
    """

    bounds: Bounds
    available: Sums
    alone: Sums
    together: Sums
    left: Sums
    far: bool
    even: bool


class QuotaBounds:
    """Bounds at one moment of a plan, worked out once for all of a queue and priority."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.began = snapshot.moment == (0, 0)
        self._changed: dict[Reclaimable, tuple[list[AdmittedWorkload], list[AdmittedWorkload]]] = {}
        self._instead: dict[tuple[Claims, bool], Amounts] = {}
        self._most: dict[int | Tree, tuple[Sums, Sums]] = {}
        self._changes = snapshot.running.changes
        self._times_moved = snapshot.running.node_bounds.moved

    def may_have_a_way(self, kind: Kind, attainable: AttainableQuota) -> bool:
        """False only if it certainly has none; it is `short` where that stays so as long as nothing grows."""
        if self.began:
            kind.short, kind.need = False, None
        if kind.slots is None:
            return True
        others = attainable.together is not attainable.alone
        if others and not attainable.far:
            others = _enough(kind, attainable.left)
            if others and not self._may_begin(
                kind, attainable.available
            ):  # whether it may can change though nothing grows
                return _enough(kind, attainable.alone) and self._has_nodes(kind, attainable, others=False)
        most = attainable.together if others else attainable.alone
        if _enough(kind, most):
            if self._has_nodes(kind, attainable, others=others):
                return True
        elif self.began and attainable.even and kind.plain is not None:
            kind.need = _need(kind.plain, attainable, most, others=others)
        kind.short = self.began
        return False

    def stays_short(self, group: Group, bounds: Bounds) -> bool:
        """Whether all but the loose ones of a group are as short of quota as when it was settled.

        What its own queue holds and has left is what it was then, so that only what its tree has can tell.
        """
        if not group.settled:
            return False
        queue, tree = bounds.queue, bounds.tree
        if self.began:
            if group.short_at == self._changes and (tree is None or not tree.stale):
                return True  # nothing came or went, and time moves nothing
            if group.moved != self._times_moved[queue] or (tree is not None and tree.queues[queue].line.undated):
                return False
        elif queue in self.snapshot.touched:
            return False
        of = bounds.root if tree is None else tree
        most = self._most.get(of)
        if most is None:
            most = self._most[of] = self._in_tree(bounds.root, tree)
        free, together = most
        for pair, alone, all_ in group.needs:
            if free[pair] >= alone or together[pair] >= all_:
                return False
        if self.began:
            group.short_at = self._changes
        return True

    def _in_tree(self, root: int, tree: Tree | None) -> tuple[Sums, Sums]:
        """What is free in a tree of queues, and what is free there or can be reclaimed."""
        snapshot = self.snapshot
        used = snapshot.lasting.used
        free = [max(0, subtree[root] - row[root]) for subtree, row in zip(snapshot.quotas.subtree, used, strict=True)]
        if tree is None:
            return free, free
        if tree.stale:
            tree.follow(snapshot.running.quota_usage, snapshot.state.now)
        most = [have + more for have, more in zip(free, tree.sums, strict=True)]
        for queue in snapshot.touched:
            if queue in tree.queues:
                self._add_moved(most, tree.queues[queue])
        return free, most

    def _add_moved(self, sums: Sums, other: Reclaimable) -> None:
        for sign, moved in zip((1, -1), self._moved(other), strict=True):
            for held in moved:
                for pair, amount in held.amounts:
                    sums[pair] += sign * amount

    def _may_begin(self, kind: Kind, available: Sums) -> bool:
        """Whether its queue is below its quota in all that is short, without which no attempt looks at others.

        Short is at least what is not available; where all is available nodes are short, and then everything is. With
        the advantage the queue is below its quota in all of it.
        """
        asked = kind.plain
        if asked is None or len(kind.parts) > 1 or kind.parts[0].min_count is not None:
            return True
        queue, used, subtree = kind.queue, self.snapshot.lasting.used, self.snapshot.quotas.subtree
        short = [pair for pair, amount in asked if amount > available[pair]] or [pair for pair, _ in asked]
        return all(used[pair][queue] < subtree[pair][queue] for pair in short)

    def _has_nodes(self, kind: Kind, attainable: AttainableQuota, *, others: bool) -> bool:
        """Whether nodes may have room for it."""
        if kind.claim is None:
            return True
        bounds = attainable.bounds
        members = kind.members.get(others)
        if members is None or members.bounds is not bounds or members.claim is not kind.claim:
            members = kind.members[others] = MemberCounts(kind.claim, bounds, others=others)
        return members.enough({} if self.began else self._otherwise(kind.claims, bounds, others=others))

    def _otherwise(self, claims: Claims, bounds: Bounds, *, others: bool) -> Amounts:
        """What nodes could have of which that is not what it was when the plan began."""
        instead = self._instead.get((claims, others))
        if instead is None:
            snapshot = self.snapshot
            more: Amounts = {}
            for places in snapshot.booked():
                _add(more, places, -1)
            for held in snapshot.running.went:
                if not bounds.lets_go(held):
                    _add(more, held.places, 1)
            for other in bounds.others(snapshot.touched) if others else ():
                for sign, moved in zip((1, -1), self._moved(other), strict=True):
                    for held in moved:
                        _add(more, held.places, sign)
            instead = self._instead[claims, others] = {}
            for node, amounts in more.items():
                have = bounds.at(node, others=others)
                instead[node] = [one + other for one, other in zip(have, amounts, strict=True)]
        return instead

    def _moved(self, other: Reclaimable) -> tuple[list[AdmittedWorkload], list[AdmittedWorkload]]:
        """What can be reclaimed besides that of when the plan began, and what cannot any more.

        Asked only of queues that the plan touched: in any other nothing left and the usage is what it was, so that the
        first candidates down to its quota are those of then.
        """
        moved = self._changed.get(other)
        if moved is None:
            running, queue = self.snapshot.running, other.queue
            lasting, began = self.snapshot.lasting, running.quota_usage
            moved = ([], [])
            if running.gone or any(
                now[queue] != before[queue] for now, before in zip(lasting.used, began.used, strict=True)
            ):
                moved = other.otherwise(lasting, running.gone)
            self._changed[other] = moved
        return moved

    def _terms(self, claims: Claims) -> ReclaimTerms | None:
        """How those with these claims take from other queues; none if they do not."""
        quotas = self.snapshot.quotas
        settings = quotas.settings(claims.queue)
        if not claims.preempts or settings.reclaim == NEVER or quotas.parent[claims.queue] == NONE:
            return None
        in_order = not (self.snapshot.mode.fair or settings.borrow or settings.reclaim == LOWER_OR_NEWER)
        return ReclaimTerms(settings.reclaim, 0 if settings.reclaim == ANY else claims.priority, in_order)

    def bounds(self, group: Group) -> Bounds:
        """The bounds for all of a group.

        On which terms follows from the claims as long as queues and settings stay, and with those go the bounds.
        """
        bounds = group.bounds
        if bounds is None or not bounds.follows:
            node_bounds, claims = self.snapshot.running.node_bounds, group.claims
            bounds = group.bounds = node_bounds.known(claims) or node_bounds.bounds(claims, self._terms(claims))
        return bounds

    def attainable(self, group: Group, bounds: Bounds) -> AttainableQuota:
        """What all of a group could come to have."""
        snapshot = self.snapshot
        quota_usage, running, quotas, queue = snapshot.lasting, snapshot.running, snapshot.quotas, bounds.queue
        own, tree = bounds.own.sums, bounds.tree
        if running.went:
            own = own[:]
            for held in running.went:
                if bounds.lets_go(held):
                    for pair, amount in held.amounts:
                        own[pair] -= amount
        nothing = [0] * len(own)
        available, alone, left, together = nothing[:], nothing[:], nothing[:], nothing[:]
        everything = mine = nothing
        if tree is not None:
            if tree.stale:
                tree.follow(running.quota_usage, snapshot.state.now)
            everything, mine = tree.sums, tree.queues[queue].sums
        root = bounds.root
        for pair in group.pairs:
            subtree, used = quotas.subtree[pair], quota_usage.used[pair]
            free = max(0, subtree[root] - used[root]) if bounds.even[pair] else quota_usage.available(pair, queue)
            available[pair] = free
            more = own[pair]
            alone[pair] = free + more
            left[pair] = subtree[queue] - used[queue] + more
            together[pair] = free + more + everything[pair] - mine[pair]
        if tree is None:
            together = alone
        elif not self.began:
            for other in bounds.others(snapshot.touched):
                self._add_moved(together, other)
        even = self.began and all([bounds.even[pair] for pair in group.pairs])  # noqa: C419 - there are few
        return AttainableQuota(bounds, available, alone, together, left, snapshot.mode.fair or bounds.far, even)

    def grew(self, bounds: Bounds) -> bool:
        """Whether anything may be more than when the plan began.

        When nothing left, starts took quota and room and freed none; but what they took may bring a queue above its
        quota, and then more can be reclaimed.
        """
        return bool(self.snapshot.left) or any(self._moved(other)[0] for other in bounds.others(self.snapshot.touched))


def _need(asked: Asked, attainable: AttainableQuota, most: Sums, *, others: bool) -> Need:
    """Of the first pair of which there is not enough, how much the tree must have until there is, as long as the
    queue itself holds what it does.
    """
    pair, amount = next((pair, amount) for pair, amount in asked if amount > most[pair])
    bounds, tree = attainable.bounds, attainable.bounds.tree
    amount -= bounds.own.sums[pair]
    if others and tree is not None:
        return Need(pair, MOST, amount + tree.queues[bounds.queue].sums[pair])
    return Need(pair, amount, MOST)


def _enough(kind: Kind, most: Sums) -> bool:
    """Whether this is enough quota for it, in some flavor."""
    if kind.plain is not None:
        for pair, amount in kind.plain:  # noqa: SIM110 - all() takes longer
            if amount > most[pair]:
                return False
        return True
    assert kind.slots is not None
    return all(any(all(amount <= most[pair] for pair, amount in asked) for asked in slot) for slot in kind.slots)


def _add(amounts: Amounts, places: NodeUsages, sign: int) -> None:
    for place in places:
        have = amounts.get(place.node)
        more = (sign * place.amounts).tolist()
        amounts[place.node] = more if have is None else [one + other for one, other in zip(have, more, strict=True)]
