"""Exact searches for the preferred victim set: a table where what candidates free adds up, node by node for one member,
and branch and bound for all else.

The table is by victims and members still wanted; of candidates that free alike only the first by cost, class and uid
can be in a preferred set, so that thousands of them come down to a few.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cede.doctrines.lattice.victim_pool import CandidateNodes, Pool, Taste, cost_ceiling
from cede.doctrines.parts.claim import residents_of_all
from cede.doctrines.parts.fit import fits, group_room, members_that_fit
from cede.state.columns import ANY, TIGHT, Bools, Int64s

CELLS = 6_000_000
"""Tables larger than this are not made."""
SETS = 2_000
"""How many sets that are equal in number and cost are compared by class and uid."""
INFINITE = np.int64(1) << 61


class Additive:
    """What each candidate frees, in members that find room, and how many more must; by group where they go to one."""

    def __init__(self, pool: Pool, gains: list[Int64s], wanted: list[int]) -> None:
        self.pool, self.gains, self.wanted = pool, gains, wanted

    def feasible(self) -> bool:
        return any(int(gain.sum()) >= wanted for gain, wanted in zip(self.gains, self.wanted, strict=True))

    def best(self) -> list[int] | None:
        """Places in the pool of the preferred set; none if no set keeps the limits."""
        tables = [
            Table(self.pool, gain, wanted)
            for gain, wanted in zip(self.gains, self.wanted, strict=True)
            if int(gain.sum()) >= wanted
        ]
        cheapest = min((table.cheapest() for table in tables), default=INFINITE)
        if cheapest >= INFINITE:
            return None
        limit = cost_ceiling(int(cheapest))
        fewest = min(count for table in tables if (count := table.fewest(limit)) is not None)
        least = min(table.cost_of(fewest) for table in tables)
        preferred = [table.preferred(fewest, int(least)) for table in tables if table.cost_of(fewest) == least]
        return min(preferred)[1]

    def fewest(self) -> int:
        """How many victims it takes at least, whatever they cost."""
        counts = []
        for gain, wanted in zip(self.gains, self.wanted, strict=True):
            enough = np.flatnonzero(np.cumsum(np.sort(gain)[::-1]) >= wanted)
            counts += [int(enough[0]) + 1] if len(enough) else []
        return min(counts)

    @property
    def small(self) -> bool:
        """Whether the tables can be made."""
        most, _ = self.pool.bounds()
        cells = 0
        for gain, wanted in zip(self.gains, self.wanted, strict=True):
            kept = len(kept_of(gain, wanted, most))
            cells += kept * (min(wanted, kept if most is None else most) + 1) * (wanted + 1)
        return cells <= CELLS


def additive(pool: Pool) -> Additive | None:
    """The pool as such a one; none where candidates share nodes, or members differ, or must be spread."""
    state, claim = pool.state, pool.claim
    if claim.need is None or claim.placement not in (ANY, TIGHT) or not pool.uniform:
        return None
    residents = state.residents
    rows = residents_of_all(state, pool.rows)
    rows = rows[claim.allowed[residents.node[rows]]]
    nodes = residents.node[rows]
    before = members_that_fit(claim, state.nodes.free[:, : state.nodes.size])
    free = state.nodes.free[:, nodes] + residents.amount[:, rows]
    after = np.full(len(rows), claim.members)
    for column in claim.columns:
        np.minimum(after, free[column] // claim.need[column], out=after)
    gain = np.maximum(after, 0) - before[nodes]
    if len(nodes) and int(np.bincount(nodes).max()) > 1:
        return None
    place = np.zeros(state.work.size, np.intp)
    place[pool.rows] = np.arange(len(pool.rows))
    at = place[residents.work[rows]]
    count = len(pool.rows)
    if claim.placement == ANY:
        wanted = claim.members - int(before.sum())
        return Additive(pool, [_sums(at, gain, count)], [wanted])
    groups = state.nodes.group[: state.nodes.size]
    room = np.bincount(groups, before, len(state.groups.names)).astype(np.int64)
    known = np.unique(groups[nodes])
    gains = [_sums(at, np.where(groups[nodes] == group, gain, 0), count) for group in known.tolist()]
    return Additive(pool, gains, [claim.members - int(room[group]) for group in known.tolist()])


def _sums(at: Int64s, gain: Int64s, count: int) -> Int64s:
    return np.bincount(at, gain, count).astype(np.int64)


def kept_of(gain: Int64s, wanted: int, most: int | None) -> Int64s:
    """Places of those who can be in a preferred set: of as many as free alike, so many as could be needed.

    The pool is in turn, by cost, class and uid. In a set that has a later one of those that free alike, and not an
    earlier one, the earlier can take its place: as many victims, no dearer, no higher class, no later uid. And a set
    with more of them than what is wanted, divided by what each frees, has one that is not needed.
    """
    useful = np.flatnonzero(gain > 0)
    worth = np.minimum(gain[useful], wanted)
    turn = np.argsort(worth, kind="stable")
    sorted_worth = worth[turn]
    begins = np.searchsorted(sorted_worth, sorted_worth)
    number = np.empty(len(useful), np.int64)
    number[turn] = np.arange(len(useful)) - begins
    limit = -(-wanted // np.maximum(worth, 1))
    if most is not None:
        limit = np.minimum(limit, most)
    return useful[number < limit]


class Table:
    """The least cost of covering so much with just so many of the candidates from each place on."""

    def __init__(self, pool: Pool, gain: Int64s, wanted: int) -> None:
        self.pool = pool
        most, self.value = pool.bounds()
        self.kept = kept_of(gain, wanted, most)
        self.gain = np.minimum(gain[self.kept], wanted)
        self.cost = pool.cost[self.kept]
        self.wanted = wanted
        counts = min(wanted, len(self.kept) if most is None else most)
        tables = np.full((len(self.kept) + 1, counts + 1, wanted + 1), INFINITE, np.int64)
        tables[-1, 0, 0] = 0
        for at in range(len(self.kept) - 1, -1, -1):
            later, own = tables[at + 1], int(self.gain[at])
            taken = np.full_like(later, INFINITE)
            taken[1:, own:] = later[:-1, : wanted + 1 - own]
            taken[1:, :own] = later[:-1, :1]
            np.minimum(later, np.minimum(taken + self.cost[at], INFINITE), out=tables[at])
        self.tables = tables

    def _costs(self) -> Int64s:
        """By number of victims, the least cost; infinite where it is not below the value."""
        costs: Int64s = self.tables[0, :, self.wanted]
        return costs if self.value is None else np.where(costs < self.value, costs, INFINITE)

    def cheapest(self) -> int:
        return int(self._costs().min())

    def fewest(self, limit: int) -> int | None:
        """The fewest victims that cost at most this."""
        enough: Bools = self._costs() <= limit
        return int(enough.argmax()) if enough.any() else None

    def cost_of(self, count: int) -> int:
        costs = self._costs()
        return int(costs[count]) if count < len(costs) else int(INFINITE)

    def preferred(self, count: int, cost: int) -> tuple[Taste, list[int]]:
        """Of all sets of just so many victims and so much cost, the one with the lowest classes, then uids.

        The tables say where no set is left, so that no branch is entered in vain. Who was passed over is not followed
        by one that frees and costs the same: swapping the two gives a set that is preferred or equal. After `SETS` sets
        the search stops: what it may miss then differs in class and uid alone.
        """
        best: tuple[Taste, list[int]] | None = None
        seen = 0
        stack: list[tuple[int, int, int, int, list[int], frozenset[tuple[int, int]]]] = [
            (0, count, self.wanted, cost, [], frozenset())
        ]
        while stack and seen < SETS:
            at, left, wanted, rest, taken, skipped = stack.pop()
            if not left and not wanted:
                if not rest:
                    seen += 1
                    places = [int(self.kept[one]) for one in taken]
                    candidate = self.pool.taste(places), places
                    best = candidate if best is None else min(best, candidate)
                continue
            if at == len(self.kept):
                continue
            kind = (int(self.gain[at]), int(self.cost[at]))
            if self.tables[at + 1, left, wanted] <= rest:
                stack.append((at + 1, left, wanted, rest, taken, skipped | {kind}))
            more = max(0, wanted - kind[0])
            if kind not in skipped and self.tables[at + 1, left - 1, more] + kind[1] <= rest:
                stack.append((at + 1, left - 1, more, rest - kind[1], [*taken, at], skipped))
        assert best is not None, "what the table says can be had"
        return best


SITE_STEPS = 100_000


@dataclass(slots=True)
class Site:
    """One node: what is short there, and what each candidate on it frees of that. Places are those in the pool."""

    short: tuple[int, ...]
    places: list[int]
    frees: list[tuple[int, ...]]
    least: int = 0
    rest: list[tuple[int, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Sums of what those from each place on free."""
        self.rest = [tuple(0 for _ in self.short)]
        for frees in reversed(self.frees):
            self.rest.append(tuple(a + b for a, b in zip(frees, self.rest[-1], strict=True)))
        self.rest.reverse()


