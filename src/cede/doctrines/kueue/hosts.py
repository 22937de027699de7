"""The most that nodes and queues could give a claimant, whoever it took away: kept up to date as work comes and goes.

Of a node a claimant can have what is free, what those of its own queue hold whom its policy lets it take, and what
other queues give. A queue gives its candidates in one order, the first ones up to where it is back within its quota:
there every classical attempt leaves it alone, in whatever tree, for it asks the queue's own usage before each of them.
So what a queue gives follows from its own usage and candidates, is the same for all claimants with the same policy,
and is worked out anew only when one of the two changed. What is contested may be less than all that the queue holds;
then the attempt comes to fewer of them, and stops no later. Where attempts do not take the first ones (fair sharing
asks shares, borrowing while preempting and ages pick some), a queue above its quota gives all of its candidates.

Whoever overlaps with others gives no more than it holds. So nobody ever finds more than these sums.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Container, Iterable
from typing import NamedTuple

import numpy as np

from cede.doctrines.kueue.book import Book
from cede.doctrines.kueue.quota import Asked, Quotas
from cede.doctrines.kueue.settings import ANY, LOWER_OR_NEWER, NEVER
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.fit import members_that_fit
from cede.state.columns import NEVER as NO_TIME
from cede.state.columns import PREEMPTING, RESERVED, Int64s
from cede.state.state import State
from cede.state.units import FULL, WHOLE


class Place(NamedTuple):
    """What a workload holds of one node, of every column; and again as numbers, where it is something."""

    node: int
    amounts: Int64s
    counts: tuple[tuple[int, int], ...]


Places = tuple[Place, ...]
Turn = tuple[bool, int, int, str, str]
"""Sorts candidates of one queue as they are taken: who leaves first, then lower priority, later start, uid, name."""


class Holding(NamedTuple):
    """What one workload holds: of its queue's quota, and of which nodes; who may take it away, and in which turn."""

    row: int
    queue: int
    priority: int
    preemptible: bool
    amounts: Asked
    code: int
    places: Places
    turn: Turn


class Claims(NamedTuple):
    """Those whose candidates are the same."""

    queue: int
    priority: int
    preempts: bool


def lets(policy: str, claimant: int, priority: int) -> bool:
    """Whether a policy may let a claimant of this priority take somebody of that, whatever their age."""
    if policy == ANY:
        return True
    return policy != NEVER and (priority < claimant or (policy == LOWER_OR_NEWER and priority == claimant))


class Terms(NamedTuple):
    """How claimants take from other queues: by which policy, those below which priority, and whether the first ones."""

    policy: str
    below: int
    in_order: bool


Amounts = dict[int, list[int]]
"""By node, an amount for each column."""


class Gift(NamedTuple):
    """What a queue gives: by pair, and of nodes."""

    sums: list[int]
    nodes: Amounts


MOST_KEPT = 64
"""Bounds that are kept."""
MOST_CHANGES = 4096
"""After so many changes all nodes are looked at again by whoever comes later."""


