"""The preferred set for one member: on each node the candidates there must free what is short, in every resource.

Exact on every node that could be as cheap as the best one found; nodes are looked at in the order of what they would
cost at least.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cede.doctrines.lattice.pool import Pool, Taste, within
from cede.doctrines.parts.claim import residents_of_all

STEPS = 100_000


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
    """All nodes where the candidates are enough for one member, those first that could cost least."""

    def __init__(self, pool: Pool, nodes: int | None = None) -> None:
        self.pool = pool
        self.steps = STEPS
        self.cost = pool.cost.tolist()
        self.counted = pool.counted.tolist()
        self.sites = self._make(nodes)

    def best(self) -> tuple[list[int] | None, bool]:
        """Places in the pool of the preferred set, and whether that is certain; none if no set keeps the limits."""
        cheapest: int | None = None
        for site in self.sites:
            if cheapest is not None and site.least >= cheapest:
                break
            found = self._cheapest(site, cheapest)
            cheapest = found if cheapest is None or (found is not None and found < cheapest) else cheapest
        if cheapest is None:
            return None, self.steps > 0
        limit = within(cheapest)
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
        found: int | None = None
        while stack:
            at, short, cost, bound, count = stack.pop()
            self.steps -= 1
            limit = best if found is None else found
            if (limit is not None and cost >= limit) or self.steps < 0:
                continue
            if not any(short):
                found = cost
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
        return found

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
                    found = self.pool.taste(taken), taken
                    best = found if best is None else min(best, found)
                continue
            if at == len(site.places) or any(s > r for s, r in zip(short, site.rest[at], strict=True)):
                continue
            if best is not None and len(taken) + 1 > best[0][0]:
                continue
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
