"""Upper bounds on what nodes and queues could give a claimant, kept up to date as work comes and goes.

Of a node a claimant can have at most what is free, what the candidates of its own queue hold, and what can be reclaimed
there from other queues. A classical attempt takes the candidates of a queue in one order, and asks the queue's usage
before each: it leaves the queue alone once that is within its quota. So at most the first candidates up to that point
can be reclaimed. They follow from the queue's usage and its candidates, are the same for all claimants with the same
policy, and change only with one of the two.

The bound counts all pairs, an attempt only the contested ones; that makes it larger, never smaller. Candidates that the
attempt passes over hold nothing contested, so at every place in the line both have freed the same of what is contested;
where the bound ends, all pairs are within the quota, the contested ones among them: the attempt stops there at the
latest. Where attempts do not take the first ones (fair sharing compares shares; borrowWithinCohort and ages pick some),
all candidates of a queue above its quota count.

Work that overlaps with other work frees at most what it holds. So no search finds more than these sums.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from cede.doctrines.kueue.quota import Asked, Quotas
from cede.doctrines.kueue.settings import ANY, LOWER_OR_NEWER, NEVER
from cede.doctrines.kueue.usage import QuotaUsage
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.fit import members_that_fit
from cede.state.columns import NEVER as NO_TIME
from cede.state.columns import PREEMPTING, RESERVED, Int64s
from cede.state.state import State
from cede.state.units import FULL, WHOLE


class NodeUsage(NamedTuple):
    """What a workload holds of one node, of every column; and again as numbers, where it is something."""

    node: int
    amounts: Int64s
    counts: tuple[tuple[int, int], ...]


NodeUsages = tuple[NodeUsage, ...]
SortKey = tuple[bool, int, int, str, str]
"""Sorts candidates of one queue as they are taken: already leaving, then lower priority, later start, uid, name."""


class AdmittedWorkload(NamedTuple):
    """What one workload holds of its queue's quota and of nodes, whether it may be taken, and in which turn."""

    row: int
    queue: int
    priority: int
    preemptible: bool
    amounts: Asked
    code: int
    places: NodeUsages
    turn: SortKey


class Claims(NamedTuple):
    """Those whose candidates are the same."""

    queue: int
    priority: int
    preempts: bool


def lets(policy: str, claimant: int, priority: int) -> bool:
    """Whether a policy may let a claimant of this priority take a workload of that, whatever their age."""
    if policy == ANY:
        return True
    return policy != NEVER and (priority < claimant or (policy == LOWER_OR_NEWER and priority == claimant))


class ReclaimTerms(NamedTuple):
    """How claimants take from other queues: by which policy, those below which priority, and whether the first ones."""

    policy: str
    below: int
    in_order: bool


Amounts = dict[int, list[int]]
"""By node, an amount for each column."""


LineEntry = tuple[SortKey, AdmittedWorkload]


class CandidateLine:
    """Candidates of a queue in the order of taking. One without a start counts as started now, so that its turn moves
    with the clock: it is `undated`.
    """

    __slots__ = ("entries", "undated")

    def __init__(self) -> None:
        self.entries: list[LineEntry] = []
        self.undated: dict[int, LineEntry] = {}

    def add(self, held: AdmittedWorkload, now: int) -> int:
        """This one came; where it stands."""
        entry = (held.turn, held)
        if held.turn[2] == -NO_TIME:
            entry = self.undated[held.row] = ((*held.turn[:2], -now, *held.turn[3:]), held)
        at = bisect_left(self.entries, entry)  # every turn ends in another name, so that it alone is compared
        self.entries.insert(at, entry)
        return at

    def remove(self, held: AdmittedWorkload) -> int:
        """This one went; where it stood."""
        at = bisect_left(self.entries, self.undated.pop(held.row, (held.turn, held)))
        del self.entries[at]
        return at

    def follow(self, now: int) -> None:
        """Candidates without a start have the turn of one that started now."""
        for turn, held in list(self.undated.values()):
            if turn[2] != -now:
                self.remove(held)
                self.add(held, now)


MOST_KEPT = 64
"""Bounds that are kept."""
MOST_CHANGES = 4096
"""Changes that are logged; after more, readers look at all nodes again."""