class Hosts:
    """What is free of each node, candidates in their order by queue, and bounds for those that somebody asked for.

    `log` names the nodes whose bounds may have changed, in order; it begins anew with every `epoch`.
    """

    def __init__(self, state: State, quotas: Quotas) -> None:
        self.state = state
        self.quotas = quotas
        self.free: list[list[int]] = state.nodes.free[:, : state.nodes.size].T.tolist()
        self.log: list[int] = []
        self.epoch = 0
        self._lines: list[list[tuple[Turn, Holding]]] = [[] for _ in range(quotas.size)]
        self._undated: list[dict[int, Holding]] = [{} for _ in range(quotas.size)]
        self._own: dict[tuple[int, str, int], Amounts] = {}
        self._gifts: dict[tuple[int, Terms], Gift] = {}
        self._stale: set[tuple[int, Terms]] = set()
        self._bounds: dict[Claims, Bounds] = {}

    # -- following -----------------------------------------------------------------------------------------------

    def move(self, held: Holding, sign: int) -> None:
        """This workload takes its room, or gives it back."""
        queue = held.queue
        self.look_at([place.node for place in held.places])
        if held.preemptible:
            line, undated = self._lines[queue], self._undated[queue]
            if held.turn[2] == -NO_TIME:
                if sign > 0:
                    undated[held.row] = held
                else:
                    del undated[held.row]
            elif sign > 0:
                insort(line, (held.turn, held), key=_turn)
            else:
                del line[bisect_left(line, held.turn, key=_turn)]
            for (of, policy, below), amounts in self._own.items():
                if of == queue and lets(policy, below, held.priority):
                    _add(amounts, held.places, sign)
        self._stale.update(key for key in self._gifts if key[0] == queue)

    def look_at(self, nodes: Iterable[int]) -> None:
        """What is free of these nodes changed."""
        for node in nodes:
            self.free[node] = self.state.nodes.free[:, node].tolist()
            self.log.append(node)
        if len(self.log) > max(MOST_CHANGES, len(self.free)):
            self.log.clear()
            self.epoch += 1

    def candidates(self, queue: int) -> list[Holding]:
        """Those of a queue that may be taken, in their order; who has no start got its room now."""
        line, undated = self._lines[queue], self._undated[queue]
        if undated:
            now = -self.state.now
            more = [((*held.turn[:2], now, *held.turn[3:]), held) for held in undated.values()]
            line = sorted([*line, *more], key=_turn)
        return [held for _, held in line]

    # -- what is to be had ---------------------------------------------------------------------------------------

    def own(self, queue: int, policy: str, priority: int) -> Amounts:
        """What those of a queue hold of nodes whom a claimant of it may take; to look at, not to change."""
        key = (queue, policy, priority)
        found = self._own.get(key)
        if found is None:
            found = self._own[key] = {}
            for held in self.candidates(queue):
                if lets(policy, priority, held.priority):
                    _add(found, held.places, 1)
        return found

    def gift(self, queue: int, terms: Terms, book: Book) -> Gift:
        """What a queue gives on these terms, as last followed; the book is that of then."""
        key = (queue, terms)
        found = self._gifts.get(key)
        if found is None or key in self._stale or self._undated[queue]:
            before = {} if found is None else found.nodes
            found = self._gifts[key] = self.gift_at(queue, terms, book)
            self._stale.discard(key)
            self.log += changed(before, found.nodes)
        return found

    def gift_at(self, queue: int, terms: Terms, book: Book, gone: Container[int] = ()) -> Gift:
        """The same with other usage, and with some gone."""
        quotas = self.quotas
        tables = (book.used,) if book.moments is None else book.moments
        over = [
            [used[queue] - quota[queue] for used, quota in zip(each, quotas.subtree, strict=True)] for each in tables
        ]
        sums = [0] * len(quotas.pairs)
        nodes: Amounts = {}
        if max(map(max, over)) <= 0 or quotas.is_cohort(queue):
            return Gift(sums, nodes)
        for held in self.candidates(queue):
            if held.row in gone or not lets(terms.policy, terms.below, held.priority):
                continue
            if terms.in_order and max(map(max, over)) <= 0:
                break
            for pair, amount in held.amounts:
                sums[pair] += amount
                if len(over) == 1:
                    over[0][pair] -= amount
                else:  # before what is preempting left and what is reserved came, and after
                    over[0][pair] -= 0 if held.code == RESERVED else amount
                    over[1][pair] -= 0 if held.code == PREEMPTING else amount
            _add(nodes, held.places, 1)
        return Gift(sums, nodes)

    def bounds(self, claims: Claims, terms: Terms | None, book: Book) -> Bounds:
        """What these claims could come to have, as last followed; the book is that of then."""
        found = self._bounds.get(claims)
        if found is None:
            if len(self._bounds) >= MOST_KEPT:
                for kept in (self._bounds, self._own, self._gifts, self._stale):
                    kept.clear()
            found = self._bounds[claims] = Bounds(self, claims, terms)
        found.follow(book)
        return found