class Sites:
    """All nodes where the candidates are enough for one member, those first that could cost least.

    A claimant with one member stands on one node: victims elsewhere free nothing for it, and a set without them is
    preferred. So each node is searched alone. What a set on a node costs at least is, for each resource, what is short
    times the lowest cost per unit there; nodes are sorted by the largest of these bounds, rounded down, and the search
    ends at the first node whose bound is not below the best.
    """

    def __init__(self, pool: Pool, nodes: int | None = None) -> None:
        self.pool = pool
        self.steps = SITE_STEPS
        self.cost = pool.cost.tolist()
        self.counted = pool.counted.tolist()
        self.sites = self._make(nodes)

    def best(self) -> tuple[list[int] | None, bool]:
        """Places in the pool of the preferred set, and whether that is certain; none if no set keeps the limits."""
        cheapest: int | None = None
        for site in self.sites:
            if cheapest is not None and site.least >= cheapest:
                break
            least = self._cheapest(site, cheapest)
            cheapest = least if cheapest is None or (least is not None and least < cheapest) else cheapest
        if cheapest is None:
            return None, self.steps > 0
        limit = cost_ceiling(cheapest)
        best: tuple[Taste, list[int]] | None = None
        for site in self.sites:
            if site.least > limit:
                break
            best = self._preferred(site, limit, best)
        return (None if best is None else best[1]), self.steps > 0

    def _make(self, nodes: int | None) -> list[Site]:
        pool, state, claim = self.pool, self.pool.state, self.pool.claim
        assert claim.need is not None
        residents = state.residents
        rows = residents_of_all(state, pool.rows)
        rows = rows[claim.allowed[residents.node[rows]]]
        on = residents.node[rows]
        place = np.zeros(state.work.size, np.intp)
        place[pool.rows] = np.arange(len(pool.rows))
        at = place[residents.work[rows]]
        shorts = np.maximum(claim.need[claim.columns, None] - state.nodes.free[claim.columns][:, : state.nodes.size], 0)
        enough = np.ones(state.nodes.size, np.bool_)
        least = np.zeros(state.nodes.size)
        for number, column in enumerate(claim.columns):
            amount = residents.amount[column, rows]
            enough &= np.bincount(on, amount, state.nodes.size) * (1 + 1e-9) >= shorts[number]
            each = np.divide(pool.cost[at], amount, out=np.full(len(rows), np.inf), where=amount > 0)
            density = np.full(state.nodes.size, np.inf)
            np.minimum.at(density, on, each)
            bound = np.multiply(density, shorts[number], out=np.zeros(state.nodes.size), where=shorts[number] > 0)
            least = np.maximum(least, bound)
        useful = np.flatnonzero(enough & np.isfinite(least) & np.isin(np.arange(state.nodes.size), on))
        useful = useful[np.lexsort((state.node_rank()[useful], least[useful]))][:nodes]
        turn = np.argsort(at, kind="stable")
        rows, on, places = rows[turn], on[turn].tolist(), at[turn].tolist()
        amounts = [residents.amount[column, rows].tolist() for column in claim.columns]
        by_node: dict[int, list[int]] = {node: [] for node in useful.tolist()}
        for number, node in enumerate(on):
            if node in by_node:
                by_node[node].append(number)
        return [
            _site(shorts[:, node].tolist(), standing, places, amounts, int(least[node] * (1 - 1e-9)))
            for node, standing in by_node.items()
        ]

    def _cheapest(self, site: Site, best: int | None) -> int | None:
        """The least cost of a set on this node that keeps the limits, if it is below the best."""
        most, value = self.pool.most, self.pool.value
        stack: list[tuple[int, tuple[int, ...], int, int, int]] = [(0, site.short, 0, 0, 0)]
        least: int | None = None
        while stack:
            at, short, cost, bound, count = stack.pop()
            self.steps -= 1
            limit = best if least is None else least
            if (limit is not None and cost >= limit) or self.steps < 0:
                continue  # costs are not negative: no set that begins with this one costs less
            if not any(short):
                least = cost
                continue
            if at == len(site.places) or any(s > r for s, r in zip(short, site.rest[at], strict=True)):
                continue
            stack.append((at + 1, short, cost, bound, count))
            own = self.cost[site.places[at]]
            if self.counted[site.places[at]]:
                bound, count = bound + own, count + 1
                if (most is not None and count > most) or (value is not None and bound >= value):
                    continue
            left = tuple(max(0, s - f) for s, f in zip(short, site.frees[at], strict=True))
            stack.append((at + 1, left, cost + own, bound, count))
        return least

    def _preferred(
        self, site: Site, limit: int, best: tuple[Taste, list[int]] | None
    ) -> tuple[Taste, list[int]] | None:
        """The better of the best so far and the preferred set on this node."""
        stack: list[tuple[int, tuple[int, ...], int, list[int]]] = [(0, site.short, 0, [])]
        while stack:
            at, short, cost, taken = stack.pop()
            self.steps -= 1
            if cost > limit or self.steps < 0 or (best is not None and (len(taken), cost) > best[0][:2]):
                continue
            if not any(short):
                if self.pool.allows(taken):
                    candidate = self.pool.taste(taken), taken
                    best = candidate if best is None else min(best, candidate)
                continue
            if at == len(site.places) or any(s > r for s, r in zip(short, site.rest[at], strict=True)):
                continue
            if best is not None and len(taken) + 1 > best[0][0]:
                continue  # it takes one more at least, and fewer victims are preferred to all else
            stack.append((at + 1, short, cost, taken))
            left = tuple(max(0, s - f) for s, f in zip(short, site.frees[at], strict=True))
            stack.append((at + 1, left, cost + self.cost[site.places[at]], [*taken, site.places[at]]))
        return best