class Reclaimable:
    """The candidates of a queue in the order of taking; the first ones, up to `end`, can be reclaimed.

    `sums` is what those hold by pair, `nodes` of nodes. Amounts are not negative, so the usage that is left only falls
    along the line, and there is one least `end` at which the queue is within its quota. Moving it step by step from
    where it was finds that one, in as many steps as candidates came or went.
    """

    def __init__(self, queue: int, terms: ReclaimTerms, quotas: Quotas, tree: Tree, log: list[int]) -> None:
        self.queue = queue
        self.terms = terms
        self.tree = tree
        self.line = CandidateLine()
        self.end = 0
        self.nodes: Amounts = {}
        self._quota = [subtree[queue] for subtree in quotas.subtree]
        self.sums = [0] * len(self._quota)
        self._there: tuple[list[int], list[int]] = ([0] * len(self._quota), [0] * len(self._quota))
        self._log = log

    def move(self, held: AdmittedWorkload, sign: int, now: int) -> None:
        """This one came or went, if it is among those that may be taken."""
        if not lets(self.terms.policy, self.terms.below, held.priority):
            return
        at = self.line.add(held, now) if sign > 0 else self.line.remove(held)
        if at < self.end:
            self.end += sign
            self._count(held, sign)

    def follow(self, quota_usage: QuotaUsage, now: int) -> None:
        """Bring it up to date; all that came or went were told by `move`."""
        for turn, held in list(self.line.undated.values()):
            if turn[2] != -now:
                self.move(held, -1, now)
                self.move(held, 1, now)
        line, over = self.line.entries, self._over(quota_usage)
        if not self.end and max(map(max, over)) <= 0:
            return  # within its quota, and nothing was reclaimable before
        while self.end < len(line) and self._exceeds(over):
            self._count(line[self.end][1], 1)
            self.end += 1
        while self.end and not self._exceeds(over, line[self.end - 1][1]):
            self.end -= 1
            self._count(line[self.end][1], -1)

    def otherwise(
        self, quota_usage: QuotaUsage, gone: set[int]
    ) -> tuple[list[AdmittedWorkload], list[AdmittedWorkload]]:
        """What can be reclaimed besides, and what cannot any more, with other usage and with some gone."""
        line, over, end = self.line.entries, self._over(quota_usage), self.end
        less = [held for _, held in line[:end] if held.row in gone] if gone else []
        more: list[AdmittedWorkload] = []
        for held in less:
            self._sum_up(held, -1)
        while end < len(line) and self._exceeds(over):
            held = line[end][1]
            if held.row not in gone:
                self._sum_up(held, 1)
                more.append(held)
            end += 1
        while end and not more:
            held = line[end - 1][1]
            if held.row not in gone:
                if self._exceeds(over, held):
                    break
                self._sum_up(held, -1)
                less.append(held)
            end -= 1
        for held in less:
            self._sum_up(held, 1)
        for held in more:
            self._sum_up(held, -1)
        return more, less

    def _over(self, quota_usage: QuotaUsage) -> list[list[int]]:
        """By how much the queue is above its quota; where usage overlaps before what is preempting left, and after."""
        tables = (quota_usage.used,) if quota_usage.moments is None else quota_usage.moments
        return [[used[self.queue] - quota for used, quota in zip(table, self._quota, strict=True)] for table in tables]

    def _exceeds(self, over: list[list[int]], last: AdmittedWorkload | None = None) -> bool:
        """Whether the queue is above its quota with those up to the end gone, or but the `last` of them."""
        if not self.terms.in_order:
            return max(map(max, over)) > 0
        for number, excess in enumerate(over):
            given = self.sums if len(over) == 1 else self._there[number]
            if last is not None and (len(over) == 1 or last.code != ABSENT[number]):
                given = given[:]
                for pair, amount in last.amounts:
                    given[pair] -= amount
            for one, other in zip(excess, given, strict=True):
                if one > other:
                    return True
        return False

    def _count(self, held: AdmittedWorkload, sign: int) -> None:
        self._sum_up(held, sign)
        for pair, amount in held.amounts:
            self.tree.sums[pair] += sign * amount
        _add(self.nodes, held.places, sign)
        _add(self.tree.nodes, held.places, sign)
        self._log.extend([place.node for place in held.places])

    def _sum_up(self, held: AdmittedWorkload, sign: int) -> None:
        before, after = self._there
        for pair, amount in held.amounts:
            self.sums[pair] += sign * amount
            if held.code != RESERVED:
                before[pair] += sign * amount
            if held.code != PREEMPTING:
                after[pair] += sign * amount