class Bounds:
    """What each node could have at most for some claims: `alone` with their own queue, and `together` with what others
    give; `gifts` is that, by queue."""

    def __init__(self, hosts: Hosts, claims: Claims, terms: Terms | None) -> None:
        self.hosts = hosts
        self.terms = terms
        quotas, queue = hosts.quotas, claims.queue
        self.queue = queue
        self.priority = claims.priority
        self.within = quotas.settings(queue).within if claims.preempts else NEVER
        self.own = hosts.own(queue, self.within, claims.priority)
        self.others = [
            other
            for other in range(quotas.size)
            if terms is not None and other != queue and quotas.root[other] == quotas.root[queue]
        ]
        self.gifts: dict[int, Gift] = {}
        self.alone = Table(len(hosts.free))
        self.together = Table(len(hosts.free))
        self._at = 0
        self._epoch = -1

    def lets_go(self, held: Holding) -> bool:
        """Whether this one is among those of the own queue that may be taken."""
        return held.preemptible and held.queue == self.queue and lets(self.within, self.priority, held.priority)

    def follow(self, book: Book) -> None:
        """Bring it up to date."""
        hosts, terms = self.hosts, self.terms
        if terms is not None:
            self.gifts = {other: hosts.gift(other, terms, book) for other in self.others}
        if self._epoch != hosts.epoch:
            nodes: Iterable[int] = range(len(hosts.free))
        elif self._at < len(hosts.log):
            nodes = set(hosts.log[self._at :])
        else:
            return
        gifts = self.gifts.values()
        for node in nodes:
            alone = self.alone_at(node)
            self.alone.put(node, alone)
            self.together.put(node, given(alone, gifts, node))
        self._at, self._epoch = len(hosts.log), hosts.epoch

    def alone_at(self, node: int) -> list[int]:
        """What a node could have with nobody of other queues gone."""
        own, free = self.own.get(node), self.hosts.free[node]
        return free if own is None else [have + more for have, more in zip(free, own, strict=True)]


class Table:
    """Amounts by node, and which of them changed, in order."""

    __slots__ = ("amounts", "epoch", "log")

    def __init__(self, size: int) -> None:
        self.amounts: list[list[int]] = [[]] * size
        self.log: list[int] = []
        self.epoch = 0

    def put(self, node: int, amounts: list[int]) -> None:
        if amounts != self.amounts[node]:
            self.amounts[node] = amounts
            self.log.append(node)
            if len(self.log) > max(MOST_CHANGES, len(self.amounts)):
                self.log.clear()
                self.epoch += 1


class Members:
    """How many members of a claim, all alike, have room on each node of a table; counted again where that changed."""

    __slots__ = ("_at", "_counts", "_epoch", "_most", "_needs", "_total", "claim", "table")

    def __init__(self, claim: Claim, table: Table) -> None:
        assert claim.need is not None
        self.claim = claim
        self.table = table
        need = claim.need.tolist()
        self._needs = [(column, need[column]) for column in claim.columns]
        self._most = 1 if need[WHOLE] >= FULL else claim.members
        self._counts: list[int] = []
        self._total = 0
        self._at = 0
        self._epoch = -1

    def enough(self, instead: Amounts) -> bool:
        """Whether nodes have room for all, those that are named with these amounts `instead`."""
        table, counts = self.table, self._counts
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
        total = self._total
        for node, amounts in instead.items():
            total += self._on(node, amounts) - counts[node]
        return total >= self.claim.members

    def _on(self, node: int, free: list[int]) -> int:
        if not self.claim.allowed[node]:
            return 0
        most = self._most
        for column, need in self._needs:
            if free[column] < need:
                return 0
            if need * most > free[column]:
                most = free[column] // need
        return most


def given(amounts: list[int], gifts: Iterable[Gift], node: int) -> list[int]:
    """What a node has with these gifts."""
    for gift in gifts:
        more = gift.nodes.get(node)
        if more is not None:
            amounts = [have + other for have, other in zip(amounts, more, strict=True)]
    return amounts


def changed(before: Amounts, after: Amounts) -> list[int]:
    """The nodes whose amounts are not the same."""
    return [node for node in before.keys() | after.keys() if before.get(node) != after.get(node)]


def _turn(entry: tuple[Turn, Holding]) -> Turn:
    return entry[0]


def _add(amounts: Amounts, places: Places, sign: int) -> None:
    for node, vector, counts in places:
        have = amounts.get(node)
        if have is None:
            amounts[node] = (sign * vector).tolist()
        else:
            for column, count in counts:
                have[column] += sign * count


def places_of(state: State, row: int) -> Places:
    """What a workload holds of which nodes."""
    residents = state.residents
    return tuple(place_of(int(residents.node[at]), residents.amount[:, at].copy()) for at in state.residents_of(row))


def place_of(node: int, amounts: Int64s) -> Place:
    return Place(node, amounts, tuple((column, count) for column, count in enumerate(amounts.tolist()) if count))
