"""The preferred set in general: gangs on shared nodes, spread members, limits that bind only some candidates.

Branch and bound over the candidates, cheapest first, exact until STEPS are used up; one step is a look at a node.
"""

from __future__ import annotations

import numpy as np

from cede.doctrines.lattice.narrowing import Ground
from cede.doctrines.lattice.pool import Pool, Taste, within
from cede.doctrines.parts.fit import fits, group_room, members_that_fit
from cede.state.columns import ANY, TIGHT

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
        """At most so many more members find room because of each: as many as with everybody gone from its nodes."""
        free = {node: list(amounts) for node, amounts in self.left.items()}
        for takes in self.takes:
            for node, taken in takes:
                free[node] = [have + more for have, more in zip(free[node], taken, strict=True)]
        more = {node: self._fit(amounts) - self.room[node] for node, amounts in free.items()}
        return [sum(more[node] for node, _ in takes) for takes in self.takes]

    def _fit(self, free: list[int]) -> int:
        found = self.members
        for have, need in zip(free, self.need, strict=True):
            found = min(found, have // need)
        return max(0, found)

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
    return set(np.flatnonzero(Ground(pool, before).necessary()).tolist())


class Search:
    """Sets in the order of the pool, with bounds from what each could free at most; `known` is a lawful one."""

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
        """So many may go at most, if that binds all."""
        self._cheapest_with: dict[int, list[float]] = {}
        self.taken: list[int] = []
        self.limit = None if known is None else sum(self.cost[one] for one in known)
        self.found = [] if known is None else known
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
        ceiling = within(cheapest)
        best = self.pool.taste(self.found), self.found
        for count in range(len(self.found) - len(self.forced) + 1):
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
                self.limit, self.found = cost, list(self.taken)
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
        """So many of those from this place on may still go."""
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
            found = self.pool.taste(self.taken), list(self.taken)
            return found if best is None else min(best, found)
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