class OwnCandidates:
    """What the candidates in the claimant's own queue hold: by pair, and of nodes."""

    __slots__ = ("nodes", "sums")

    def __init__(self, pairs: int) -> None:
        self.sums = [0] * pairs
        self.nodes: Amounts = {}

    def count(self, held: AdmittedWorkload, sign: int) -> None:
        for pair, amount in held.amounts:
            self.sums[pair] += sign * amount
        _add(self.nodes, held.places, sign)


class Tree:
    """What can be reclaimed of all queues of a tree on the same terms; those that are `stale` changed since."""

    def __init__(self, root: int, terms: ReclaimTerms, quotas: Quotas, log: list[int]) -> None:
        self.sums = [0] * len(quotas.pairs)
        self.nodes: Amounts = {}
        self.queues = {
            queue: Reclaimable(queue, terms, quotas, self, log)
            for queue in range(quotas.size)
            if quotas.root[queue] == root and not quotas.is_cohort(queue)
        }
        self.stale = set(self.queues)

    def follow(self, quota_usage: QuotaUsage, now: int) -> None:
        """Bring it up to date."""
        for queue in self.stale:
            self.queues[queue].follow(quota_usage, now)
        self.stale = {queue for queue in self.stale if self.queues[queue].line.undated}  # time moves these


ABSENT = (RESERVED, PREEMPTING)
"""The state of work that is not there before, and after, what is leaving made way."""


class NodeBounds:
    """What is free of each node, candidates in their order by queue, and bounds for the claims that were asked about.

    `log` names the nodes whose bounds may have changed, in order; it begins anew with every `epoch`. `moved` counts how
    often work of a queue came or went.
    """

    def __init__(self, state: State, quotas: Quotas) -> None:
        self.state = state
        self.quotas = quotas
        self.free: list[list[int]] = state.nodes.free[:, : state.nodes.size].T.tolist()
        self.log: list[int] = []
        self.epoch = 0
        self.moved = [0] * quotas.size
        self._lines = [CandidateLine() for _ in range(quotas.size)]
        self._own: list[dict[tuple[str, int], OwnCandidates]] = [{} for _ in range(quotas.size)]
        self._trees: dict[tuple[int, ReclaimTerms], Tree] = {}
        self._bounds: dict[Claims, Bounds] = {}

    # -- following -----------------------------------------------------------------------------------------------

    def move(self, held: AdmittedWorkload, sign: int) -> None:
        """This workload takes its room, or gives it back; the nodes that it stands on are to be looked at."""
        queue = held.queue
        self.moved[queue] += 1
        for tree in self._trees.values():
            if queue in tree.queues:
                tree.stale.add(queue)
                if held.preemptible:
                    tree.queues[queue].move(held, sign, self.state.now)
        if held.preemptible:
            if sign > 0:
                self._lines[queue].add(held, self.state.now)
            else:
                self._lines[queue].remove(held)
            for (policy, below), own in self._own[queue].items():
                if lets(policy, below, held.priority):
                    own.count(held, sign)

    def look_at(self, nodes: Iterable[int]) -> None:
        """What is free of these nodes changed."""
        free = self.state.nodes.free
        for node in nodes:
            self.free[node] = free[:, node].tolist()
            self.log.append(node)
        if len(self.log) > max(MOST_CHANGES, len(self.free)):
            self.log.clear()
            self.epoch += 1

    # -- what is to be had ---------------------------------------------------------------------------------------

    def line(self, queue: int) -> list[LineEntry]:
        """Those of a queue that may be taken at all, in the order of taking."""
        line = self._lines[queue]
        if line.undated:
            line.follow(self.state.now)
        return line.entries

    def own(self, queue: int, policy: str, priority: int) -> OwnCandidates:
        """What the candidates in a queue hold for a claimant of the same queue."""
        own = self._own[queue].get((policy, priority))
        if own is None:
            own = self._own[queue][policy, priority] = OwnCandidates(len(self.quotas.pairs))
            for _, held in self._lines[queue].entries:
                if lets(policy, priority, held.priority):
                    own.count(held, 1)
        return own

    def tree(self, root: int, terms: ReclaimTerms) -> Tree:
        """What can be reclaimed of a tree on these terms."""
        tree = self._trees.get((root, terms))
        if tree is None:
            tree = self._trees[root, terms] = Tree(root, terms, self.quotas, self.log)
            for queue, reclaimable in tree.queues.items():
                for _, held in self._lines[queue].entries:
                    reclaimable.move(held, 1, self.state.now)
        return tree

    def known(self, claims: Claims) -> Bounds | None:
        """What these claims could come to have, if that was asked before."""
        return self._bounds.get(claims)

    def bounds(self, claims: Claims, terms: ReclaimTerms | None) -> Bounds:
        """The same for claims that were not asked about."""
        if len(self._bounds) >= MOST_KEPT:
            for kept in self._bounds.values():
                kept.follows = False
            self._bounds.clear()
            self._trees.clear()
            for own in self._own:
                own.clear()
        bounds = self._bounds[claims] = Bounds(self, claims, terms)
        return bounds


