"""A cheap victim set where nodes are shared: nodes opened for one member more, one after another, then bettered.

Plain integers, of the columns that may be short only: numpy costs more than it saves where a node has a handful
of candidates. Everything is counted in steps, so that the same cluster has the same answer on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import heapify, heappop, heappush

import numpy as np

from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.fit import fits, group_room, members_that_fit
from cede.doctrines.parts.orders import Rows, ordered
from cede.doctrines.parts.question import Floats
from cede.state.columns import ANY, SPREAD, TIGHT, Bools, Int64s
from cede.state.state import State

STEPS = 300
"""How often the price of a node is asked while victims are exchanged."""
NEAR = 10
"""How many of the nodes that would have been next are looked at for each victim that might stay."""

Amounts = tuple[int, ...]
Holders = list[tuple[int, Amounts]]
Works = tuple[int, ...]


def open_nodes(state: State, claim: Claim, rows: Rows, cost: Int64s) -> list[int] | None:
    """Some of these workloads, so that the claimant, whose members are alike, fits when they are gone; None if this
    finds no way. None of them is superfluous."""
    best: tuple[int, list[int]] | None = None
    for one in _areas(state, claim):
        search = NodeOpening(state, one, rows, cost)
        if best is None or search.at_least() < best[0]:
            victims = search.victims()
            if victims is not None and (best is None or victims[0] < best[0]):
                best = victims
    return None if best is None else best[1]


def _areas(state: State, claim: Claim) -> Iterator[Claim]:
    """The claim on all nodes, or, if its members must be in one group, on each group by name."""
    if claim.placement != TIGHT:
        yield claim
        return
    groups = state.nodes.group[: state.nodes.size]
    for group in sorted(set(groups[claim.allowed].tolist()), key=state.groups.names.__getitem__):
        yield replace(claim, allowed=claim.allowed & (groups == group), placement=ANY)


class _Grouped:
    """What stands together, by number: made of columns when somebody asks, for most are never asked for."""

    def __init__(self, key: Rows, other: Rows, amounts: list[Int64s], turn: Rows, size: int) -> None:
        self.others: list[int] = other[turn].tolist()
        self.amounts: list[Amounts] = list(zip(*(amount[turn].tolist() for amount in amounts), strict=True))
        self.ends: list[int] = np.cumsum(np.bincount(key, minlength=size)).tolist()
        self.known: list[Holders | None] = [None] * size

    def at(self, number: int) -> Holders:
        standing = self.known[number]
        if standing is None:
            begin, end = self.ends[number - 1] if number else 0, self.ends[number]
            standing = list(zip(self.others[begin:end], self.amounts[begin:end], strict=True))
            self.known[number] = standing
        return standing


class NodeOpening:
    """Candidates by their place in the order of cost; of each node what stands there and how much is free."""

    def __init__(self, state: State, claim: Claim, rows: Rows, cost: Int64s) -> None:
        assert claim.need is not None
        costs = np.zeros(state.work.size, np.int64)
        costs[rows] = cost
        turn = ordered(state, rows, cost)
        self.rows: list[int] = turn.tolist()
        self.cost: list[int] = costs[turn].tolist()
        self.members = claim.members
        self.gone = [False] * len(self.rows)
        self.steps = STEPS
        free, residents = state.nodes.free[:, : state.nodes.size], state.residents
        standing = residents_of_all(state, turn)
        standing = standing[claim.allowed[residents.node[standing]]]
        room, most = members_that_fit(claim, free), self._most(state, claim, standing)
        useful = most > room
        names = np.flatnonzero(useful)
        standing = standing[useful[residents.node[standing]]]
        columns = [c for c in claim.columns if (most[names] * claim.need[c] > free[c, names]).any()]
        self.need = [int(claim.need[column]) for column in columns]
        place = np.zeros(state.work.size, np.intp)
        place[turn] = np.arange(len(turn))
        index = np.zeros(state.nodes.size, np.intp)
        index[names] = np.arange(len(names))
        who, at = place[residents.work[standing]], index[residents.node[standing]]
        self._stand(who, at, [residents.amount[column, standing] for column in columns], len(names))
        self.free: list[list[int]] = free[columns][:, names].T.tolist()
        self.room: list[int] = room[names].tolist()
        self.most: list[int] = most[names].tolist()
        self.known: list[tuple[int, Works] | None] = [None] * len(names)
        """By node what must leave it, as long as nothing there comes or goes."""
        self.rank: list[int] = state.node_rank()[names].tolist()
        self.group: list[int] = state.nodes.group[names].tolist()
        totals, limit = group_room(state, claim, room)
        self.totals: list[int] = totals.tolist()
        self.limit = limit if claim.placement == SPREAD else None
        self.left = claim.members - int(totals.sum())
        needs = [(room[names] + 1) * claim.need[column] - free[column, names] for column in columns]
        self.prices: list[float] = self._at_least(who, at, needs, [residents.amount[c, standing] for c in columns])

    def _most(self, state: State, claim: Claim, standing: Rows) -> Int64s:
        """How many members each node could take with all candidates gone."""
        free = state.nodes.free[:, : state.nodes.size].copy()
        for column in claim.columns:
            np.add.at(free[column], state.residents.node[standing], state.residents.amount[column, standing])
        return members_that_fit(claim, free)

    def _stand(self, who: Rows, at: Rows, amounts: list[Int64s], nodes: int) -> None:
        by_cost, by_node = np.argsort(who, kind="stable"), np.lexsort((who, at))
        self._of_work = _Grouped(who, at, amounts, by_cost, len(self.rows))
        self._of_node = _Grouped(at, who, amounts, by_node, nodes)

    def on(self, node: int) -> Holders:
        """What stands on a node and with how much, in the order of cost."""
        return self._of_node.at(node)

    def stands(self, one: int) -> Holders:
        """Where a candidate stands, and with how much."""
        return self._of_work.at(one)

    def _at_least(self, who: Rows, at: Rows, shorts: list[Int64s], amounts: list[Int64s]) -> list[float]:
        """By node, what one member more costs there at least, if each victim is paid for by all its nodes alike."""
        nodes = len(self.room)
        bounds: Floats = np.zeros(nodes)
        spans = np.maximum(np.bincount(who, minlength=len(self.rows)), 1)
        shares = np.array(self.cost, np.float64) / spans
        self.shares: list[float] = shares.tolist()
        share = shares[who]
        for short, amount in zip(shorts, amounts, strict=True):
            here = np.flatnonzero(amount > 0)
            turn = here[np.lexsort((share[here] / amount[here], at[here]))]
            on, held = at[turn], amount[turn].astype(np.float64)
            before = np.cumsum(held) - held
            first = np.flatnonzero(np.diff(on, prepend=-1))
            before -= np.repeat(before[first], np.diff(first, append=len(on)))
            part = np.clip((short[on] - before) / held, 0.0, 1.0)
            bounds = np.maximum(bounds, np.bincount(on, part * share[turn], nodes))
        prices: list[float] = bounds.tolist()
        return prices

    def at_least(self) -> float:
        """What no set can cost less than.

        A set makes room for the missing members on some nodes, for no more than `most` on each; so it opens at least as
        many nodes as that takes. To open a node, victims that stand there must free what one member more lacks, and
        `prices` has what this costs at least if each victim's cost is divided evenly among its nodes, and a victim may
        be taken in part. Divided costs add up to no more than the set's own, so the cheapest so many prices bound it.
        """
        return sum(sorted(self.prices)[: max(0, -(-self.missing() // max(self.most, default=1)))])

    # -- what a node costs ---------------------------------------------------------------------------------------------

    def missing(self) -> int:
        """How many members find no room yet."""
        if self.limit is None:
            return self.left
        limit = self.limit
        return self.members - sum([min(total, limit) for total in self.totals])

    def leave(self, node: int) -> tuple[int, Works]:
        """What must go so that one member more fits here, and at what cost; nothing if there is no way."""
        leavers = self.known[node]
        if leavers is None:
            leavers = self.known[node] = self._leave(node)
        return leavers

    def _leave(self, node: int) -> tuple[int, Works]:
        target = self.room[node] + 1
        if target > self.most[node]:
            return 0, ()
        short = [target * need - free for need, free in zip(self.need, self.free[node], strict=True)]
        open_ = [column for column, left in enumerate(short) if left > 0]
        gone, costs = self.gone, self.cost
        if len(open_) == 1:
            [column] = open_
            those = [(costs[one], held[column], one) for one, held in self.on(node) if not gone[one] and held[column]]
            return self._of_one(those, short[column])
        rest = [(one, amount) for one, amount in self.on(node) if not gone[one]]
        who: list[int] = []
        while open_:
            best: tuple[float, int] | None = None
            for at, (one, amount) in enumerate(rest):
                use = sum([min(amount[column] / short[column], 1.0) for column in open_])
                if use > 0 and (best is None or self.cost[one] < best[0] * use):
                    best = self.cost[one] / use, at
            if best is None:
                return 0, ()
            one, amount = rest.pop(best[1])
            who.append(one)
            short = [left - held for left, held in zip(short, amount, strict=True)]
            open_ = [column for column in open_ if short[column] > 0]
        return sum([self.cost[one] for one in who]), tuple(who)

    def _of_one(self, rest: list[tuple[int, int, int]], short: int) -> tuple[int, Works]:
        """One resource is short: by cost per unit still needed, with a look at each step for the cheapest last one."""
        who: list[int] = []
        spent = 0
        best: tuple[int, Works] | None = None
        while short > 0:
            last: tuple[int, int, int] | None = None
            pick: tuple[int, int, tuple[int, int, int]] | None = None
            for item in rest:
                cost, held, _ = item
                if held >= short:
                    held = short
                    if last is None or cost < last[0]:
                        last = item
                if pick is None or cost * pick[1] < pick[0] * held:
                    pick = cost, held, item
            if last is not None and (best is None or spent + last[0] < best[0]):
                best = spent + last[0], (*who, last[2])
            if pick is None:
                break
            item = pick[2]
            spent += item[0]
            if best is not None and spent >= best[0]:
                break
            who.append(item[2])
            rest.remove(item)
            short -= item[1]
        if short <= 0 and (best is None or spent < best[0]):
            best = spent, tuple(who)
        return best or (0, ())

    def gain(self, who: Works) -> int:
        """How many members more fit on all nodes that these leave."""
        freed: dict[int, Amounts] = dict(self.stands(who[0]))
        for one in who[1:]:
            for node, amount in self.stands(one):
                known = freed.get(node)
                freed[node] = amount if known is None else tuple([a + b for a, b in zip(known, amount, strict=True)])
        more = 0
        for node, amount in freed.items():
            fits, free = self.most[node], self.free[node]
            for column, need in enumerate(self.need):
                then = (free[column] + amount[column]) // need
                if then < fits:
                    fits = then
            if fits > self.room[node]:
                more += fits - self.room[node]
        return more

    def move(self, one: int, sign: int) -> None:
        """This one goes, or is back."""
        self.gone[one] = sign > 0
        room = self.room
        for node, amount in self.stands(one):
            self.known[node] = None
            fits, free = self.most[node], self.free[node]
            for column, need in enumerate(self.need):
                left = free[column] = free[column] + sign * amount[column]
                if left // need < fits:
                    fits = left // need
            fits = max(fits, 0)
            if fits != room[node]:
                self.totals[self.group[node]] += fits - room[node]
                self.left -= fits - room[node]
                room[node] = fits

    # -- the set -------------------------------------------------------------------------------------------------------

    def victims(self) -> tuple[int, list[int]] | None:
        """What the set costs, and its rows; none if no way was found."""
        heap = [(price, self.rank[node], node) for node, price in enumerate(self.prices)]
        heapify(heap)
        while (missing := self.missing()) > 0 and heap:
            known, rank, node = heappop(heap)
            cost, who = self.leave(node)
            if not who:
                continue
            price = cost / max(1, min(self.gain(who), missing))
            # Prices in the heap are rough: a node that turns out dearer than the next goes back, and comes up later.
            if heap and price > max(known, heap[0][0]):
                heappush(heap, (price, rank, node))
                continue
            touched: dict[int, None] = {}
            for one in who:
                self.move(one, 1)
                for other, _ in self.stands(one):
                    self.prices[other] -= self.shares[one]
                    touched[other] = None
            for other in touched:
                heappush(heap, (max(0.0, self.prices[other]), self.rank[other], other))
        if self.missing() > 0:
            return None
        self._spare()
        self._exchange([node for _, _, node in sorted(heap)[:NEAR]])
        chosen = [one for one, gone in enumerate(self.gone) if gone]
        return sum([self.cost[one] for one in chosen]), [self.rows[one] for one in chosen]

    def _spare(self) -> None:
        """Without those that are not needed, the dearest first."""
        for one in reversed([one for one, gone in enumerate(self.gone) if gone]):
            if self.limit is None and self._is_missed(one):
                continue
            self.move(one, -1)
            if self.missing() > 0:
                self.move(one, 1)

    def _is_missed(self, one: int) -> bool:
        """Whether members would find no room with this one back; room is a sum over nodes, and only its own change."""
        more = self.left
        for node, amount in self.stands(one):
            fits, free = self.room[node], self.free[node]
            for column, need in enumerate(self.need):
                left = (free[column] - amount[column]) // need
                if left < fits:
                    fits = left
            more += self.room[node] - max(fits, 0)
            if more > 0:
                return True
        return False

    def _exchange(self, near: list[int]) -> None:
        """Victims stay, the dearest first, wherever others go for less in their place."""
        better = True
        while better and self.steps > 0:
            better = False
            for one in reversed([one for one, gone in enumerate(self.gone) if gone]):
                if self.gone[one] and self.steps > 0 and self._stays(one, near):
                    better = True
            if better:
                self._spare()

    def _stays(self, one: int, near: list[int]) -> bool:
        """Whether others went for less, so that this one stays."""
        self.move(one, -1)
        self.gone[one] = True  # so that it is not taken again
        nodes = list(dict.fromkeys((*(node for node, _ in self.stands(one)), *near)))
        spent, came = 0, list[int]()
        while (missing := self.missing()) > 0:
            best: tuple[float, int, Works] | None = None
            for node in nodes:
                self.steps -= 1
                cost, who = self.leave(node)
                if not who or spent + cost >= self.cost[one]:
                    continue
                price = cost / max(1, min(self.gain(who), missing))
                if best is None or price < best[0]:
                    best = price, cost, who
            if best is None:
                break
            spent += best[1]
            came += best[2]
            for other in best[2]:
                self.move(other, 1)
        self.gone[one] = False
        for node, _ in self.stands(one):
            self.known[node] = None
        if self.missing() <= 0:
            return True
        for other in came:
            self.move(other, -1)
        self.move(one, 1)
        return False


ROUNDS = 32


def cheapest_cover(state: State, claim: Claim, rows: Rows, cost: Int64s) -> list[int] | None:
    """Some of these workloads, which cost so much each, so that the claimant fits when they are gone; none if all of
    them are too few. None of them is superfluous."""
    if not len(rows) or not _fits_without(state, claim, rows):
        return None
    residents = state.residents
    standing = residents_of_all(state, rows)
    standing = standing[claim.allowed[residents.node[standing]]]
    nodes = residents.node[standing]
    alone = not len(nodes) or int(np.bincount(nodes).max()) <= 1
    if claim.need is not None and alone and claim.placement in (ANY, TIGHT):
        victims = _adding_up(state, claim, rows, cost, standing)
        if claim.placement == ANY:
            return victims
    elif claim.need is not None:
        return open_nodes(state, claim, rows, cost)
    else:
        victims = _by_cost(state, claim, rows, cost)
    return _spared(state, claim, victims, dict(zip(rows.tolist(), cost.tolist(), strict=True)))


# -- what candidates free adds up ------------------------------------------------------------------------------------


def _adding_up(state: State, claim: Claim, rows: Rows, cost: Int64s, standing: Rows) -> list[int]:
    residents, need = state.residents, claim.need
    assert need is not None
    nodes = residents.node[standing]
    before = members_that_fit(claim, state.nodes.free[:, : state.nodes.size])
    free = state.nodes.free[:, nodes] + residents.amount[:, standing]
    after = np.full(len(standing), claim.members)
    for column in claim.columns:
        np.minimum(after, free[column] // need[column], out=after)
    gain = np.maximum(after, 0) - before[nodes]
    place = np.zeros(state.work.size, np.intp)
    place[rows] = np.arange(len(rows))
    at = place[residents.work[standing]]
    if claim.placement == ANY:
        sums = np.bincount(at, gain, len(rows)).astype(np.int64)
        chosen = cover(cost, sums, claim.members - int(before.sum()))
        return [] if chosen is None else [int(rows[one]) for one in chosen]
    groups = state.nodes.group[: state.nodes.size]
    room = np.bincount(groups, before, len(state.groups.names)).astype(np.int64)
    best: tuple[int, list[int]] | None = None
    for group in np.unique(groups[nodes]).tolist():
        sums = np.bincount(at, np.where(groups[nodes] == group, gain, 0), len(rows)).astype(np.int64)
        chosen = cover(cost, sums, claim.members - int(room[group]))
        if chosen is not None:
            candidate = int(cost[chosen].sum()), [int(rows[one]) for one in chosen]
            best = candidate if best is None else min(best, candidate)
    return [] if best is None else best[1]


def cover(cost: Int64s, gain: Int64s, wanted: int) -> list[int] | None:
    """Places of some whose gains add up to what is wanted, at little cost; none if all are too little."""
    useful = np.flatnonzero(gain > 0)
    if int(gain[useful].sum()) < wanted:
        return None
    cost, gain = cost[useful], np.minimum(gain[useful], wanted)
    left, spent = wanted, 0
    open_ = np.ones(len(useful), np.bool_)
    taken: list[int] = []
    best: tuple[int, list[int]] | None = None
    while left > 0:
        worth = np.minimum(gain, left)
        last = np.flatnonzero(open_ & (gain >= left))
        if len(last):
            one = int(last[np.argmin(cost[last])])
            if best is None or spent + int(cost[one]) < best[0]:
                best = spent + int(cost[one]), [*taken, one]
        if best is not None and spent >= best[0]:
            break
        rate = np.where(open_, cost / worth, np.inf)
        one = int(np.argmin(rate))
        if not open_[one]:
            break
        open_[one] = False
        taken.append(one)
        spent += int(cost[one])
        left -= int(gain[one])
    if left <= 0 and (best is None or spent < best[0]):
        best = spent, taken
    assert best is not None, "all together are enough"
    return sorted(int(useful[one]) for one in _exchanged(cost, gain, wanted, best[1]))


def _exchanged(cost: Int64s, gain: Int64s, wanted: int, chosen: list[int]) -> list[int]:
    """The same set without what is not needed, and with one for another wherever that is cheaper."""
    inside = np.zeros(len(cost), np.bool_)
    inside[chosen] = True
    for _ in range(ROUNDS):
        slack = int(gain[inside].sum()) - wanted
        members = np.flatnonzero(inside)
        needless = members[gain[members] <= slack]
        if len(needless):
            inside[needless[np.argmax(cost[needless])]] = False
            continue
        if not _exchange(cost, gain, inside, slack):
            break
    return np.flatnonzero(inside).tolist()


def _exchange(cost: Int64s, gain: Int64s, inside: Bools, slack: int) -> bool:
    """One goes in for one, or for two, that cost more and are not missed; whether there was such a one."""
    members, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    if not len(others):
        return False
    best: tuple[int, int, tuple[int, ...]] | None = None
    turn = others[np.argsort(gain[others], kind="stable")]
    gains = gain[turn]
    least = np.minimum.accumulate(cost[turn][::-1])[::-1]
    pairs: list[tuple[int, ...]] = [(int(one),) for one in members]
    if len(members) <= ROUNDS:
        pairs += [(int(a), int(b)) for at, a in enumerate(members) for b in members[at + 1 :]]
    for out in pairs:
        wanted = sum(int(gain[one]) for one in out) - slack
        at = int(np.searchsorted(gains, wanted))
        if at == len(turn):
            continue
        saved = sum(int(cost[one]) for one in out) - int(least[at])
        if saved > 0 and (best is None or saved > best[0]):
            best = saved, at, out
    if best is None:
        return False
    _, at, out = best
    later = turn[at:]
    inside[list(out)] = False
    inside[later[np.argmin(cost[later])]] = True
    return True


# -- in the end ------------------------------------------------------------------------------------------------------


def _by_cost(state: State, claim: Claim, rows: Rows, cost: Int64s) -> list[int]:
    """Members that differ: the cheapest until they fit."""
    turn = ordered(state, rows, cost)
    low, high = 0, len(turn)
    while high - low > 1:
        middle = (low + high) // 2
        if _fits_without(state, claim, turn[:middle]):
            high = middle
        else:
            low = middle
    return [int(row) for row in turn[:high]]


def _spared(state: State, claim: Claim, victims: list[int], cost: dict[int, int]) -> list[int] | None:
    """Without those that are not needed, the dearest first; none if they are not enough."""
    free = _free_without(state, np.array(victims, np.intp))
    if not fits(state, claim, free):
        return None
    residents = state.residents
    kept = []
    for row in sorted(victims, key=lambda row: (-cost[row], state.uids[row], state.work_names[row])):
        rows = state.residents_of(row)
        nodes = residents.node[rows]
        free[:, nodes] -= residents.amount[:, rows]
        if not fits(state, claim, free):
            free[:, nodes] += residents.amount[:, rows]
            kept.append(row)
    return kept


def _fits_without(state: State, claim: Claim, gone: Rows) -> bool:
    return fits(state, claim, _free_without(state, gone))


def _free_without(state: State, gone: Rows) -> Int64s:
    free = state.nodes.free[:, : state.nodes.size].copy()
    rows = residents_of_all(state, gone)
    for column in range(len(free)):
        np.add.at(free[column], state.residents.node[rows], state.residents.amount[column, rows])
    return free