def _site(short: list[int], standing: list[int], places: list[int], amounts: list[list[int]], least: int) -> Site:
    """One node, of who is `standing` there those who free anything that is short."""
    wanted = [column for column, lack in enumerate(short) if lack > 0]
    frees = [(places[at], tuple(amounts[column][at] for column in wanted)) for at in standing]
    useful = [(place, free) for place, free in frees if any(free)]
    return Site(
        tuple(short[column] for column in wanted), [place for place, _ in useful], [free for _, free in useful], least
    )


STEPS = 6_000


class Rooms:
    """Room under trial: candidates go and come back, and the count of members that fit follows."""

    def __init__(self, pool: Pool) -> None:
        self.pool, self.members = pool, pool.claim.members
        state, claim = pool.state, pool.claim
        self.moves: list[list[int]] = [
            [at for at in state.residents_of(row) if claim.allowed[state.residents.node[at]]]
            for row in pool.rows.tolist()
        ]
        self.even = claim.need is not None
        if self.even:
            self._count()
        else:
            self.free = state.nodes.free[:, : state.nodes.size].copy()
            self.gains = [claim.members] * len(self.moves)

    def _count(self) -> None:
        """Plain numbers of all nodes that somebody may leave, and of the groups they are in."""
        state, claim, residents = self.pool.state, self.pool.claim, self.pool.state.residents
        room = members_that_fit(claim, state.nodes.free[:, : state.nodes.size])
        self.total = int(room.sum())
        self.totals, self.limit = [self.total], 0
        if claim.placement != ANY:
            totals, self.limit = group_room(state, claim, room)
            self.totals = totals.tolist()
        assert claim.need is not None
        self.need: list[int] = claim.need[claim.columns].tolist()
        rows = [at for moves in self.moves for at in moves]
        nodes = sorted({int(node) for node in residents.node[rows].tolist()})
        self.room = dict(zip(nodes, room[nodes].tolist(), strict=True))
        self.group = dict(zip(nodes, state.nodes.group[nodes].tolist(), strict=True))
        free = [state.nodes.free[column, nodes].tolist() for column in claim.columns]
        self.left = {node: list(amounts) for node, *amounts in zip(nodes, *free, strict=True)}
        amounts = [residents.amount[column, rows].tolist() for column in claim.columns]
        stands = {
            at: (node, taken) for at, node, *taken in zip(rows, residents.node[rows].tolist(), *amounts, strict=True)
        }
        self.takes: list[list[tuple[int, list[int]]]] = [[stands[at] for at in moves] for moves in self.moves]
        self.gains = self._gains()

    def _gains(self) -> list[int]:
        """At most so many more members find room because of each: as many as with everybody gone from its nodes.

        What one adds depends on who else left, but on each node all of them together add no more than this.
        """
        free = {node: list(amounts) for node, amounts in self.left.items()}
        for takes in self.takes:
            for node, taken in takes:
                free[node] = [have + more for have, more in zip(free[node], taken, strict=True)]
        more = {node: self._fit(amounts) - self.room[node] for node, amounts in free.items()}
        return [sum(more[node] for node, _ in takes) for takes in self.takes]

    def _fit(self, free: list[int]) -> int:
        count = self.members
        for have, need in zip(free, self.need, strict=True):
            count = min(count, have // need)
        return max(0, count)

    def missing(self) -> int:
        """At least so many members find no room; of members that differ, one, unless all do."""
        claim = self.pool.claim
        if not self.even:
            return 0 if fits(self.pool.state, claim, self.free) else 1
        if claim.placement == ANY:
            return self.members - self.total
        if claim.placement == TIGHT:
            return self.members - max(self.totals)
        return self.members - sum(min(total, self.limit) for total in self.totals)

    def move(self, at: int, sign: int) -> None:
        if not self.even:
            residents = self.pool.state.residents
            for resident in self.moves[at]:
                self.free[:, residents.node[resident]] += sign * residents.amount[:, resident]
            return
        grouped = self.pool.claim.placement != ANY
        for node, taken in self.takes[at]:
            left = self.left[node]
            for column, amount in enumerate(taken):
                left[column] += sign * amount
            room = self._fit(left)
            more = room - self.room[node]
            if more:
                self.room[node] = room
                self.total += more
                if grouped:
                    self.totals[self.group[node]] += more


def necessary(pool: Pool) -> set[int]:
    """Places of those who are in every set, as far as that is simply told."""
    claim, state = pool.claim, pool.state
    if claim.need is None or claim.placement != ANY:
        return set()
    before = members_that_fit(claim, state.nodes.free[:, : state.nodes.size])
    return set(np.flatnonzero(CandidateNodes(pool, before).necessary()).tolist())


class Search:
    """Sets in the order of the pool, with bounds from what each could free at most; `known` is a lawful one.

    The pool is sorted by cost, and a branch takes only those that come after its last one. It is cut where
    - as many more as may go, each freeing as much as the widest that is left, do not free what is missing;
    - the next one alone makes it cost as much as the best: the others from there on cost no less;
    - what is missing, at the lowest cost per member that is left, makes it cost as much;
    - one of those that may still go has to free an equal part of what is missing, by the pigeonhole principle, and the
      cheapest that can makes it cost as much.
    Each bound only grows with the place in the order, so that a cut ends the loop and not just one turn of it.
    """

    def __init__(self, pool: Pool, known: list[int] | None = None) -> None:
        self.pool = pool
        self.rooms = Rooms(pool)
        self.forced = necessary(pool)
        """Who must go in any case."""
        useful = [at for at, gain in enumerate(self.rooms.gains) if gain > 0 and at not in self.forced]
        self.order = useful
        self.cost = pool.cost.tolist()
        self.counted = pool.counted.tolist()
        self.steps = STEPS
        count = len(useful)
        self.widest = [0] * (count + 1)
        self.density = [float("inf")] * (count + 1)
        for at in range(count - 1, -1, -1):
            gain = self.rooms.gains[useful[at]]
            self.widest[at] = max(gain, self.widest[at + 1])
            self.density[at] = min(self.cost[useful[at]] / gain, self.density[at + 1])
        self.gains = [self.rooms.gains[one] for one in useful]
        self.most = pool.most if pool.counted.all() else None
        """Maximum number of victims, if that binds all."""
        self._cheapest_with: dict[int, list[float]] = {}
        self.taken: list[int] = []
        self.limit = None if known is None else sum(self.cost[one] for one in known)
        self.preferred = [] if known is None else known
        self.bound = 0
        self.number = 0

    def best(self) -> tuple[list[int] | None, bool]:
        """Places in the pool of the preferred set, and whether that is certain; none if no set keeps the limits."""
        for one in sorted(self.forced):
            if not self._take(one):
                return None, True
        base = sum(self.cost[one] for one in self.forced)
        self._cheapest(0, base)
        cheapest = self.limit
        if cheapest is None:
            return None, self.steps >= 0
        ceiling = cost_ceiling(cheapest)
        best = self.pool.taste(self.preferred), self.preferred
        # Fewer victims are preferred to all else within the ceiling: the first number for which there is a set decides,
        # and the cheapest set, which is known, says where to stop.
        for count in range(len(self.preferred) - len(self.forced) + 1):
            better = self._of_size(0, count, base, ceiling, None)
            if better is not None:
                best = better
                break
        return best[1], self.steps >= 0

    def _cheapest(self, at: int, cost: int) -> None:
        self.steps -= 1
        missing = self.rooms.missing()
        if missing <= 0:
            if self.limit is None or cost < self.limit:
                self.limit, self.preferred = cost, list(self.taken)
            return
        for place in range(at, len(self.order)):
            left = self._left(place)
            if self.steps < 0 or missing > left * self.widest[place]:
                return
            one = self.order[place]
            if self.limit is not None and (
                cost + self.cost[one] >= self.limit  # the others from here on cost no less
                or cost + missing * self.density[place] * (1 - 1e-9) >= self.limit
                or cost + self._cost_of(-(-missing // left), place) >= self.limit
            ):
                return
            if self.gains[place] + (left - 1) * self.widest[place + 1] >= missing and self._take(one):
                self._cheapest(place + 1, cost + self.cost[one])
                self._give_back(one)

    def _left(self, place: int) -> int:
        """How many of those from this place on may still go."""
        left = len(self.order) - place
        return left if self.most is None else min(left, self.most - self.number)

    def _cost_of(self, gain: int, place: int) -> float:
        """The least cost of one, from this place on, because of whom so many members may find room."""
        if gain not in self._cheapest_with:
            least = [float("inf")] * (len(self.order) + 1)
            for at in range(len(self.order) - 1, -1, -1):
                own = self.cost[self.order[at]] if self.gains[at] >= gain else least[at + 1]
                least[at] = min(own, least[at + 1])
            self._cheapest_with[gain] = least
        return self._cheapest_with[gain][place]

    def _of_size(
        self, at: int, left: int, cost: int, limit: int, best: tuple[Taste, list[int]] | None
    ) -> tuple[Taste, list[int]] | None:
        """The preferred one of the sets with so many more victims that cost no more than the limit."""
        self.steps -= 1
        missing = self.rooms.missing()
        if missing <= 0 or not left:
            if missing > 0 or left:
                return best  # who fits with fewer was found before
            candidate = self.pool.taste(self.taken), list(self.taken)
            return candidate if best is None else min(best, candidate)
        for place in range(at, len(self.order) - left + 1):
            if self.steps < 0 or missing > left * self.widest[place]:
                return best
            one = self.order[place]
            ceiling = limit if best is None else best[0][1]
            if cost + left * self.cost[one] > ceiling:
                return best
            if self.gains[place] + (left - 1) * self.widest[place + 1] >= missing and self._take(one):
                best = self._of_size(place + 1, left - 1, cost + self.cost[one], limit, best)
                self._give_back(one)
        return best

    def _take(self, one: int) -> bool:
        if self.counted[one]:
            most, value = self.pool.most, self.pool.value
            if (most is not None and self.number == most) or (
                value is not None and self.bound + self.cost[one] >= value
            ):
                return False
            self.number += 1
            self.bound += self.cost[one]
        self.taken.append(one)
        self.rooms.move(one, 1)
        self.steps -= len(self.rooms.moves[one])
        return True

    def _give_back(self, one: int) -> None:
        self.taken.pop()
        self.rooms.move(one, -1)
        if self.counted[one]:
            self.number -= 1
            self.bound -= self.cost[one]