class Bounds:
    """What each node could have at most for some claims: `alone` with their own queue, and `together` with what can be
    reclaimed of the others in the `tree`.
    """

    def __init__(self, node_bounds: NodeBounds, claims: Claims, terms: ReclaimTerms | None) -> None:
        self.node_bounds = node_bounds
        quotas, queue = node_bounds.quotas, claims.queue
        self.queue = queue
        self.root = quotas.root[queue]
        self.follows = True
        """Whether it is still brought up to date."""
        self.priority = claims.priority
        self.within = quotas.settings(queue).within if claims.preempts else NEVER
        self.own = node_bounds.own(queue, self.within, claims.priority)
        self.tree = None if terms is None else node_bounds.tree(quotas.root[queue], terms)
        self.alone = NodeTable(len(node_bounds.free))
        self.together = NodeTable(len(node_bounds.free))
        path = quotas.path[queue]
        self.far = len(path) > 2 or quotas.settings(queue).borrow
        """Whether they may take others though their queue ends above its quota, with classical preemption."""
        self.even = [
            not any(local[node] or borrowing[node] is not None for node in path[:-1])
            for local, borrowing in zip(quotas.local, quotas.borrowing, strict=True)
        ]
        """By pair whether the queue can take all that is free in its tree: no lending or borrowing limit is on its
        path."""

    def lets_go(self, held: AdmittedWorkload) -> bool:
        """Whether this one is among those of the own queue that may be taken."""
        return held.preemptible and held.queue == self.queue and lets(self.within, self.priority, held.priority)

    def table(self, *, others: bool) -> NodeTable:
        """What the nodes could have, as last followed; worked out on demand."""
        node_bounds, table = self.node_bounds, self.together if others else self.alone
        if table.read_epoch != node_bounds.epoch:
            nodes: Iterable[int] = range(len(node_bounds.free))
            table.read_epoch = node_bounds.epoch
        elif table.read < len(node_bounds.log):
            nodes = set(node_bounds.log[table.read :])
        else:
            return table
        table.read = len(node_bounds.log)
        for node in nodes:
            table.put(node, self.at(node, others=others))
        return table

    def at(self, node: int, *, others: bool) -> list[int]:
        """What a node could have with candidates of the own queue gone, or with what can be reclaimed there too."""
        own, alone = self.own.nodes.get(node), self.node_bounds.free[node]
        if own is not None:
            alone = [have + more for have, more in zip(alone, own, strict=True)]
        if not others or self.tree is None:
            return alone
        more, own = self.tree.nodes.get(node), self.tree.queues[self.queue].nodes.get(node)
        if more is None:
            return alone
        if own is None:
            return [have + all_ for have, all_ in zip(alone, more, strict=True)]
        return [have + all_ - mine for have, all_, mine in zip(alone, more, own, strict=True)]

    def others(self, among: Iterable[int]) -> list[Reclaimable]:
        """The other queues of the tree that are among these."""
        if self.tree is None:
            return []
        queues, mine = self.tree.queues, self.queue
        return [queues[queue] for queue in among if queue != mine and queue in queues]


class NodeTable:
    """Amounts by node, and which of them changed, in order; and how far the log of the hosts was `read` for it."""

    __slots__ = ("amounts", "epoch", "log", "read", "read_epoch")

    def __init__(self, size: int) -> None:
        self.amounts: list[list[int]] = [[]] * size
        self.log: list[int] = []
        self.epoch = 0
        self.read = 0
        self.read_epoch = -1

    def put(self, node: int, amounts: list[int]) -> None:
        """A node has so much now."""
        if amounts == self.amounts[node]:
            return
        self.amounts[node] = amounts
        self.log.append(node)
        if len(self.log) > max(MOST_CHANGES, len(self.amounts)):
            self.log.clear()
            self.epoch += 1


class MemberCounts:
    """How many members of a claim, all alike, have room on each node; counted again where that changed."""

    __slots__ = ("_at", "_counts", "_epoch", "_most", "_needs", "_others", "_total", "_where", "bounds", "claim")

    def __init__(self, claim: Claim, bounds: Bounds, *, others: bool) -> None:
        assert claim.need is not None
        self.claim = claim
        self.bounds = bounds
        self._others = others
        need = claim.need.tolist()
        self._needs = [(column, need[column]) for column in claim.columns]
        self._most = 1 if need[WHOLE] >= FULL else claim.members
        self._counts: list[int] = []
        self._total = 0
        self._at = 0
        self._epoch = -1
        self._where = -1

    def enough(self, instead: Amounts) -> bool:
        """Whether nodes have room for all, those that are named with these amounts `instead`.

        A single member mostly has room where it had room last: then nothing is counted.
        """
        node, bounds = self._where, self.bounds
        if node >= 0 and node not in instead and self._on(node, bounds.at(node, others=self._others)):
            return True
        self._count(bounds.table(others=self._others))
        counts, total = self._counts, self._total
        if total and self.claim.members == 1:
            self._where = counts.index(1)
        for node, amounts in instead.items():
            total += self._on(node, amounts) - counts[node]
        return total >= self.claim.members

    def _count(self, table: NodeTable) -> None:
        counts = self._counts
        if self._epoch != table.epoch:
            counts = self._counts = members_that_fit(self.claim, np.array(table.amounts, np.int64).T).tolist()
            self._total = sum(counts)
            self._at, self._epoch = len(table.log), table.epoch
        elif self._at < len(table.log):
            for node in set(table.log[self._at :]):
                now = self._on(node, table.amounts[node])
                self._total += now - counts[node]
                counts[node] = now
            self._at = len(table.log)

    def _on(self, node: int, free: list[int]) -> int:
        if not self.claim.allowed[node]:
            return 0
        return members_in(free, self._needs, self._most)


def members_in(free: list[int], needs: list[tuple[int, int]], most: int) -> int:
    """How many members that need so much of each column fit in what is free of one node, up to `most`."""
    for column, need in needs:
        if free[column] < need:
            return 0
        if need * most > free[column]:
            most = free[column] // need
    return most


def _add(amounts: Amounts, places: NodeUsages, sign: int) -> None:
    for node, vector, counts in places:
        have = amounts.get(node)
        if have is None:
            amounts[node] = (sign * vector).tolist()
        else:
            for column, count in counts:
                have[column] += sign * count


def node_usages_of(state: State, row: int) -> NodeUsages:
    """What a workload holds of which nodes."""
    residents = state.residents
    return tuple(
        node_usage_of(int(residents.node[at]), residents.amount[:, at].copy()) for at in state.residents_of(row)
    )


def node_usage_of(node: int, amounts: Int64s) -> NodeUsage:
    return NodeUsage(node, amounts, tuple((column, count) for column, count in enumerate(amounts.tolist()) if count))
